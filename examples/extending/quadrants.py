"""Quadrants: how many rows have both of two numbers low, one of them, or neither."""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from tabveil.queries.family import QueryFamily
from tabveil.queries.rows import GRID, Array, Rows, Step
from tabveil.tables.sides import ByColumn, Side
from tabveil.tables.table import Domain

HALVES = ("low", "high")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Quadrants(QueryFamily):
    """Two numbers, each cut in the middle: four cells, and a row is in one of them."""

    name: ClassVar[str] = "quadrants"

    pairs: Array  # [queries, 2]: which numbers

    @classmethod
    def over(cls, domain: Domain) -> Self:
        """Every pair of numbers."""
        return cls(np.array(list(combinations(range(len(domain.numerical)), 2)), np.int32))

    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "queries width"]:
        # Integers minus a half: no row lies on the line, so real rows are decided exactly.
        below = step(GRID // 2 - 0.5 - rows.values, GRID)
        low = below[self.pairs] * rows.cells[-2]  # [queries, 2, rows]
        high = rows.cells[-2] - low  # the cell before the last holds every row that is there
        first, second = (low[:, 0], high[:, 0]), (low[:, 1], high[:, 1])
        products = [
            first[0] * second[0],
            first[0] * second[1],
            first[1] * second[0],
            first[1] * second[1],
        ]
        return jnp.stack([cell.sum(axis=1) for cell in products], axis=1)

    @property
    def filled(self) -> Bool[np.ndarray, "queries width"]:
        return np.ones((len(self.pairs), len(HALVES) ** 2), bool)

    def take(self, picks: Int[Array, " picks"]) -> Self:
        return type(self)(self.pairs[picks])

    def sides(self, query: int, domain: Domain) -> tuple[Side, ...]:
        columns = [domain.numerical[int(number)] for number in self.pairs[query]]
        return tuple(ByColumn(column, HALVES) for column in columns)
