"""Numbers cut into bins, as data: how finely each is cut does not change the compiled program."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.rows import GRID, Array, Step
from tabveil.shapes import Float, Num


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bins:
    """The bins of all numbers in a row, filled up with empty ones to a multiple of ROOM.

    How finely each number is cut follows from noise. As data, it does not change the compiled
    program.
    """

    number: Array  # [bins]: whose bin it is; -1 is nobody's
    high: Array  # [bins]: the grid position at which it ends
    first: Array  # [bins]: whether no bin of the same number comes before
    last: Array  # [bins]: whether it has no end

    ROOM: ClassVar[int] = 16

    @classmethod
    def between(cls, edges: Sequence[np.ndarray]) -> Self:
        """The bins that these grid positions cut each number into."""
        if any((np.diff([0, *between, GRID]) <= 0).any() for between in edges):
            raise ValueError("Edges must grow between 0 and GRID: a row is in one bin only.")
        sizes = [len(between) + 1 for between in edges]
        number = np.repeat(np.arange(len(sizes)), sizes)
        number = np.pad(number, (0, -len(number) % cls.ROOM), constant_values=-1)
        high = np.concatenate([np.zeros(0), *([*between, GRID + 1] for between in edges)])
        high = np.pad(high, (0, len(number) - len(high)))
        first, last = np.diff(number, prepend=-2) != 0, np.diff(number, append=-2) != 0
        return cls(number.astype(np.int32), high.astype(np.int32), first, last)

    @cached_property
    def at(self) -> list[np.ndarray]:
        """For each number, the bin at every grid position."""
        places = np.arange(GRID + 1)
        return [np.searchsorted(e, places, "right").astype(np.int16) for e in self.edges]

    @property
    def edges(self) -> list[np.ndarray]:
        """Between which grid positions the bins of each number lie."""
        owner, high = np.asarray(self.number), np.asarray(self.high)
        numbers = range(owner.max(initial=-1) + 1)
        return [high[owner == number][:-1] for number in numbers]

    def middles(self, numbers: int) -> Float[jax.Array, "numbers bins"]:
        """The grid position in the middle of each bin, in the line of its number."""
        high = jnp.minimum(jnp.asarray(self.high), GRID)
        low = jnp.where(jnp.asarray(self.first), 0, jnp.roll(high, 1))
        own = jnp.asarray(self.number)[None] == jnp.arange(numbers)[:, None]
        return own * (low + high) / 2.0

    def members(
        self, values: Num[jax.Array, "numerical rows"], step: Step
    ) -> Float[jax.Array, "bins rows"]:
        """How much each row belongs to each bin: below its end, not below the previous one's."""
        if not len(self.number):
            return jnp.zeros((0, values.shape[1]))
        below = step(
            jnp.asarray(self.high)[:, None] - 0.5 - values[jnp.maximum(self.number, 0)], GRID
        )
        below = jnp.where(jnp.asarray(self.last)[:, None], 1.0, below)
        before = jnp.where(jnp.asarray(self.first)[:, None], 0.0, jnp.roll(below, 1, axis=0))
        return jnp.where(jnp.asarray(self.number)[:, None] >= 0, below - before, 0.0)
