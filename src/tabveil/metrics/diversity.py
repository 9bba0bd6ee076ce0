"""Whether synthetic rows are as varied as real ones: how many different combinations they have."""

from typing import NamedTuple

import numpy as np

from tabveil.metrics.choices import some_rows
from tabveil.metrics.comparison import Comparison, Score

MOST_ROWS = 100_000


class Combinations(NamedTuple):
    """How many different rows there are, among as many real and synthetic ones."""

    rows: int
    real: int
    synthetic: int


def scores(comparison: Comparison) -> list[Score]:
    """Different combinations of all categorical columns, synthetic as a share of real ones."""
    found = combinations_of(comparison)
    return [Score("diversity", "mean", found.synthetic / found.real)] if found else []


def combinations_of(comparison: Comparison) -> Combinations | None:
    """Different combinations over the categorical columns; None where there are fewer than two."""
    columns = len(comparison.schema.categorical)
    if columns < 2:
        return None
    tables = comparison.real, comparison.synthetic
    rows = min(MOST_ROWS, *(table.rows for table in tables))
    some = (some_rows(table, rows, comparison.seed).codes[:, :columns] for table in tables)
    real, synthetic = (len(np.unique(codes, axis=0)) for codes in some)
    return Combinations(rows, real, synthetic)
