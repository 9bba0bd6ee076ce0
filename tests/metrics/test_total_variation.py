"""Total variation by hand: half the summed difference of shares."""

import numpy as np
import pandas as pd
import pytest

from tabveil.metrics import histograms, queries, total_variation

REAL = pd.DataFrame(
    {
        "colour": ["red", "red", "green", "green"],
        "size": ["s", "m", "s", "l"],
        "label": ["no", "yes", "no", "yes"],
    }
).assign(x=0.0, y=0.0)
OTHER = pd.DataFrame(
    {
        "colour": ["red", "green", "green", "green"],
        "size": ["s", "s", "s", "s"],
        "label": ["no", "yes", "no", "yes"],
    }
).assign(x=0.0, y=0.0)


def test_hand_counted_marginals(scored):
    found = scored(total_variation.scores, REAL, OTHER)
    by_column = {
        name: found["total_variation_by_column", name] for name in ("colour", "size", "label")
    }
    # colour 2:2 → 1:3; size 2:1:1 → 4:0:0; label unchanged.
    assert by_column == {"colour": 0.25, "size": 0.5, "label": 0.0}
    assert found["total_variation_1", "mean"] == 0.25
    assert found["total_variation_1", "max"] == 0.5
    # (colour, size): red·m and green·l leave, two more green·s; (colour, label): red·yes leaves;
    # (size, label): m·yes and l·yes leave.
    assert found["total_variation_2", "mean"] == pytest.approx((0.5 + 0.25 + 0.5) / 3)
    # All three together, which is also the only class-conditional marginal.
    conditional = scored(queries.categorical, REAL, OTHER)
    assert found["total_variation_3", "mean"] == conditional["total_variation_cm", "mean"] == 0.5


def test_counting_only_the_cells_that_occur_gives_the_same_gap(monkeypatch):
    rng = np.random.default_rng(0)
    sizes = [7, 5, 3]
    real, synthetic = (
        np.stack([rng.integers(size, size=n) for size in sizes], axis=1) for n in (200, 90)
    )
    dense = histograms.gap(real, synthetic, sizes)
    monkeypatch.setattr(histograms, "DENSE_CELLS", 1)
    sparse = histograms.gap(real, synthetic, sizes)
    assert sparse.cells == dense.cells == 105
    assert (sparse.total, sparse.worst) == pytest.approx((dense.total, dense.worst))
