"""Other shares than the table had: exact, with the rest of each row as it goes with its values."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from release.test_conditions import SCHEMA, bins, release
from tabveil.errors import InvalidInput
from tabveil.fitting.grouping import grouped
from tabveil.release.shares import shares_of, spelled_shares
from tabveil.schema import Schema

MADE = release(numbers=bins)


def shares(frame: pd.DataFrame, name: str) -> dict:
    return frame[name].value_counts(normalize=True, dropna=False).to_dict()


def test_shares_are_what_was_asked_for_and_others_keep_their_proportions() -> None:
    before = shares(MADE.sample(200_000, seed=0), "job")
    after = shares(MADE.sample(200_000, seed=0, shares={"job": {"x": 0.5}}), "job")
    assert after["x"] == pytest.approx(0.5, abs=0.002)
    assert after["y"] / after["z"] == pytest.approx(before["y"] / before["z"], rel=0.03)


def test_within_a_value_rows_are_as_they_were() -> None:
    before = MADE.sample(300_000, seed=0)
    after = MADE.sample(300_000, seed=0, shares={"sex": {"F": 0.9}})
    for sex in "FM":
        old, new = (frame[frame.sex == sex] for frame in (before, after))
        assert new.age.mean() == pytest.approx(old.age.mean(), abs=0.3)
        assert (new.job == "x").mean() == pytest.approx((old.job == "x").mean(), abs=0.01)


@settings(max_examples=25, deadline=None)
@given(
    sex=st.floats(0.01, 0.99),
    jobs=st.lists(st.floats(0.02, 1.0), min_size=4, max_size=4),
)
def test_shares_of_several_columns_hold_together(sex: float, jobs: list[float]) -> None:
    whole = sum(jobs)
    wanted = dict(zip(["x", "y", "z", None], (job / whole for job in jobs), strict=True))
    frame = MADE.sample(20_000, seed=1, shares={"sex": {"F": sex}, "job": wanted})
    assert (frame.sex == "F").mean() == pytest.approx(sex, abs=0.02)
    assert frame.job.isna().mean() == pytest.approx(wanted[None], abs=0.02)


def test_shares_and_conditions_go_together() -> None:
    frame = MADE.sample(50_000, seed=0, where={"age": (30, 40)}, shares={"sex": {"F": 0.2}})
    assert frame.age.between(30, 40).all()
    assert (frame.sex == "F").mean() == pytest.approx(0.2, abs=0.005)


def test_a_value_behind_the_code_of_a_group_can_have_a_share() -> None:
    values = [f"v{place}" for place in range(200)]
    schema = Schema.from_dict({"columns": {"place": {"type": "categorical", "values": values}}})
    groupings = {"place": grouped(schema.categories["place"], np.arange(200.0), 30.0)}
    made = release(schema, groupings=groupings)
    frame = made.sample(50_000, seed=0, shares={"place": {"v3": 0.25, "v199": 0.5}})
    found = shares(frame, "place")
    assert found["v3"] == pytest.approx(0.25, abs=0.005)
    assert found["v199"] == pytest.approx(0.5, abs=0.005)


def test_shares_are_spelled_on_the_command_line() -> None:
    texts = ["sex=F:0.6", "job=x:0.2, missing:0.1"]
    spelled = spelled_shares(texts, SCHEMA)
    assert spelled == {"sex": {"F": 0.6}, "job": {"x": 0.2, None: 0.1}}
    assert [s.wanted for s in shares_of(spelled, SCHEMA)] == [{0: 0.6}, {0: 0.2, 3: 0.1}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sex", "not understood"),
        ("sex=F", "not understood"),
        ("sex=F:many", "not understood"),
        ("sex=X:0.5", "not a declared value"),
        ("sexx=F:0.5", "columns with categories"),
        ("age=30:0.5", "columns with categories"),
        ("sex=missing:0.5", "not a declared value"),
        ("sex=F:1.5", "from 0 to 1"),
        ("sex=F:nan", "from 0 to 1"),
        ("sex=F:0.6,M:0.6", "must add up to 1"),
        ("sex=F:0.3,M:0.3", "must add up to 1"),
        ("job=x:0.6,y:0.6", "must not exceed 1"),
    ],
)
def test_shares_that_cannot_be_are_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        MADE.sample(10, shares=spelled_shares([text], SCHEMA))


def test_shares_that_the_conditions_exclude_are_refused() -> None:
    with pytest.raises(InvalidInput, match="No row of this release"):
        MADE.sample(10, where={"sex": "M"}, shares={"sex": {"F": 0.5}})
    with pytest.raises(InvalidInput, match="No row of this release"):
        MADE.sample(10, where={"sex": "M"}, shares={"sex": {"M": 0.5}})
    with pytest.raises(InvalidInput, match="never missing"):
        MADE.sample(10, shares={"sex": {None: 0.5}})


def test_without_shares_the_same_seed_gives_the_same_rows_as_ever() -> None:
    assert MADE.sample(100, seed=3).equals(MADE.sample(100, seed=3, shares={}))
