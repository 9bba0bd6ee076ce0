"""What `tabveil bench` does: run, draw, list, install."""

from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as Grid

from tabveil.baselines import BASELINES, dpctgan
from tabveil.benchmark.experiment import Experiment, evaluator_named
from tabveil.benchmark.figure import draw
from tabveil.benchmark.results import means, shown, tidy
from tabveil.benchmark.run import refuse_failures
from tabveil.benchmark.run import run as run_cells
from tabveil.datasets import TABLES
from tabveil.datasets.prepared import folder_of_tables
from tabveil.errors import InvalidInput

SHOWN = [
    "f1_linear",
    "cm_error",
    "mm_error_uniform",
    "mm_error_quantile",
    "kolmogorov_smirnov",
    "fit_seconds",
]
SHIPPED = Path(__file__).parents[3] / "benchmarks"


def run(
    config: Path,
    folder: Path,
    data: Path | None,
    jobs: int,
    only: list[str],
    limit: float | None,
    sdnist: Path | None,
    out: Console,
    err: Console,
) -> None:
    """Run what is missing, then show the means over seeds."""
    experiment = Experiment.load(config)
    chosen = experiment.only(only) if only else experiment
    if any(cell.dataset["name"] in TABLES for cell in chosen.cells()):
        folder_of_tables(data)  # said once and at once, not by every cell
    if chosen.evaluator is not None:
        excerpts = {cell.excerpt for cell in chosen.cells()}
        evaluator_named(**chosen.evaluator).get_ready(folder, data, sdnist, excerpts)
    outcome = run_cells(chosen, folder, data=data, jobs=jobs, limit=limit, console=err)
    if outcome.finished:
        out.print(summary(chosen, folder))
        out.print(
            f"Finished cells are in {folder}. Next: tabveil bench {config} -o {folder} --plot",
            markup=False,
        )
    refuse_failures(outcome)


def summary(experiment: Experiment, folder: Path) -> Grid:
    """Means over seeds, one line per dataset, system and ε."""
    along = ["dataset", "system", "options", "epsilon"]
    asked = [score for table in experiment.table for score in table["scores"]]
    # Of a program of others, those scores that the experiment names.
    scores = SHOWN if experiment.evaluator is None else list(dict.fromkeys(asked))
    table = means(tidy(experiment, folder), scores, along)
    if table["dataset"].nunique() == 1:
        table = table.drop(columns="dataset")
    grid = Grid(*map(str, table.columns), box=SIMPLE, title=f"{experiment.title}: NOT PRIVATE")
    for line in table.itertuples(index=False):
        grid.add_row(*map(shown, line))
    return grid


def plot(config: Path, folder: Path, figures: Path, out: Console) -> None:
    """Figures and tables from what is finished."""
    for file in draw(Experiment.load(config), folder, figures, config.stem):
        out.print(f"Wrote {file}.", markup=False)


def show(out: Console) -> None:
    """The experiments that are shipped, and the systems that an experiment can name."""
    experiments = Grid("experiment", "what it shows", "cells", box=SIMPLE)
    for file in sorted(SHIPPED.glob("*.toml")):
        experiment = Experiment.load(file)
        experiments.add_row(
            f"benchmarks/{file.name}", experiment.title, str(len(list(experiment.cells())))
        )
    out.print(experiments)
    systems = Grid("name", "system", "described by", "columns", "accountant", "options", box=SIMPLE)
    for name, kind in BASELINES.items():
        systems.add_row(
            name, kind.title, kind.source, kind.inputs, kind.accountant, ", ".join(kind.options())
        )
    out.print(systems)


def install(name: str, out: Console) -> None:
    """Make the environment that a system needs for itself."""
    if name != "dpctgan":
        raise InvalidInput(f"{name} needs no environment of its own.", "Only dpctgan does.")
    out.print(f"Wrote {dpctgan.install()}.", markup=False)
