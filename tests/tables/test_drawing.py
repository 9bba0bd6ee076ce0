"""Codes are drawn by the chances of their relaxed rows."""

import numpy as np
import pytest

from tabveil.schema import Schema
from tabveil.tables import drawing
from tabveil.tables.drawing import drawn_codes
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
