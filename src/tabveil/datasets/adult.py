"""UCI Adult with its own split: who earns more than 50,000 a year."""

from pathlib import Path

import pandas as pd

from tabveil.datasets.prepared import Prepared, folder_of_tables, table_in
from tabveil.schema import Schema

TITLE = "UCI Adult (1994): income over 50,000"
NUMBERS = {
    "age": (16, 99),
    "fnlwgt": (0, 2_000_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 5_000),
    "hours-per-week": (0, 99),
}

# Lists of the documentation that UCI gives out with the table; "?" stands for a blank.
CATEGORIES = {
    "workclass": (
        "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov "
        "Without-pay"
    ),
    "education": (
        "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate "
        "HS-grad Masters Preschool Prof-school Some-college"
    ),
    "marital-status": (
        "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married "
        "Separated Widowed"
    ),
    "occupation": (
        "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
        "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
        "Protective-serv Sales Tech-support Transport-moving"
    ),
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native-country": (
        "? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England "
        "France Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India "
        "Iran Ireland Italy Jamaica Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) "
        "Peru Philippines Poland Portugal Puerto-Rico Scotland South Taiwan Thailand "
        "Trinadad&Tobago United-States Vietnam Yugoslavia"
    ),
    "income": "<=50K >50K",
}


def adult(folder: str | Path | None = None, *, rows: int | None = None) -> Prepared:
    """Its own training and test rows, perhaps the first so many of each."""
    table = table_in(folder_of_tables(folder), "adult.parquet")
    made = pd.DataFrame({name: words(table[name]) for name in CATEGORIES})
    for name in NUMBERS:
        made[name] = pd.to_numeric(table[name]).fillna(0).astype(int)
    training = table["split"].eq("train")
    return Prepared(made[training][:rows], made[~training][:rows], schema())


def schema() -> Schema:
    """What is public about the table."""
    columns: dict = {
        name: {"type": "categorical", "values": values.split()}
        for name, values in CATEGORIES.items()
    }
    for name, (low, high) in NUMBERS.items():
        columns[name] = {"type": "numerical", "min": low, "max": high, "decimals": 0}
    return Schema.from_dict({"columns": columns, "targets": ["income"]})


def words(column: pd.Series) -> pd.Series:
    """Texts without the blanks and full stops around them; a gap is a question mark."""
    return column.astype("string").fillna("?").str.strip().str.removesuffix(".")
