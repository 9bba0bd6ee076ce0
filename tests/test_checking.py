"""A table is checked for its owner: what is broken is named, and no value and no count is."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tabveil.checking import check_table, table_findings
from tabveil.schema import Schema

COLUMNS = {
    "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
    "wage": {"type": "numerical", "min": 0, "max": 500, "decimals": 0, "missing": ["N"]},
    "total": {"type": "numerical", "min": 0, "max": 999, "decimals": 0, "nullable": True},
    "zip": {"type": "categorical", "values": [1, 2, 3]},
    "city": {"type": "categorical", "values": ["Bern", "Oslo"]},
}
ROWS = pd.DataFrame(
    {
        "age": ["40", "7", "41"],
        "wage": ["100", "N", "200"],
        "total": ["150", "", "200"],
        "zip": ["1", "2", "1"],
        "city": ["Bern", "Oslo", "Bern"],
    }
)
HOLD: list[Any] = [
    "wage <= total",
    "if age < 15 then wage is missing",
    "if age >= 15 then wage is not missing",
    "never zip == 2 and city == Bern",
    "zip determines city",
    {"columns": ["zip", "city"], "only": [[1, "Bern"], [2, "Oslo"], [3, "Oslo"]]},
]
BROKEN: list[Any] = [
    "total <= wage",
    "wage + age == total",
    "if age < 15 then wage is not missing",
    "never zip == 1 and city == Bern",
    "zip in [2, 3]",
    "city determines age",
    {"columns": ["zip", "city"], "never": [[2, "Oslo"]]},
]


def schema(*constraints: Any) -> Schema:
    return Schema.from_dict({"columns": COLUMNS, "constraints": list(constraints)})


def test_nothing_is_said_of_constraints_that_hold() -> None:
    assert check_table(ROWS, schema(*HOLD)) == []


@pytest.mark.parametrize("constraint", BROKEN, ids=str)
def test_a_broken_constraint_is_named_and_nothing_is_counted(constraint: Any) -> None:
    once = check_table(ROWS, schema(*HOLD, constraint))
    often = check_table(pd.concat([ROWS] * 7), schema(*HOLD, constraint))
    assert once == often == [f"Constraint {str(constraint)!r}: some rows break it."]


def test_the_owner_is_told_in_which_share_of_rows_a_rule_is_broken() -> None:
    found = table_findings(ROWS.assign(age=["4711", "7", "-1"]), schema("wage < 150"))
    said = {finding.text: finding.share for finding in found}
    assert said == {
        "Column age: some cells are above max 99 (they are read as max).": 1 / 3,
        "Column age: some cells are below min 0 (they are read as min).": 1 / 3,
        "Constraint 'wage < 150': some rows break it.": 1 / 3,
    }


def test_rows_far_apart_break_what_one_file_alone_does_not(tmp_path: Path) -> None:
    ROWS.to_parquet(tmp_path / "0.parquet")
    ROWS.assign(city="Oslo").to_parquet(tmp_path / "1.parquet")
    for name in ("0.parquet", "1.parquet"):
        assert check_table(tmp_path / name, schema("zip determines city")) == []
    [line] = check_table(tmp_path, schema("zip determines city"))
    assert line == "Constraint 'zip determines city': some rows break it."


def test_cells_and_constraints_are_checked_together_and_no_value_is_quoted() -> None:
    odd = ROWS.assign(age=["4711", "7", "41"], city=["Zanzibar", "Oslo", "Bern"])
    lines = check_table(odd, schema("age <= total", "age < 90"))
    assert len(lines) == 3
    assert lines[-1] == "Constraint 'age < 90': some rows break it."
    assert not any(value in " ".join(lines) for value in ("4711", "Zanzibar"))
