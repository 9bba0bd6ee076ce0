"""Each column: real against synthetic shares."""

import pandas as pd

from tabveil.report.internal.inside import Inside
from tabveil.report.page import Chart, Charts, Grid, Prose, Section
from tabveil.report.plot import FIRST, SECOND, shares, shares_chart
from tabveil.report.words import percent

MOST = 120


def section(inside: Inside) -> Section:
    """One small chart per column, worst first in the table below."""
    numeric = set(inside.comparison.domain.numerical)
    charts: list[Chart] = []
    lines = []
    for name, frame in shares(inside.comparison):
        moved = float((frame["real"] - frame["synthetic"]).abs().sum() / 2)
        lines.append((moved, name))
        if len(charts) < MOST:
            words = f"{percent(moved)} of the rows would have to move to make both equal."
            charts.append(Chart.of(name, words, shares_chart(frame, name in numeric)))
    table = [(name, percent(moved, 2)) for moved, name in sorted(lines, reverse=True)]
    return Section(
        "columns",
        "Each column",
        [
            Prose(
                "Shares of all rows. Numbers up to their 99th percentile; the last bar is the rest."
            ),
            Charts(charts, ((SECOND, "real rows"), (FIRST, "synthetic rows"))),
            Grid(
                "columns", "Columns by how many rows would have to move",
                pd.DataFrame(table, columns=["column", "rows to move"]), folded=True,
            ),
        ],
    )  # fmt: skip
