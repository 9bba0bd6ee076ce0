"""Each column: what was measured, with the range that noise leaves open, against synthetic rows."""

import pandas as pd

from tabveil.report.evidence import Evidence
from tabveil.report.page import Block, Chart, Charts, Grid, Note, Prose, Section
from tabveil.report.plot import BAND, FIRST, SECOND, column_chart
from tabveil.report.words import percent

MOST = 120


def section(evidence: Evidence) -> Section:
    """One small chart per column, and all numbers as a table."""
    names = evidence.names[:MOST]
    frames = {name: evidence.column(name) for name in names}
    charts = [
        Chart.of(name, _words(frame), column_chart(frame, name, evidence.starts(name)))
        for name, frame in frames.items()
    ]
    lines = [
        (
            name, line["part"], percent(line["noisy"], 2), percent(BAND * line["standard_error"],
            2),
            percent(line["synthetic"], 2),
        )
        for name, frame in frames.items()
        for line in frame.to_dict("records")
    ]  # fmt: skip
    columns = ["column", "part", "noisy", "± (95 %)", "synthetic"]
    blocks: list[Block] = [
        Prose(
            "Shares of all rows. Numbers are counted in even steps, as fine as the noise allows; "
            "each bar is "
            "labelled with where it begins, the outer ones take in what lies beyond. Noise can "
            "push a small "
            "count below zero; it is then drawn at zero."
        ),
        Charts(charts, ((SECOND, "measured, with 95 % range"), (FIRST, "synthetic rows"))),
        Grid("columns", "All shares as numbers", pd.DataFrame(lines, columns=columns), folded=True),
    ]
    if len(names) < len(evidence.names):
        blocks.insert(1, Note(f"The first {MOST} of {len(evidence.names)} columns are drawn."))
    return Section("columns", "Each column", blocks)


def _words(frame: pd.DataFrame) -> str:
    """What a chart shows, for those who cannot see it."""
    top = frame.nlargest(1, "synthetic").to_dict("records")[0]
    said = (
        f"{len(frame)} parts; the largest of the synthetic rows is {top['part']}, "
        f"{percent(top['synthetic'])}"
    )
    if frame["noisy"].isna().all():
        return f"{said}. The column was not measured on its own."
    inside = ((frame["noisy"] - frame["synthetic"]).abs() <= BAND * frame["standard_error"]).mean()
    within = f"{percent(inside, 0)} of the parts lie within the range."
    return f"{said}, measured {percent(top['noisy'])}. {within}"
