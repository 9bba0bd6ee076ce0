"""How far cross-tables of k columns are off on average, on a scale on which 1000 is perfect."""

import numpy as np

from tabveil.metrics.choices import some_sets
from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.histograms import gap

BINS = 20  # equally full ones, by the real rows
MOST_TABLES = 400


def scores(comparison: Comparison) -> list[Score]:
    """1000 · (1 − mean total variation) over tables of two and three columns, numbers in bins."""
    real, synthetic, sizes = codes_of(comparison)
    found = []
    for k in (2, 3):
        tables = some_sets(len(sizes), k, MOST_TABLES, comparison.seed)
        gaps = [
            gap(real[:, list(c)], synthetic[:, list(c)], [sizes[i] for i in c]).total_variation
            for c in tables
        ]
        if gaps:
            found.append(Score(f"k_marginal_{k}", "mean", 1000 * (1 - float(np.mean(gaps)))))
    return found


def codes_of(comparison: Comparison) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Both tables as codes, and how many codes each column has."""
    sizes = list(comparison.domain.sizes)
    real: list[np.ndarray] = [comparison.real.codes]
    synthetic: list[np.ndarray] = [comparison.synthetic.codes]
    for column, numbers in enumerate(comparison.real.numbers.T):
        edges = np.unique(np.quantile(numbers, np.arange(1, BINS) / BINS, method="nearest"))
        for side, table in ((real, comparison.real), (synthetic, comparison.synthetic)):
            side.append(np.searchsorted(edges, table.numbers[:, column], "left")[:, None])
        sizes.append(len(edges) + 1)
    ours, theirs = (
        np.asfortranarray(np.hstack(side).astype(np.int64)) for side in (real, synthetic)
    )
    return ours, theirs, sizes
