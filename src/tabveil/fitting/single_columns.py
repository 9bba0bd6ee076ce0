"""Single columns as all noisy answers together tell them: the last touch to a fitted table.

Rows cannot hold less than nothing. Where noise puts rows into cells that are empty, no noise
elsewhere makes up for it, and the columns of such cross-tables come out wrong, each by a little.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from tabveil.curator import Answer
from tabveil.fitting.ranks import onto_simplex
from tabveil.fitting.relaxed import Mixture
from tabveil.fitting.zeros import Zeros
from tabveil.queries import Pairs
from tabveil.queries.rows import HARD
from tabveil.shapes import Float

SWEEPS = 30  # of scaling; each brings shares closer
TINY = 1e-9
LEAST = 0.01  # cells: where all of a sum are known to be empty, it is as good as known


@dataclass
class Pooled:
    """A column from all tables that it is part of, weighted by how much noise each adds up to."""

    counts: Float[np.ndarray, " cells"]
    precision: Float[np.ndarray, " cells"]

    @classmethod
    def nothing(cls, cells: int) -> "Pooled":
        """What is known before the first table."""
        return cls(np.zeros(cells), np.zeros(cells))

    def add(self, counts: np.ndarray, variance: np.ndarray) -> None:
        """One more table, summed over its other columns."""
        self.precision += 1 / variance
        self.counts += (counts - self.counts) / (variance * self.precision)


def pooled(
    answers: Sequence[Answer], pairs: Pairs, zeros: Zeros | None = None
) -> dict[str, Pooled]:
    """What answers say of every column that some of them is about.

    Cells that no row can be in bring noise alone, so sums leave them out.
    """
    found: dict[str, Pooled] = {}
    impossible = {} if zeros is None else dict(zip(zeros.picks.tolist(), zeros.cells, strict=True))
    for answer in answers:
        for pick, counts in zip(answer.picks.tolist(), answer.counts, strict=True):
            columns = pairs.columns_of(pairs.layout.queries[pick])
            shape = tuple(len(column.labels) for column in columns)
            table = counts[: np.prod(shape)].reshape(shape).astype(float)
            counts_for = np.ones(shape)
            if pick in impossible:
                counts_for -= impossible[pick][: np.prod(shape)].reshape(shape)
            for axis, column in enumerate(columns):
                others = tuple(place for place in range(table.ndim) if place != axis)
                added_up = np.maximum(counts_for.sum(axis=others), LEAST)
                own = found.setdefault(column.name, Pooled.nothing(shape[axis]))
                own.add((table * counts_for).sum(axis=others), answer.scale**2 * added_up)
    return found


def as_measured(
    table: Mixture,
    answers: Sequence[Answer],
    pairs: Pairs,
    total: int,
    zeros: Zeros | None = None,
) -> Mixture:
    """The table with the same odds between rows, but shares of single columns as measured."""
    shares = _shares(pairs, table)
    wanted = np.full(len(shares), np.nan)
    estimates = pooled(answers, pairs, zeros)
    for column in pairs.layout.columns:
        if column.name in estimates:
            wanted[column.cells] = _leaning(estimates[column.name], shares[column.cells], total)
    for number, ordinary in enumerate(pairs.tables.ordinary):
        if ordinary < table.logits.shape[0]:
            bins = pairs.layout.columns[pairs.categorical + number].runs[-1]
            wanted[ordinary] = wanted[slice(*bins)].sum()
    asked = np.isfinite(wanted)
    for _ in range(SWEEPS):
        factors = np.zeros(len(wanted), np.float32)
        factors[asked] = np.log((wanted[asked] + TINY) / (_shares(pairs, table)[asked] + TINY))
        of_categories, of_bins = np.split(factors, [len(table.logits)])
        table = table.moved(
            (table.logits + of_categories[:, None], table.within + of_bins[:, None])
        )
    return table


def _leaning(estimate: Pooled, shares: np.ndarray, total: int) -> np.ndarray:
    """Measured shares, moved towards those of the table as far as noise may set them apart.

    As James and Stein do: what rows can be together says something of each column, too.
    """
    measured = onto_simplex(estimate.counts, total) / max(1, total)
    apart = measured - shares
    variance = float((1 / estimate.precision).mean()) / max(1, total) ** 2
    noise = max(0, len(shares) - 2) * variance
    return shares + max(0.0, 1 - noise / max(float(apart @ apart), TINY**2)) * apart


@jax.jit
def _members(pairs: Pairs, table: Mixture) -> jax.Array:
    return pairs.tables.cells_of(table.rows(), HARD).mean(axis=1)


def _shares(pairs: Pairs, table: Mixture) -> Float[np.ndarray, " cells"]:
    """The share of rows in every cell of every column."""
    return np.asarray(_members(pairs, table), np.float64)
