"""Make benchmark folders (train, test, public schema) from real tables that are not part of this repository.

    python benchmarks/prepare.py adult.parquet OUT/adult
    python benchmarks/prepare.py acs2024_ny.parquet OUT/ny
    python benchmarks/prepare.py acs2018_14states.parquet OUT/acs          # pooled
    python benchmarks/prepare.py acs2018_14states.parquet OUT/vt --state VT

Adult: UCI Adult with its own split. ACS: people of 16 and older (2024: New York; 2018: columns of the paper's
multitask table) with the paper's five targets; missing values are a category or 0. Bounds come from the
documentation of Census and UCI, lists of codes are those that occur in the published file.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from tabveil.schema import Schema

STATES = dict(
    DE=10, HI=15, ID=16, ME=23, MT=30, NE=31, NH=33, NM=35, ND=38, RI=44, SD=46, VT=50, WV=54, WY=56
)  # fmt: skip

ADULT_NUMBERS = {
    "age": (16, 99),
    "fnlwgt": (0, 2_000_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 5_000),
    "hours-per-week": (0, 99),
}

# Features of the five folktables problems; ages, hours, minutes, money and counts are numbers.
ACS_CATEGORIES = [
    "COW",
    "SCHL",
    "MAR",
    "SEX",
    "RAC1P",
    "RELP",
    "DIS",
    "ESP",
    "CIT",
    "MIG",
    "MIL",
    "ANC",
    "NATIVITY",
    "DEAR",
    "DEYE",
    "DREM",
    "FER",
    "GCL",
    "JWTR",
]
ACS_NUMBERS = {
    "AGEP": (0, 99),
    "WKHP": (0, 99),
    "PINCP": (-20_000, 1_500_000),
    "JWMNP": (0, 200),
    "POVPIP": (0, 501),
    "PWGTP": (1, 3_000),
}

NY_CATEGORIES = (
    *("COW", "SCHL", "MAR", "SEX", "RAC1P", "CIT", "NATIVITY", "DIS", "DEAR", "DEYE", "DREM", "DPHY"),
    *("MIL", "FER", "JWTRNS", "HISP", "LANX", "ENG"),
)
NY_NUMBERS = {
    "AGEP": (16, 99),
    "WKHP": (0, 99),
    "WKWN": (0, 52),
    "WAGP": (0, 999_999),
    "POVPIP": (0, 501),
    "PWGTP": (1, 3_000),
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("table", type=Path)
    options.add_argument("folder", type=Path)
    options.add_argument("--state", choices=STATES)
    asked = options.parse_args()
    frame = pd.read_parquet(asked.table)
    if "split" in frame.columns:
        made = adult(frame)
    else:
        made = acs(frame, asked.state) if "RELP" in frame.columns else new_york(frame)
    asked.folder.mkdir(parents=True, exist_ok=True)
    train, test, schema = made
    train.to_parquet(asked.folder / "train.parquet", index=False)
    test.to_parquet(asked.folder / "test.parquet", index=False)
    schema.save(asked.folder / "schema.yaml")
    rows = f"{len(train):,} + {len(test):,} rows"
    print(f"{asked.folder}: {rows}, {len(schema.columns)} columns, {schema.targets}")


def adult(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """UCI Adult; the target is income."""
    frame = frame.rename(columns=lambda name: name.replace("_", "-").replace(".", "-"))
    numbers = {name: bounds for name, bounds in ADULT_NUMBERS.items() if name in frame.columns}
    target = next(name for name in ("income", "class", "label") if name in frame.columns)
    rest = [name for name in frame.columns if name not in numbers and name not in (target, "split")]
    made = pd.DataFrame({name: words(frame[name]) for name in [*rest, target]})
    for name in numbers:
        made[name] = pd.to_numeric(frame[name]).fillna(0).astype(int)
    training = frame["split"].eq("train")
    return made[training], made[~training], schema_of(made, [*rest, target], numbers, [target])


def new_york(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """ACS 2024 has other columns: 18 categorical, 6 numerical, and the same five targets."""
    frame = frame[frame["AGEP"] >= 16].reset_index(drop=True)
    number = {name: frame[name].astype("Float64") for name in (*NY_CATEGORIES, *NY_NUMBERS)}
    made = pd.DataFrame({name: number[name].fillna(-1).astype(int).astype(str) for name in NY_CATEGORIES})
    for name in NY_NUMBERS:
        made[name] = number[name].fillna(0).astype(int)
    targets = {
        "PINCP50": frame["PINCP"].astype("Float64").fillna(0) > 50_000,
        "EMP": frame["ESR"].astype("Float64").fillna(0) == 1,
        "PUBCOV": frame["PUBCOV"].astype("Float64") == 1,
        "TRAVEL": frame["JWMNP"].astype("Float64").fillna(0) > 20,
        "MOVED": frame["MIGSP"].notna(),
    }
    for name, yes in targets.items():
        made[name] = np.where(yes.fillna(False), "yes", "no")
    return split(made, schema_of(made, [*NY_CATEGORIES, *targets], NY_NUMBERS, list(targets)))


def acs(frame: pd.DataFrame, state: str | None) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """The paper's multitask table: five yes/no targets."""
    if state:
        frame = frame[pd.to_numeric(frame["ST"]) == STATES[state]]
    frame = frame[frame["AGEP"] >= 16].reset_index(drop=True)
    number = {name: frame[name].astype("Float64") for name in frame.columns if name != "SERIALNO"}
    targets = five_targets(frame)
    # A target must not be a copy of a feature: MIG and the thresholded numbers stay out of the features.
    categories = [name for name in ACS_CATEGORIES if name in frame.columns and name != "MIG"]
    numbers = {name: b for name, b in ACS_NUMBERS.items() if name not in ("PINCP", "JWMNP")}
    made = pd.DataFrame({name: number[name].fillna(-1).astype(int).astype(str) for name in categories})
    for name in numbers:
        made[name] = number[name].fillna(0).astype(int)
    made[list(targets)] = targets
    return split(made, schema_of(made, [*categories, *targets], numbers, list(targets)))


def five_targets(frame: pd.DataFrame) -> pd.DataFrame:
    """The paper's five questions about each person of the 2018 survey, answered yes or no."""
    number = {name: frame[name].astype("Float64") for name in ("PINCP", "ESR", "PUBCOV", "JWMNP", "MIG")}
    answers = {
        "INCOME": number["PINCP"].fillna(0) > 50_000,
        "EMPLOYED": number["ESR"].fillna(0) == 1,
        "COVERAGE": number["PUBCOV"] == 1,
        "TRAVEL": number["JWMNP"].fillna(0) > 20,
        "MOVED": number["MIG"].fillna(1) != 1,
    }
    return pd.DataFrame({name: np.where(yes.fillna(False), "yes", "no") for name, yes in answers.items()})


def split(made: pd.DataFrame, schema: Schema) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """Shuffled once and for all; 80 % to train, the rest to test."""
    order = np.random.default_rng(0).permutation(len(made))
    cut = int(0.8 * len(made))
    made = made[list(schema.columns)]
    return made.iloc[order[:cut]], made.iloc[order[cut:]], schema


def words(column: pd.Series) -> pd.Series:
    return column.astype("string").fillna("?").str.strip().str.removesuffix(".")


def schema_of(made: pd.DataFrame, categories: list, numbers: dict, targets: list) -> Schema:
    columns: dict = {
        name: {"type": "categorical", "values": sorted(made[name].unique().tolist())} for name in categories
    }
    columns |= {n: {"type": "numerical", "min": a, "max": b, "decimals": 0} for n, (a, b) in numbers.items()}
    return Schema.from_dict({"columns": columns, "targets": targets})


if __name__ == "__main__":
    main()
