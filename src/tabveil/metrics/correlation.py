"""Whether numeric columns still move together: the difference between correlation matrices."""

import numpy as np
from numpy.typing import NDArray

from tabveil.metrics.comparison import Comparison, Score


def scores(comparison: Comparison) -> list[Score]:
    """Mean and max absolute difference of the correlations between all pairs of numeric columns."""
    width = len(comparison.domain.numerical)
    if width < 2:
        return []
    difference = np.abs(
        correlations(comparison.real.numbers) - correlations(comparison.synthetic.numbers)
    )
    pairs = difference[np.triu_indices(width, 1)]
    return [
        Score("correlation", "mean", float(pairs.mean())),
        Score("correlation", "max", float(pairs.max())),
    ]


def correlations(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson correlations; a column with a single value correlates with nothing."""
    constant = np.ptp(numbers, axis=0) == 0
    deviations = np.where(constant, 0.0, numbers - numbers.mean(axis=0))
    lengths = np.linalg.norm(deviations, axis=0)
    directions = deviations / np.where(lengths > 0, lengths, 1.0)
    return directions.T @ directions
