"""The one path from two tables to tidy rows of scores, for `evaluate`, pages and the benchmark."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from tabveil.metrics import (
    column_shapes,
    correlation,
    diversity,
    k_marginal,
    k_marginal_nist,
    kolmogorov_smirnov,
    membership,
    models,
    nearest_record,
    pair_trends,
    queries,
    total_variation,
)
from tabveil.metrics.comparison import Comparison, Score

Metric = Callable[[Comparison], list[Score]]
Watch = Callable[[str, int, int], None]
"""Hears which stage begins, how many are done, and how many there are."""

METRICS: list[Metric] = [
    metric.scores
    for metric in (
        models,
        total_variation,
        queries,
        kolmogorov_smirnov,
        correlation,
        column_shapes,
        pair_trends,
        k_marginal,
        k_marginal_nist,
        diversity,
        nearest_record,
        membership,
    )
]


def silent(stage: str, done: int, total: int) -> None:
    """Hears, and says nothing."""


def scored(comparison: Comparison, watch: Watch = silent) -> pd.DataFrame:
    """Every score as rows of (metric, subject, value, reference); `watch` hears of each metric."""
    rows = [
        (score.metric, score.subject, score.value, score.reference)
        for score in scores_of(comparison, METRICS, watch)
    ]
    frame = pd.DataFrame(rows, columns=["metric", "subject", "value", "reference"])
    return frame.astype({"value": "float64", "reference": "float64"})


def scores_of(
    comparison: Comparison, metrics: Sequence[Metric], watch: Watch = silent
) -> list[Score]:
    """What some of the metrics say, in their order."""
    found: list[Score] = []
    for done, metric in enumerate(metrics):
        watch(metric.__module__.split(".")[-1].replace("_", " "), done, len(metrics))
        found += referenced(metric, comparison)
    return found


def referenced(metric: Metric, comparison: Comparison) -> list[Score]:
    """The metric's scores, each with what real test rows score unless the metric says so itself."""
    scores = metric(comparison)
    known = all(score.reference is not None for score in scores)
    if known or comparison.test is None or not comparison.references:
        return scores
    fresh = metric(replace(comparison, synthetic=comparison.test))
    return [replace(score, reference=real.value) for score, real in zip(scores, fresh, strict=True)]
