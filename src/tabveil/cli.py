"""The command line: each command a few lines over the library."""

import itertools
import json
import os
import sys
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import jax
import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as Grid

import tabveil as tv
from tabveil.errors import TabveilError
from tabveil.files import require_new
from tabveil.frames import check, draft_schema, write
from tabveil.presets import PRESETS
from tabveil.privacy import Budget, Ledger, Relation, epsilon_of
from tabveil.progress import progress_bar
from tabveil.schema import save_document
from tabveil.synthesizer import DELTA as DEFAULT_DELTA

app = typer.Typer(
    name="tabveil",
    help="Differentially private synthetic tables: fit once, sample as often as you like.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a pretty traceback prints local variables, and those may hold rows
    rich_markup_mode="markdown",
)
schema_app = typer.Typer(
    help="Draft and check the schema: what may be known about a table.", no_args_is_help=True
)
ledger_app = typer.Typer(help="What was spent on a dataset, and what is left.", no_args_is_help=True)
app.add_typer(schema_app, name="schema")
app.add_typer(ledger_app, name="ledger")

out, err = Console(), Console(stderr=True)

PresetName = StrEnum("PresetName", {name: name for name in PRESETS})  # type: ignore[misc]
DEFAULT = PresetName("default")
Data = Annotated[Path, typer.Argument(help="A .csv, .csv.gz or .parquet file, or a folder of Parquet files.")]
SchemaFile = Annotated[Path, typer.Option("--schema", help="The schema file, YAML or JSON.")]
Targets = Annotated[
    list[str] | None,
    typer.Option("--target", help="A column to predict, instead of the schema's targets; repeat for more."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("-o", "--out", help="Where to put the files.")] = Path(
        "tabveil-demo"
    ),
    epsilon: Annotated[float, typer.Option(help="The privacy budget ε.")] = 1.0,
    rows: Annotated[int, typer.Option(min=1000, help="How many people to simulate.")] = 50_000,
) -> None:
    """Try everything on a simulated census: fit, sample, compare.

    Example: `tabveil demo -o demo`
    """
    from tabveil.demo import run_demo

    run_demo(_free(folder), epsilon, rows, out)


def _free(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, ... that does not exist yet: nothing is overwritten."""
    names = itertools.chain([folder], (folder.with_name(f"{folder.name}-{i}") for i in itertools.count(2)))
    return next(name for name in names if not os.path.lexists(name))


@schema_app.command("init")
def schema_init(
    data: Data,
    schema: Annotated[Path, typer.Option("-o", "--out", help="Where to write the draft.")] = Path(
        "schema.yaml"
    ),
    public: Annotated[
        bool,
        typer.Option("--public", help="The data's own categories and ranges may be published: copy them."),
    ] = False,
) -> None:
    """Draft a schema: names and types, with TODO where only you may say what is public.

    Example: `tabveil schema init people.csv -o schema.yaml`
    """
    require_new(schema)
    draft = draft_schema(data, public=public)
    save_document(draft, schema)
    todo = "" if public else " Replace each TODO by what is publicly known; do not read it off the data."
    out.print(f"Wrote {schema} with {len(draft['columns'])} columns.{todo}", markup=False)


@schema_app.command("check")
def schema_check(data: Data, schema: SchemaFile, as_json: AsJson = False) -> None:
    """Check a table against its schema; names columns and rules, never a value. For the owner's eyes.

    Example: `tabveil schema check people.csv --schema schema.yaml`
    """
    found = check(data, tv.Schema.load(schema))
    if as_json:
        print(json.dumps({"ok": not found, "problems": found}))
    elif found:
        out.print("\n".join(f"- {line}" for line in found), markup=False)
        out.print("\n`fit` would run all the same and map such cells as docs/schema.md says.", markup=False)
    else:
        out.print("Every cell fits the schema.")
    if found:
        raise typer.Exit(1)


@app.command()
def fit(
    data: Data,
    schema: SchemaFile,
    release: Annotated[Path, typer.Option("-o", "--out", help="The release folder to write.")],
    epsilon: Annotated[float, typer.Option(help="The privacy budget ε.")],
    delta: Annotated[
        float | None,
        typer.Option(help="The privacy budget δ. [default: 1e-9; 1/n² for paper with substitute]"),
    ] = None,
    targets: Targets = None,
    preset: Annotated[PresetName, typer.Option(help="How to spend the budget.")] = DEFAULT,
    neighbours: Annotated[
        Relation, typer.Option(help="What is protected: one row added or removed, or one row replaced.")
    ] = Relation.ADD_REMOVE,
    seed: Annotated[
        int, typer.Option(help="Drives public choices such as the start of the optimiser; never the noise.")
    ] = 0,
    ledger: Annotated[
        Path | None, typer.Option(help="A ledger shared by all fits on this data. [default: RELEASE.ledger]")
    ] = None,
) -> None:
    """Spend the budget once and write a release that anyone may sample from.

    Example: `tabveil fit people.csv --schema schema.yaml --epsilon 1 --target income -o release`
    """
    require_new(release)
    ledger = ledger or release.with_name(release.name + ".ledger")
    model = tv.RAPpp(
        tv.Schema.load(schema),
        epsilon,
        delta=delta,
        targets=targets or None,
        preset=preset.value,
        neighbours=neighbours.value,
        seed=seed,
        ledger=ledger,
    )
    with progress_bar(err) as watch:
        model.fit(data, watch=watch)
        model.save(release)
    out.print(f"Wrote {release}. {model.release_.privacy['promise']}", markup=False)
    out.print(
        f"The cost is in {ledger}. Next: tabveil sample {release} -n 1000 -o synthetic.csv", markup=False
    )


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="A folder written by `tabveil fit`.")],
    rows: Annotated[int, typer.Option("-n", "--rows", help="How many synthetic rows.")] = 1000,
    file: Annotated[Path, typer.Option("-o", "--out", help="A .csv or .parquet file.")] = Path(
        "synthetic.csv"
    ),
    seed: Annotated[
        int | None, typer.Option(help="Draw the same rows again. [default: other rows each time]")
    ] = None,
) -> None:
    """Draw synthetic rows from a release; costs no budget, as often as you like.

    Example: `tabveil sample release -n 10000 -o synthetic.csv`
    """
    require_new(file)
    write(tv.load(release).sample(rows, seed=seed, kind="arrow"), file)
    out.print(f"Wrote {rows:,} synthetic rows to {file}.", markup=False)


@app.command()
def evaluate(
    real: Annotated[Path, typer.Option(help="The real training rows.")],
    synthetic: Annotated[Path, typer.Option(help="Synthetic rows.")],
    schema: SchemaFile,
    test: Annotated[
        Path | None,
        typer.Option(
            help="Real rows kept aside; without them there are no model scores and no reference values."
        ),
    ] = None,
    targets: Targets = None,
    as_json: AsJson = False,
) -> None:
    """Compare synthetic with real rows. NOT private: for the owner's eyes.

    Example: `tabveil evaluate --real train.csv --test test.csv --synthetic s.csv --schema schema.yaml`
    """
    with err.status("Comparing ..."):
        scores = tv.evaluate(
            real=real, test=test, synthetic=synthetic, schema=tv.Schema.load(schema), targets=targets or None
        )
    err.print("NOT PRIVATE: computed from real rows; do not publish.", style="bold red")
    if as_json:
        print(scores.to_json(orient="records"))
        return
    from tabveil.metrics import summary_table

    out.print(summary_table(scores))


@ledger_app.command("new")
def ledger_new(
    file: Annotated[Path, typer.Argument(help="The ledger file to create.")],
    epsilon: Annotated[float, typer.Option(help="The most that all fits on this data together may spend.")],
    delta: Annotated[float, typer.Option(help="The δ of that promise.")] = DEFAULT_DELTA,
    neighbours: Annotated[
        Relation, typer.Option(help="The relation all fits must use.")
    ] = Relation.ADD_REMOVE,
) -> None:
    """Create a ledger with a limit for all fits on one dataset together.

    Example: `tabveil ledger new people.ledger --epsilon 3`
    """
    require_new(file)
    Ledger.open(file, neighbours, limit=Budget(epsilon, delta)).close()
    out.print(f"Wrote {file}: all fits that name it may spend ε = {epsilon:g} together.", markup=False)


@ledger_app.command("show")
def ledger_show(
    file: Annotated[Path, typer.Argument(help="A ledger file.")],
    delta: Annotated[
        float | None, typer.Option(help="The δ at which to state ε. [default: the limit's, or 1e-9]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What was spent on a dataset, on what, and what is left.

    Example: `tabveil ledger show people.ledger`
    """
    ledger = Ledger.read(file)
    at = delta if delta is not None else ledger.limit.delta if ledger.limit else DEFAULT_DELTA
    spent = epsilon_of(ledger.spent, at)
    if as_json:
        charges = [
            {"when": c.when, "what": c.what, "mechanism": c.mechanism, "rho": str(c.rho)}
            for c in ledger.charges
        ]
        limit = ledger.limit and {"epsilon": ledger.limit.epsilon, "delta": ledger.limit.delta}
        print(
            json.dumps(
                {
                    "relation": ledger.relation.value,
                    "limit": limit,
                    "rho_spent": str(ledger.spent),
                    "rho_left": None if ledger.left is None else str(ledger.left),
                    "epsilon_spent": spent,
                    "delta": at,
                    "charges": charges,
                }
            )
        )
        return
    grid = Grid("when (UTC)", "what", "mechanism", "ρ", "ε so far", box=SIMPLE)
    running = Fraction(0)
    for charge in ledger.charges:
        running += charge.rho
        grid.add_row(
            charge.when[:16].replace("T", " "),
            charge.what,
            charge.mechanism,
            f"{float(charge.rho):.3g}",
            f"{epsilon_of(running, at):.4g}",
        )
    out.print(grid)
    left = "no limit is set"
    if ledger.limit and ledger.left is not None:
        left = f"ρ = {float(ledger.left):.4g} is left of ε = {ledger.limit.epsilon:g}"
    total = f"ρ = {float(ledger.spent):.4g}, that is ε = {spent:.4g} at δ = {at:g}"
    out.print(f"Spent so far: {total}; neighbours {ledger.relation.value}; {left}.", markup=False)


def main() -> None:
    """Run the command line; a user's mistake ends in one line and an exit code, never a traceback."""
    _keep_compiled_programs()
    try:
        app()
    except TabveilError as problem:
        err.print(str(problem), markup=False, highlight=False, soft_wrap=True)
        sys.exit(problem.exit_code)
    except OSError as problem:
        err.print(
            f"{problem.strerror or 'The system refused'}: {problem.filename or 'a file'}\n"
            "Hint: check the path, its permissions and the free space on the disk.",
            markup=False,
            soft_wrap=True,
        )
        sys.exit(1)
    except Exception as problem:
        if os.environ.get("TABVEIL_DEBUG"):
            raise
        # The text of an unforeseen error may quote a cell, so only its type is shown.
        err.print(
            f"Unexpected {type(problem).__name__}; no release was written, what is spent stays spent.\n"
            "Hint: TABVEIL_DEBUG=1 shows the traceback (it may quote data: for the owner's eyes).",
            markup=False,
        )
        sys.exit(1)


def _keep_compiled_programs() -> None:
    """Let the next run start warm: JAX keeps compiled programs (public shapes and code, no data) on disk."""
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tabveil" / "programs"
        jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
