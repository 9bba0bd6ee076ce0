"""Charts of columns and pairs, as altair objects: for notebooks and pages of `tabveil report`."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tabveil.columns.cells import number_in
from tabveil.errors import InvalidInput
from tabveil.machine.packages import required
from tabveil.metrics import Comparison, comparison_of
from tabveil.release import Release
from tabveil.report.evidence import BELOW, FROM, MOST_BARS, Evidence
from tabveil.schema import Schema

# Two middle tones that stand out on white and on black.
FIRST, SECOND = "#4a86c5", "#d9770a"
BAND = 1.96  # standard errors on each side: noise stays inside 95 times in 100
MOST_CATEGORIES = 24
REST = "all others"


def column(release: Release, name: str) -> Any:
    """One column of a release: noisy counts, 95 % error bars, and synthetic rows. Releasable."""
    evidence = Evidence(release)
    return column_chart(evidence.column(name), name, evidence.starts(name))


def column_chart(frame: pd.DataFrame, name: str, starts: list[str] | None) -> Any:
    """The same from what `Evidence.column` and `Evidence.starts` say."""
    alt = altair()
    numeric = starts is not None
    frame = drawable(frame, starts)
    frame["low"] = (frame["noisy"] - BAND * frame["standard_error"]).clip(lower=0)
    frame["high"] = (frame["noisy"] + BAND * frame["standard_error"]).clip(lower=0)
    frame["drawn"] = frame["noisy"].clip(lower=0)
    frame = frame.drop(columns="standard_error").round(6)
    tooltip = [
        alt.Tooltip("part", title=name),
        alt.Tooltip("synthetic", format=".2%", title="synthetic"),
        alt.Tooltip("noisy", format=".2%", title="noisy count"),
        alt.Tooltip("low", format=".2%", title="95 % from"),
        alt.Tooltip("high", format=".2%", title="95 % to"),
    ]
    base = alt.Chart(frame)
    bars = base.mark_bar(color=FIRST, opacity=0.75).encode(
        **_along(numeric, "synthetic"), tooltip=tooltip
    )
    if frame["noisy"].isna().all():
        return bars.properties(**_size(numeric, frame))
    spans = base.mark_rule(color=SECOND, strokeWidth=1.8).encode(**_along(numeric, "low", "high"))
    points = base.mark_point(color=SECOND, filled=True, size=24, opacity=1).encode(
        **_along(numeric, "drawn"), tooltip=tooltip
    )
    return alt.layer(bars, spans, points).properties(**_size(numeric, frame))


def compare(real: Any, synthetic: Any, schema: Schema, columns: Sequence[str] | None = None) -> Any:
    """Real and synthetic shares of every column side by side. NOT private: for the owner's eyes."""
    alt = altair()
    charts = [
        shares_chart(frame, name in schema.numerical).properties(title=name)
        for name, frame in shares(comparison_of(real, synthetic, schema))
        if columns is None or name in columns
    ]
    if not charts:
        raise InvalidInput(
            "None of these columns is in the schema.", f"It has: {', '.join(schema.columns)}."
        )
    return alt.concat(*charts, columns=3).properties(
        title="NOT PRIVATE: real (orange) against synthetic"
    )


def shares(comparison: Comparison) -> Iterable[tuple[str, pd.DataFrame]]:
    """For each column its parts with their shares among real and synthetic rows. NOT private."""
    tables = comparison.real, comparison.synthetic
    for place, axis in enumerate(comparison.domain.axes):
        yield axis.name, _side_by_side([t.codes[:, place] for t in tables], list(axis.labels))
    for place, name in enumerate(comparison.domain.numerical):
        real, synthetic = (table.numbers[:, place] for table in tables)
        low, high = np.quantile(real, [0.0, 0.99])
        decimals = comparison.schema.numbers[name].decimals
        # Whole steps of the declared decimals, or some bars would hold more values than others.
        step = 10.0**-decimals if decimals is not None else max(high - low, 1e-9) / (MOST_BARS - 1)
        wide = step * max(1, np.ceil((high - low) / step / (MOST_BARS - 1)))
        # The last: all beyond.
        edges = low + wide * np.arange(max(1, np.ceil((high - low) / wide)) + 1)
        found = [
            np.clip(np.searchsorted(edges, n, "right") - 1, 0, None) for n in (real, synthetic)
        ]
        starts = [f"{edge:.6g}" for edge in edges]
        yield name, _side_by_side(found, [*starts[:-1], f"{FROM}{starts[-1]}"])


def shares_chart(frame: pd.DataFrame, numeric: bool) -> Any:
    """Real (points) against synthetic (bars) shares."""
    alt = altair()
    frame = drawable(frame, frame["part"].tolist() if numeric else None)
    tooltip = ["part", *(alt.Tooltip(name, format=".2%") for name in ("synthetic", "real"))]
    base = alt.Chart(frame)
    bars = base.mark_bar(color=FIRST, opacity=0.75).encode(
        **_along(numeric, "synthetic"), tooltip=tooltip
    )
    points = base.mark_point(color=SECOND, filled=True, size=36, opacity=1).encode(
        **_along(numeric, "real"), tooltip=tooltip
    )
    return alt.layer(bars, points).properties(**_size(numeric, frame))


def drawable(frame: pd.DataFrame, starts: list[str] | None) -> pd.DataFrame:
    """The frame with as many parts as fit into a chart, and a short name for each.

    The name of a part of a number is where it starts.
    """
    frame = frame.copy()
    if starts is not None:
        frame["from"] = _short(starts)
        return frame
    if len(frame) > MOST_CATEGORIES:
        order = frame["synthetic"].sort_values(ascending=False, kind="stable").index
        top, rest = (
            frame.loc[sorted(order[: MOST_CATEGORIES - 1])],
            frame.loc[order[MOST_CATEGORIES - 1 :]],
        )
        total: dict[str, Any] = {"part": REST}
        for name in frame.columns.drop("part"):
            values = rest[name].astype(float)
            total[name] = float(
                (values**2).sum() ** 0.5 if name == "standard_error" else values.sum()
            )
        if frame["noisy"].isna().all() if "noisy" in frame else False:
            total["noisy"] = np.nan
        frame = pd.concat([top, pd.DataFrame([total])], ignore_index=True)
    frame["from"] = frame["part"]
    return frame


def altair() -> Any:
    """The charting library, or one line that says how to get it."""
    return require("altair")


def require(module: str) -> Any:
    """A module of the report extra."""
    return required(module, "report", "Charts and pages need")


def _along(numeric: bool, *fields: str) -> dict[str, Any]:
    """Parts along the ground, shares upwards; categories go downwards, so names can be read."""
    alt = altair()
    value = {"title": None, "axis": alt.Axis(format="%", tickCount=4)}
    if numeric:
        parts = alt.X(
            "from:O",
            sort=None,
            title=None,
            axis=alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=6),
        )
        ends = {"y2": fields[1]} if len(fields) > 1 else {}
        return {"x": parts, "y": alt.Y(f"{fields[0]}:Q", **value), **ends}
    parts = alt.Y("from:O", sort=None, title=None, axis=alt.Axis(labelLimit=130))
    ends = {"x2": fields[1]} if len(fields) > 1 else {}
    return {"y": parts, "x": alt.X(f"{fields[0]}:Q", **value), **ends}


def _size(numeric: bool, frame: pd.DataFrame) -> dict[str, int]:
    return {"width": 320, "height": 170 if numeric else max(60, 20 * len(frame))}


def _side_by_side(codes: list[np.ndarray], labels: list[str]) -> pd.DataFrame:
    real, synthetic = (np.bincount(c, minlength=len(labels)) / len(c) for c in codes)
    return pd.DataFrame({"part": labels, "real": real, "synthetic": synthetic})


def _short(names: list[str]) -> list[str]:
    """Numbers in few characters (12.8k), with as many digits as tell them apart.

    Dates and special values are short enough, and stay.
    """
    signs = [next((sign for sign in (BELOW, FROM) if n.startswith(sign)), "") for n in names]
    numbers = [number_in(name.removeprefix(s)) for name, s in zip(names, signs, strict=True)]
    for digits in (2, 3, 4, 6):
        texts = [
            name if math.isnan(number) else sign + _compact(number, digits)
            for name, sign, number in zip(names, signs, numbers, strict=True)
        ]
        if len(set(texts)) == len(texts):
            return texts
    return names


def _compact(number: float, digits: int) -> str:
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= unit:
            thousands = name == "k"
            return f"{number / min(unit, 1e3 if thousands else unit):.{digits + thousands}g}{name}"
    return f"{number:.{max(4, digits)}g}"
