"""What is promised to each person, and what the worst attacker could still find out."""

from fractions import Fraction

import numpy as np
import pandas as pd

from tabveil.privacy import Risk, delta_warning
from tabveil.release import Release
from tabveil.report.evidence import Evidence
from tabveil.report.page import Block, Chart, Figures, Grid, Note, Points, Prose, Section
from tabveil.report.plot import FIRST, altair
from tabveil.report.words import percent, promised

SCALE = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)


def section(evidence: Evidence) -> Section:
    """ε, δ, relation, unit, what counts as public, and ε as a risk."""
    privacy = evidence.release.privacy
    epsilon, delta, spent = (
        float(privacy["epsilon"]),
        float(privacy["delta"]),
        Fraction(privacy["rho_spent"]),
    )
    worst = Risk.of_spending(spent, epsilon, delta, float(privacy.get("delta_used", 0)))
    blocks: list[Block] = [
        Prose(
            f"{promise(evidence.release)} In words: whatever anyone concludes from this release, "
            "they would "
            "have concluded it almost as likely had any one such record been absent or "
            "different. This "
            "holds whatever else they know, and however long they compute."
        ),
        Figures(
            (
                ("Protected", str(privacy.get("unit", "one row")), "the unit of the promise"),
                ("Neighbours", str(privacy["relation"]), relation_in_words(privacy["relation"])),
                (
                    "Best guess at who is in",
                    percent(worst.guess),
                    "at most, where tossing a coin gives 50 %",
                ),
                (
                    "Caught at 1 % false alarms",
                    percent(worst.caught(0.01)),
                    "at most, where chance alone gives 1 %",
                ),
            )
        ),
        Chart.of(
            "What the best possible attacker could do",
            "For each share of strangers wrongly accused, the largest share of members that "
            "could be found "
            "out. The dashed line is guessing. The curve follows from the exact accounting of "
            "this release.",
            attacker_chart(worst),
            "attacker",
        ),
        risks(epsilon, delta, worst),
        Prose(
            "These are limits for an attacker who knows every other row, the software and the "
            "schema, and "
            "who only has to tell whether one given record was used. Attackers in real life know "
            "less."
        ),
        Prose("Taken as public, and therefore not protected:"),
        Points([str(item) for item in privacy.get("assumed_public", ())]),
        *bought(evidence.release),
    ]
    if int(privacy.get("max_rows", 1)) > 1:
        blocks.append(Prose(f"Of each unit at most {privacy['max_rows']} rows were used."))
    if warning := delta_warning(delta, evidence.total):
        blocks.append(Note(warning, grave=True))
    return Section("guarantee", "The guarantee", blocks)


def bought(release: Release) -> list[Block]:
    """What of the schema was found in the data, and its cost; nothing where it was declared."""
    cost, fit = release.privacy.get("schema"), release.privacy.get("fit")
    if not cost or not fit:
        return []
    names = (
        ", ".join(str(name) for name in release.privacy.get("bought", ()))
        or "no column as it stands now"
    )
    return [
        Prose(
            "Found in the data and paid for, so not among the public things: types, lists of "
            "values, bounds, "
            f"decimals and missing cells of {names}. The numbers on this page hold for that and "
            "the fit "
            f"together: ε = {promised(cost['epsilon'])}, δ = {promised(cost['delta'])} were spent "
            "on the "
            f"schema, ε = {promised(fit['epsilon'])}, δ = {promised(fit['delta'])} on the fit."
        )
    ]


def promise(release: Release) -> str:
    """The promise as the release states it, with δ as people write it."""
    delta = float(release.privacy["delta"])
    return str(release.privacy["promise"]).replace(f"{delta:g}", promised(delta))


def risks(epsilon: float, delta: float, worst: Risk, name: str = "this release, exact") -> Grid:
    """What other ε would mean, beside this release."""
    rows = [(f"ε = {promised(e)}", Risk([(e, delta)])) for e in sorted({*SCALE, epsilon})]
    rows.append((name, worst))
    lines = [
        (label, percent(risk.guess), percent(risk.caught(0.01)), percent(risk.caught(0.1)))
        for label, risk in rows
    ]
    columns = [
        "promise",
        "right guesses from 50 %",
        "found at 1 % false alarms",
        "found at 10 % false alarms",
    ]
    frame = pd.DataFrame(lines, columns=columns)
    return Grid(
        "risk", "From ε to risk: the most that any attacker can reach", frame, marked=len(lines) - 1
    )


def attacker_chart(worst: Risk) -> object:
    """The attacker's curve over the diagonal."""
    alt = altair()
    accused = np.unique(np.concatenate([np.geomspace(1e-4, 0.05, 15), np.linspace(0, 1, 41)]))
    frame = pd.DataFrame(
        {"accused": accused.round(6), "found": [round(worst.caught(a), 6) for a in accused]}
    )
    axis = {"axis": alt.Axis(format="%", tickCount=5), "scale": alt.Scale(domain=[0, 1])}
    base = alt.Chart(frame)
    tooltip = [
        alt.Tooltip("accused", format=".1%", title="strangers accused"),
        alt.Tooltip("found", format=".1%", title="members found, at most"),
    ]
    area = base.mark_area(color=FIRST, opacity=0.15).encode(
        x="accused:Q", y="accused:Q", y2="found:Q"
    )
    line = base.mark_line(color=FIRST, strokeWidth=2.5).encode(
        x=alt.X("accused:Q", title="strangers wrongly accused", **axis),
        y=alt.Y("found:Q", title="members found out", **axis),
        tooltip=tooltip,
    )
    chance = base.mark_line(strokeDash=[4, 4], strokeWidth=1, color="#8a94a3").encode(
        x="accused:Q", y="accused:Q"
    )
    return alt.layer(area, chance, line).properties(height=260)


def relation_in_words(relation: str) -> str:
    """The neighbour relation for people."""
    if relation == "substitute":
        return "tables that differ in one record's content; their size is public"
    return "tables with one record more or less; their size is private"
