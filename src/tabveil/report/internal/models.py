"""Models trained on synthetic rows and tested on real ones, against those trained on real rows."""

import pandas as pd

from tabveil.report.internal.inside import Inside
from tabveil.report.page import Chart, Charts, Grid, Prose, Section
from tabveil.report.plot import FIRST, SECOND, altair

LEARNERS = (("logistic regression", "f1_linear_by_target"), ("boosted trees", "f1_trees_by_target"))


def section(inside: Inside) -> Section:
    """Macro F1 per target."""
    lines, charts = [], []
    for label, metric in LEARNERS:
        found = inside.scores_of(metric)
        if not len(found):
            continue
        frame = pd.DataFrame(
            {"target": found["subject"], "synthetic": found["value"], "real": found["reference"]}
        )
        lines += [
            (line["target"], label, f"{line['synthetic']:.3f}", f"{line['real']:.3f}")
            for line in frame.to_dict("records")
        ]
        charts.append(
            Chart.of(label.capitalize(), "Macro F1 on unseen real rows, per target.", _chart(frame))
        )
    if not lines:
        return Section(
            "models",
            "Models",
            [Prose("Give unseen real rows with `--test`, and name targets, to see model scores.")],
        )
    columns = ["target", "model", "trained on synthetic rows", "trained on real rows"]
    return Section(
        "models",
        "Models",
        [
            Prose("Macro F1 on real rows that nobody trained on: 1 is perfect."),
            Charts(
                charts, ((SECOND, "trained on real rows"), (FIRST, "trained on synthetic rows"))
            ),
            Grid("models", "Scores of models", pd.DataFrame(lines, columns=columns)),
        ],
    )


def _chart(frame: pd.DataFrame) -> object:
    alt = altair()
    base = alt.Chart(frame.round(4))
    rows = alt.Y("target:N", sort=None, title=None, axis=alt.Axis(labelLimit=130))
    tooltip = [
        "target:N",
        alt.Tooltip("synthetic:Q", format=".3f"),
        alt.Tooltip("real:Q", format=".3f"),
    ]
    bars = base.mark_bar(color=FIRST, opacity=0.75).encode(
        x=alt.X(
            "synthetic:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5)
        ),
        y=rows,
        tooltip=tooltip,
    )
    ticks = base.mark_tick(color=SECOND, thickness=3).encode(x="real:Q", y=rows, tooltip=tooltip)
    return alt.layer(bars, ticks).properties(height=26 * len(frame))
