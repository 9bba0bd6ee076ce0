"""Whole marginals: how many rows fall into each combination of categories of a few columns."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.family import Lines, QueryFamily, padded
from tabveil.queries.rows import Array, Rows, Step, nobody
from tabveil.shapes import Bool, Float, Int
from tabveil.tables.sides import ByColumn, Side
from tabveil.tables.table import Domain


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Marginals(QueryFamily):
    """k-way categorical marginals (RAP++, Definition 2), all cells of one at once: product queries.

    Each slot holds one column of every marginal, as the numbers of its cells. The largest column of
    a marginal is in the first slot, so the widths of the later slots stay small.
    """

    name: ClassVar[str] = "marginals"

    slots: tuple[Array, ...]  # each [queries, width of the slot]
    absent: Array  # [], the cell that holds no row

    @classmethod
    def over(cls, combinations: Iterable[Sequence[int]], domain: Domain) -> Self:
        """The marginals of these combinations of axes, all of the same length."""
        ordered = [sorted(axes, key=lambda axis: -domain.sizes[axis]) for axes in combinations]
        cells_of = [
            range(start, start + size)
            for start, size in zip(domain.offsets, domain.sizes, strict=True)
        ]
        slots = tuple(
            padded([cells_of[axis] for axis in slot], nobody(domain))
            for slot in zip(*ordered, strict=True)
        )
        return cls(slots, np.array(nobody(domain), np.int32))

    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "queries width"]:
        first, *rest = [rows.cells[slot] for slot in self.slots]
        others = reduce(_all_products, rest, jnp.ones((len(first), 1, first.shape[2])))
        return jnp.einsum("qar,qbr->qab", first, others).reshape(len(first), -1)

    @property
    def filled(self) -> Bool[np.ndarray, "queries width"]:
        filled, *others = [np.asarray(slot) != np.asarray(self.absent) for slot in self.slots]
        for slot in others:
            filled = (filled[:, :, None] & slot[:, None, :]).reshape(len(slot), -1)
        return filled

    def take(self, picks: Int[Array, " picks"]) -> Self:
        return type(self)(tuple(slot[picks] for slot in self.slots), self.absent)

    @property
    def tally(self) -> Lines:
        widths = [slot.shape[1] for slot in self.slots]
        return Lines(self, footprint=int(sum(widths) + np.prod(widths[1:])))

    def columns(self, query: int, domain: Domain) -> list[str]:
        """The names of the columns of one marginal, in the order of its cells."""
        starts = [int(np.asarray(slot)[query, 0]) for slot in self.slots]
        axes = np.searchsorted(domain.offsets, starts, "right") - 1
        return [domain.axes[axis].name for axis in axes]

    def sides(self, query: int, domain: Domain) -> tuple[Side, ...]:
        labels = {axis.name: axis.labels for axis in domain.axes}
        return tuple(ByColumn(name, labels[name]) for name in self.columns(query, domain))


def _all_products(some: jax.Array, more: jax.Array) -> jax.Array:
    return (some[:, :, None, :] * more[:, None, :, :]).reshape(len(some), -1, some.shape[2])


def marginals_with_targets(domain: Domain, most_cells: int) -> list[Marginals]:
    """All pairs of features with each target (the paper's CM), or the closest if columns are few.

    Without a target: all pairs of columns. Marginals of more than `most_cells` cells are left out.
    """
    features = [axis for axis in range(len(domain.axes)) if axis not in domain.targets]
    targets = domain.targets
    wanted: list[tuple[int, ...]]
    if targets and len(features) >= 2:
        pairs = itertools.combinations(features, 2)
        wanted = [(*pair, target) for pair in pairs for target in targets]
    elif targets and features:
        wanted = [(features[0], target) for target in targets]
    else:
        columns = targets or features
        wanted = list(itertools.combinations(columns, min(2, len(columns))))

    def small(axes: tuple[int, ...]) -> bool:
        return math.prod(domain.sizes[axis] for axis in axes) <= most_cells

    kept = [axes for axes in wanted if axes and small(axes)]
    return [Marginals.over(kept, domain)] if kept else []
