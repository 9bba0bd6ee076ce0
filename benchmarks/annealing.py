"""Figure 1 of the paper: annealed sharpness against every fixed one, on random 2-way mixed marginals.

    python benchmarks/annealing.py                                        # the simulated census
    python benchmarks/annealing.py --data train.parquet --schema schema.yaml

NOT PRIVATE: the projection is given exact answers, because the optimiser alone is compared here.
"""

import argparse
import time
from pathlib import Path

import jax
import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from tabveil.curator import Workload, count
from tabveil.datasets import DATASETS
from tabveil.projection import Annealing, Measured, Relaxed, project
from tabveil.queries import Hard, MixedMarginals, random_mixed_marginals
from tabveil.scale import MinMax
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.table import Codec, Table

SIGMAS = [2.0**power for power in range(11)]
STEPS = 1200


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, help="a CSV or Parquet file; without it, the simulated census")
    options.add_argument("--schema", type=Path, help="its schema file")
    options.add_argument("--queries", type=int, default=1000)
    options.add_argument("--rows", type=int, default=1000, help="rows of the relaxed table")
    options.add_argument("--seeds", type=int, default=3)
    asked = options.parse_args()
    console = Console()
    schema = Schema.load(asked.schema) if asked.data else DATASETS["census"].schema()
    rows = encoded(asked.data if asked.data else DATASETS["census"].frame(50_000, 0), schema)

    # Every way gets the same number of steps in all. The paper doubles σ until nothing improves; here up to
    # 2^15, with moves that shrink as steps sharpen (a move of 0.05 jumps over a step of width 1/1024).
    annealed = Annealing(1.0, stages=16, steps=STEPS // 16, tolerance=0.0, learning_rate=0.1, cooling=0.75)
    ways = {"annealed": annealed}
    ways |= {f"fixed {sigma:g}": Annealing.fixed(sigma, steps=STEPS, tolerance=0.0) for sigma in SIGMAS}
    grid = Grid(
        "σ", "mean error", "max error", "seconds", title=f"{asked.queries:,} random 2-way mixed marginals"
    )
    for name, annealing in ways.items():
        results = [
            errors(schema, rows, asked.queries, asked.rows, annealing, seed) for seed in range(asked.seeds)
        ]
        mean, largest, seconds = np.mean(results, axis=0)
        spread = np.std(results, axis=0)
        grid.add_row(
            name, f"{mean:.5f} ± {spread[0]:.5f}", f"{largest:.4f} ± {spread[1]:.4f}", f"{seconds:.1f}"
        )
    console.print(grid)


def encoded(data: object, schema: Schema) -> Table:
    """The whole table as arrays."""
    codec = Codec(schema)
    parts = [codec.encode(batch) for batch in Source.of(data, schema).batches()]
    return Table(np.concatenate([p.codes for p in parts]), np.concatenate([p.numbers for p in parts]))


def errors(
    schema: Schema, rows: Table, queries: int, relaxed: int, annealing: Annealing, seed: int
) -> tuple[float, float, float]:
    """Mean and largest error of the hard answers after one projection, and how long it took."""
    domain = Codec(schema).domain
    axes = [(axis,) for axis in range(len(domain.axes))]
    family: MixedMarginals = random_mixed_marginals(
        domain, queries, np.random.default_rng(seed), labels=axes, numbers=1
    )
    shares = count(Workload((family,), MinMax.of(schema), domain), rows)[0] / rows.rows
    measured = Measured.reserve((family,), (queries,))
    measured = measured.record(0, 0, np.arange(queries), shares.astype(np.float32), family.filled)
    began = time.perf_counter()
    table, _ = project(Relaxed.random(domain, relaxed, jax.random.key(seed)), measured, annealing)
    found = np.asarray(family.tally(table.rows(), Hard())) / relaxed
    gaps = np.abs(found - shares)[family.filled]
    return float(gaps.mean()), float(gaps.max()), time.perf_counter() - began


if __name__ == "__main__":
    main()
