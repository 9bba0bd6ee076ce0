"""Errors on the three kinds of queries of the RAP++ paper: how many rows of a class lie where."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.histograms import gaps
from tabveil.tables.table import Table

# Queries times rows held in memory at once; small enough to stay in the processor's cache.
CHUNK_CELLS = 1 << 20
TOGETHER = 500  # queries that are answered from one table of counts

Floats = NDArray[np.float64]
# Numbers [columns, rows] and the places of some queries -> which
# rows lie inside which [queries, rows].
Inside = Callable[[Floats, NDArray[np.int64]], NDArray[np.bool_]]


@dataclass(frozen=True)
class RowsOfClasses:
    """One class per query: the target's axis and the code of its value."""

    axes: NDArray[np.int64]
    codes: NDArray[np.int64]


@dataclass(frozen=True)
class Queries:
    """Random queries of one kind, and the share of a table's rows that satisfies each."""

    name: str
    answers: Callable[[Table], Floats]


def scores(comparison: Comparison) -> list[Score]:
    """Mean and max absolute error of CM, MM and LT queries, and the total variation of CM tables.

    MM queries come with uniform thresholds and with quantiles.
    """
    return [*categorical(comparison), *mixed(comparison), *linear(comparison)]


def categorical(comparison: Comparison) -> list[Score]:
    """CM: every (category, category, target) marginal, cell by cell and as a whole."""
    found = gaps(
        comparison.real, comparison.synthetic, comparison.domain, class_conditional(comparison)
    )
    if not found:
        return []
    mean = sum(one.total for one in found) / sum(one.cells for one in found)
    distances = [one.total_variation for one in found]
    return [
        Score("cm_error", "mean", mean),
        Score("cm_error", "max", max(one.worst for one in found)),
        Score("total_variation_cm", "mean", float(np.mean(distances))),
        Score("total_variation_cm", "max", max(distances)),
    ]


def class_conditional(comparison: Comparison) -> list[tuple[int, ...]]:
    """Every two categorical features with every target."""
    pairs = combinations(comparison.features, 2)
    return [(*pair, target) for pair in pairs for target in comparison.targets]


def mixed(comparison: Comparison) -> list[Score]:
    """MM: rows of a class with two numeric columns at or below a threshold each."""
    return [score for one in mixed_queries(comparison) for score in errors(one, comparison)]


def linear(comparison: Comparison) -> list[Score]:
    """LT: rows of a class below a random hyperplane, ⟨θ, x⟩ ≤ τ, numbers scaled to their bounds."""
    return [score for one in linear_queries(comparison) for score in errors(one, comparison)]


def mixed_queries(comparison: Comparison) -> list[Queries]:
    """Random MM queries: thresholds uniform over the public range, and at real rows' quantiles."""
    width, count = len(comparison.domain.numerical), comparison.queries
    if width < 2 or not comparison.targets:
        return []
    rng = np.random.default_rng(comparison.seed)
    classes = draw_classes(comparison, rng, count)
    pairs = np.argsort(rng.random((count, width)), axis=1)[:, :2]
    low, high = comparison.bounds
    uniform = low[pairs] + rng.random(pairs.shape) * (high - low)[pairs]
    # The value of a random real row is a random quantile of its column.
    real = comparison.real.numbers
    quantile = real[rng.integers(len(real), size=pairs.shape), pairs]

    def below(thresholds: Floats) -> Callable[[Table], Floats]:
        return lambda table: answers_below(table, classes, pairs, thresholds)

    return [
        Queries("mm_error_uniform", below(uniform)),
        Queries("mm_error_quantile", below(quantile)),
    ]


def linear_queries(comparison: Comparison) -> list[Queries]:
    """Random LT queries, as in section 5.1 of the paper."""
    width, count = len(comparison.domain.numerical), comparison.queries
    if width < 1 or not comparison.targets:
        return []
    rng = np.random.default_rng(comparison.seed)
    classes = draw_classes(comparison, rng, count)
    directions = rng.normal(size=(count, width)) / np.sqrt(width)
    offsets = rng.normal(size=count)
    low, high = comparison.bounds
    # ⟨θ, (x − low) / (high − low)⟩ ≤ τ, with the scaling moved into θ and τ.
    slopes = directions / (high - low)
    limits = offsets + slopes @ low

    def inside(numbers: Floats, chunk: NDArray[np.int64]) -> NDArray[np.bool_]:
        return slopes[chunk] @ numbers <= limits[chunk, None]

    return [Queries("lt_error", lambda table: answers(table, classes, inside))]


def draw_classes(comparison: Comparison, rng: np.random.Generator, count: int) -> RowsOfClasses:
    """For every query a target at random, then one of its values at random."""
    axes = rng.choice(comparison.targets, count)
    sizes = np.array(comparison.domain.sizes)[axes]
    return RowsOfClasses(axes, rng.integers(sizes))


def errors(asked: Queries, comparison: Comparison) -> list[Score]:
    """Mean and max absolute difference between two tables' answers; real rows are asked once."""
    if asked.name not in comparison.answered:
        comparison.answered[asked.name] = asked.answers(comparison.real)
    difference = np.abs(comparison.answered[asked.name] - asked.answers(comparison.synthetic))
    return [
        Score(asked.name, "mean", float(difference.mean())),
        Score(asked.name, "max", float(difference.max())),
    ]


def answers(table: Table, classes: RowsOfClasses, inside: Inside) -> Floats:
    """For each query, the share of all rows that lie inside it and are of its class."""
    counts = np.empty(len(classes.axes))
    for (axis, code), asked in alike(np.column_stack([classes.axes, classes.codes])):
        # Columns as contiguous lines: a query reads a few whole columns,
        # of the rows of its class alone.
        numbers = np.ascontiguousarray(table.numbers[table.codes[:, axis] == code].T)
        step = max(1, CHUNK_CELLS // max(1, numbers.shape[1]))
        for chunk in (asked[start : start + step] for start in range(0, len(asked), step)):
            counts[chunk] = np.count_nonzero(inside(numbers, chunk), axis=1)
    return counts / table.rows


def answers_below(
    table: Table, classes: RowsOfClasses, pairs: NDArray[np.int64], thresholds: Floats
) -> Floats:
    """For each query, the share of all rows of its class at or below both thresholds.

    Queries on the same columns and class are answered together: rows are counted between their
    thresholds, and two running sums make every answer from these counts.
    """
    counts = np.empty(len(pairs))
    for (first, second, axis, code), asked in alike(
        np.column_stack([pairs, classes.axes, classes.codes])
    ):
        members = table.codes[:, axis] == code
        numbers = [table.numbers[members, column] for column in (first, second)]
        for chunk in (asked[start : start + TOGETHER] for start in range(0, len(asked), TOGETHER)):
            counts[chunk] = counts_below(numbers, thresholds[chunk])
    return counts / table.rows


def counts_below(numbers: Sequence[Floats], thresholds: Floats) -> NDArray[np.int64]:
    """How many rows have both numbers at or below each pair of thresholds."""
    steps, places, ranks = [], [], []
    for column, threshold in zip(numbers, thresholds.T, strict=True):
        step, place = np.unique(threshold, return_inverse=True)
        steps.append(len(step) + 1)
        places.append(place.ravel())
        # As many thresholds as are too low for the row;
        # a row above all of them is in the last place.
        ranks.append(np.searchsorted(step, column, "left"))
    between = np.bincount(ranks[0] * steps[1] + ranks[1], minlength=steps[0] * steps[1])
    below = between.reshape(steps).cumsum(axis=0).cumsum(axis=1)
    return below[places[0], places[1]]


def alike(keys: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Every different line of keys, and the places where it stands."""
    lines, line_of = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(line_of.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(line_of.ravel()))[:-1]
    yield from zip(lines, np.split(order, ends), strict=True)
