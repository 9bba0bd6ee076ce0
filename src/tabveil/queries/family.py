"""What every family of queries promises; a family is data, many queries with one leading axis."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.rows import Array, Hard, Rows, Step, real_rows
from tabveil.queries.sides import Side
from tabveil.tables.table import Domain

BATCH = 4096
"""Rows counted at once; far below 2^24, up to which sums of zeros and ones in 32-bit floats are
exact."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NoisyShares:
    """Noisy shares, with weights that are zero where nothing has been measured yet."""

    shares: Array
    weights: Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Places:
    """NoisyShares line by line, and which query of the family each line is about."""

    picks: Array
    shares: Array
    weights: Array


class QueryFamily(ABC):
    """Many queries of one kind. A query is a set of disjoint cells: a row is counted in one of them
    at most.

    That one promise gives every sensitivity. Adding or removing a row moves one cell by one: the
    answers to K queries move by √K in L2, the L1 error of one query by 1. Substituting a row
    empties one cell and fills another: √(2K) and 2, or √K and 1 where the query has a single cell.
    """

    name: ClassVar[str]  # in words, plural

    @abstractmethod
    def answers(self, rows: Rows, step: Step) -> jax.Array:
        """Sum over the rows of what each row adds to each cell, [queries, width]."""

    def tally(self, rows: Rows, step: Step | None = None) -> jax.Array:
        """All answers in this family's own layout, in little memory; the hard step unless told
        otherwise."""
        return answers_in_chunks(self, rows, step or Hard())

    def folded_counts(self, codes: np.ndarray, positions: np.ndarray, domain: Domain) -> np.ndarray:
        """Exact counts of real rows; sums of them become a tally by `unfold`."""
        total = self.nothing()
        for start in range(0, len(codes), BATCH):
            part = slice(start, start + BATCH)
            rows = real_rows(codes[part], positions[part], domain, size=BATCH)
            total += np.rint(np.asarray(self.tally(rows))).astype(np.int64)
        return total

    def unfold(self, folded: np.ndarray) -> np.ndarray:
        """The tally of the rows that were counted."""
        return folded

    def nothing(self) -> np.ndarray:
        """The tally of no rows."""
        return np.zeros((len(self), self.width), np.int64)

    def errors(self, counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """The L1 error of each query between two tallies, [queries]."""
        return np.asarray(np.abs(counts - expected).sum(axis=1))

    def cells_in(self, counts: Array, picks: np.ndarray) -> Array:
        """The cells of these queries in a tally, [picks, width]."""
        return counts[picks]

    def reserve(self, room: int) -> Any:
        """Room for the noisy answers to this many queries."""
        empty = np.zeros((room, self.width), np.float32)
        return Places(np.zeros(room, np.int32), empty, empty)

    def learn(
        self, known: Any, at: int, picks: np.ndarray, shares: np.ndarray, weights: np.ndarray
    ) -> Any:
        """Write down noisy shares [picks, width] and their weights, from place `at` on."""
        there = slice(at, at + len(picks))
        learnt = np.array(known.picks), np.array(known.shares), np.array(known.weights)
        for array, new in zip(learnt, (picks, shares, weights), strict=True):
            array[there] = new
        return Places(*learnt)

    def misfit(self, rows: Rows, step: Step, known: Any) -> jax.Array:
        """Σ w (q(rows) − â)² over what is known."""
        gap = self.take(known.picks).answers(rows, step) / rows.cells.shape[1] - known.shares
        return jnp.sum(known.weights * gap**2)

    @property
    @abstractmethod
    def filled(self) -> np.ndarray:
        """Which of the cells exist, [queries, width]; the others only pad to one width."""

    @abstractmethod
    def take(self, picks: Array) -> Self:
        """The queries at these places."""

    @abstractmethod
    def sides(self, query: int, domain: Domain) -> tuple[Side, ...]:
        """What one query asks for: the axes of its existing cells, which stand in the order of
        `filled`."""

    @property
    def footprint(self) -> int:
        """How many numbers per row one query needs while it is answered."""
        return 1

    def __len__(self) -> int:
        return len(self.filled)

    @property
    def width(self) -> int:
        """How many cells a query of this family may have."""
        return int(self.filled.shape[1])

    @property
    def cells(self) -> np.ndarray:
        """How many cells each query has."""
        return np.asarray(self.filled.sum(axis=1))

    @property
    def cells_moved(self) -> int:
        """How many cells of one query a substituted row can move: two, or one if no query has a
        second."""
        return min(2, int(self.cells.max(initial=1)))


def padded(lists: Sequence[Sequence[int]], padding: int, width: int = 0) -> np.ndarray:
    """Lists of different length as one array, filled up with `padding`."""
    width = max([width, *map(len, lists)])
    return np.array(
        [[*line, *[padding] * (width - len(line))] for line in lists], np.int32
    ).reshape(-1, width)


ENTRIES = 2**21
"""How many numbers one chunk of queries may hold; small enough to stay in a processor's cache."""


def answers_in_chunks(family: QueryFamily, rows: Rows, step: Step) -> jax.Array:
    """The same as `family.answers(rows, step)`, a chunk of queries at a time inside one compiled
    loop."""
    size = int(np.clip(ENTRIES // (family.footprint * rows.cells.shape[1]), 1, len(family)))
    chunks = -(-len(family) // size)
    order = np.minimum(np.arange(chunks * size), len(family) - 1).reshape(chunks, size)
    return _answers_in_chunks(family, rows, step, order)[: len(family)]


@jax.jit
def _answers_in_chunks(family: QueryFamily, rows: Rows, step: Step, order: jax.Array) -> jax.Array:
    found = jax.lax.map(lambda picks: family.take(picks).answers(rows, step), order)
    return found.reshape(-1, found.shape[-1])
