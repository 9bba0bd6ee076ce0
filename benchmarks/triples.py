"""With no target named: how far cross-tables of three columns are off, ours beside AIM and MST.

    python benchmarks/triples.py OUT/ny --columns COW SCHL MAR SEX RAC1P CIT DIS JWTRNS PUBCOV \\
        AGEP WKHP WAGP --epsilon 1 --seeds 3 [--systems default aim mst --mbi CLONE --mst PYTHON]

OUT/ny is a folder that prepare.py made; CLONE is one of ryan112358/private-pgm, whose own MST is
run (own_mst.py). Printed is the mean total variation between 20,000 synthetic rows and the
real ones over all triples, with numbers in tenths. AIM pays for its bins; MST gets 32 bins of equal
mass for nothing. NOT PRIVATE.
"""

import argparse
import json
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from own_mst import bins_and_labels, by_mst

import tabveil as tv
from tabveil.baselines import baseline_named
from tabveil.privacy import Budget

DELTA, ROWS, PARTS = 1e-9, 20_000, 10
SYSTEMS = "default", "aim", "mst"


def main() -> None:
    asked = arguments()
    names = list(asked.columns)
    rows = pd.read_parquet(asked.folder / "train.parquet")[names]
    document = tv.Schema.load(asked.folder / "schema.yaml").to_dict()
    schema = tv.Schema.from_dict({"columns": {name: document["columns"][name] for name in names}})
    systems: dict[str, Callable[[int], pd.DataFrame]] = {
        "default": lambda seed: (
            tv.RAPpp(schema, asked.epsilon, seed=seed).fit(rows).sample(ROWS, seed=seed)
        ),
        "aim": lambda seed: (
            baseline_named("aim")
            .fit(rows, schema, Budget(asked.epsilon, DELTA), seed=seed)
            .sample(ROWS, seed)
        ),
        "mst": lambda seed: by_mst(
            rows,
            bins_and_labels(rows, schema.numbers),
            schema.numbers,
            (asked.epsilon, DELTA),
            asked.mbi,
            asked.mst,
        ).sample(ROWS, random_state=seed),
    }
    for name in asked.systems:
        for seed in range(asked.seeds):
            began = time.monotonic()
            made = systems[name](seed)
            line = {
                "system": name,
                "seed": seed,
                "seconds": round(time.monotonic() - began, 1),
                "triples": round(off_by(rows, made, schema), 4),
            }
            print(json.dumps(line), flush=True)


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--columns", nargs="+", required=True)
    options.add_argument("--epsilon", type=float, default=1.0)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--systems", nargs="+", choices=SYSTEMS, default=["default"])
    options.add_argument("--mbi", type=Path, help="a clone of private-pgm, for mst")
    options.add_argument("--mst", help="the python of an environment for it (own_mst.py)")
    asked = options.parse_args()
    if "mst" in asked.systems and not (asked.mbi and asked.mst):
        options.error("mst needs --mbi, a clone of ryan112358/private-pgm, and --mst, a python.")
    return asked


def off_by(real: pd.DataFrame, made: pd.DataFrame, schema: tv.Schema) -> float:
    """The mean total variation of all triples."""
    sizes, pairs = [], []
    for name in real:
        if name in schema.numbers:
            values = real[name].to_numpy(float)
            ends = np.unique(np.quantile(values, np.arange(1, PARTS) / PARTS))
            codes = [np.searchsorted(ends, t[name].to_numpy(float), "right") for t in (real, made)]
            sizes.append(len(ends) + 1)
        else:
            labels = sorted({str(value) for t in (real, made) for value in t[name].unique()})
            codes = [pd.Categorical(t[name].astype(str), labels).codes for t in (real, made)]
            sizes.append(len(labels))
        pairs.append(codes)
    found = []
    for triple in combinations(range(len(sizes)), 3):
        shape = [sizes[column] for column in triple]
        shares = [
            np.bincount(
                np.ravel_multi_index([pairs[column][side] for column in triple], shape),
                minlength=int(np.prod(shape)),
            )
            / len(table)
            for side, table in enumerate((real, made))
        ]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


if __name__ == "__main__":
    main()
