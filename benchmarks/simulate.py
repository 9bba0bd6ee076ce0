"""Make a benchmark folder (train, test, public schema) of any shape, its columns tied by a few
factors.

    python benchmarks/simulate.py OUT/wide --rows 100000 --categorical 100 --numerical 100

Every column follows from five hidden factors and noise of its own. Numbers are normal, log-normal,
or pile up at zero in turn; categories are of uneven size; targets depend on the factors and on a
product of two of them. Rows are written in parts, so any number of them fits into memory."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tabveil.schema import Schema

FACTORS, PART = 5, 200_000


@dataclass(frozen=True)
class Shape:
    """How large a table is, and in which direction."""

    rows: int = 100_000
    categorical: int = 12
    numerical: int = 12
    categories: int = 8
    targets: int = 1
    classes: int = 2

    @property
    def names(self) -> list[str]:
        """Categories first, then targets, then numbers."""
        kinds = (("c", self.categorical), ("t", self.targets), ("x", self.numerical))
        return [f"{kind}{i}" for kind, size in kinds for i in range(size)]

    def schema(self) -> Schema:
        """What may be known of the table."""
        sizes = [self.categories] * self.categorical + [self.classes] * self.targets
        columns: dict[str, dict] = {
            name: {"type": "categorical", "values": list(range(size))}
            for name, size in zip(self.names, sizes, strict=False)
        }
        for number in range(self.numerical):
            low, high = ((-6, 6), (0, 1000), (0, 100))[number % 3]
            columns[f"x{number}"] = {"type": "numerical", "min": low, "max": high, "decimals": 2}
        return Schema.from_dict(
            {"columns": columns, "targets": [f"t{i}" for i in range(self.targets)]}
        )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("out", type=Path)
    for name, value in vars(Shape()).items():
        options.add_argument(f"--{name}", type=int, default=value)
    asked = vars(options.parse_args())
    simulate(asked.pop("out"), Shape(**asked))


def simulate(folder: Path, shape: Shape) -> None:
    """Write train.parquet, test.parquet (a fifth as many rows, at most 50,000) and schema.yaml."""
    folder.mkdir(parents=True, exist_ok=True)
    loads = np.random.default_rng(0).normal(
        size=(len(shape.names), FACTORS, max(8, shape.categories))
    )
    for name, seed, rows in (("train", 1, shape.rows), ("test", 2, min(50_000, shape.rows // 5))):
        random = np.random.default_rng(seed)
        parts = [PART] * (rows // PART) + [rows % PART] * (rows % PART > 0)
        writer = None
        for size in parts:
            table = pa.table(
                dict(zip(shape.names, columns(shape, size, loads, random), strict=True))
            )
            writer = writer or pq.ParquetWriter(folder / f"{name}.parquet", table.schema)
            writer.write_table(table)
        if writer:
            writer.close()
    (folder / "schema.yaml").unlink(missing_ok=True)
    shape.schema().save(folder / "schema.yaml")


def columns(
    shape: Shape, rows: int, loads: np.ndarray, random: np.random.Generator
) -> Sequence[np.ndarray]:
    """One part of the table, a column at a time."""
    factors = random.normal(size=(rows, FACTORS))
    found = []
    for number, load in enumerate(loads):
        kind = shape.names[number][0]
        if kind == "x":
            value = (factors @ load[:, 0]) / np.linalg.norm(load[:, 0]) * 0.8 + random.normal(
                size=rows
            ) * 0.6
            turns = (value, np.exp(1.5 * value), 20 * np.maximum(value, 0))
            found.append(np.round(turns[int(shape.names[number][1:]) % 3], 2))
            continue
        size = shape.classes if kind == "t" else shape.categories
        wanted = factors @ load[:, :size] - 0.5 * np.arange(size) + random.gumbel(size=(rows, size))
        if kind == "t":
            wanted[:, 0] += 1.5 * factors[:, 0] * factors[:, 1]
        found.append(wanted.argmax(axis=1).astype(np.int32))
    return found


if __name__ == "__main__":
    main()
