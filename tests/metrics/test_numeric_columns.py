"""Distances between numeric columns, by hand."""

import numpy as np
import pandas as pd
import pytest

from tabveil.metrics import correlation, kolmogorov_smirnov
from tabveil.metrics.correlation import correlations
from tabveil.metrics.kolmogorov_smirnov import distance


@pytest.mark.parametrize(
    ("real", "synthetic", "expected"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 0),
        ([1, 2, 3, 4], [5, 6], 1),
        ([0, 0, 0, 1], [0, 1, 1, 1], 0.5),
        ([1, 2], [1.5], 0.5),
    ],
)
def test_the_distance_is_the_widest_gap_between_cumulative_shares(real, synthetic, expected):
    assert distance(np.array(real, float), np.array(synthetic, float)) == expected
    assert distance(np.array(synthetic, float), np.array(real, float)) == expected


def test_every_numeric_column_is_scored_and_averaged(real, scored):
    found = scored(kolmogorov_smirnov.scores, real, real.assign(x=10.0))
    assert found["kolmogorov_smirnov_by_column", "y"] == 0
    assert found["kolmogorov_smirnov_by_column", "x"] == pytest.approx((real["x"] < 10).mean())
    assert found["kolmogorov_smirnov", "mean"] == found["kolmogorov_smirnov_by_column", "x"] / 2


def test_correlations_agree_with_numpy():
    numbers = np.random.default_rng(0).normal(size=(50, 3)) @ np.array(
        [[1, 2, 0], [0, 1, 1], [0, 0, 3.0]]
    )
    assert correlations(numbers) == pytest.approx(np.corrcoef(numbers.T))


def test_a_column_with_a_single_value_correlates_with_nothing(scored):
    frame = pd.DataFrame(
        {"colour": "red", "size": "s", "x": [1.0, 2, 3], "y": [0.1, 0.2, 0.3], "label": "no"}
    )
    found = scored(correlation.scores, frame, frame.assign(y=0.1))
    assert found["correlation", "mean"] == pytest.approx(1)
