"""Figures from tidy results: lines with error bars, one panel per task or state."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tabveil.benchmark.experiment import Experiment
from tabveil.benchmark.results import SCORES, markdown, means, name_today, reports, tidy
from tabveil.errors import InvalidInput
from tabveil.machine.files import atomic_write
from tabveil.report.plot import altair, require

PANEL = {"width": 190, "height": 150}


def draw(experiment: Experiment, out: Path, folder: Path, name: str) -> list[Path]:
    """Write every figure (SVG) and table (Markdown) of an experiment, and all rows as Parquet."""
    rows = tidy(experiment, out)
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / f"{name}.parquet"]
    atomic_write(made[0], lambda file: rows.convert_dtypes().to_parquet(file, index=False))
    for number, asked in enumerate(experiment.figure):
        chart = figure(rows, experiment.title, **asked)
        file = folder / (
            f"{name}.svg" if len(experiment.figure) == 1 else f"{name}-{number + 1}.svg"
        )
        atomic_write(file, require("vl_convert").vegalite_to_svg(chart.to_dict()).encode())
        made.append(file)
    for number, asked in enumerate(experiment.table):
        file = folder / (f"{name}.md" if len(experiment.table) == 1 else f"{name}-{number + 1}.md")
        atomic_write(file, markdown(means(rows, **asked, spread=True)).encode())
        made.append(file)
    if links := reports(rows):
        made.append(out / "reports.md")
        atomic_write(made[-1], "\n".join([f"# {experiment.title}", "", *links, ""]).encode())
    return made


def figure(
    rows: pd.DataFrame,
    title: str,
    x: str,
    y: str,
    column: str = "dataset",
    series: str = "system",
    logarithmic: Sequence[str] = (),
    flat: float | None = None,
    where: Mapping[str, Any] | None = None,
    without: Sequence[str] = (),
) -> Any:
    """A panel per value of `column`: score `y` against `x`, a line per series, bars least to most.

    `x` is something that cells differ in, or another score of theirs. Where it is missing, or has
    the value `flat`, the score is one dashed line across the panel. Systems `without` are not
    drawn.
    """
    alt = altair()
    points = points_of(rows[~rows["synthesizer"].isin(without)], x, y, column, where or {})
    level = points[x].isna() | (points[x] == flat)
    grouped = [column, series] + ([x] if x in rows.columns else ["options", "epsilon"])
    grouped = list(dict.fromkeys(grouped))
    values = {"score": ("score", "mean"), "least": ("score", "min"), "most": ("score", "max")}
    along = {} if x in grouped else {x: (x, "mean")}
    lines = (
        points[~level]
        .groupby(grouped, dropna=False, sort=False)
        .agg(**values, **along)
        .reset_index()
    )
    levels = points[level].groupby([column, series], sort=False).agg(**values).reset_index()
    frame = pd.concat([lines.assign(kind="line"), levels.assign(kind="level")], ignore_index=True)
    tight = {"nice": False, "padding": 6}
    kinds = {
        n: alt.Scale(type="log", **tight) if n in logarithmic else alt.Scale(zero=False)
        for n in "xy"
    }
    encoded = {
        "y": alt.Y("score:Q", title=TITLES.get(y, SCORES.get(y, y)), scale=kinds["y"]),
        "color": alt.Color(f"{series}:N", title=None, sort=None, legend=alt.Legend(labelLimit=260)),
    }
    across = alt.X(f"{x}:Q", title=TITLES.get(x, SCORES.get(x, x)), scale=kinds["x"])
    drawn = alt.Chart(frame).transform_filter("datum.kind == 'line'")
    parts = [
        drawn.mark_line(point=True).encode(x=across, **encoded),
        drawn.mark_rule().encode(x=across, **encoded | {"y": "least:Q"}, y2="most:Q"),
    ]
    if len(levels):
        dashed = alt.Chart(frame).transform_filter("datum.kind == 'level'")
        parts.append(dashed.mark_rule(strokeDash=[4, 3], size=1.5).encode(**encoded))
    panel = alt.Facet(f"{column}:N", title=None, sort=list(dict.fromkeys(frame[column])))
    width = 5 if frame[column].nunique() <= 5 else 3
    chart = alt.layer(*parts, data=frame).properties(**PANEL).facet(panel, columns=width)
    chart = chart.resolve_scale(y="independent").properties(title=title)
    return chart.configure(background="white").configure_axis(grid=False)


def points_of(
    rows: pd.DataFrame, x: str, y: str, column: str, where: Mapping[str, Any]
) -> pd.DataFrame:
    """One row per cell (and target, if targets are the panels) with its score and place along x."""
    for name, value in where.items():
        rows = rows[rows[name] == value]
    if column == "subject":
        score, wanted = name_today(y, column), ~rows["subject"].isin(["mean", "max"])
    else:
        score, wanted = name_today(y), rows["subject"] == "mean"
    points = rows[(rows["metric"] == score) & wanted].rename(columns={"value": "score"})
    if points.empty:
        known = ", ".join(sorted(set(rows["metric"])))
        raise InvalidInput(f"There is no {y} to draw.", f"Scores are: {known}.")
    if x in rows.columns:
        return points
    other = rows[(rows["metric"] == x) & (rows["subject"] == "mean")]
    return points.merge(other[["cell", "value"]].rename(columns={"value": x}), on="cell")


TITLES = {
    "epsilon": "ε",
    "option_sharpness": "σ",
    "f1_linear": "macro F1",
    "f1_linear_by_target": "macro F1",
}
