"""Whether someone could tell who was in the table: an attack that looks for a close synthetic row.

This attack is simple; a score near one half says that it fails, not that all attacks do. What
bounds every attack is ε.
"""

import numpy as np

from tabveil.metrics.choices import some_rows
from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.distances import nearest

ROWS, AMONG = 2000, 10_000


def scores(comparison: Comparison) -> list[Score]:
    """The chance that a member lies closer to a synthetic row than someone not in the table."""
    if comparison.test is None:
        return []
    synthetic = some_rows(comparison.synthetic, AMONG, comparison.seed)
    members, others = (
        nearest(comparison, some_rows(table, ROWS, comparison.seed), synthetic)
        for table in (comparison.real, comparison.test)
    )
    return [Score("membership_attack", "mean", _chance(members, others), 0.5)]


def _chance(members: np.ndarray, others: np.ndarray) -> float:
    """How often a member's distance is the smaller; ties count half (area under the ROC curve)."""
    ordered = np.sort(others)
    larger = len(others) - np.searchsorted(ordered, members, "right")
    ties = np.searchsorted(ordered, members, "right") - np.searchsorted(ordered, members, "left")
    return float((larger + ties / 2).mean() / len(others))
