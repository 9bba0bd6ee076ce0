"""The American Community Survey as in the RAP++ paper: five tasks, and all of them in one table.

Rows are chosen and labelled by the problem definitions of folktables (Ding et al. 2021); columns
are those of the paper's appendix. Categories and bounds come from the Census data dictionary, never
from the rows. A missing category is the code -1; a missing number is 0.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tabveil.datasets.prepared import Prepared, folder_of_tables, split, table_in
from tabveil.errors import InvalidInput
from tabveil.machine.packages import required
from tabveil.schema import Schema

TITLE = "American Community Survey 2018, people: the five tasks of folktables and all five together"
NEW_YORK_TITLE = "American Community Survey 2024, people of 16 and older in New York, five targets"
STATES = dict(
    DE=10, HI=15, ID=16, ME=23, MT=30, NE=31, NH=33, NM=35, ND=38, RI=44, SD=46, VT=50, WV=54, WY=56
)  # fmt: skip
POOLED = "pooled"

# Code lists and bounds of the Census data dictionary (PUMS 2018); -1 stands for a blank.
CATEGORIES = {
    "COW": range(-1, 10), "SCHL": range(-1, 25), "MAR": range(1, 6), "RELP": range(18), "SEX": (1,
    2),
    "RAC1P": range(1, 10), "WAOB": range(1, 9), "FOCCP": (0, 1), "DIS": (1, 2), "ESP": range(-1, 9),
    "CIT": range(1, 6), "JWTR": range(-1, 13), "MIL": range(-1, 5), "ANC": (1, 2, 3, 4, 8),
    "NATIVITY": (1, 2), "DEAR": (1, 2), "DEYE": (1, 2), "DREM": (-1, 1, 2), "GCL": (-1, 1, 2),
    "FER": (-1, 1, 2), "ESR": range(-1, 7), "MIG": (-1, 1, 2, 3), "PUBCOV": (1, 2),
}  # fmt: skip
NEVER = 0  # the dictionaries of COW, SCHL and others begin at 1; 0 is no code
NUMBERS = {
    "WKHP": (0, 99), "PINCP": (-19_998, 4_209_995), "AGEP": (0, 99), "PWGTP": (0, 9_999),
    "INTP": (-10_000, 999_999), "JWRIP": (0, 10), "SEMP": (-10_000, 999_999), "WAGP": (0, 999_999),
    "POVPIP": (0, 501), "JWMNP": (0, 200), "PAP": (0, 30_000),
}  # fmt: skip
WITH_ZERO = ("RELP", "FOCCP")

EVERYWHERE = ("SCHL", "MAR", "SEX", "RAC1P", "WAOB", "FOCCP")
MONEY = ("WKHP", "AGEP", "PWGTP", "INTP", "JWRIP", "SEMP", "WAGP", "POVPIP")
HEALTH = ("MIL", "ANC", "NATIVITY", "DEAR", "DEYE", "DREM")


class Question(NamedTuple):
    """One prediction task: folktables' problem, the name of its label, and the paper's columns."""

    problem: str
    label: str
    columns: Sequence[str]


TASKS = {
    "income": Question("ACSIncome", "INCOME", (*EVERYWHERE, "COW", "RELP", "ESR", *MONEY, "JWMNP")),
    "employment": Question(
        "ACSEmployment",
        "EMPLOYED",
        (*EVERYWHERE, "RELP", "DIS", "ESP", "CIT", *HEALTH, "MIG", *MONEY, "PINCP", "JWMNP"),
    ),
    "coverage": Question(
        "ACSPublicCoverage",
        "COVERAGE",
        (*EVERYWHERE, "DIS", "ESP", "CIT", *HEALTH, "FER", "ESR", "MIG", *MONEY, "PINCP", "JWMNP"),
    ),
    "travel": Question(
        "ACSTravelTime",
        "TRAVEL",
        (*EVERYWHERE, "RELP", "DIS", "ESP", "CIT", "JWTR", "ESR", "MIG", *MONEY, "PINCP"),
    ),
    "mobility": Question(
        "ACSMobility",
        "STAYED",
        (
            *EVERYWHERE,
            "COW",
            "RELP",
            "DIS",
            "ESP",
            "CIT",
            "JWTR",
            *HEALTH,
            "GCL",
            "FER",
            *MONEY,
            "PINCP",
            "JWMNP",
        ),
    ),
}
MULTITASK: Sequence[str] = (
    *EVERYWHERE,
    "COW",
    "RELP",
    "DIS",
    "ESP",
    "CIT",
    "JWTR",
    *HEALTH,
    "GCL",
    "FER",
    *MONEY,
    "PAP",
)

NEW_YORK = {
    "COW": range(-1, 10), "SCHL": range(-1, 25), "MAR": range(1, 6), "SEX": (1, 2),
    "RAC1P": range(1, 10),
    "CIT": range(1, 6), "NATIVITY": (1, 2), "DIS": (1, 2), "DEAR": (1, 2), "DEYE": (1, 2),
    "DREM": (-1, 1, 2),
    "DPHY": (-1, 1, 2), "MIL": range(-1, 5), "FER": (-1, 1, 2), "JWTRNS": range(-1, 13),
    "HISP": range(1, 25),
    "LANX": (-1, 1, 2), "ENG": range(-1, 5),
}  # fmt: skip
NEW_YORK_NUMBERS = {
    "AGEP": (16, 99), "WKHP": (0, 99), "WKWN": (0, 52), "WAGP": (0, 999_999), "POVPIP": (0, 501),
    "PWGTP": (1, 3_000),
}  # fmt: skip


def acs(
    folder: str | Path | None = None,
    *,
    task: str = "multitask",
    state: str = POOLED,
    year: int = 2018,
    rows: int | None = None,
) -> Prepared:
    """One of the paper's tables: a task (or `multitask`) of one state, or of all those pooled."""
    if task not in (*TASKS, "multitask"):
        raise InvalidInput(
            f"There is no task {task}.", f"Choose from: {', '.join(TASKS)}, multitask."
        )
    people = census_people(folder_of_tables(folder), state, year)
    columns = MULTITASK if task == "multitask" else TASKS[task].columns
    if task == "multitask":
        people = people[people["AGEP"] >= 16].reset_index(drop=True)
        labels = five_targets(people)
    else:
        people, answer = asked(people, task)
        labels = pd.DataFrame({TASKS[task].label: yes_no(answer)})
    return split(*recoded(people, columns, labels, CATEGORIES, NUMBERS), rows)


def new_york(
    folder: str | Path | None = None, *, task: str = "multitask", rows: int | None = None
) -> Prepared:
    """ACS 2024 has other columns: 18 categorical, 6 numerical, the same five targets, or one."""
    people = table_in(folder_of_tables(folder), "acs2024_ny.parquet")
    people = people[people["AGEP"] >= 16].reset_index(drop=True)
    labels = pd.DataFrame(
        {
            "PINCP50": yes_no(number(people, "PINCP").fillna(0) > 50_000),
            "EMP": yes_no(number(people, "ESR") == 1),
            "PUBCOV": yes_no(number(people, "PUBCOV") == 1),
            "TRAVEL": yes_no(number(people, "JWMNP") > 20),
            "MOVED": yes_no(people["MIGSP"].notna()),
        }
    )
    names = dict(zip(TASKS, labels.columns, strict=True))
    if task not in (*names, "multitask"):
        raise InvalidInput(
            f"There is no task {task}.", f"Choose from: {', '.join(names)}, multitask."
        )
    labels = labels if task == "multitask" else labels[[names[task]]]
    columns = (*NEW_YORK, *NEW_YORK_NUMBERS)
    return split(*recoded(people, columns, labels, NEW_YORK, NEW_YORK_NUMBERS), rows)


def census_people(folder: Path, state: str, year: int) -> pd.DataFrame:
    """Rows of the person file: a Parquet file that pools states, or the layout of folktables."""
    if state != POOLED and state not in STATES:
        raise InvalidInput(
            f"There is no state {state} here.", f"Choose from: {', '.join(STATES)}, pooled."
        )
    if (folder / str(year)).is_dir():
        wanted = None if state == POOLED else [state]
        source = _folktables().ACSDataSource(str(year), "1-Year", "person", root_dir=str(folder))
        return source.get_data(states=wanted or sorted(STATES), download=False)
    people = table_in(folder, f"acs{year}_14states.parquet")
    if state != POOLED:
        people = people[number(people, "ST") == STATES[state]]
    return people.reset_index(drop=True)


def asked(people: pd.DataFrame, task: str) -> tuple[pd.DataFrame, pd.Series]:
    """The people whom folktables asks, and their answers."""
    problem = getattr(_folktables(), TASKS[task].problem)
    people = problem._preprocess(people).reset_index(drop=True)
    return people, problem.target_transform(people[problem.target])


def five_targets(people: pd.DataFrame) -> pd.DataFrame:
    """The paper's five questions about each person of the 2018 survey, answered yes or no."""
    return pd.DataFrame(
        {
            "INCOME": yes_no(number(people, "PINCP").fillna(0) > 50_000),
            "EMPLOYED": yes_no(number(people, "ESR").fillna(0) == 1),
            "COVERAGE": yes_no(number(people, "PUBCOV") == 1),
            "TRAVEL": yes_no(number(people, "JWMNP").fillna(0) > 20),
            "MOVED": yes_no(number(people, "MIG").fillna(1) != 1),
        }
    )


def recoded(
    people: pd.DataFrame,
    columns: Sequence[str],
    labels: pd.DataFrame,
    categories: Mapping[str, Sequence[int]],
    numbers: Mapping[str, tuple[int, int]],
) -> tuple[pd.DataFrame, Schema]:
    """These columns and labels, with every blank filled in, and their public schema."""
    made: dict[str, Any] = {}
    rules: dict[str, Any] = {}
    for name in columns:
        if name in categories:
            codes = [c for c in categories[name] if c != NEVER or name in WITH_ZERO]
            made[name] = number(people, name).fillna(-1).astype(int).astype(str)
            rules[name] = {"type": "categorical", "values": [str(code) for code in codes]}
    for name in columns:
        if name in numbers:
            low, high = numbers[name]
            made[name] = number(people, name).fillna(0).astype(int)
            rules[name] = {"type": "numerical", "min": low, "max": high, "decimals": 0}
    for name in map(str, labels.columns):
        made[name] = labels[name].to_numpy()
        rules[name] = {"type": "categorical", "values": ["no", "yes"]}
    order = sorted(rules, key=lambda name: rules[name]["type"] == "numerical")
    document = {"columns": {name: rules[name] for name in order}, "targets": list(labels.columns)}
    return pd.DataFrame(made)[order], Schema.from_dict(document)


def number(people: pd.DataFrame, name: str) -> pd.Series:
    """A column as numbers with blanks."""
    return people[name].astype("Float64")


def yes_no(answers: pd.Series) -> np.ndarray:
    """Answers in words; a blank is a no."""
    return np.where(answers.fillna(False).astype(bool), "yes", "no")


def _folktables() -> Any:
    return required("folktables", "bench", "The tasks of this survey need")
