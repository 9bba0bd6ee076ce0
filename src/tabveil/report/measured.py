"""What was measured and what was not: nobody has to guess which statistics stand on evidence."""

from itertools import combinations
from math import comb

import pandas as pd

from tabveil.report.evidence import Evidence
from tabveil.report.page import Block, Chart, Grid, Note, Prose, Section
from tabveil.report.pairs import square
from tabveil.report.plot import altair
from tabveil.report.words import amount, percent


def section(evidence: Evidence) -> Section:
    """By kind, by pair, and one by one."""
    release, names, total = evidence.release, evidence.names, evidence.total
    rows = [
        (
            m.family,
            m.query,
            m.counts.size,
            amount(m.standard_error),
            percent(m.standard_error / total, 2),
        )
        for m in release.measurements
    ]
    each = pd.DataFrame(
        rows, columns=["kind", "statistic", "cells", "standard error, rows", "as a share"]
    )
    blocks: list[Block] = [
        Prose(
            "Noise is paid for, so not everything can be measured. A computer chose the "
            "cross-tables that "
            "the synthetic rows got most wrong (a choice that was itself paid for and noisy). "
            "What was not "
            "measured still follows from what was, but nothing vouches for it."
        ),
        Grid("measured-kinds", "By kind", _kinds(evidence)),
    ]
    if 2 <= len(names) <= 60:
        blocks.append(
            Chart.of(
                "Which pairs of columns were measured",
                "Dark: their cross-table, or one that contains both columns, was measured. "
                "Light: it was "
                "not.",
                _chart(evidence),
            )
        )
    blocks.append(Grid("measured", f"All {len(each):,} measured statistics", each, folded=True))
    missing = _missing(evidence)
    if len(missing):
        blocks.append(
            Grid(
                "not-measured",
                f"The {len(missing):,} pairs that were not measured",
                missing,
                folded=True,
            )
        )
    blocks.append(
        Note(
            "Every noisy count itself is in the release: `tv.load(RELEASE).measured()` gives "
            "them as one "
            "table."
        )
    )
    return Section("measured", "What was measured", blocks)


def _kinds(evidence: Evidence) -> pd.DataFrame:
    columns, targets = len(evidence.names), len(evidence.release.schema.targets)
    ways = {
        "columns alone": (1, columns),
        "pairs of columns": (2, comb(columns, 2)),
        "pairs of columns within classes": (3, targets * comb(max(0, columns - 1), 2)),
    }
    numbers = {m.query for m in evidence.release.measurements if m.family == "distributions"}
    lines = []
    for kind, (width, possible) in ways.items():
        tables = [t for t in evidence.tables if len(t.columns) == width]
        found = len({t.columns for t in tables}) + (len(numbers) if width == 1 else 0)
        if possible:
            lines.append((kind, f"{found:,}", f"{possible:,}", percent(found / possible, 0)))
    others: dict[str, int] = {}
    for m in evidence.release.measurements:
        if m.family not in ("cross-tables", "distributions"):
            others[m.family] = others.get(m.family, 0) + 1
    lines += [(kind, f"{found:,}", "–", "–") for kind, found in others.items()]
    return pd.DataFrame(lines, columns=["kind", "measured", "possible", "share"])


def _seen(evidence: Evidence) -> set[frozenset[str]]:
    tables = [noisy.columns for noisy in evidence.tables if len(noisy.columns) > 1]
    return {frozenset(pair) for columns in tables for pair in combinations(columns, 2)}


def _missing(evidence: Evidence) -> pd.DataFrame:
    seen = _seen(evidence)
    pairs = [pair for pair in combinations(evidence.names, 2) if frozenset(pair) not in seen]
    return pd.DataFrame(pairs, columns=["column", "other column"])


def _chart(evidence: Evidence) -> object:
    alt, names, seen = altair(), evidence.names, _seen(evidence)
    frame = pd.DataFrame(
        [
            (a, b, "measured" if frozenset((a, b)) in seen else "not measured")
            for a in names
            for b in names
            if a != b
        ],
        columns=["first", "second", "state"],
    )
    return (
        square(frame, names)
        .encode(
            color=alt.Color(
                "state:N",
                scale=alt.Scale(
                    domain=["measured", "not measured"], range=["#4a86c5", "#8a94a333"]
                ),
                legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=["first:N", "second:N", "state:N"],
        )
        .properties(height=(16 if len(names) <= 30 else 10) * len(names))
    )
