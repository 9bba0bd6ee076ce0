"""How far apart categorical cross-tables are: the share of rows that would have to change cells."""

from itertools import combinations

import numpy as np

from tabveil.metrics.choices import some_sets
from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.histograms import gaps

SAMPLED_TRIPLES = 500


def scores(comparison: Comparison) -> list[Score]:
    """Total variation of 1-, 2- and 3-way marginals: mean and worst."""
    axes = comparison.domain.axes
    cliques: dict[str, list[tuple[int, ...]]] = {
        "total_variation_1": list(combinations(range(len(axes)), 1)),
        "total_variation_2": list(combinations(range(len(axes)), 2)),
        "total_variation_3": some_sets(len(axes), 3, SAMPLED_TRIPLES, comparison.seed),
    }
    found = []
    for name, chosen in cliques.items():
        compared = gaps(comparison.real, comparison.synthetic, comparison.domain, chosen)
        distances = [gap.total_variation for gap in compared]
        if name == "total_variation_1":
            by_column = zip(axes, distances, strict=True)
            found += [
                Score("total_variation_by_column", axis.name, distance)
                for axis, distance in by_column
            ]
        if distances:
            found += [
                Score(name, "mean", float(np.mean(distances))),
                Score(name, "max", max(distances)),
            ]
    return found
