"""Forty columns of a 2018 survey of 14 states: gaps as they are, against gaps recoded by hand.

    python benchmarks/states.py acs2018_14states.parquet OUT [--epsilon 1] [--seeds 1]

People of 16 and older. "native": every column that has gaps is `nullable`. "by hand": a gap is a
category of its own, or 0. Both synthetic tables are then recoded by hand and scored by the same
metrics. NOT PRIVATE."""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

import tabveil as tv
from tabveil.datasets.acs import five_targets
from tabveil.metrics import evaluate

CATEGORIES = (
    *(
        "COW",
        "SCHL",
        "MAR",
        "SEX",
        "RAC1P",
        "RELP",
        "DIS",
        "ESP",
        "CIT",
        "MIL",
        "ANC",
        "NATIVITY",
        "DEAR",
    ),
    *(
        "DEYE",
        "DREM",
        "DPHY",
        "DOUT",
        "DDRS",
        "FER",
        "GCL",
        "JWTR",
        "SCH",
        "LANX",
        "ENG",
        "HISP",
        "WKW",
    ),
)
NUMBERS = {
    "AGEP": (16, 99),
    "WKHP": (0, 99),
    "POVPIP": (0, 501),
    "PWGTP": (1, 3_000),
    "WAGP": (0, 999_999),
    "INTP": (-20_000, 999_999),
    "RETP": (0, 999_999),
    "SSP": (0, 99_999),
    "SEMP": (-20_000, 999_999),
}
TARGETS = ("INCOME", "EMPLOYED", "COVERAGE", "TRAVEL", "MOVED")


def native(frame: pd.DataFrame) -> tuple[pd.DataFrame, tv.Schema]:
    """The table as it comes, and its schema with gaps declared."""
    frame = frame[frame["AGEP"] >= 16].reset_index(drop=True)
    made = frame[[*CATEGORIES, *NUMBERS]].copy()
    made[list(TARGETS)] = five_targets(frame)
    columns: dict = {}
    for name in CATEGORIES:
        values = sorted(int(value) for value in made[name].dropna().unique())
        columns[name] = {
            "type": "categorical",
            "values": values,
            "nullable": bool(made[name].isna().any()),
        }
    for name, (low, high) in NUMBERS.items():
        gaps = bool(made[name].isna().any())
        columns[name] = {
            "type": "numerical",
            "min": low,
            "max": high,
            "decimals": 0,
            "nullable": gaps,
        }
    columns |= {name: {"type": "categorical", "values": ["no", "yes"]} for name in TARGETS}
    return made, tv.Schema.from_dict({"columns": columns, "targets": list(TARGETS)})


def by_hand(made: pd.DataFrame, schema: tv.Schema) -> tuple[pd.DataFrame, tv.Schema]:
    """The same with every gap as a category -1 or a 0."""
    recoded = made.copy()
    for name in CATEGORIES:
        recoded[name] = made[name].astype("Float64").fillna(-1).astype(int)
    for name in NUMBERS:
        recoded[name] = made[name].astype("Float64").fillna(0).astype(int)
    columns = schema.to_dict()["columns"]
    for name in CATEGORIES:
        if columns[name].pop("nullable", False):
            columns[name]["values"] = [-1, *columns[name]["values"]]
    for name in NUMBERS:
        if columns[name].pop("nullable", False):
            columns[name]["min"] = min(0, columns[name]["min"])
    return recoded, tv.Schema.from_dict({"columns": columns, "targets": list(TARGETS)})


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("table", type=Path)
    options.add_argument("folder", type=Path)
    options.add_argument("--epsilon", type=float, default=1.0)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--rows", type=int, default=20_000, help="synthetic rows to score")
    asked = options.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    made, schema = native(pd.read_parquet(asked.table))
    recoded, plain = by_hand(made, schema)
    order = np.random.default_rng(0).permutation(len(made))
    train, test = order[: int(0.8 * len(made))], order[int(0.8 * len(made)) :]
    print(f"{len(train):,} + {len(test):,} rows, {len(schema.columns)} columns", flush=True)
    lines = []
    for seed in range(asked.seeds):
        for way, table, known in (("native", made, schema), ("by hand", recoded, plain)):
            started = time.perf_counter()
            model = tv.RAPpp(known, asked.epsilon, seed=seed).fit(table.iloc[train])
            seconds = time.perf_counter() - started
            synthetic = model.sample(asked.rows, seed=0)
            gaps = (synthetic.isna().mean() - made.iloc[train].isna().mean()).abs().max()
            scored, _ = by_hand(synthetic, schema) if way == "native" else (synthetic, plain)
            scores = evaluate(
                real=recoded.iloc[train], test=recoded.iloc[test], synthetic=scored, schema=plain
            )
            scores.to_csv(asked.folder / f"{way.replace(' ', '-')}-{seed}.csv", index=False)
            means = scores[scores["subject"].isin(["mean", "max"])]
            line = {f"{s.metric} {s.subject}": s.value for s in means.itertuples()}
            lines.append(
                {"way": way, "seed": seed, "seconds": seconds, "gaps off by": gaps, **line}
            )
            print(json.dumps(lines[-1], indent=1, default=float), flush=True)
    (asked.folder / "figures.json").write_text(json.dumps(lines, indent=1, default=float))


if __name__ == "__main__":
    main()
