"""The few scores worth reading first, for people."""

from typing import NamedTuple

import pandas as pd
from rich.box import SIMPLE
from rich.table import Table as RichTable

# What a short table shows: label, metric, and which way is better.
HEADLINES = (
    ("F1, logistic regression", "f1_linear", "higher"),
    ("F1, boosted trees", "f1_trees", "higher"),
    ("CM total variation", "total_variation_cm", "lower"),
    ("MM error, uniform thresholds", "mm_error_uniform", "lower"),
    ("MM error, quantile thresholds", "mm_error_quantile", "lower"),
    ("LT error", "lt_error", "lower"),
    ("Kolmogorov–Smirnov distance", "kolmogorov_smirnov", "lower"),
    ("Correlation difference", "correlation", "lower"),
    ("Column shapes (as SDMetrics)", "column_shapes", "higher"),
    ("Column pair trends (as SDMetrics)", "pair_trends", "higher"),
    ("k-marginal score, k = 2", "k_marginal_2", "higher"),
    ("k-marginal score, k = 3", "k_marginal_3", "higher"),
    ("k-marginal score (as NIST)", "k_marginal_nist", "higher"),
    ("Different combinations of categories, as a share of real ones", "diversity", "near 1"),
    ("Rows closer to training than to unseen rows", "closer_to_training", "near 0.5"),
    ("Rows that copy a training row", "copies_of_training", "as reference"),
    ("Membership attack, chance to be right", "membership_attack", "near 0.5"),
)


class Headline(NamedTuple):
    """One line of a short table; `better` is "higher", "lower", or what to be near."""

    label: str
    value: float
    reference: float | None
    better: str


def summary(frame: pd.DataFrame) -> list[Headline]:
    """The few means worth reading first, in a fixed order; what was not scored is left out."""
    means = frame[frame["subject"] == "mean"].set_index("metric")
    values, references = means["value"].to_dict(), means["reference"].dropna().to_dict()
    return [
        Headline(label, values[metric], references.get(metric), better)
        for label, metric, better in HEADLINES
        if metric in values
    ]


def summary_table(frame: pd.DataFrame) -> RichTable:
    """The summary as a table for the terminal."""
    table = RichTable("score", "synthetic", "real", "better", box=SIMPLE)
    for label, value, reference, better in summary(frame):
        table.add_row(label, shown(value), "–" if reference is None else shown(reference), better)
    return table


def shown(score: float) -> str:
    """A score with as many decimals as it deserves."""
    return f"{score:.1f}" if abs(score) >= 10 else f"{score:.4f}"
