"""A fitted table gets back single columns as all answers together tell them."""

import jax
import numpy as np
import pytest

from tabveil.curator import Answer
from tabveil.fitting.presets.default import soft_rows
from tabveil.fitting.single_columns import as_measured, pooled
from tabveil.fitting.zeros import Zeros
from tabveil.queries import GRID, Hard, Pairs
from tabveil.schema import Schema
from tabveil.tables.table import Codec

TOTAL = 10_000
DOMAIN = Codec(
    Schema(
        columns={
            "a": {"type": "categorical", "values": ["p", "q"]},
            "b": {"type": "categorical", "values": ["x", "y", "z"]},
            "n": {"type": "numerical", "min": 0, "max": 9, "decimals": 0, "nullable": True},
        }
    )
).domain
PAIRS = Pairs.over(DOMAIN, [np.array([GRID // 2])], 2**14, within=())
A, B, N = PAIRS.alone([0, 1, 2])


def answer(place: int, counts: list[int], scale: float) -> Answer:
    line = np.zeros((1, PAIRS.width), np.int64)
    line[0, : len(counts)] = counts
    return Answer(PAIRS, np.array([place]), line, scale)


def shares(table: object, column: int) -> np.ndarray:
    cells = np.asarray(PAIRS.tables.cells_of(table.rows(), Hard())).mean(axis=1)  # type: ignore[attr-defined]
    return cells[PAIRS.layout.columns[column].cells]


def crossed() -> int:
    [place] = [k for k, q in enumerate(PAIRS.layout.queries) if (q.one, q.other) == (0, 1)]
    return place


def test_a_table_of_two_columns_counts_by_the_noise_that_its_sums_have() -> None:
    found = pooled(
        [answer(A, [6000, 4000], 10.0), answer(crossed(), [1000] * 3 + [2000] * 3, 10.0)], PAIRS
    )
    # Alone with variance 100, as a sum of three cells with 300.
    assert found["a"].counts == pytest.approx([0.75 * 6000 + 0.25 * 3000, 4500])
    assert found["a"].precision == pytest.approx(1 / 100 + 1 / 300)
    assert found["b"].counts == pytest.approx([3000, 3000, 3000]) and "n" not in found


def test_cells_that_no_row_can_be_in_add_no_noise_to_a_sum() -> None:
    cells = np.zeros((1, PAIRS.width), bool)
    cells[0, :2] = True  # p with x or y
    zeros = Zeros(PAIRS, np.array([crossed()]), cells, 0.0, 1.0)
    found = pooled([answer(crossed(), [50, -70, 3000, 2000, 2000, 3000], 10.0)], PAIRS, zeros)
    assert found["a"].counts == pytest.approx([3000, 7000])
    assert 1 / found["a"].precision == pytest.approx([100, 300])
    assert found["b"].counts == pytest.approx([2000, 2000, 6000])
    assert 1 / found["b"].precision == pytest.approx([100, 100, 200])


def test_columns_of_few_noise_come_back_as_measured() -> None:
    start = soft_rows(PAIRS, DOMAIN, {}, 50, 0)
    answers = [
        answer(A, [7000, 3000], 1.0),
        answer(B, [5000, 3000, 2000], 1.0),
        answer(N, [1000, 2700, 6300], 1.0),
    ]
    table = as_measured(start, answers, PAIRS, TOTAL)
    assert shares(table, 0) == pytest.approx([0.7, 0.3], abs=1e-4)
    assert shares(table, 1) == pytest.approx([0.5, 0.3, 0.2], abs=1e-4)
    assert shares(table, 2) == pytest.approx([0.1, 0.27, 0.63], abs=1e-3)


def test_what_noise_explains_is_left_as_it_is() -> None:
    start = soft_rows(PAIRS, DOMAIN, {}, 50, 0)
    before = shares(start, 1)
    counts = np.rint(before * TOTAL).astype(int) + np.array([20, -10, -10])
    table = as_measured(start, [answer(B, counts.tolist(), 100.0)], PAIRS, TOTAL)
    assert shares(table, 1) == pytest.approx(before, abs=1e-6)


def test_columns_that_nobody_asked_for_do_not_move() -> None:
    start = soft_rows(PAIRS, DOMAIN, {}, 50, 0)
    table = as_measured(start, [answer(A, [9000, 1000], 1.0)], PAIRS, TOTAL)
    assert shares(table, 1) == pytest.approx(shares(start, 1), abs=1e-7)
    assert shares(table, 2) == pytest.approx(shares(start, 2), abs=1e-7)


def test_odds_between_rows_stay_the_same() -> None:
    start = soft_rows(PAIRS, DOMAIN, {}, 50, 0)
    table = as_measured(start, [answer(A, [9000, 1000], 1.0)], PAIRS, TOTAL)
    odds = [np.diff(np.asarray(jax.device_get(t.logits))[:2], axis=0) for t in (start, table)]
    assert np.ptp(odds[1] - odds[0]) < 1e-3
