"""Accuracy, time and memory of presets on a folder with train, test and schema, in one run on one
machine.

    python benchmarks/compare.py FOLDER -o results/ny --presets default paper \\
        --epsilons 0.1 1 10 --seeds 3

FOLDER holds train.parquet, test.parquet and schema.yaml. Each fit is a fresh process, as on the
command line. Synthetic rows stay in the output folder, so they can be scored by other programs too.
NOT PRIVATE."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console
from rich.table import Table as Grid

from tabveil.metrics import evaluate, summary
from tabveil.schema import Schema

COLUMNS = ("preset", "ε", "seed", "seconds", "GB")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("-o", "--out", type=Path, required=True)
    options.add_argument("--presets", nargs="+", default=["default", "paper"])
    options.add_argument("--epsilons", nargs="+", type=float, default=[1.0])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--neighbours", default="add-remove")
    options.add_argument("--rows", type=int, default=20_000, help="synthetic rows to score")
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    schema = Schema.load(asked.folder / "schema.yaml")
    lines: list[dict] = []
    for preset in asked.presets:
        for epsilon in asked.epsilons:
            for seed in range(asked.seeds):
                kept = asked.out / f"{preset}-{asked.neighbours}-{epsilon:g}-{seed}.json"
                if not kept.exists():  # resumable: what has been measured is not measured again
                    line = measure(asked, schema, preset, epsilon, seed)
                    kept.write_text(json.dumps(line))
                lines.append(json.loads(kept.read_text()))
    show(pd.DataFrame(lines))


def measure(
    asked: argparse.Namespace, schema: Schema, preset: str, epsilon: float, seed: int
) -> dict:
    """One fit in a process of its own, sampled and scored."""
    name = f"{preset}-{asked.neighbours}-{epsilon:g}-{seed}"
    release, sample = asked.out / f"{name}.release", asked.out / f"{name}.parquet"
    cost = timed_fit(
        asked.folder,
        release,
        epsilon=epsilon,
        preset=preset,
        neighbours=asked.neighbours,
        seed=seed,
    )
    draw = [
        sys.executable,
        "-m",
        "tabveil",
        "sample",
        release,
        "-n",
        asked.rows,
        "--seed",
        0,
        "-o",
        sample,
    ]
    subprocess.run([str(word) for word in draw], check=True, stdout=subprocess.DEVNULL)
    scores = evaluate(
        real=asked.folder / "train.parquet",
        test=asked.folder / "test.parquet",
        synthetic=sample,
        schema=schema,
    )
    return dict(
        zip(
            COLUMNS,
            (preset, epsilon, seed, round(cost.seconds, 1), round(cost.gigabytes, 2)),
            strict=True,
        )
    ) | {line.label: line.value for line in summary(scores)}


class Cost(NamedTuple):
    """What one command took."""

    seconds: float
    processor_seconds: float  # hardly depends on what else the machine does
    gigabytes: float


def timed_fit(folder: Path, release: Path, **options: object) -> Cost:
    """What one `tabveil fit` takes in a process of its own."""
    command = [sys.executable, "-m", "tabveil", "fit", folder / "train.parquet"]
    command += ["--schema", folder / "schema.yaml", "--ledger", f"{release}.ledger", "-o", release]
    command += [word for name, value in options.items() for word in (f"--{name}", value)]
    began = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{release.name} ended with code {process.returncode}")
    return Cost(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6)


def show(lines: pd.DataFrame) -> None:
    """Means over seeds, one line per preset and ε."""
    means = lines.drop(columns="seed").groupby(["preset", "ε"], sort=False).mean().reset_index()
    grid = Grid(*means.columns, title="means over seeds")
    for line in means.itertuples(index=False):
        grid.add_row(*[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in line])
    Console(width=200).print(grid)


if __name__ == "__main__":
    main()
