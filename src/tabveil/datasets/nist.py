"""NIST's excerpts of the American Community Survey, which its evaluator SDNist compares with."""

from pathlib import Path
from typing import Any

import pandas as pd

from tabveil.datasets.prepared import Prepared, file_in, folder_of_tables
from tabveil.schema import Schema
from tabveil.schema.constraints import parse_constraints

TITLE = "NIST's Diverse Communities Data Excerpts (ACS 2019)"
NATIONAL = "national2019"
# Of NIST's published reports.
DEMOGRAPHIC = ["AGEP", "DEYE", "DVET", "EDU", "HOUSING_TYPE", "MSP", "OWN_RENT"]
DEMOGRAPHIC += ["PINCP_DECILE", "RAC1P", "SEX"]
MISSING, STRATA = ["N"], ["PUMA"]
# What their data dictionary says of more than one column.
CONSTRAINTS = """
if AGEP < 15 then DVET is missing
if AGEP < 15 then MSP is missing
if AGEP < 15 then PINCP_DECILE is missing
never AGEP < 15 and EDU == 12
if AGEP > 15 then MSP is not missing
if AGEP > 15 then PINCP_DECILE is not missing
if AGEP > 15 then EDU is not missing
if AGEP < 5 then EDU in [1, 2, 3, 4]
if AGEP < 3 then EDU is missing
if HOUSING_TYPE in [2, 3] then OWN_RENT == 0
if HOUSING_TYPE == 1 then OWN_RENT in [1, 2]
if AGEP < 15 then PINCP is missing
if AGEP < 15 then INDP is missing
if AGEP > 15 then PINCP is not missing
if AGEP > 15 then DPHY is not missing
if AGEP > 15 then DREM is not missing
if AGEP < 5 then DPHY is missing
if AGEP < 5 then DREM is missing
NOC < NPF
if HOUSING_TYPE in [2, 3] then NPF is missing
if HOUSING_TYPE in [2, 3] then NOC is missing
if HOUSING_TYPE == 1 then NOC is not missing
if OWN_RENT == 0 then NPF is missing
if OWN_RENT == 0 then NOC is missing
if PINCP is missing then PINCP_DECILE is missing
if PINCP_DECILE is missing then PINCP is missing
""".strip().splitlines()


def nist(
    folder: str | Path | None = None,
    *,
    excerpt: str = NATIONAL,
    features: int = 24,
    rows: int | None = None,
) -> Prepared:
    """All rows of an excerpt: its evaluator compares with the very table that was fitted.

    With 10 features, those of NIST's published reports.
    """
    place = folder_of_tables(folder)
    table = pd.read_csv(
        file_in(place, f"nist_{excerpt}.csv"), dtype=str, keep_default_na=False, nrows=rows
    )
    known = schema(code_book(place, excerpt, table), table, features)
    table = table[list(known.columns)]
    return Prepared(table, table, known)


def code_book(folder: Path, excerpt: str, table: pd.DataFrame) -> dict[str, Any]:
    """The columns of an excerpt; without a file of its own, the national one's in its PUMAs.

    Which PUMAs an excerpt is of, and how dense they are, is in NIST's data dictionary.
    """
    own = folder / f"nist_{excerpt}.schema.yaml"
    if own.is_file():
        return Schema.load(own).to_dict()["columns"]
    national = Schema.load(file_in(folder, f"nist_{NATIONAL}.schema.yaml"))
    densities = table["DENSITY"].astype(float)
    columns: dict[str, Any] = national.to_dict()["columns"]
    columns["PUMA"]["values"] = sorted(table["PUMA"].unique())
    columns["DENSITY"] |= {"min": float(densities.min()), "max": float(densities.max())}
    return columns


def schema(columns: dict[str, Any], table: pd.DataFrame, features: int) -> Schema:
    """The code book's lists and bounds, and what else is known of the chosen columns."""
    document: dict[str, Any] = {"missing": MISSING}
    if features == len(DEMOGRAPHIC):
        document["columns"] = {name: columns[name] for name in DEMOGRAPHIC}
    else:
        document |= {"columns": columns | followers(columns, table), "strata": STRATA}
    every, chosen = Schema.from_dict({"columns": columns, "missing": MISSING}), document["columns"]
    document["constraints"] = [
        text for text in CONSTRAINTS if columns_of(text, every) <= set(chosen)
    ]
    return Schema.from_dict(document)


def followers(columns: dict[str, Any], table: pd.DataFrame) -> dict[str, Any]:
    """A PUMA's density, which is public (this file is the copy at hand), and a code's industry."""
    pairs = table[["PUMA", "DENSITY"]].drop_duplicates().itertuples(index=False)
    industries = enumerate(columns["INDP"]["groups"].values())
    industry = {code: number for number, codes in industries for code in codes}
    return {
        "DENSITY": {"type": "follows", "of": "PUMA", "map": {p: float(d) for p, d in pairs}},
        "INDP_CAT": {"type": "follows", "of": "INDP", "map": industry},
    }


def columns_of(text: str, known: Schema) -> set[str]:
    """The columns that a constraint is about."""
    [constraint] = parse_constraints([text], known.columns)
    claims = (*constraint.conditions, constraint.claim)
    return {name for claim in claims for name in claim.columns}
