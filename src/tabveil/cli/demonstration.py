"""The main job on simulated data: a data owner's Monday, from a table to synthetic rows."""

from pathlib import Path

import pyarrow as pa
from rich.console import Console

from tabveil.cli.progress import progress_bar, stage_bar
from tabveil.datasets import DATASETS
from tabveil.errors import TabveilError
from tabveil.fitting.synthesizer import DELTA, RAPpp
from tabveil.machine.files import atomic_write
from tabveil.metrics import evaluate, summary_table
from tabveil.privacy import Budget
from tabveil.release.output import write
from tabveil.report import page


def run_demo(folder: Path, epsilon: float, rows: int, console: Console) -> None:
    """Simulate a census, fit, sample, compare, and say where everything is."""
    Budget(epsilon, DELTA)  # refuse a bad ε before anything is written
    dataset = DATASETS["census"]
    schema, people = dataset.schema(), dataset.frame(rows, 0)
    train, test = people.iloc[: rows * 4 // 5], people.iloc[rows * 4 // 5 :]
    folder.mkdir(parents=True)
    schema.save(folder / "schema.yaml")
    write(pa.Table.from_pandas(train), folder / "train.csv")
    write(pa.Table.from_pandas(test), folder / "test.csv")
    console.print(
        f"[bold]{dataset.title}[/bold]; {len(train):,} people to protect, {len(test):,} kept aside."
    )

    model = RAPpp(schema, epsilon, ledger=folder / "train.csv.ledger")
    with progress_bar(console) as watch:
        model.fit(folder / "train.csv", watch=watch)
    model.save(folder / "release")
    synthetic = model.release_.sample(20_000, seed=0, kind="arrow")
    write(synthetic, folder / "synthetic.csv")
    console.print(f"Fitted with {model.release_.privacy['promise']}", markup=False)

    with stage_bar(console) as step:
        scores = evaluate(real=train, test=test, synthetic=synthetic, schema=schema, watch=step)
        try:
            page(model.release_, step).save(folder / "report.html")
        except TabveilError as missing:  # the packages for pages are an extra
            console.print(f"There is no report. {missing}", markup=False)
    atomic_write(folder / "scores-NOT-PRIVATE.csv", scores.to_csv(index=False).encode())
    console.print("\nModels trained on synthetic rows, tested on real people (macro F1):")
    for target in schema.targets:
        for metric, label in (
            ("f1_linear_by_target", "logistic regression"),
            ("f1_trees_by_target", "boosted trees"),
        ):
            line = scores[(scores["metric"] == metric) & (scores["subject"] == target)].iloc[0]
            console.print(
                f"  {target:<16} {label:<20} synthetic {line['value']:.3f}   real "
                f"{line['reference']:.3f}",
                highlight=False,
            )
    console.print(summary_table(scores))
    console.print(_places(folder), markup=False, highlight=False)


def _places(folder: Path) -> str:
    report = (folder / "report.html").resolve()
    look = [f"Open {report.as_uri()} in a browser: what was measured, and what came of it."]
    return "\n".join(
        [
            *(look if report.exists() else []),
            f"Look at {folder}/synthetic.csv: rows like those in {folder}/train.csv that belong "
            "to nobody.",
            f"{folder}/release may be published. Draw more: tabveil sample {folder}/release -o "
            "more.csv",
            f"What it cost: tabveil ledger show {folder}/train.csv.ledger",
            f"The same job in a browser, step by step: "
            f"tabveil studio {folder}/train.csv --schema {folder}/schema.yaml",
        ]
    )
