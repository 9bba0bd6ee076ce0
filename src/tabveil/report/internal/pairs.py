"""Pairs of columns: how much of each cross-table is wrong."""

from itertools import combinations

import pandas as pd

from tabveil.metrics.histograms import gap
from tabveil.metrics.k_marginal import codes_of
from tabveil.report.internal.inside import Inside
from tabveil.report.page import Chart, Grid, Prose, Section
from tabveil.report.pairs import heat_map
from tabveil.report.words import percent

MOST_PAIRS = 2000


def section(inside: Inside) -> Section | None:
    """A heat map of total variation, and the worst pairs."""
    names = [
        *(axis.name for axis in inside.comparison.domain.axes),
        *inside.comparison.domain.numerical,
    ]
    if len(names) < 2:
        return None
    real, synthetic, sizes = codes_of(inside.comparison)
    chosen = list(combinations(range(len(names)), 2))[:MOST_PAIRS]
    apart = [gap(real[:, [i, j]], synthetic[:, [i, j]], (sizes[i], sizes[j])) for i, j in chosen]
    found = pd.DataFrame([(names[i], names[j]) for i, j in chosen], columns=["first", "second"])
    found["rows to move"] = [pair.total_variation for pair in apart]
    worst = found.sort_values("rows to move", ascending=False, kind="stable")
    lines = [
        (w["first"], w["second"], percent(w["rows to move"], 2)) for w in worst.to_dict("records")
    ]
    most = float(found["rows to move"].max())
    return Section(
        "pairs",
        "Pairs of columns",
        [
            Prose(
                "The share of rows that would have to move to another cell to make the real and "
                "the "
                "synthetic cross-table equal; numbers in 20 equally full bins."
            ),
            Chart.of(
                "Error of each cross-table",
                f"Mean {percent(float(found['rows to move'].mean()), 2)}, worst {percent(most)}.",
                heat_map(found, names, "rows to move", most),
            ),
            Grid(
                "pairs", "All pairs, worst first",
                pd.DataFrame(lines, columns=["column", "other column", "rows to move"]),
                folded=True,
            ),
        ],
    )  # fmt: skip
