"""All cross-tables of a table as one product, for real and for relaxed rows.

With P the memberships of rows in cells and Y those in classes, the counts of all cells of all
pairs of columns are (P ∘ Y_c) Pᵀ, one matrix per class.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.bins import Bins
from tabveil.queries.counting import Counting
from tabveil.queries.family import Tally, padded
from tabveil.queries.layout import Layout, Query, StaticLayout
from tabveil.queries.products import Within, products_within
from tabveil.queries.rows import HARD, Array, Rows, Step, everyone
from tabveil.shapes import Float, Int, Num
from tabveil.tables.table import Domain


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CrossTables(Tally):
    """Counts of every cell with every other in every class, [classes, cells, cells]."""

    bins: Bins
    owner: Array  # [cells]: the column that each cell belongs to; -1 for cells of none
    # for each number, the cell of the rows that have it
    ordinary: tuple[int, ...] = field(metadata={"static": True})
    groups: tuple[tuple[int, ...], ...] = field(metadata={"static": True})  # cells of the classes
    static: StaticLayout = field(metadata={"static": True})

    @classmethod
    def of_layout(cls, layout: Layout, domain: Domain, edges: Sequence[np.ndarray]) -> Self:
        """The cross-tables of these columns, with numbers cut at these grid positions."""
        bins = Bins.between(edges)
        owner = np.full(domain.cells + len(bins.number), -1, np.int32)
        for number, column in enumerate(layout.columns):
            owner[column.cells] = number
        ordinary = tuple(
            everyone(domain) if axis is None else domain.offsets[axis] for axis in domain.kinds
        )
        groups = tuple(group.cells for group in layout.groups)
        return cls(bins, owner, ordinary, groups, StaticLayout(layout))

    @property
    def layout(self) -> Layout:
        """Names, columns and queries; for people and for the counting outside compiled programs."""
        return self.static.layout

    def asking(self, queries: Sequence[Query]) -> Self:
        """The same counts, of which only these queries are asked for."""
        return replace(self, static=StaticLayout(replace(self.layout, queries=tuple(queries))))

    # -- relaxed rows, and real ones ---------------------------------------------------------------

    def of(self, rows: Rows, step: Step = HARD) -> Float[jax.Array, "classes cells cells"]:
        return _counts_of(self, rows, step)

    def counts_of(
        self, rows: Rows, step: Step, multiply: Within = products_within
    ) -> Float[jax.Array, "classes cells cells"]:
        """All counts, for use inside compiled programs."""
        cells = self.cells_of(rows, step)
        # The last class of a group is what the others leave of all rows,
        # so it needs no product of its own.
        wanted = [cell for group in self.groups for cell in group[:-1]]
        members = jnp.concatenate([rows.cells[-2][None], cells[jnp.array(wanted, int)]])
        weights = 1.0 if rows.weights is None else rows.weights
        products = multiply(cells, members * weights)
        alone = jnp.diag((cells * weights).sum(axis=1))
        owner = jnp.asarray(self.owner)
        layers = [jnp.where(owner[:, None] == owner[None, :], alone, products[0])]
        place = 1
        for group in self.groups[1:]:
            shown = products[place : place + len(group) - 1]
            layers += [*shown, products[0] - shown.sum(axis=0)]
            place += len(group) - 1
        return jnp.stack(layers)

    @property
    def products(self) -> int:
        """How many products of memberships the counts take."""
        return 1 + sum(len(group[1:]) for group in self.groups)

    def cells_of(self, rows: Rows, step: Step) -> Float[jax.Array, "cells rows"]:
        """How much each row belongs to each cell of each column."""
        inside = self.bins.members(rows.values, step) if rows.bins is None else rows.bins
        return jnp.concatenate([rows.cells[:-2], inside * self._having(rows)])

    def _having(self, rows: Rows) -> jax.Array:
        """How much each row has the number of each bin, and not a special value in its place."""
        if all(cell == len(rows.cells) - 2 for cell in self.ordinary):
            return rows.cells[-2]
        return rows.cells[jnp.array(self.ordinary)][jnp.maximum(self.bins.number, 0)]

    # -- real rows, by counting codes --------------------------------------------------------------

    @cached_property
    def counting(self) -> Counting:
        """How real rows are counted."""
        sizes = tuple(len(column.labels) for column in self.layout.columns)
        targets = tuple(int(self.owner[cells[0]]) for cells in self.groups if cells)
        return Counting(sizes, targets)

    def folded(
        self,
        codes: Int[np.ndarray, "rows axes"],
        positions: Int[np.ndarray, "rows numerical"],
        domain: Domain,
    ) -> Int[np.ndarray, " folded"]:
        return self.counting.folded(self.labels_of(codes, positions, domain), len(codes))

    def labels_of(
        self, codes: np.ndarray, positions: np.ndarray, domain: Domain
    ) -> list[np.ndarray]:
        """For each column, the place among its labels that each row has."""
        columns = [codes[:, axis] for axis in range(codes.shape[1]) if axis not in domain.kinds]
        for axis, bins, values in zip(domain.kinds, self.bins.at, positions.T, strict=True):
            inside = bins[values]
            if axis is not None:  # special values come before the bins
                kind = codes[:, axis]
                inside = np.where(kind > 0, kind - 1, inside + domain.sizes[axis] - 1)
            columns.append(inside)
        return columns

    def unfold(self, folded: np.ndarray) -> np.ndarray:
        tally, columns = self.nothing(), self.layout.columns
        layers = dict(zip((None, *self.counting.targets), self.layout.layers, strict=True))
        for target, i, j, block in self.counting.blocks(folded):
            layer = np.array(layers[target])[:, None, None]
            one, other = columns[i].cells[:, None], columns[j].cells
            tally[layer, one, other] = block
            tally[layer, other, one] = block
        return tally

    # -- the array of counts -----------------------------------------------------------------------

    def nothing(self) -> Int[np.ndarray, "classes cells cells"]:
        classes, cells = self.layout.layers[-1][-1] + 1, len(self.owner)
        return np.zeros((classes, cells, cells), np.int64)

    def errors(
        self,
        counts: Int[np.ndarray, "classes cells cells"],
        expected: Int[np.ndarray, "classes cells cells"],
        slack: int = 0,
    ) -> Int[np.ndarray, " queries"]:
        gaps = np.stack(
            [
                self._by_column(self._by_column(_beyond(*layer, slack), 0), 1)
                for layer in zip(counts, expected, strict=True)
            ]
        )
        first = [layers[0] for layers in self.layout.layers]
        by_group = np.add.reduceat(gaps, first, axis=0)
        one, other, group = np.array(self.layout.queries).T
        return by_group[group, one, other]

    def _by_column(self, gaps: np.ndarray, axis: int) -> np.ndarray:
        """Cells along one axis added up to columns."""
        owner = np.asarray(self.owner)
        starts = np.flatnonzero(np.diff(owner, prepend=-2))
        order = np.argsort(owner[starts], kind="stable")  # a column may stand in two places
        whose, first_of_each = np.unique(owner[starts][order], return_index=True)
        runs = np.add.reduceat(gaps, starts, axis=axis).take(order, axis)
        return np.add.reduceat(runs, first_of_each, axis=axis).compress(whose >= 0, axis)

    def cells_in(
        self, counts: Num[Array, "classes cells cells"], picks: Int[np.ndarray, " picks"]
    ) -> Num[Array, "picks width"]:
        flat = counts.reshape(-1)
        places = self.places(picks)
        return flat[np.maximum(places, 0)] * (places >= 0)

    def places(self, picks: np.ndarray) -> np.ndarray:
        """Where the cells of these queries stand in the flattened array; -1 pads."""
        found = [self._places_of(self.layout.queries[pick]) for pick in np.asarray(picks)]
        return padded(found, -1, self.layout.width).astype(np.int64)

    def _places_of(self, query: Query) -> list[int]:
        columns, cells = self.layout.columns, len(self.owner)
        layers = np.array(self.layout.layers[query.group])[:, None, None]
        rows = columns[query.one].cells[:, None]
        others = rows if query.alone else columns[query.other].cells[None, :]
        return ((layers * cells + rows) * cells + others).ravel().tolist()


def _beyond(
    counts: Int[np.ndarray, "cells cells"], expected: Int[np.ndarray, "cells cells"], slack: int
) -> Int[np.ndarray, "cells cells"]:
    """How far cells are off by more than `slack`; class by class, as these may be large."""
    gaps = counts - expected
    np.abs(gaps, out=gaps)
    gaps -= slack
    return np.maximum(gaps, 0, out=gaps)


@jax.jit
def _counts_of(tables: CrossTables, rows: Rows, step: Step) -> jax.Array:
    return tables.counts_of(rows, step)
