"""Real and synthetic rows in, tidy rows of scores out; for the owner's eyes: nothing here is
private."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.table import Table as RichTable

from tabveil.errors import InvalidInput
from tabveil.metrics import (
    column_shapes,
    correlation,
    k_marginal,
    kolmogorov_smirnov,
    membership,
    models,
    nearest_record,
    pair_trends,
    queries,
    total_variation,
)
from tabveil.metrics.comparison import Comparison, Score
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.tables.table import Codec, Table

METRICS: list[Callable[[Comparison], list[Score]]] = [
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
        nearest_record,
        membership,
    )
]

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
    ("k-marginal score, k = 2 (as NIST)", "k_marginal_2", "higher"),
    ("k-marginal score, k = 3 (as NIST)", "k_marginal_3", "higher"),
    ("Rows closer to training than to unseen rows", "closer_to_training", "near 0.5"),
    ("Rows that copy a training row", "copies_of_training", "as reference"),
    ("Membership attack, chance to be right", "membership_attack", "near 0.5"),
)


Watch = Callable[
    [str, int, int], None
]  # which stage begins, how many are done, and how many there are


class Headline(NamedTuple):
    """One line of a short table; `better` is "higher", "lower", or what to be near."""

    label: str
    value: float
    reference: float | None
    better: str


def evaluate(
    real: Any,
    synthetic: Any,
    schema: Schema,
    test: Any = None,
    targets: Sequence[str] | None = None,
    seed: int = 0,
    watch: Watch = lambda stage, done, total: None,
) -> pd.DataFrame:
    """Every score of the synthetic table as rows of (metric, subject, value, reference). NOT
    private.

    `reference` is what real rows reach: for models, training on `real`; for errors, `test` in the
    place of `synthetic`. Without `test` there are no references and no model scores. `targets`
    replaces the schema's own; a column that is then no target counts as a feature."""
    schema = schema if targets is None else schema.with_targets(tuple(targets))
    return scored(comparison_of(real, synthetic, schema, test, seed), watch)


def comparison_of(
    real: Any, synthetic: Any, schema: Schema, test: Any = None, seed: int = 0
) -> Comparison:
    """The tables, read and encoded alike; all rows of everybody."""
    schema = schema.replaced(privacy=None)
    codec = Codec(schema)
    return Comparison(
        schema=schema,
        domain=codec.domain,
        real=encoded("real", real, codec, schema),
        synthetic=encoded("synthetic", synthetic, codec, schema),
        test=None if test is None else encoded("test", test, codec, schema),
        targets=codec.domain.targets,
        seed=seed,
    )


def scored(comparison: Comparison, watch: Watch = lambda stage, done, total: None) -> pd.DataFrame:
    """Every score as rows of (metric, subject, value, reference); `watch` hears which metric
    begins."""
    scores: list[Score] = []
    for done, metric in enumerate(METRICS):
        watch(metric.__module__.split(".")[-1].replace("_", " "), done, len(METRICS))
        scores += referenced(metric, comparison)
    rows = [(score.metric, score.subject, score.value, score.reference) for score in scores]
    frame = pd.DataFrame(rows, columns=["metric", "subject", "value", "reference"])
    return frame.astype({"value": "float64", "reference": "float64"})


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


def referenced(metric: Callable[[Comparison], list[Score]], comparison: Comparison) -> list[Score]:
    """The metric's scores, each with what real test rows score unless the metric says so itself."""
    scores = metric(comparison)
    if comparison.test is None or all(score.reference is not None for score in scores):
        return scores
    fresh = metric(replace(comparison, synthetic=comparison.test))
    return [replace(score, reference=real.value) for score, real in zip(scores, fresh, strict=True)]


def encoded(name: str, data: Any, codec: Codec, schema: Schema) -> Table:
    """The whole table as arrays; an empty one has nothing to compare."""
    parts = [codec.encode(batch) for batch in Source.of(data, schema).batches()]
    codes, numbers = ([part.codes for part in parts], [part.numbers for part in parts])
    if not sum(map(len, codes)):
        raise InvalidInput(
            f"The {name} table has no rows.", "Give at least one row in every table."
        )
    return Table(codes=np.concatenate(codes), numbers=np.concatenate(numbers))


__all__ = [
    "METRICS",
    "Comparison",
    "Headline",
    "Score",
    "comparison_of",
    "evaluate",
    "scored",
    "summary",
    "summary_table",
]
