"""Errors on the three kinds of statistical queries of the RAP++ paper: how many rows of a class lie where."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.histograms import gaps
from tabveil.metrics.total_variation import class_conditional
from tabveil.table import Table

RANDOM_QUERIES = 3000
# Queries times rows held in memory at once; small enough to stay in the processor's cache.
CHUNK_CELLS = 1 << 20

Floats = NDArray[np.float64]
# Numbers [columns, rows] and a slice of the queries -> which rows lie inside which query [queries, rows].
Inside = Callable[[Floats, slice], NDArray[np.bool_]]


@dataclass(frozen=True)
class Classes:
    """One class per query: the target's axis and the code of its value."""

    axes: NDArray[np.int64]
    codes: NDArray[np.int64]


def scores(comparison: Comparison) -> list[Score]:
    """Mean and max absolute error of CM, MM (uniform and quantile thresholds) and LT queries."""
    return [*categorical(comparison), *mixed(comparison), *linear(comparison)]


def categorical(comparison: Comparison) -> list[Score]:
    """CM: every cell of every (category, category, target) marginal."""
    found = gaps(comparison.real, comparison.synthetic, comparison.domain, class_conditional(comparison))
    if not found:
        return []
    mean = sum(one.total for one in found) / sum(one.cells for one in found)
    return [Score("cm_error", "mean", mean), Score("cm_error", "max", max(one.worst for one in found))]


def mixed(comparison: Comparison) -> list[Score]:
    """MM: rows of a class with two numeric columns at or below a threshold each."""
    width = len(comparison.domain.numerical)
    if width < 2 or not comparison.targets:
        return []
    rng = np.random.default_rng(comparison.seed)
    classes = draw_classes(comparison, rng)
    pairs = np.argsort(rng.random((RANDOM_QUERIES, width)), axis=1)[:, :2]
    low, high = comparison.bounds
    uniform = low[pairs] + rng.random(pairs.shape) * (high - low)[pairs]
    # The value of a random real row is a random quantile of its column.
    real = comparison.real.numbers
    quantile = real[rng.integers(len(real), size=pairs.shape), pairs]

    def below(thresholds: Floats) -> Inside:
        def inside(numbers: Floats, chunk: slice) -> NDArray[np.bool_]:
            (first, second), (a, b) = pairs[chunk].T, thresholds[chunk].T
            return (numbers[first] <= a[:, None]) & (numbers[second] <= b[:, None])

        return inside

    return [
        *errors("mm_error_uniform", comparison, classes, below(uniform)),
        *errors("mm_error_quantile", comparison, classes, below(quantile)),
    ]


def linear(comparison: Comparison) -> list[Score]:
    """LT: rows of a class on one side of a random hyperplane, ⟨θ, x⟩ ≤ τ, numbers scaled to their bounds."""
    width = len(comparison.domain.numerical)
    if width < 1 or not comparison.targets:
        return []
    rng = np.random.default_rng(comparison.seed)
    classes = draw_classes(comparison, rng)
    directions = rng.normal(size=(RANDOM_QUERIES, width)) / np.sqrt(width)
    offsets = rng.normal(size=RANDOM_QUERIES)
    low, high = comparison.bounds
    # ⟨θ, (x − low) / (high − low)⟩ ≤ τ, with the scaling moved into θ and τ.
    slopes = directions / (high - low)
    limits = offsets + slopes @ low

    def inside(numbers: Floats, chunk: slice) -> NDArray[np.bool_]:
        return slopes[chunk] @ numbers <= limits[chunk, None]

    return errors("lt_error", comparison, classes, inside)


def draw_classes(comparison: Comparison, rng: np.random.Generator) -> Classes:
    """For every query a target at random, then one of its values at random."""
    axes = rng.choice(comparison.targets, RANDOM_QUERIES)
    sizes = np.array(comparison.domain.sizes)[axes]
    return Classes(axes, rng.integers(sizes))


def errors(name: str, comparison: Comparison, classes: Classes, inside: Inside) -> list[Score]:
    """Mean and max absolute difference between the two tables' answers."""
    real, synthetic = (answers(table, classes, inside) for table in (comparison.real, comparison.synthetic))
    difference = np.abs(real - synthetic)
    return [Score(name, "mean", float(difference.mean())), Score(name, "max", float(difference.max()))]


def answers(table: Table, classes: Classes, inside: Inside) -> Floats:
    """For each query, the share of all rows that lie inside it and are of its class."""
    rows, total = len(table.codes), len(classes.axes)
    # Columns as contiguous lines: a query reads two or three whole columns.
    numbers, codes = np.ascontiguousarray(table.numbers.T), np.ascontiguousarray(table.codes.T)
    counts = np.empty(total)
    step = max(1, CHUNK_CELLS // rows)
    for chunk in (slice(start, start + step) for start in range(0, total, step)):
        members = codes[classes.axes[chunk]] == classes.codes[chunk, None]
        counts[chunk] = np.count_nonzero(inside(numbers, chunk) & members, axis=1)
    return counts / rows
