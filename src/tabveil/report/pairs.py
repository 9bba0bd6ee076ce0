"""Pairs of columns: how they hang together in synthetic rows, how noisy cross-tables are met."""

from typing import Any

import numpy as np
import pandas as pd

from tabveil.report.evidence import Evidence, Noisy
from tabveil.report.page import Block, Chart, Grid, Prose, Section
from tabveil.report.plot import FIRST, altair
from tabveil.report.words import few, percent
from tabveil.tables.sides import query_in_words

MOST = 60


def section(evidence: Evidence) -> Section | None:
    """A heat map of dependence, and each measured cross-table against the noise in it."""
    if len(evidence.names) < 2:
        return None
    found = evidence.dependence
    strongest = found.sort_values("dependence", ascending=False, kind="stable")
    lines = [(d.first, d.second, f"{d.dependence:.2f}") for d in strongest.itertuples()]
    numbers = pd.DataFrame(lines, columns=["column", "other column", "dependence"])
    blocks: list[Block] = [
        Prose(
            "Dependence is Cramér's V of the synthetic rows, numbers in ten equally full bins: 0 "
            "means "
            "that one column says nothing about the other, 1 that it settles it."
        ),
        Chart.of(
            "How columns hang together",
            f"Strongest: {_strongest(strongest)}.",
            heat_map(found, evidence.names),
        ),
        Grid("dependence", "All pairs as numbers", numbers, folded=True),
        *fit(evidence),
    ]  # fmt: skip
    return Section("pairs", "Pairs of columns", blocks)


def heat_map(
    found: pd.DataFrame, names: list[str], value: str = "dependence", most: float = 1.0
) -> object:
    """A square of all pairs; the strongest columns where there are too many to draw."""
    alt = altair()
    both = pd.concat([found, found.rename(columns={"first": "second", "second": "first"})])
    if len(names) > MOST:
        strongest = both.groupby("first")[value].max().nlargest(MOST).index
        names = [name for name in names if name in strongest]
        both = both[both["first"].isin(names) & both["second"].isin(names)]
    both = both.assign(**{value: both[value].round(3)})
    return (
        square(both, names)
        .encode(
            color=alt.Color(
                f"{value}:Q",
                scale=alt.Scale(domain=[0, most]),
                legend=alt.Legend(
                    orient="top", title=value, gradientLength=160, gradientThickness=10
                ),
            ),
            tooltip=["first:N", "second:N", alt.Tooltip(f"{value}:Q", format=".2f")],
        )
        .properties(height=(20 if len(names) <= 30 else 12) * len(names))
    )


def square(frame: pd.DataFrame, names: list[str]) -> Any:
    """A rectangle for each pair of columns, to be coloured."""
    alt = altair()
    beside = alt.Axis(labelOverlap=True, labelLimit=110, ticks=False, domain=False)
    below = alt.Axis(labelOverlap=True, labelLimit=300, ticks=False, domain=False)  # upright: room
    return (
        alt.Chart(frame)
        .mark_rect()
        .encode(
            x=alt.X("first:N", sort=names, title=None, axis=below),
            y=alt.Y("second:N", sort=names, title=None, axis=beside),
        )
    )


def fit(evidence: Evidence) -> list[Block]:
    """Each noisy cross-table: how far the synthetic rows are from it, against the noise in it."""
    tables = [noisy for noisy in evidence.tables if len(noisy.columns) > 1]
    if not tables:
        return [Prose("No cross-table of this release could be compared with the synthetic rows.")]
    frame = pd.DataFrame([_met(evidence, noisy) for noisy in tables])
    share = float((frame["distance"] <= 1.25 * frame["noise"]).mean())
    worst = frame.assign(times=frame["distance"] / frame["noise"]).nlargest(len(frame), "times")
    lines = [
        (
            w["table"],
            w["cells"],
            percent(w["distance"], 2),
            percent(w["noise"], 2),
            few(w["times"], 2),
        )
        for w in worst.to_dict("records")
    ]
    columns = ["table", "cells", "distance", "from noise alone", "ratio"]
    met = pd.DataFrame(lines, columns=columns)
    return [
        Chart.of(
            "How well the measured cross-tables are met",
            f"One point per measured table, {len(tables)} in all. Across: how far noise alone "
            "moves it from "
            "the truth. Up: how far the synthetic rows are from it. On the dashed line they "
            "agree as well "
            f"as can be known; {percent(share, 0)} of the tables are there or below, within a "
            "quarter.",
            scatter(frame),
        ),
        Grid("cross-tables-met", "All measured cross-tables, worst met first", met, folded=True),
    ]  # fmt: skip


def scatter(frame: pd.DataFrame) -> object:
    """Distance against noise, both as shares of rows that would have to move."""
    alt = altair()
    points = frame if len(frame) <= 2000 else frame.sample(2000, random_state=0)
    most = float(max(points["noise"].max(), points["distance"].max())) * 1.05
    axis = {"axis": alt.Axis(format=".2~%", tickCount=5), "scale": alt.Scale(domain=[0, most])}
    dots = (
        alt.Chart(points.round(5))
        .mark_circle(color=FIRST, opacity=0.6, size=32)
        .encode(
            x=alt.X("noise:Q", title="expected from noise alone", **axis),
            y=alt.Y("distance:Q", title="distance of synthetic rows", **axis),
            tooltip=[
                "table:N", "cells:Q",
                alt.Tooltip("distance:Q", format=".2%"), alt.Tooltip("noise:Q", format=".2%"),
            ],
        )
    )  # fmt: skip
    line = (
        alt.Chart(pd.DataFrame({"noise": [0.0, most], "distance": [0.0, most]}))
        .mark_line(strokeDash=[4, 4], strokeWidth=1, color="#8a94a3")
        .encode(x="noise:Q", y="distance:Q")
    )
    return alt.layer(line, dots).properties(height=300)


def _met(evidence: Evidence, noisy: Noisy) -> dict[str, object]:
    distance = np.abs(noisy.counts / evidence.total - evidence.shares(noisy.sides)).sum() / 2
    return {
        "table": query_in_words(noisy.sides),
        "cells": noisy.counts.size,
        "distance": float(distance),
        "noise": noisy.expected_gap / 2 / evidence.total,
    }


def _strongest(found: pd.DataFrame) -> str:
    return ", ".join(
        f"{d.first} and {d.second} ({d.dependence:.2f})" for d in found.head(3).itertuples()
    )
