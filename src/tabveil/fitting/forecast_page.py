"""A plan as a page: what would be measured, and what to expect; made without any data."""

import pandas as pd

from tabveil.fitting.forecast import NO_MODEL, Expected, Forecast
from tabveil.report.guarantee import risks
from tabveil.report.page import Chart, Figures, Grid, Note, Page, Prose, Section
from tabveil.report.pairs import heat_map
from tabveil.report.plot import FIRST, altair
from tabveil.report.words import amount, count, duration, few, percent, size


def forecast_page(found: Forecast) -> Page:
    """The page that `tabveil plan -o` writes."""
    budget = f"ε = {few(found.epsilon)}, δ = {few(found.delta)}, {found.relation}"
    return Page(
        title="Plan of a release",
        subtitle=(
            f"{budget}, about {amount(found.rows)} rows. Made from the schema; no data was opened."
        ),
        sections=_sections(found),
        footer="Made by tabveil. This page fetches nothing and sends nothing.",
    )


def _sections(found: Forecast) -> list[Section]:
    expected = found.expected
    if expected is None:
        overview = Section("overview", "What to expect", [Note(NO_MODEL)])
        return [overview, _risk(found), _spending(found)]
    pairs = [_pairs(expected)] if expected.pairs else []
    return [_overview(expected), _risk(found), _spending(found), _columns(expected), *pairs]


def _risk(found: Forecast) -> Section:
    frame = risks(found.epsilon, found.delta, found.risk, "this plan, exact")
    return Section("risk", "What may be risked", [frame])


def _overview(found: Expected) -> Section:
    return Section(
        "overview",
        "What to expect",
        [
            Figures(
                (
                    ("Predicted error", f"{found.error:.3f}",
                    "mean over cross-tables of two columns"),
                    ("k-marginal score", f"{found.score:.0f}",
                    "the same on NIST's scale; 1000 is perfect"),
                    ("Cross-tables", amount(found.measured),
                    f"of {amount(found.candidates)} possible ones"),
                    ("Time", duration(found.seconds),
                    f"on two cores, with {size(found.memory)} of memory"),
                )
            ),
            Prose(
                "An error of 0.02 means that 2 in 100 rows would have to move to another cell to "
                "make a "
                "synthetic cross-table equal to the real one."
            ),
            Note(
                "Noise is exact. Errors are predicted by a model that is at most a quarter off "
                "on the three "
                "tables it was fitted to; yours may differ more. Time is a rough figure."
            ),
        ],
    )  # fmt: skip


def _spending(found: Forecast) -> Section:
    lines = [
        (
            part.purpose,
            part.asked,
            percent(part.share),
            "–" if part.noise is None else few(part.noise),
        )
        for part in found.spending
    ]
    frame = pd.DataFrame(
        [(part.purpose, part.share) for part in found.spending], columns=["purpose", "share"]
    )
    return Section(
        "spending",
        "What the budget buys",
        [
            Chart.of("Shares of the budget", "Each bar is one purpose.", _bars(frame),
            "spending-picture"),
            Grid(
                "spending", f"{count(found.rounds, 'round')} of choosing and measuring",
                pd.DataFrame(lines, columns=["purpose", "asked", "share", "noise, rows"]),
            ),
        ],
    )  # fmt: skip


def _columns(found: Expected) -> Section:
    lines = [
        (c.name, c.kind, c.cells, percent(c.noise, 2), f"{c.error:.3f}") for c in found.columns
    ]
    columns = ["column", "kind", "parts", "noise on each", "predicted error"]
    return Section(
        "columns",
        "Each column",
        [Grid("columns", "Columns alone", pd.DataFrame(lines, columns=columns))],
    )


def _pairs(found: Expected) -> Section:
    errors = [(p.first, p.second, p.error) for p in found.pairs]
    frame = pd.DataFrame(errors, columns=["first", "second", "predicted error"])
    worst = sorted(found.pairs, key=lambda pair: -pair.error)
    lines = [(p.first, p.second, p.cells, percent(p.noise, 3), f"{p.error:.3f}") for p in worst]
    columns = ["column", "other column", "cells", "noise on each", "predicted error"]
    names = [column.name for column in found.columns]
    return Section(
        "pairs",
        "Pairs of columns",
        [
            Chart.of(
                "Predicted error of each cross-table",
                "Noise is stated as if the table were among the measured ones.",
                heat_map(frame, names, "predicted error", max(error for *_, error in errors)),
            ),
            Grid(
                "pairs", "All pairs, worst first", pd.DataFrame(lines, columns=columns), folded=True
            ),
        ],
    )


def _bars(frame: pd.DataFrame) -> object:
    alt = altair()
    return (
        alt.Chart(frame.round(5))
        .mark_bar(color=FIRST)
        .encode(
            x=alt.X("share:Q", title=None, axis=alt.Axis(format="%", tickCount=5)),
            y=alt.Y("purpose:N", sort=None, title=None, axis=alt.Axis(labelLimit=150)),
            tooltip=["purpose:N", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(height=26 * len(frame))
    )
