"""Errors on the three kinds of queries of the RAP++ paper: CM, MM and LT."""

import pandas as pd

from tabveil.report.internal.inside import Inside
from tabveil.report.page import Grid, Prose, Section

KINDS = (
    ("CM, total variation", "total_variation_cm"),
    ("CM, per cell", "cm_error"),
    ("MM, thresholds spread evenly", "mm_error_uniform"),
    ("MM, thresholds where rows are", "mm_error_quantile"),
    ("LT", "lt_error"),
)


def section(inside: Inside) -> Section | None:
    """Mean and worst error of each kind, and what unseen real rows reach."""
    lines = []
    for label, metric in KINDS:
        mean, worst = inside.score(metric), inside.score(metric, "max")
        if mean and worst:
            lines.append(
                (label, *(_shown(value) for value in (mean[0], mean[1], worst[0], worst[1])))
            )
    if not lines:
        return None
    columns = ["queries", "mean", "mean, real rows", "worst", "worst, real rows"]
    return Section(
        "queries",
        "Errors of queries",
        [
            Prose(
                "CM: two categorical columns and a target. MM: two numbers at or below "
                "thresholds, within a "
                "class. LT: rows of a class on one side of a plane through all numbers. Errors "
                "are shares of "
                "all rows."
            ),
            Grid("queries", "Errors by kind of query", pd.DataFrame(lines, columns=columns)),
        ],
    )


def _shown(error: float) -> str:
    return "–" if pd.isna(error) else f"{error:.4f}"
