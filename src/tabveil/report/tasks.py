"""Targets: the columns that models are to predict, and what was kept for them."""

import pandas as pd

from tabveil.report.evidence import Evidence
from tabveil.report.page import Chart, Charts, Grid, Prose, Section
from tabveil.report.plot import FIRST, altair
from tabveil.report.words import percent

MOST = 10


def section(evidence: Evidence) -> Section | None:
    """For each target its classes, its measured tables, and the columns that say most about it."""
    targets = evidence.release.schema.targets
    if not targets:
        return None
    lines, charts = [], []
    for target in targets:
        involved = [
            noisy.columns
            for noisy in evidence.tables
            if target in noisy.columns and len(noisy.columns) > 1
        ]
        known = {name for columns in involved for name in columns} - {target}
        classes = evidence.column(target)
        lines.append(
            (
                target,
                ", ".join(
                    f"{c['part']} {percent(c['synthetic'])}"
                    for c in classes.head(6).to_dict("records")
                ),
                len(involved),
                f"{len(known)} of {len(evidence.names) - 1}",
            )
        )
        charts.append(
            Chart.of(
                target,
                f"The columns that {target} depends on most.",
                _chart(_related(evidence, target)),
            )
        )
    columns = ["target", "classes (synthetic)", "cross-tables measured", "other columns they cover"]
    return Section(
        "tasks",
        "Tasks",
        [
            Prose(
                "Targets are columns that someone may want to predict. Cross-tables that hold a "
                "target, "
                "and pairs of columns within each of its classes, are measured on purpose, so "
                "that models "
                "trained on the synthetic rows find what real rows would have shown. How well "
                "models do on "
                "real people can only be told by the owner, who has them: see `tabveil evaluate`."
            ),
            Grid("targets", "What was kept for each target", pd.DataFrame(lines, columns=columns)),
            Prose("Which columns say most about each target in the synthetic rows (Cramér's V):"),
            Charts(charts),
        ],
    )  # fmt: skip


def _related(evidence: Evidence, target: str) -> pd.DataFrame:
    found = evidence.dependence
    here = found[(found["first"] == target) | (found["second"] == target)]
    other = here["second"].where(here["first"] == target, here["first"])
    frame = pd.DataFrame({"column": other, "dependence": here["dependence"].round(3)})
    return frame.sort_values("dependence", ascending=False, kind="stable").head(MOST)


def _chart(frame: pd.DataFrame) -> object:
    alt = altair()
    return (
        alt.Chart(frame)
        .mark_bar(color=FIRST)
        .encode(
            x=alt.X(
                "dependence:Q",
                title=None,
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(tickCount=4),
            ),
            y=alt.Y("column:N", sort=None, title=None, axis=alt.Axis(labelLimit=130)),
            tooltip=["column:N", alt.Tooltip("dependence:Q", format=".2f")],
        )
        .properties(height=max(60, 20 * len(frame)))
    )
