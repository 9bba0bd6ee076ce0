"""How far apart rows are, for the checks that look for copied people."""

import numpy as np

from tabveil.metrics.comparison import Comparison
from tabveil.tables.table import Table

CHUNK = 500


def nearest(comparison: Comparison, rows: Table, among: Table) -> np.ndarray:
    """For each row the distance to the closest of `among`.

    It adds up categories that differ and squared differences of numbers as a share of their public
    range.
    """
    places, others = (_places(comparison, table) for table in (rows, among))
    lengths = (others**2).sum(axis=1)
    found = [
        (lengths - 2 * part @ others.T).min(axis=1) + (part**2).sum(axis=1)
        for part in (places[start : start + CHUNK] for start in range(0, len(places), CHUNK))
    ]
    return np.maximum(np.concatenate(found), 0.0)


def _places(comparison: Comparison, table: Table) -> np.ndarray:
    low, high = comparison.bounds
    sizes = comparison.domain.sizes
    blocks = [
        (table.codes[:, [axis]] == np.arange(size)) * 0.5**0.5 for axis, size in enumerate(sizes)
    ]
    return np.hstack([*blocks, (table.numbers - low) / (high - low)])
