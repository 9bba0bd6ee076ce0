"""Repair moves shares of single columns; a release that foresees it comes out as measured."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from release.test_conditions import SCHEMA, bins, release
from tabveil.fitting.grouping import grouped
from tabveil.schema import Schema

MADE = release(numbers=bins)


def constrained(*constraints: str) -> Schema:
    return Schema.from_dict({**SCHEMA.to_dict(), "constraints": list(constraints)})


def jobs(frame: pd.DataFrame) -> pd.Series:
    return frame.job.fillna("none").value_counts(normalize=True).sort_index()


def missing_wages(frame: pd.DataFrame) -> pd.Series:
    return frame.wage.isna().value_counts(normalize=True).sort_index()


@pytest.mark.parametrize(
    "constraint",
    [
        "if age < 15 then job is missing",
        "if sex == F then job != x",
        "if age > 80 then wage is missing",
    ],
)
def test_what_repair_does_to_single_columns_is_undone_before(constraint: str) -> None:
    ruled = replace(MADE, schema=constrained(constraint))
    drawn, repaired, foreseen = (
        made.sample(50_000, seed=0) for made in (MADE, ruled, ruled.foreseeing_repair())
    )
    for shares in (jobs, missing_wages):
        before, after = (abs(shares(f) - shares(drawn)).max() for f in (repaired, foreseen))
        assert after <= max(0.003, 0.3 * before)


def test_a_constraint_that_leaves_no_choice_is_still_met() -> None:
    forced = replace(MADE, schema=constrained("job == x")).foreseeing_repair()
    assert set(forced.sample(2000, seed=0).job.dropna()) == {"x"}
    assert np.isfinite(forced.probabilities).all()


def test_without_constraints_nothing_changes() -> None:
    assert MADE.foreseeing_repair() is MADE


def test_values_of_a_group_share_what_is_foreseen() -> None:
    values = [f"v{place}" for place in range(200)]
    content = {
        "columns": {
            "place": {"type": "categorical", "values": values, "nullable": True},
            "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
        }
    }
    schema = Schema.from_dict(content)
    groupings = {"place": grouped(schema.categories["place"], np.arange(201.0), 30.0)}
    made = release(schema, numbers=bins, groupings=groupings)
    ruled = Schema.from_dict({**content, "constraints": ["if age < 3 then place is missing"]})
    foreseen = replace(made, schema=ruled).foreseeing_repair()
    missing = [m.sample(50_000, seed=0).place.isna().mean() for m in (made, foreseen)]
    unforeseen = replace(made, schema=ruled).sample(50_000, seed=0).place.isna().mean()
    assert abs(missing[1] - missing[0]) < 0.5 * abs(unforeseen - missing[0])
