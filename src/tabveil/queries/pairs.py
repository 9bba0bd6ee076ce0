"""All pairs of columns, for all rows and within each class; numbers take part as bins."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.cross_tables import CrossTables
from tabveil.queries.family import ArrayEvidence, NoisyEvidence, QueryFamily
from tabveil.queries.layout import CutColumn, Layout, Query
from tabveil.queries.products import quick_products_within
from tabveil.queries.rows import HARD, Array, Rows, Step
from tabveil.queries.tiles import EFFORT, SIDE, Block, Tiles
from tabveil.shapes import Bool, Float, Int, Shaped
from tabveil.tables.placement import Part
from tabveil.tables.sides import ByColumn, Side
from tabveil.tables.table import Domain


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pairs(QueryFamily):
    """Whole cross-tables of two columns within each class of a group: each partitions the rows."""

    name: ClassVar[str] = "cross-tables"

    tables: CrossTables

    @classmethod
    def over(
        cls,
        domain: Domain,
        edges: Sequence[np.ndarray],
        most_cells: int,
        names: Sequence[Sequence[Part]] | None = None,
        within: Sequence[int] | None = None,
        most_within: int | None = None,
    ) -> Self:
        """Every column alone, every pair for all rows, every pair within the classes of others.

        `edges` are the grid positions between the bins of each number, `names` what to know the
        bins by, `within` the columns whose classes are told apart (else: targets). Cross-tables of
        more than `most_cells` cells are left out, `most_within` where classes are told apart.
        """
        names = names or [[f"bin {i + 1}" for i in range(len(between) + 1)] for between in edges]
        layout = Layout.over(domain, names, most_cells, within, most_within)
        return cls(CrossTables.of_layout(layout, domain, edges))

    @property
    def layout(self) -> Layout:
        """Names, columns and queries."""
        return self.tables.layout

    @property
    def categorical(self) -> int:
        """How many of the columns, the first ones, are no numbers."""
        return len(self.layout.columns) - len(self.tables.ordinary)

    def alone(self, columns: Iterable[int]) -> np.ndarray:
        """The queries that count these columns on their own."""
        one, other, _ = self.layout.asked
        places = np.flatnonzero(one == other)
        of_column = dict(zip(one[places].tolist(), places.tolist(), strict=True))
        return np.array([of_column[column] for column in columns], int)

    def columns_of(self, query: Query) -> list[CutColumn]:
        """The columns of a query, in the order in which its cells are laid out."""
        layout = self.layout
        by_name = {column.name: column for column in layout.columns}
        within = [by_name[layout.groups[query.group].name]] if query.group else []
        asked = [query.one] if query.alone else [query.one, query.other]
        return [*within, *(layout.columns[column] for column in asked)]

    def with_targets(self, targets: Sequence[int]) -> np.ndarray:
        """The queries that cross one target with one other column, for all rows."""
        one, other, group = self.layout.asked
        crossed = np.isin(one, targets) | np.isin(other, targets)
        return np.flatnonzero(crossed & (one != other) & (group == 0))

    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "queries width"]:
        counts = self.tables.counts_of(rows, step)
        return jnp.asarray(self.tables.cells_in(counts, np.arange(len(self))))

    @property
    def filled(self) -> Bool[np.ndarray, "queries width"]:
        return np.arange(self.width) < self.cells[:, None]

    def take(self, picks: Int[Array, " picks"]) -> Self:
        chosen = [self.layout.queries[pick] for pick in np.asarray(picks)]
        return replace(self, tables=self.tables.asking(chosen))

    @property
    def tally(self) -> CrossTables:
        return self.tables

    def evidence(self, room: int) -> "WholeTables | TiledTables":
        """In one array where most of it will be measured, else in tiles."""
        whole, tiled = self._efforts(room)
        if tiled < whole:
            return TiledTables(self, Tiles.room_for(self._tiles_for(room)))
        return WholeTables.empty(self)

    def effort(self, room: int) -> int:
        """Multiplications for one relaxed row, if so many cross-tables are measured."""
        return min(self._efforts(room))

    def _efforts(self, room: int) -> tuple[int, int]:
        """Multiplications per relaxed row: of all cross-tables, and of tiles for measured ones."""
        whole = self.tables.products * len(self.tables.owner) ** 2
        return whole, EFFORT * self._tiles_for(room) * SIDE**2

    def _tiles_for(self, room: int) -> int:
        """About how many tiles so many queries need."""
        sides = [
            sum(-(-(stop - start) // SIDE) for start, stop in column.runs)
            for column in self.layout.columns
        ]
        return round(room * float(self.layout.product(sides).mean()) * 1.2)

    # The width is that of the whole family, and `filled` would be large: these do without it.

    def __len__(self) -> int:
        return len(self.layout.queries)

    @property
    def width(self) -> int:
        return self.layout.width

    @property
    def cells(self) -> Int[np.ndarray, " queries"]:
        return self.layout.sizes

    # -- what is asked -----------------------------------------------------------------------------

    def sides(self, query: int, domain: Domain) -> tuple[Side, ...]:
        i, j, group = self.layout.queries[query]
        columns, within = self.layout.columns, self.layout.groups[group].name
        classes = [c for c in columns if c.name == within] if group else []
        asked = [columns[i]] if i == j else [columns[i], columns[j]]
        return (
            *(ByColumn(column.name, column.labels, classes=True) for column in classes),
            *(ByColumn(column.name, column.labels) for column in asked),
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WholeTables(ArrayEvidence):
    """Evidence about most cross-tables, in the array of all of them: half on either side of it."""

    family: Pairs

    @classmethod
    def empty(cls, family: Pairs) -> Self:
        """Nothing is known yet."""
        nothing = family.tables.nothing().astype(np.float32)
        return cls(nothing, nothing, nothing, family)

    def learn(
        self,
        picks: Int[np.ndarray, " picks"],
        shares: Float[np.ndarray, "picks width"],
        weights: Shaped[np.ndarray, "picks width"],
    ) -> Self:
        places = self.family.tables.places(picks)
        there = places >= 0
        known, weighed = np.array(self.shares), np.array(self.weights)
        layer, one, other = np.unravel_index(places[there], known.shape)
        for rows, columns in ((one, other), (other, one)):
            known[layer, rows, columns] = shares[there]
            weighed[layer, rows, columns] = np.where(one == other, 1, 0.5) * weights[there]
        return replace(self, shares=known, weights=weighed)

    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "classes cells cells"]:
        counts = self.family.tables.counts_of(rows, step, quick_products_within)
        return counts / rows.cells.shape[1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TiledTables(NoisyEvidence):
    """Evidence about few of very many cross-tables, in tiles."""

    family: Pairs
    tiles: Tiles

    def learn(
        self,
        picks: Int[np.ndarray, " picks"],
        shares: Float[np.ndarray, "picks width"],
        weights: Shaped[np.ndarray, "picks width"],
    ) -> Self:
        queries = (self.family.layout.queries[pick] for pick in picks)
        known = zip(queries, shares, weights, strict=True)
        blocks = (block for each in known for block in self._blocks(*each))
        return replace(self, tiles=self.tiles.with_blocks(blocks))

    def _blocks(self, query: Query, shares: np.ndarray, weights: np.ndarray) -> Iterator[Block]:
        layout, all_rows = self.family.layout, len(self.family.tables.owner)
        one, other = layout.columns[query.one], layout.columns[query.other]
        classes = layout.groups[query.group].cells or (all_rows,)
        # A column alone is crossed with every row.
        across = [(all_rows, slice(0, 1))] if query.alone else other.pieces
        shape = (len(classes), len(one.labels), 1 if query.alone else len(other.labels))
        cells = np.prod(shape)
        shares, weights = shares[:cells].reshape(shape), weights[:cells].reshape(shape)
        for layer, within in enumerate(classes):
            for (first, rows), (second, columns) in product(one.pieces, across):
                part = (layer, rows, columns)
                yield Block(first, second, within, shares[part], weights[part])

    def misfit(self, rows: Rows, step: Step) -> Float[jax.Array, ""]:
        return self.tiles.misfit(self._members(rows, step))

    def shortfall(self, rows: Rows) -> Float[jax.Array, "tiles side side"]:
        return self.tiles.shortfall(self._members(rows, HARD))

    def owed(self, more: Float[Array, "tiles side side"]) -> Self:
        return replace(self, tiles=replace(self.tiles, arrears=self.tiles.arrears + more))

    def without_arrears(self) -> Self:
        nothing = jnp.zeros_like(self.tiles.arrears)
        return replace(self, tiles=replace(self.tiles, arrears=nothing))

    def _members(self, rows: Rows, step: Step) -> Float[jax.Array, "cells rows"]:
        cells = self.family.tables.cells_of(rows, step)
        return jnp.concatenate([cells, rows.cells[-2][None]])
