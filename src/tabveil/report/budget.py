"""The ledger as a picture: what the budget was spent on, in order."""

import re
from fractions import Fraction

import pandas as pd

from tabveil.privacy import epsilon_of
from tabveil.privacy.balance import purpose
from tabveil.report.evidence import Evidence
from tabveil.report.page import Chart, Grid, Prose, Section
from tabveil.report.plot import FIRST, altair
from tabveil.report.words import amount, few, percent, promised


def section(evidence: Evidence) -> Section:
    """Each charge as a piece of the budget."""
    release = evidence.release
    budget, delta = Fraction(release.privacy["rho"]), float(release.privacy["delta"])
    at = float(release.privacy.get("fit", release.privacy)["delta"])  # where ρ is turned into ε
    pieces, lines, before = [], [], Fraction(0)
    for number, charge in enumerate(release.charges, start=1):
        cost = Fraction(charge["rho"])
        after = before + cost
        what = purpose(charge["what"])
        kind = re.sub(r"\b\d+ (of all )?", "", what)
        pieces.append(
            {
                "charge": number, "what": what, "purpose": kind,
                "from": float(before / budget), "to": float(after / budget),
            }
        )  # fmt: skip
        lines.append(
            (
                number, what, charge["mechanism"], amount(charge.get("scale", 0)),
                percent(float(cost / budget), 2), few(epsilon_of(after, at), 4),
            )
        )  # fmt: skip
        before = after
    columns = ["no.", "what", "mechanism", "noise, rows", "share", "ε so far"]
    return Section(
        "ledger",
        "What it cost",
        [
            Prose(
                f"The whole budget is ρ = {few(float(budget))} of zero-concentrated privacy, "
                "which is "
                f"ε = {promised(release.privacy['epsilon'])} at δ = {promised(delta)}. Every look "
                "at the "
                "real rows was charged before it was taken. "
                f"In {len(lines)} charges {_spent(before, budget)} was spent."
            ),
            Chart.of(
                "The budget, from the first charge to the last",
                "Each bar is one charge; its width is the share of the budget it took.",
                _chart(pd.DataFrame(pieces)),
                "ledger-picture",
            ),
            Grid(
                "ledger",
                f"All {len(lines)} charges",
                pd.DataFrame(lines, columns=columns),
                folded=True,
            ),
        ],
    )


def _spent(spent: Fraction, budget: Fraction) -> str:
    return "all of it" if spent == budget else percent(float(spent / budget))


def _chart(frame: pd.DataFrame) -> object:
    alt = altair()
    order = frame["purpose"].drop_duplicates().tolist()
    return (
        alt.Chart(frame)
        .mark_bar(color=FIRST, cornerRadius=2, stroke="#8a94a3", strokeWidth=0.4)
        .encode(
            x=alt.X(
                "from:Q", title="share of the budget",
                axis=alt.Axis(format="%", tickCount=5), scale=alt.Scale(domain=[0, 1]),
            ),
            x2="to:Q",
            y=alt.Y("purpose:N", sort=order, title=None, axis=alt.Axis(labelLimit=150)),
            tooltip=[
                "charge:Q", "what:N", alt.Tooltip("from:Q", format=".2%"), alt.Tooltip("to:Q",
                format=".2%"),
            ],
        )
        .properties(height=26 * len(order))
    )  # fmt: skip
