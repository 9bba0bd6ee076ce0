"""A fixed random choice where there would be too many."""

import math
from itertools import combinations

import numpy as np

from tabveil.tables.table import Table


def some_rows(table: Table, most: int, seed: int) -> Table:
    """The table, or so many of its rows."""
    if table.rows <= most:
        return table
    chosen = np.random.default_rng(seed).choice(table.rows, most, replace=False)
    return Table(table.codes[chosen], table.numbers[chosen])


def some_sets(columns: int, size: int, most: int, seed: int) -> list[tuple[int, ...]]:
    """All sets of so many columns, or a choice of them, in order."""
    if math.comb(columns, size) <= most:
        return list(combinations(range(columns), size))
    random = np.random.default_rng(seed)
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < most:
        chosen.add(tuple(sorted(random.choice(columns, size, replace=False).tolist())))
    return sorted(chosen)
