"""How far each numeric column's distribution moved: the widest gap between cumulative curves."""

import numpy as np
from numpy.typing import NDArray

from tabveil.metrics.comparison import Comparison, Score


def scores(comparison: Comparison) -> list[Score]:
    """The two-sample Kolmogorov–Smirnov distance of every numeric column, their mean and worst."""
    columns = zip(comparison.real.numbers.T, comparison.synthetic.numbers.T, strict=True)
    distances = [distance(real, synthetic) for real, synthetic in columns]
    if not distances:
        return []
    named = zip(comparison.domain.numerical, distances, strict=True)
    return [
        *(Score("kolmogorov_smirnov_by_column", name, value) for name, value in named),
        Score("kolmogorov_smirnov", "mean", float(np.mean(distances))),
        Score("kolmogorov_smirnov", "max", max(distances)),
    ]


def distance(real: NDArray[np.float64], synthetic: NDArray[np.float64]) -> float:
    """The largest difference between the shares of rows at or below any value."""
    values = np.concatenate([real, synthetic])
    curves = [
        np.searchsorted(np.sort(rows), values, side="right") / len(rows)
        for rows in (real, synthetic)
    ]
    return float(np.abs(curves[0] - curves[1]).max())
