"""How time and memory grow with rows, columns, categories and targets: one fresh `tabveil fit` per
line.

    python benchmarks/growth.py -o results/growth                    # everything, resumable
    python benchmarks/growth.py -o results/growth --only columns

Tables are simulated (see simulate.py) and removed again. "foretold" is what `tabveil plan` says;
"reading" is the time to decode the same file with nothing else done, in the same run, as a measure
of the machine."""

import argparse
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from compare import timed_fit
from rich.console import Console
from rich.table import Table as Grid
from simulate import Shape, simulate

from tabveil import Schema
from tabveil.fitting.forecast import forecast

BASE = Shape()
GROWING = {
    "rows": [replace(BASE, rows=rows) for rows in (10_000, 100_000, 1_000_000, 10_000_000)],
    "columns": [replace(BASE, categorical=n, numerical=n - 1) for n in (5, 12, 25, 50, 100)],
    "categories": [replace(BASE, categories=size) for size in (4, 16, 64)],
    "targets": [replace(BASE, targets=targets) for targets in (0, 1, 3, 5)],
    "classes": [replace(BASE, classes=classes) for classes in (2, 4, 7)],
    "one sort": [
        replace(BASE, categorical=0, numerical=60),
        replace(BASE, categorical=60, numerical=0),
    ],
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("-o", "--out", type=Path, required=True)
    options.add_argument("--only", choices=GROWING, nargs="+", default=list(GROWING))
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for direction in asked.only:
        lines = []
        for shape in GROWING[direction]:
            kept = asked.out / f"{'-'.join(map(str, vars(shape).values()))}.json"
            if not kept.exists():  # resumable: what has been measured is not measured again
                kept.write_text(json.dumps(measure(shape, asked.out / "table")))
            lines.append({**vars(shape), **json.loads(kept.read_text())})
        show(direction, pd.DataFrame(lines))


def measure(shape: Shape, folder: Path) -> dict[str, float]:
    """Simulate, read, fit."""
    simulate(folder, shape)
    began = time.perf_counter()
    for batch in pq.ParquetFile(folder / "train.parquet").iter_batches():
        del batch
    reading = time.perf_counter() - began
    cost = timed_fit(folder, folder / "release", epsilon=1)
    foretold = forecast(Schema.load(folder / "schema.yaml"), 1.0, rows=shape.rows).expected
    assert foretold
    shutil.rmtree(folder)
    return {
        "reading": round(reading, 2),
        "seconds": round(cost.seconds, 1),
        "processor seconds": round(cost.processor_seconds, 1),
        "GB": round(cost.gigabytes, 2),
        "foretold seconds": round(foretold.seconds, 1),
        "foretold GB": round(foretold.memory / 1e9, 2),
    }


def show(direction: str, lines: pd.DataFrame) -> None:
    """One table per direction of growth."""
    grid = Grid(*lines.columns, title=f"{direction}, ε = 1")
    for line in lines.itertuples(index=False):
        grid.add_row(*[f"{cell:,}" for cell in line])
    Console(width=160).print(grid)


if __name__ == "__main__":
    main()
