"""Which cross-tables there are, of which columns, and where their cells stand among all cells."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, combinations, compress, pairwise
from typing import NamedTuple, Self

import numpy as np

from tabveil.tables.placement import Part
from tabveil.tables.table import Domain


@dataclass(frozen=True)
class CutColumn:
    """One column as cells: the categories of an axis, or special values and bins of a number."""

    name: str
    labels: tuple[Part, ...]
    # [start, stop) of the cells; special values stand far from the bins
    runs: tuple[tuple[int, int], ...]

    @cached_property
    def cells(self) -> np.ndarray:
        """Where each label stands among all cells."""
        return np.concatenate([np.arange(start, stop) for start, stop in self.runs])

    @property
    def pieces(self) -> list[tuple[int, slice]]:
        """For each run, its first cell and which labels it holds."""
        found, held = [], 0
        for start, stop in self.runs:
            found.append((start, slice(held, held + stop - start)))
            held += stop - start
        return found


class Group(NamedTuple):
    """Classes that rows are told apart by: the cells of a column, or none for all rows."""

    name: str
    cells: tuple[int, ...]

    @property
    def classes(self) -> int:
        """How many classes there are; all rows are one."""
        return max(1, len(self.cells))


EVERYBODY = Group("", ())


class Query(NamedTuple):
    """A cross-table of two columns within each class of a group; a column twice: its own counts."""

    one: int
    other: int
    group: int

    @property
    def alone(self) -> bool:
        """Whether it counts one column on its own."""
        return self.one == self.other


@dataclass(frozen=True)
class Layout:
    """Which columns, groups of classes and queries there are."""

    columns: tuple[CutColumn, ...]
    groups: tuple[Group, ...]
    queries: tuple[Query, ...]
    width: int  # cells of the largest query

    @classmethod
    def over(
        cls,
        domain: Domain,
        bins: Sequence[Sequence[Part]],
        most_cells: int,
        within: Sequence[int] | None = None,
        most_within: int | None = None,
    ) -> Self:
        """Every column alone, every pair for all rows, every pair within the classes of others.

        These are the columns `within`, or else the targets. Three columns together are asked for
        once. Cross-tables of more than `most_cells` cells are left out, or of more than
        `most_within` where classes are told apart.
        """
        columns = (*_categories(domain), *_numbers(domain, bins))
        within = domain.targets if within is None else within
        classes = (Group(columns[w].name, tuple(columns[w].cells.tolist())) for w in within)
        groups = (EVERYBODY, *classes)
        every = cls(columns, groups, _queries(len(columns), tuple(within)), 0)
        one, other, group = every.asked
        most = [most_cells, *[most_cells if most_within is None else most_within] * len(within)]
        kept = (one == other) | (every.sizes <= np.array(most)[group])
        width = int(every.sizes[kept].max())
        return cls(columns, groups, tuple(compress(every.queries, kept)), width)

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many cells each query has."""
        return self.product([len(column.labels) for column in self.columns])

    def product(self, sides: Sequence[int]) -> np.ndarray:
        """For each query the sides of its two columns, multiplied, times its classes."""
        side = np.array(sides)
        classes = np.array([group.classes for group in self.groups])
        one, other, group = self.asked
        return side[one] * np.where(one == other, 1, side[other]) * classes[group]

    @cached_property
    def asked(self) -> np.ndarray:
        """The two columns and the group of all queries, a line each."""
        flat = np.fromiter(chain.from_iterable(self.queries), int, 3 * len(self.queries))
        return flat.reshape(-1, 3).T

    @property
    def layers(self) -> list[tuple[int, ...]]:
        """For each group, the layers in which its classes are counted."""
        ends = np.cumsum([0, *(group.classes for group in self.groups)])
        return [tuple(range(start, stop)) for start, stop in pairwise(ends.tolist())]


@lru_cache(maxsize=4)  # plans ask for the same ones again and again, with other bins
def _queries(columns: int, within: tuple[int, ...]) -> tuple[Query, ...]:
    """All that can be asked of so many columns, within the classes of some."""
    queries = [Query(column, column, 0) for column in range(columns)]
    queries += [Query(one, other, 0) for one, other in combinations(range(columns), 2)]
    for group, so_far in enumerate(accumulate(([w] for w in within), operator.add), start=1):
        others = [column for column in range(columns) if column not in so_far]
        queries += [Query(one, other, group) for one, other in combinations(others, 2)]
    return tuple(queries)


def _categories(domain: Domain) -> list[CutColumn]:
    """The axes that are columns of their own, and no kinds of a number."""
    return [
        CutColumn(axis.name, axis.labels, (_run(domain, place),))
        for place, axis in enumerate(domain.axes)
        if place not in domain.kinds
    ]


def _numbers(domain: Domain, bins: Sequence[Sequence[Part]]) -> list[CutColumn]:
    """Numbers cut into these bins, which come after all categories; special values come first."""
    columns, start = [], domain.cells
    for number, (name, labels) in enumerate(zip(domain.numerical, bins, strict=True)):
        runs = [(start, start + len(labels))]
        start += len(labels)
        kinds = domain.kinds[number]
        if kinds is not None:
            ordinary, stop = _run(domain, kinds)
            runs.insert(0, (ordinary + 1, stop))
        columns.append(CutColumn(name, (*domain.special(number), *labels), tuple(runs)))
    return columns


def _run(domain: Domain, axis: int) -> tuple[int, int]:
    start = domain.offsets[axis]
    return start, start + domain.sizes[axis]


class StaticLayout:
    """Wraps what compiled programs never read. All are equal: another value compiles nothing anew.

    A function under `jax.jit` must not look inside: it would go on using the first layout it saw.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLayout)

    def __hash__(self) -> int:
        return 0
