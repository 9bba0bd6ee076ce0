"""Whether two columns hang together as they should: SDMetrics' Column Pair Trends, 1 if they do."""

from itertools import combinations

import numpy as np

from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.correlation import correlations
from tabveil.metrics.histograms import gap
from tabveil.tables.table import Table

BINS = 10  # of equal width over the real range, as SDMetrics cuts numbers


def scores(comparison: Comparison) -> list[Score]:
    """Two numbers: 1 − half the difference of correlations; other pairs: 1 − total variation."""
    axes, numbers = len(comparison.domain.axes), len(comparison.domain.numerical)
    if axes + numbers < 2:
        return []
    tables = comparison.real, comparison.synthetic
    real, synthetic = (np.asfortranarray(_codes(comparison, table)) for table in tables)
    sizes = [*comparison.domain.sizes, *[BINS] * numbers]
    apart = np.abs(np.subtract(*(correlations(table.numbers) for table in tables)))
    trends = []
    for i, j in combinations(range(axes + numbers), 2):
        if i >= axes:
            trends.append(1 - apart[i - axes, j - axes] / 2)
        else:
            pair = gap(real[:, [i, j]], synthetic[:, [i, j]], [sizes[i], sizes[j]])
            trends.append(1 - pair.total_variation)
    return [
        Score("pair_trends", "mean", float(np.mean(trends))),
        Score("pair_trends", "min", float(min(trends))),
    ]


def _codes(comparison: Comparison, table: Table) -> np.ndarray:
    """Categories as they are, numbers as bins."""
    low, high = comparison.real.numbers.min(axis=0), comparison.real.numbers.max(axis=0)
    share = (table.numbers - low) / np.where(high > low, high - low, 1.0)
    bins = np.clip(np.floor(share * BINS), 0, BINS - 1)
    return np.hstack([table.codes, bins]).astype(np.int64)
