"""What every family of queries promises; a family is data, many queries with one leading axis."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import jax
import numpy as np

from tabveil.queries.rows import Array, Rows, Step
from tabveil.table import Domain


class QueryFamily:
    """Many queries of one kind. A query is a set of disjoint cells: a row is counted in one of them at most.

    That one promise gives every sensitivity. Adding or removing a row moves one cell by one: the answers
    to K queries move by √K in L2, the L1 error of one query by 1. Substituting a row empties one cell and
    fills another: √(2K) and 2, or √K and 1 where the query has a single cell.
    """

    name: ClassVar[str]  # in words, plural

    @abstractmethod
    def answers(self, rows: Rows, step: Step) -> jax.Array:
        """Sum over the rows of what each row adds to each cell, [queries, width]."""

    @property
    @abstractmethod
    def filled(self) -> np.ndarray:
        """Which of the cells exist, [queries, width]; the others only pad to one width."""

    @abstractmethod
    def take(self, picks: Array) -> Self:
        """The queries at these places."""

    @abstractmethod
    def describe(self, query: int, domain: Domain) -> str:
        """One query in words."""

    @abstractmethod
    def cell_names(self, query: int, domain: Domain) -> list[str]:
        """The existing cells of one query in words, in the order of `filled`."""

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
    def spread(self) -> int:
        """How many cells of one query a substituted row can move: two, or one if no query has a second."""
        return min(2, int(self.cells.max(initial=1)))


def padded(lists: Sequence[Sequence[int]], padding: int, width: int = 0) -> np.ndarray:
    """Lists of different length as one array, filled up with `padding`."""
    width = max([width, *map(len, lists)])
    return np.array([[*line, *[padding] * (width - len(line))] for line in lists], np.int32).reshape(
        -1, width
    )
