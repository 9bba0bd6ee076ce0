"""Query errors against answers counted one row at a time."""

import numpy as np
import pandas as pd
import pytest

from tabveil.metrics import queries
from tabveil.metrics.queries import RowsOfClasses, answers, categorical, linear, mixed
from tabveil.tables.table import Table

TABLE = Table(
    codes=np.array([[0], [1], [1], [0]], dtype=np.int32),
    numbers=np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]]),
)


def one_class(axis: int, code: int) -> RowsOfClasses:
    return RowsOfClasses(np.array([axis]), np.array([code]))


def test_an_answer_is_the_share_of_all_rows_inside_and_of_the_class():
    found = answers(TABLE, one_class(0, 1), lambda numbers, chunk: numbers[[0]] <= 2.5)
    assert found.tolist() == [0.25]


@pytest.mark.parametrize("cells", [1, 3, 8, 10_000])
def test_the_size_of_a_chunk_does_not_change_the_answers(cells, monkeypatch):
    rng = np.random.default_rng(0)
    limits, wanted = rng.uniform(0, 5, 17), rng.integers(2, size=17)
    monkeypatch.setattr(queries, "CHUNK_CELLS", cells)
    found = answers(
        TABLE,
        RowsOfClasses(np.zeros(17, int), wanted),
        lambda numbers, chunk: numbers[[0]] <= limits[chunk, None],
    )
    by_row = [
        sum(TABLE.codes[row, 0] == code and TABLE.numbers[row, 0] <= limit for row in range(4)) / 4
        for limit, code in zip(limits, wanted, strict=True)
    ]
    assert found.tolist() == by_row


def test_cm_is_averaged_over_every_cell(scored):
    real = pd.DataFrame({"colour": ["red"], "size": ["s"], "x": [0.0], "y": [0.0], "label": ["no"]})
    synthetic = real.assign(size="l")
    found = scored(categorical, real, synthetic)
    # Two of the 2 · 3 · 2 cells are wrong, each by a whole table.
    assert found["cm_error", "mean"] == pytest.approx(2 / 12)
    assert found["cm_error", "max"] == 1


def test_uniform_thresholds_cover_the_public_range_not_the_datas(scored):
    real = pd.DataFrame(
        {"colour": ["red"], "size": ["s"], "x": [0.0], "y": [-1.0], "label": ["yes"]}
    )
    moved = scored(mixed, real, real.assign(x=5.0))
    # x ≤ a tells 0 from 5 for half of the range, y is always inside, and half of the queries ask
    # for `yes`.
    assert moved["mm_error_uniform", "mean"] == pytest.approx(0.25, abs=0.03)
    assert moved["mm_error_uniform", "max"] == 1
    # At the real rows' own values every threshold tells them apart.
    assert moved["mm_error_quantile", "mean"] == pytest.approx(0.5, abs=0.03)


def test_linear_thresholds_see_numbers_scaled_to_their_bounds(scored, schema):
    real = pd.DataFrame(
        {"colour": ["red"], "size": ["s"], "x": [0.0], "y": [-1.0], "label": ["yes"]}
    )
    found = scored(linear, real, real.assign(x=10.0, y=1.0))
    # ⟨θ, (1, 1)⟩ and τ are both N(0, 1): corner (0, 0) is inside when τ ≥ 0, corner (1, 1) when τ
    # is at least the other. The corners disagree on 1/4 of the plane, and half of the queries ask
    # for `yes`.
    assert found["lt_error", "mean"] == pytest.approx(0.125, abs=0.02)


def test_multi_class_targets_are_asked_for_every_class(real, fresh, schema, scored):
    found = scored(mixed, real, fresh, schema=schema.with_targets(("size",)))
    assert 0 < found["mm_error_quantile", "mean"] < 0.02
