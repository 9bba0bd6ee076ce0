"""Fit AIM on a folder that prepare.py made, and draw rows: one system, one budget, one seed.

    python benchmarks/aim.py OUT/adult 1 0 synthetic.parquet
    python benchmarks/aim.py OUT/adult 1 0 synthetic.parquet --bins 32 --binning free  # NOT PRIVATE

It needs no more than the package does. Where JAX has an accelerator, models of more than a million
cells are fitted there.
"""

import argparse
import json
import time
from pathlib import Path

import pandas as pd

from tabveil.baselines.aim import Aim
from tabveil.baselines.binning import KINDS
from tabveil.privacy import Budget
from tabveil.schema import Schema

DELTA = 1e-9
ROWS = 20_000


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("epsilon", type=float)
    options.add_argument("seed", type=int, help="of public choices and of rows; noise has none")
    options.add_argument("out", type=Path, help="a .parquet file")
    options.add_argument("--bins", type=int, default=Aim.bins)
    options.add_argument("--binning", choices=KINDS, default="quantile")
    options.add_argument("--megabytes", type=float, default=Aim.most_megabytes)
    options.add_argument(
        "--no-target", action="store_true", help="all triples, as if the schema named no target"
    )
    asked = options.parse_args()
    schema = Schema.load(asked.folder / "schema.yaml")
    schema = schema.with_targets(()) if asked.no_target else schema
    rows = pd.read_parquet(asked.folder / "train.parquet")
    system = Aim(bins=asked.bins, binning=asked.binning, most_megabytes=asked.megabytes)
    started = time.monotonic()
    fitted = system.fit(rows, schema, Budget(asked.epsilon, DELTA), seed=asked.seed)
    fit_seconds = time.monotonic() - started
    fitted.sample(ROWS, asked.seed).to_parquet(asked.out, index=False)
    print(json.dumps({"fit_seconds": round(fit_seconds, 1), **fitted.notes}))


if __name__ == "__main__":
    main()
