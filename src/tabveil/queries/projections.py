"""Histograms along a direction: where the rows of each class lie on a line through all numbers.

A halfspace asks one thing about a direction. A histogram asks for every bin at once and costs the
same: a row is in one bin of it.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.family import Lines, QueryFamily
from tabveil.queries.rows import GRID, Array, Rows, Step, everyone
from tabveil.queries.thresholds import (
    Classes,
    largest_scale,
    random_blocks,
    weighted_sum,
    weights_of,
)
from tabveil.shapes import Bool, Float, Int
from tabveil.tables.sides import AlongLine, Side
from tabveil.tables.table import Domain

BATCH = 2**14  # rows counted at once
REACH = 2.0  # how far bins reach to either side, in standard deviations of independent columns


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ProjectedHistograms(QueryFamily):
    """Rows of each class in each bin along ⟨θ, x⟩, in integers; the outer bins are open."""

    name: ClassVar[str] = "projected histograms"

    directions: Array  # [queries, numerical], whole numbers; L1 norm under 2^14
    first: Array  # [queries], where the first bin ends; whole numbers
    step: Array  # [queries], how wide the inner bins are; whole numbers
    bins: int = field(metadata={"static": True})
    # what 1 in the scale of the numbers measures in ours
    unit: float = field(metadata={"static": True})
    classes: Classes
    blocks: Array  # [queries, classes of its group]

    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "queries width"]:
        cuts = self.first[:, None] + self.step[:, None] * np.arange(self.bins - 1, dtype=np.int32)
        sums = weighted_sum(self.directions, rows.values)
        below = step(cuts[:, :, None] - sums[:, None, :], self.unit)  # [queries, cuts, rows]
        members = self.classes.members(rows)[self.blocks]  # [queries, classes, rows]
        counts = jnp.einsum("qkn,qcn->qkc", below, members)
        everyone = members.sum(axis=2)[:, None, :]
        return jnp.diff(counts, axis=1, prepend=0, append=everyone).reshape(len(cuts), -1)

    @property
    def tally(self) -> Lines:
        return Lines(self, footprint=self.bins - 1, count=self._counted)

    def _counted(self, codes: np.ndarray, positions: np.ndarray, domain: Domain) -> np.ndarray:
        """Exact counts of real rows, in whole numbers from the first to the last."""
        total = np.zeros((len(self), self.width), np.int64)
        classes = self.width // self.bins
        axes = [self._axis(query, domain) for query in range(len(self))]
        first, step = np.asarray(self.first, np.int64), np.asarray(self.step, np.int64)
        directions = np.asarray(self.directions, np.float64).T
        for start in range(0, len(codes), BATCH):
            part = slice(start, start + BATCH)
            # Whole numbers below 2^53 are exact in any order of adding: no row can disturb another.
            sums = (positions[part].astype(np.float64) @ directions).astype(np.int64)
            bins = np.clip(-((first - sums) // step), 0, self.bins - 1)
            for query, axis in enumerate(axes):
                cells = bins[:, query] * classes
                if axis is not None:
                    cells = cells + codes[part, axis]
                total[query] += np.bincount(cells, minlength=self.width)
        return total

    def _axis(self, query: int, domain: Domain) -> int | None:
        """The axis whose classes this query is answered for; None is all rows."""
        cell = int(self.classes.factors[self.blocks[query, 0], 0])
        if cell == everyone(domain):
            return None
        return int(np.searchsorted(domain.offsets, cell, "right")) - 1

    @property
    def filled(self) -> Bool[np.ndarray, "queries width"]:
        return np.tile(self.classes.there(self.blocks), (1, self.bins))

    def take(self, picks: Int[Array, " picks"]) -> Self:
        return replace(
            self,
            directions=self.directions[picks],
            first=self.first[picks],
            step=self.step[picks],
            blocks=self.blocks[picks],
        )

    def sides(self, query: int, domain: Domain) -> tuple[Side, ...]:
        weights = weights_of(self.directions[query], self.unit, domain)
        edges = (self.first[query] + self.step[query] * np.arange(self.bins - 1)) / self.unit
        line = AlongLine(weights, tuple(edges.tolist()))
        return (line, *self.classes.sides(self.blocks[query]))


def random_projected_histograms(
    domain: Domain, count: int, bins: int, random: np.random.Generator
) -> ProjectedHistograms:
    """Histograms along random directions, random labels; numbers that can be missing take no part.

    Bins lie where the sum of independent, evenly spread numbers would be; the outer ones are open.
    """
    directions = random.standard_normal((count, len(domain.numerical)))
    directions *= [axis is None for axis in domain.kinds]
    scale = largest_scale(directions)
    whole = np.rint(directions * scale)
    middle = whole.sum(axis=1) * GRID / 2
    spread = GRID * np.sqrt((whole**2).sum(axis=1) / 12)
    step = np.maximum(1, np.rint(2 * REACH * spread / bins))
    first = np.rint(middle - step * (bins - 2) / 2)
    classes, blocks = random_blocks(domain, count, random)
    whole, first, step = (array.astype(np.int32) for array in (whole, first, step))
    return ProjectedHistograms(whole, first, step, bins, float(GRID * scale), classes, blocks)
