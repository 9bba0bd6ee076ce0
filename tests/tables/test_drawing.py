"""Codes are drawn by the chances of their relaxed rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabveil.schema import Schema
from tabveil.tables import drawing
from tabveil.tables.drawing import as_often, drawn_codes, drawn_places
from tabveil.tables.table import Codec

DOMAIN = Codec(
    Schema(
        columns={
            "a": {"type": "categorical", "values": ["p", "q"]},
            "b": {"type": "categorical", "values": ["x", "y", "z"]},
        }
    )
).domain
CHANCES = np.array([[0.25, 1], [0.75, 0], [0, 0.2], [0.5, 0.2], [0.5, 0.6]], np.float32)


def test_a_level_falls_into_the_category_that_holds_it() -> None:
    rows, levels = np.array([0, 0, 1, 1]), np.array([0.2, 0.3, 0.0, 0.99])
    codes = drawn_codes(CHANCES, DOMAIN, rows, lambda: levels)
    assert codes.tolist() == [[0, 1], [1, 1], [0, 0], [0, 2]]


def test_chances_that_do_not_add_up_to_one_keep_their_ratio_and_the_last_category_is_the_end() -> (
    None
):
    codes = drawn_codes(CHANCES / 4, DOMAIN, np.zeros(3, int), lambda: np.array([0.2, 0.3, 1.0]))
    assert codes.tolist() == [[0, 1], [1, 1], [1, 2]]


def test_every_axis_has_levels_of_its_own() -> None:
    given = iter([np.array([0.9]), np.array([0.1])])
    assert drawn_codes(CHANCES, DOMAIN, np.array([0]), lambda: next(given)).tolist() == [[1, 1]]


def test_how_much_is_held_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    rows, levels = random.integers(0, 2, 100), random.random(100)
    whole = drawn_codes(CHANCES, DOMAIN, rows, lambda: levels)
    monkeypatch.setattr(drawing, "SLICE", 7)
    assert (drawn_codes(CHANCES, DOMAIN, rows, lambda: levels) == whole).all()


# -- as often as relaxed rows say ------------------------------------------------------------------


def settled(
    chances: np.ndarray, weights: np.ndarray, rows: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    places = drawn_places(chances, rows, random.random(len(rows)))
    return places, as_often(places, chances, rows, weights, random)


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 40), st.integers(1, 12))
def test_each_place_comes_as_often_as_its_share_up_to_one_row(
    seed: int, places: int, relaxed: int, copies: int
) -> None:
    random = np.random.default_rng(seed)
    chances = random.dirichlet(np.full(places, 5.0), relaxed).T  # every row can be anywhere
    rows, weights = np.repeat(np.arange(relaxed), copies), np.ones(relaxed)
    _, found = settled(chances + 0.02, weights, rows, seed)
    share = (chances + 0.02).mean(axis=1) / (chances + 0.02).sum(axis=0).mean()
    assert np.abs(np.bincount(found, minlength=places) - share * len(rows)).max() <= 1 + 1e-6


def test_relaxed_rows_count_by_their_weights() -> None:
    chances, rows = np.array([[0.9, 0.3], [0.1, 0.7]]), np.repeat([0, 1], [300, 100])
    _, found = settled(chances, np.array([3.0, 1.0]), rows, 0)
    assert np.bincount(found).tolist() == [300, 100]


def test_no_row_is_moved_where_its_relaxed_row_cannot_be() -> None:
    chances = np.array([[1, 0.5], [0, 0.5]])
    before, found = settled(chances, np.array([1.0, 1.0]), np.repeat([0, 1], 500), 1)
    assert (before != found).any() and not found[:500].any()


def test_few_rows_are_moved() -> None:
    random = np.random.default_rng(0)
    chances = random.dirichlet(np.ones(6), 50).T
    rows = np.repeat(np.arange(50), 200)
    before, found = settled(chances, np.ones(50), rows, 0)
    assert 0 < (before != found).sum() < 6 * 3 * len(rows) ** 0.5


def test_moving_is_fair_where_shares_are_no_whole_numbers() -> None:
    chances, rows = np.array([[0.25], [0.75]]), np.zeros(2, int)
    found = [settled(chances, np.ones(1), rows, seed)[1] for seed in range(400)]
    assert np.mean(found) == pytest.approx(0.75, abs=0.05)
