"""No row stands alone on the columns that somebody names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from release.test_conditions import SCHEMA, bins, release
from tabveil.errors import InvalidInput
from tabveil.schema import Schema

MADE = release(numbers=bins)


@settings(max_examples=20, deadline=None)
@given(
    least=st.integers(2, 6),
    on=st.lists(st.sampled_from(["sex", "job", "age"]), min_size=1, unique=True),
    rows=st.integers(400, 900),
)
def test_every_combination_comes_at_least_so_often(least: int, on: list[str], rows: int) -> None:
    frame = MADE.sample(rows, seed=0, at_least=least, on=on)
    assert len(frame) == rows
    assert frame.groupby(on, dropna=False).size().min() >= least


def test_what_is_common_keeps_its_proportions() -> None:
    plain = MADE.sample(100_000, seed=0).job.value_counts(normalize=True)
    crowd = MADE.sample(100_000, seed=0, at_least=3, on=["job", "sex"])
    assert np.allclose(crowd.job.value_counts(normalize=True)[plain.index], plain, atol=0.005)


def test_missing_cells_are_a_value_like_others() -> None:
    frame = MADE.sample(2000, seed=0, at_least=40, on=["job", "wage"])
    assert frame.groupby(["job", "wage"], dropna=False).size().min() >= 40
    assert frame.wage.isna().any()


def test_ids_stay_unique() -> None:
    document = SCHEMA.to_dict()
    document["columns"]["who"] = {"type": "id"}
    frame = release(Schema.from_dict(document)).sample(500, seed=0, at_least=3, on=["sex", "age"])
    assert frame.who.is_unique and frame.groupby(["sex", "age"]).size().min() >= 3


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Too few of 50 rows"):
        MADE.sample(50, seed=0, at_least=40, on=["age", "wage", "seen"])
    with pytest.raises(InvalidInput, match="no column sexx"):
        MADE.sample(50, at_least=3, on=["sexx"])
    for wrong in ({"at_least": 3}, {"at_least": 0, "on": ["sex"]}):
        with pytest.raises(InvalidInput, match=r"rows alike were asked for"):
            MADE.sample(50, **wrong)


def test_one_is_as_if_nothing_was_asked() -> None:
    assert MADE.sample(50, seed=0).equals(MADE.sample(50, seed=0, at_least=1, on=["sex"]))
