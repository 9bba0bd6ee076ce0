"""The statistics to preserve: each family counts real rows exactly, relaxed rows differentiably."""

from tabveil.queries.family import QueryFamily
from tabveil.queries.marginals import Marginals, marginals_with_targets
from tabveil.queries.pairs import Pairs
from tabveil.queries.projections import ProjectedHistograms, random_projected_histograms
from tabveil.queries.rows import GRID, Hard, Rows, Soft, Step, real_rows
from tabveil.queries.thresholds import (
    LinearThresholds,
    MixedMarginals,
    random_linear_thresholds,
    random_mixed_marginals,
    random_prefix_marginals,
)

FAMILIES: tuple[type[QueryFamily], ...] = (
    Pairs,
    Marginals,
    LinearThresholds,
    MixedMarginals,
    ProjectedHistograms,
)

__all__ = [
    "FAMILIES",
    "GRID",
    "Hard",
    "LinearThresholds",
    "Marginals",
    "MixedMarginals",
    "Pairs",
    "ProjectedHistograms",
    "QueryFamily",
    "Rows",
    "Soft",
    "Step",
    "marginals_with_targets",
    "random_linear_thresholds",
    "random_mixed_marginals",
    "random_prefix_marginals",
    "random_projected_histograms",
    "real_rows",
]
