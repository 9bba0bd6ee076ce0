"""All pairs of columns, for all rows and within each class: every cross-table of a table as one
product.

Numbers take part as bins. With P the memberships of rows in cells and Y those in classes, the
counts of all cells of all pairs are (P ∘ Y_c) Pᵀ, one matrix per class: the same product for real
and for relaxed rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.counting import Counting
from tabveil.queries.family import NoisyShares, QueryFamily, padded
from tabveil.queries.rows import GRID, Array, Hard, Rows, Step, everyone
from tabveil.queries.sides import ByColumn, Side
from tabveil.queries.tiles import EFFORT, SIDE, Tiles
from tabveil.tables.placement import Part
from tabveil.tables.table import Domain


@dataclass(frozen=True)
class CutColumn:
    """One column as cells: the categories of an axis, or the special values and the bins of a
    number."""

    name: str
    labels: tuple[Part, ...]
    runs: tuple[
        tuple[int, int], ...
    ]  # [start, stop) of the cells; special values stand far from the bins

    @cached_property
    def cells(self) -> np.ndarray:
        """Where each label stands among all cells."""
        return np.concatenate([np.arange(start, stop) for start, stop in self.runs])

    @property
    def pieces(self) -> list[tuple[int, slice]]:
        """For each run, its first cell and which labels it holds."""
        ends = np.cumsum([0, *(stop - start for start, stop in self.runs)]).tolist()
        return [
            (start, slice(*ends))
            for (start, _), ends in zip(self.runs, pairwise(ends), strict=True)
        ]


@dataclass(frozen=True)
class Layout:
    """Which columns, groups of classes and queries there are."""

    columns: tuple[CutColumn, ...]
    groups: tuple[tuple[str, tuple[int, ...]], ...]  # name and cells of each group; () is all rows
    queries: tuple[
        tuple[int, int, int], ...
    ]  # column, column, group; the same column twice: its own counts
    width: int  # cells of the largest query

    @property
    def slices(self) -> list[tuple[int, ...]]:
        """For each group, the layers of its classes."""
        ends = np.cumsum([0, *(max(1, len(cells)) for _, cells in self.groups)])
        return [tuple(range(a, b)) for a, b in pairwise(ends.tolist())]


class StaticLayout:
    """Wraps what compiled programs never read. All are equal, so another value compiles nothing
    anew.

    A function under `jax.jit` must not look inside: it would go on using the first layout it saw.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLayout)

    def __hash__(self) -> int:
        return 0


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bins:
    """The bins of all numbers in a row, filled up with empty ones to a multiple of ROOM.

    How finely each number is cut follows from noise. As data, it does not change the compiled
    program."""

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
        owner, high = np.asarray(self.number), np.asarray(self.high)
        ends = [high[owner == number][:-1] for number in range(owner.max(initial=-1) + 1)]
        return [np.searchsorted(e, np.arange(GRID + 1), "right").astype(np.int16) for e in ends]

    def members(self, values: jax.Array, step: Step) -> jax.Array:
        """How much each row belongs to each bin: below its end and not below the end of the bin
        before."""
        if not len(self.number):
            return jnp.zeros((0, values.shape[1]))
        below = step(
            jnp.asarray(self.high)[:, None] - 0.5 - values[jnp.maximum(self.number, 0)], GRID
        )
        below = jnp.where(jnp.asarray(self.last)[:, None], 1.0, below)
        before = jnp.where(jnp.asarray(self.first)[:, None], 0.0, jnp.roll(below, 1, axis=0))
        return jnp.where(jnp.asarray(self.number)[:, None] >= 0, below - before, 0.0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pairs(QueryFamily):
    """Cross-tables of two columns within each class of a group, each whole: a partition of the
    rows."""

    name: ClassVar[str] = "cross-tables"

    bins: Bins
    owner: Array  # [cells]: the column that each cell belongs to; -1 for cells of none
    ordinary: tuple[int, ...] = field(
        metadata={"static": True}
    )  # for each number, the cell of those that have it
    groups: tuple[tuple[int, ...], ...] = field(
        metadata={"static": True}
    )  # cells of each group of classes
    static: StaticLayout = field(metadata={"static": True})

    @property
    def layout(self) -> Layout:
        """Names, columns and queries; for people and for the counting outside compiled programs."""
        return self.static.layout

    @classmethod
    def over(
        cls,
        domain: Domain,
        edges: Sequence[np.ndarray],
        most_cells: int,
        names: Sequence[Sequence[Part]] | None = None,
    ) -> Self:
        """Every column alone, every pair for all rows, and every pair of the other columns for each
        target.

        `edges` are the grid positions between the bins of each number, `names` what to know the
        bins by. Cross-tables of more than `most_cells` cells are left out."""
        names = names or [[f"bin {i + 1}" for i in range(len(between) + 1)] for between in edges]
        runs = [
            (start, start + size) for start, size in zip(domain.offsets, domain.sizes, strict=True)
        ]
        columns = [
            CutColumn(axis.name, axis.labels, (runs[place],))
            for place, axis in enumerate(domain.axes)
            if place not in domain.kinds
        ]
        start, ordinary = domain.cells, []
        for number, (name, kinds, labels) in enumerate(
            zip(domain.numerical, domain.kinds, names, strict=True)
        ):
            bins = (start, start + len(labels))
            start = bins[1]
            first, last = (everyone(domain), 0) if kinds is None else runs[kinds]
            special = [] if kinds is None else [(first + 1, last)]
            columns.append(CutColumn(name, (*domain.special(number), *labels), (*special, bins)))
            ordinary.append(first)
        groups: list[tuple[str, tuple[int, ...]]] = [("", ())]
        groups += [(columns[t].name, tuple(columns[t].cells.tolist())) for t in domain.targets]
        own = [None, *domain.targets]
        queries = [(i, i, 0) for i in range(len(columns))]
        for group, target in enumerate(own):
            others = [i for i in range(len(columns)) if i != target]
            queries += [(i, j, group) for i, j in combinations(others, 2)]

        def size(query: tuple[int, int, int]) -> int:
            i, j, group = query
            pair = 1 if i == j else len(columns[j].labels)
            return len(columns[i].labels) * pair * max(1, len(groups[group][1]))

        kept = tuple(q for q in queries if q[0] == q[1] or size(q) <= most_cells)
        cut = Bins.between(edges)
        owner = np.full(domain.cells + len(cut.number), -1, np.int32)
        for number, column in enumerate(columns):
            owner[column.cells] = number
        layout = Layout(tuple(columns), tuple(groups), kept, max(map(size, kept)))
        return cls(
            cut, owner, tuple(ordinary), tuple(cells for _, cells in groups), StaticLayout(layout)
        )

    @property
    def categorical(self) -> int:
        """How many of the columns, the first ones, are no numbers."""
        return len(self.layout.columns) - len(self.ordinary)

    def alone(self, columns: Sequence[int]) -> np.ndarray:
        """The queries that count these columns on their own."""
        place = {i: q for q, (i, j, _) in enumerate(self.layout.queries) if i == j}
        return np.array([place[column] for column in columns], int)

    def with_targets(self, targets: Sequence[int]) -> np.ndarray:
        """The queries that cross one target with one other column, for all rows."""
        queries = enumerate(self.layout.queries)
        return np.array(
            [q for q, (i, j, g) in queries if g == 0 and i != j and {i, j} & set(targets)], int
        )

    # -- answers -----------------------------------------------------------------------------------

    def cells_of(self, rows: Rows, step: Step) -> jax.Array:
        """How much each row belongs to each cell of each column, [cells, rows]."""
        return jnp.concatenate(
            [rows.cells[:-2], self.bins.members(rows.values, step) * self._having(rows)]
        )

    def _having(self, rows: Rows) -> jax.Array:
        """How much each row has the number of each bin, and not a special value in its place."""
        if all(cell == len(rows.cells) - 2 for cell in self.ordinary):
            return rows.cells[-2]
        return rows.cells[jnp.array(self.ordinary)][jnp.maximum(self.bins.number, 0)]

    def table_of(self, rows: Rows, step: Step) -> jax.Array:
        """Counts of every cell of every pair in every class, [classes, cells, cells]."""
        cells = self.cells_of(rows, step)
        # The last class of a group is what the others leave of all rows, so it needs no product of
        # its own.
        wanted = [c for group in self.groups for c in group[:-1]]
        members = jnp.concatenate([rows.cells[-2][None], cells[jnp.array(wanted, int)]])
        products = products_within(cells, members)
        alone = jnp.diag(cells.sum(axis=1))
        owner = jnp.asarray(self.owner)
        layers = [jnp.where(owner[:, None] == owner[None, :], alone, products[0])]
        place = 1
        for group in self.groups[1:]:
            shown = products[place : place + len(group) - 1]
            layers += [*shown, products[0] - shown.sum(axis=0)]
            place += len(group) - 1
        return jnp.stack(layers)

    # -- the layout of counts: [classes, cells, cells] ---------------------------------------------

    def tally(self, rows: Rows, step: Step | None = None) -> jax.Array:
        return _table_of(self, rows, step or Hard())

    @cached_property
    def counting(self) -> Counting:
        """How real rows are counted."""
        targets = tuple(int(self.owner[cells[0]]) for cells in self.groups if cells)
        return Counting(tuple(len(column.labels) for column in self.layout.columns), targets)

    def folded_counts(self, codes: np.ndarray, positions: np.ndarray, domain: Domain) -> np.ndarray:
        plain = [codes[:, axis] for axis in range(codes.shape[1]) if axis not in domain.kinds]
        numbers = [bins[column] for bins, column in zip(self.bins.at, positions.T, strict=True)]
        for number, axis in enumerate(domain.kinds):
            if axis is not None:
                kinds = codes[:, axis]
                numbers[number] = np.where(
                    kinds > 0, kinds - 1, numbers[number] + domain.sizes[axis] - 1
                )
        return self.counting.folded([*plain, *numbers], len(codes))

    def unfold(self, folded: np.ndarray) -> np.ndarray:
        tally, columns = self.nothing(), self.layout.columns
        layers = dict(zip((None, *self.counting.targets), self.layout.slices, strict=True))
        for target, i, j, block in self.counting.blocks(folded):
            layer = np.array(layers[target])[:, None, None]
            one, other = columns[i].cells[:, None], columns[j].cells
            tally[layer, one, other] = block
            tally[layer, other, one] = block
        return tally

    def answers(self, rows: Rows, step: Step) -> jax.Array:
        return jnp.asarray(self.cells_in(self.table_of(rows, step), np.arange(len(self))))

    def nothing(self) -> np.ndarray:
        classes, cells = self.layout.slices[-1][-1] + 1, len(self.owner)
        return np.zeros((classes, cells, cells), np.int64)

    def errors(self, counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
        owner = np.asarray(self.owner)
        starts = np.flatnonzero(np.diff(owner, prepend=-2))
        order = np.argsort(owner[starts], kind="stable")  # a column may stand in two places
        whose, first_of_each = np.unique(owner[starts][order], return_index=True)
        gaps = np.abs(counts - expected)
        for axis in (1, 2):
            gaps = np.add.reduceat(gaps, starts, axis=axis).take(order, axis)
            gaps = np.add.reduceat(gaps, first_of_each, axis=axis).compress(whose >= 0, axis)
        first = [layers[0] for layers in self.layout.slices]
        by_group = np.add.reduceat(gaps, first, axis=0)
        i, j, group = np.array(self.layout.queries).T
        return by_group[group, i, j]

    def cells_in(self, counts: Array, picks: np.ndarray) -> Array:
        flat = counts.reshape(-1)
        places = self._places(picks)
        return flat[np.maximum(places, 0)] * (places >= 0)

    def _places(self, picks: np.ndarray) -> np.ndarray:
        """Where the cells of these queries stand in a flattened table of counts; -1 pads."""
        found = [self._places_of(self.layout.queries[pick]) for pick in np.asarray(picks)]
        return padded(found, -1, self.width).astype(np.int64)

    def _places_of(self, query: tuple[int, int, int]) -> list[int]:
        i, j, group = query
        columns, cells = self.layout.columns, len(self.owner)
        layers = np.array(self.layout.slices[group])[:, None, None]
        rows = columns[i].cells[:, None]
        if i == j:
            return ((layers * cells + rows) * cells + rows).ravel().tolist()
        others = columns[j].cells[None, :]
        return ((layers * cells + rows) * cells + others).ravel().tolist()

    def __len__(self) -> int:
        return len(self.layout.queries)

    @property
    def cells(self) -> np.ndarray:
        size = np.array([len(column.labels) for column in self.layout.columns])
        classes = np.array([len(layers) for layers in self.layout.slices])
        i, j, group = np.array(self.layout.queries).T
        return size[i] * np.where(i == j, 1, size[j]) * classes[group]

    @property
    def width(self) -> int:
        return self.layout.width

    @property
    def filled(self) -> np.ndarray:
        return np.arange(self.width) < self.cells[:, None]

    def take(self, picks: Array) -> Self:
        chosen = tuple(self.layout.queries[pick] for pick in np.asarray(picks))
        return replace(self, static=StaticLayout(replace(self.layout, queries=chosen)))

    # -- evidence: in the same layout where most of it will be measured, else in tiles -------------

    def reserve(self, room: int) -> NoisyShares | Tiles:
        whole, tiled = self._efforts(room)
        if tiled < whole:
            return Tiles.room_for(self._tiles_for(room))
        empty = self.nothing().astype(np.float32)
        return NoisyShares(empty, empty)

    def effort(self, room: int) -> int:
        """Multiplications for one relaxed row, if so many cross-tables are measured."""
        return min(self._efforts(room))

    def _efforts(self, room: int) -> tuple[int, int]:
        """Multiplications for one relaxed row: of all cross-tables, and of tiles for the measured
        ones."""
        products = 1 + sum(len(group[1:]) for group in self.groups)
        return products * len(self.owner) ** 2, EFFORT * self._tiles_for(room) * SIDE**2

    def _tiles_for(self, room: int) -> int:
        return round(room * float(self._tiles.mean()) * 1.2)

    @property
    def _tiles(self) -> np.ndarray:
        """How many tiles each query needs."""
        columns = self.layout.columns
        side = np.array(
            [sum(-(-(stop - start) // SIDE) for start, stop in c.runs) for c in columns]
        )
        classes = np.array([len(layers) for layers in self.layout.slices])
        i, j, group = np.array(self.layout.queries).T
        return side[i] * np.where(i == j, 1, side[j]) * classes[group]

    def learn(
        self,
        known: NoisyShares | Tiles,
        at: int,
        picks: np.ndarray,
        shares: np.ndarray,
        weights: np.ndarray,
    ) -> NoisyShares | Tiles:
        if isinstance(known, Tiles):
            for pick, *noisy in zip(picks, shares, weights, strict=True):
                known = self._learn_tiles(known, self.layout.queries[pick], *noisy)
            return known
        places = self._places(picks)
        there = places >= 0
        learnt = np.array(known.shares), np.array(known.weights)
        for array, new in zip(learnt, (shares, weights), strict=True):
            array.reshape(-1)[places[there]] = new[there]
        return NoisyShares(*learnt)

    def _learn_tiles(
        self, known: Tiles, query: tuple[int, int, int], shares: np.ndarray, weights: np.ndarray
    ) -> Tiles:
        i, j, group = query
        one, other = self.layout.columns[i], self.layout.columns[j]
        all_rows = len(self.owner)
        shape = (
            len(one.labels),
            1 if i == j else len(other.labels),
        )  # alone is crossed with every row
        classes = self.groups[group] or (all_rows,)
        cells = len(classes) * shape[0] * shape[1]
        blocks = (array[:cells].reshape(-1, *shape) for array in (shares, weights))
        across = [(all_rows, slice(None))] if i == j else other.pieces
        for within, *block in zip(classes, *blocks, strict=True):
            for (first, rows), (second, columns) in product(one.pieces, across):
                known = known.with_block(
                    first, second, within, *(array[rows, columns] for array in block)
                )
        return known

    def misfit(self, rows: Rows, step: Step, known: NoisyShares | Tiles) -> jax.Array:
        if isinstance(known, Tiles):
            return known.misfit(jnp.concatenate([self.cells_of(rows, step), rows.cells[-2][None]]))
        gap = self.table_of(rows, step) / rows.cells.shape[1] - known.shares
        return jnp.sum(known.weights * gap**2)

    # -- what is asked -----------------------------------------------------------------------------

    def sides(self, query: int, domain: Domain) -> tuple[Side, ...]:
        i, j, group = self.layout.queries[query]
        columns, within = self.layout.columns, self.layout.groups[group][0]
        classes = [c for c in columns if c.name == within] if group else []
        asked = [columns[i]] if i == j else [columns[i], columns[j]]
        return (
            *(ByColumn(column.name, column.labels, classes=True) for column in classes),
            *(ByColumn(column.name, column.labels) for column in asked),
        )


@jax.jit
def _table_of(family: Pairs, rows: Rows, step: Step) -> jax.Array:
    return family.table_of(rows, step)


@jax.custom_vjp
def products_within(cells: jax.Array, members: jax.Array) -> jax.Array:
    """(P ∘ Y_c) Pᵀ for every class c, [classes, cells, cells]."""
    return jax.lax.map(lambda member: (cells * member) @ cells.T, members)


def _backwards(
    kept: tuple[jax.Array, jax.Array], gradient: jax.Array
) -> tuple[jax.Array, jax.Array]:
    # Both factors are the same P: with S = G + Gᵀ one product S P serves ∂P = Y ∘ S P and ∂Y = ½ Σ
    # P ∘ S P.
    cells, members = kept

    def one(total: jax.Array, layer: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        both, member = layer
        pulled = both @ cells
        return total + member * pulled, 0.5 * (pulled * cells).sum(axis=0)

    return jax.lax.scan(one, jnp.zeros_like(cells), (gradient + gradient.swapaxes(1, 2), members))


products_within.defvjp(
    lambda cells, members: (products_within(cells, members), (cells, members)), _backwards
)
