"""What every family of queries promises; a family is data, many queries with one leading axis."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.rows import HARD, Array, Rows, Step, real_rows
from tabveil.shapes import Bool, Float, Int, Num, Shaped
from tabveil.tables.sides import Side
from tabveil.tables.table import Domain

BATCH = 4096
"""Rows counted at once; far below 2^24, up to which 32-bit floats add up zeros and ones exactly."""
ENTRIES = 2**21
"""How many numbers one chunk of queries may hold; small enough to stay in a processor's cache."""


class QueryFamily(ABC):
    """Many queries of one kind, each a set of disjoint cells, of which a row is in one at most.

    That one promise gives every sensitivity. Adding or removing a row moves one cell by one: the
    answers to K queries move by √K in L2, the L1 error of one query by 1. Substituting a row
    empties one cell and fills another: √(2K) and 2, or √K and 1 where the query has a single cell.
    """

    name: ClassVar[str]  # in words, plural

    @abstractmethod
    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "queries width"]:
        """Sum over the rows of what each row adds to each cell."""

    @property
    @abstractmethod
    def filled(self) -> Bool[np.ndarray, "queries width"]:
        """Which of the cells exist; the others only pad to one width."""

    @abstractmethod
    def take(self, picks: Int[Array, " picks"]) -> Self:
        """The queries at these places."""

    @abstractmethod
    def sides(self, query: int, domain: Domain) -> tuple[Side, ...]:
        """What one query asks for: the axes of its existing cells, in the order of `filled`."""

    @property
    def tally(self) -> "Tally":
        """How all answers are counted and kept."""
        return Lines(self)

    def evidence(self, room: int) -> "NoisyEvidence":
        """Room for the noisy answers to this many queries."""
        return AskedLines.empty(self, room)

    def __len__(self) -> int:
        return len(self.filled)

    @property
    def width(self) -> int:
        """How many cells a query of this family may have."""
        return int(self.filled.shape[1])

    @property
    def cells(self) -> Int[np.ndarray, " queries"]:
        """How many cells each query has."""
        return np.asarray(self.filled.sum(axis=1))

    @property
    def cells_moved(self) -> int:
        """Cells of one query that a substituted row can move: two, or one if no query has two."""
        return min(2, int(self.cells.max(initial=1)))


class Tally(ABC):
    """The answers to all queries of a family in one array, laid out as it suits the family."""

    @abstractmethod
    def of(self, rows: Rows, step: Step = HARD) -> jax.Array:
        """All answers, in little memory."""

    @abstractmethod
    def folded(
        self,
        codes: Int[np.ndarray, "rows axes"],
        positions: Int[np.ndarray, "rows numerical"],
        domain: Domain,
    ) -> Int[np.ndarray, "..."]:
        """Exact counts of real rows; sums of them become a tally by `unfold`."""

    @abstractmethod
    def unfold(self, folded: np.ndarray) -> np.ndarray:
        """The tally of the rows that were counted."""

    @abstractmethod
    def nothing(self) -> np.ndarray:
        """The tally of no rows."""

    @abstractmethod
    def errors(
        self, counts: Int[np.ndarray, "*tally"], expected: Int[np.ndarray, "*tally"], slack: int = 0
    ) -> Int[np.ndarray, " queries"]:
        """The L1 error of each query between two tallies, as far as cells are off by over `slack`.

        A row in a cell moves its error by one at most, so it moves this sum by no more.
        """

    @abstractmethod
    def cells_in(
        self, counts: Num[Array, "..."], picks: Int[np.ndarray, " picks"]
    ) -> Num[Array, "picks width"]:
        """The cells of these queries in a tally."""


class NoisyEvidence(ABC):
    """What is known of one family: noisy shares, with weights that are zero where nothing is.

    `arrears` are asked for on top: what earlier fits to the same answers fell short of.
    """

    family: QueryFamily

    @abstractmethod
    def learn(
        self,
        picks: Int[np.ndarray, " picks"],
        shares: Float[np.ndarray, "picks width"],
        weights: Shaped[np.ndarray, "picks width"],
    ) -> "NoisyEvidence":
        """With noisy shares of these queries, and their weights."""

    @abstractmethod
    def misfit(self, rows: Rows, step: Step) -> Float[jax.Array, ""]:
        """Σ w (q(rows) − â − arrears)² over what is known."""

    @abstractmethod
    def shortfall(self, rows: Rows) -> Float[jax.Array, "..."]:
        """How far rows fall short of what is known, â − q(rows), laid out as the shares are."""

    @abstractmethod
    def owed(self, more: Float[Array, "..."]) -> "NoisyEvidence":
        """With so much more in arrears."""

    @abstractmethod
    def without_arrears(self) -> "NoisyEvidence":
        """The answers as they were measured, and no more."""


@dataclass(frozen=True)
class ArrayEvidence(NoisyEvidence):
    """Evidence in arrays of one shape, that of all answers together."""

    shares: Array
    weights: Array
    arrears: Array

    @abstractmethod
    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "..."]:
        """The shares that rows have, laid out as the known ones are."""

    def misfit(self, rows: Rows, step: Step) -> Float[jax.Array, ""]:
        gap = self.answers(rows, step) - self.shares - self.arrears
        return jnp.sum(self.weights * gap**2)

    def shortfall(self, rows: Rows) -> Float[jax.Array, "..."]:
        return jnp.where(self.weights > 0, self.shares - self.answers(rows, HARD), 0.0)

    def owed(self, more: Float[Array, "..."]) -> Self:
        return replace(self, arrears=self.arrears + more)

    def without_arrears(self) -> Self:
        return replace(self, arrears=jnp.zeros_like(self.arrears))


def place_of(family: QueryFamily, families: Sequence[QueryFamily]) -> int:
    """Which of the families it is: the object itself, for arrays in them cannot be compared."""
    for place, other in enumerate(families):
        if other is family:
            return place
    raise ValueError(f"These {family.name} are not among what may be asked.")


Count = Callable[[np.ndarray, np.ndarray, Domain], np.ndarray]


@dataclass(frozen=True)
class Lines(Tally):
    """A line of cells for each query, [queries, width]."""

    family: QueryFamily
    footprint: int = 1  # numbers per row that one query needs while it is answered
    count: Count | None = None  # a quicker way to count real rows

    def of(self, rows: Rows, step: Step = HARD) -> Float[jax.Array, "queries width"]:
        queries = len(self.family)
        size = int(np.clip(ENTRIES // (self.footprint * rows.cells.shape[1]), 1, queries))
        chunks = -(-queries // size)
        order = np.minimum(np.arange(chunks * size), queries - 1).reshape(chunks, size)
        return _answers_in_chunks(self.family, rows, step, order)[:queries]

    def folded(
        self,
        codes: Int[np.ndarray, "rows axes"],
        positions: Int[np.ndarray, "rows numerical"],
        domain: Domain,
    ) -> Int[np.ndarray, "..."]:
        if self.count is not None:
            return self.count(codes, positions, domain)
        return counted_in_batches(self, codes, positions, domain)

    def unfold(self, folded: np.ndarray) -> np.ndarray:
        return folded

    def nothing(self) -> np.ndarray:
        return np.zeros((len(self.family), self.family.width), np.int64)

    def errors(
        self, counts: Int[np.ndarray, "*tally"], expected: Int[np.ndarray, "*tally"], slack: int = 0
    ) -> Int[np.ndarray, " queries"]:
        return np.asarray(np.maximum(np.abs(counts - expected) - slack, 0).sum(axis=1))

    def cells_in(
        self, counts: Num[Array, "queries width"], picks: Int[np.ndarray, " picks"]
    ) -> Num[Array, "picks width"]:
        return counts[picks]


@jax.jit
def _answers_in_chunks(family: QueryFamily, rows: Rows, step: Step, order: jax.Array) -> jax.Array:
    found = jax.lax.map(lambda picks: family.take(picks).answers(rows, step), order)
    return found.reshape(-1, found.shape[-1])


def counted_in_batches(
    tally: Tally, codes: np.ndarray, positions: np.ndarray, domain: Domain
) -> np.ndarray:
    """Exact counts of real rows as answers to hard steps, a batch at a time."""
    total = tally.nothing()
    for start in range(0, len(codes), BATCH):
        part = slice(start, start + BATCH)
        rows = real_rows(codes[part], positions[part], domain, size=BATCH)
        total += np.rint(np.asarray(tally.of(rows))).astype(np.int64)
    return total


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AskedLines(ArrayEvidence):
    """Evidence line by line, [room, width], with the query that each line is about."""

    family: QueryFamily
    picks: Array  # [room]
    used: Array  # [], how many lines hold an answer

    @classmethod
    def empty(cls, family: QueryFamily, room: int) -> Self:
        """Room for this many queries."""
        nothing = np.zeros((room, family.width), np.float32)
        picks, used = np.zeros(room, np.int32), np.array(0, np.int32)
        return cls(nothing, nothing, nothing, family, picks, used)

    def learn(
        self,
        picks: Int[np.ndarray, " picks"],
        shares: Float[np.ndarray, "picks width"],
        weights: Shaped[np.ndarray, "picks width"],
    ) -> Self:
        lines = slice(int(self.used), int(self.used) + len(picks))
        return replace(
            self,
            picks=_with(self.picks, lines, picks),
            shares=_with(self.shares, lines, shares),
            weights=_with(self.weights, lines, weights),
            used=np.array(lines.stop, np.int32),
        )

    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "room width"]:
        return self.family.take(self.picks).answers(rows, step) / rows.cells.shape[1]


def _with(array: Array, lines: slice, new: np.ndarray) -> np.ndarray:
    copy = np.array(array)
    copy[lines] = new
    return copy


def padded(lists: Sequence[Sequence[int]], padding: int, width: int = 0) -> np.ndarray:
    """Lists of different length as one array, filled up with `padding`."""
    width = max([width, *map(len, lists)])
    table = np.full((len(lists), width), padding, np.int32)
    for line, values in zip(table, lists, strict=True):
        line[: len(values)] = values
    return table
