"""The private rows behind their door: what can be asked, each look charged before it is taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from tabveil.privacy import Door, Protection, Relation
from tabveil.queries import QueryFamily
from tabveil.queries.family import place_of
from tabveil.shapes import Int, Shaped
from tabveil.tables.measurement import Measurement
from tabveil.tables.placement import Lattice, Placement
from tabveil.tables.sides import ByColumn
from tabveil.tables.table import Domain, Table


@dataclass(frozen=True)
class Workload:
    """Everything that may be asked, and where numbers are placed. Public."""

    families: tuple[QueryFamily, ...]
    placement: Placement
    domain: Domain

    def place_of(self, family: QueryFamily) -> int:
        """Which of the families it is; by its place, a look that was paid for is found again."""
        return place_of(family, self.families)


@dataclass(frozen=True)
class Answer:
    """Noisy counts of some queries of one family, and the standard deviation of their noise."""

    family: QueryFamily
    picks: Int[np.ndarray, " picks"]
    counts: Int[np.ndarray, "picks width"]
    scale: float
    derived: bool = False  # follows from other noisy counts; nothing was measured for it


class NoisyCounts(NamedTuple):
    """Noisy counts of runs of points, per column, and the standard deviation of their noise."""

    counts: list[np.ndarray]
    scale: float


TableCount = Callable[[Table], list[np.ndarray]]
"""Integer arrays for a batch of rows, the same shapes for every batch.

As data, not as a closure: the rows may be counted in other processes.
"""


class PrivateRows(Protocol):
    """The table that is protected."""

    def total(self, count: TableCount, columns: Sequence[str] | None = None) -> list[np.ndarray]:
        """The sum over all rows of what is counted in each batch; it looks at `columns` alone."""

    def count(self) -> int:
        """How many rows there are; private, unless a relation makes it public."""


class Curator:
    """Holds the private rows and answers for a price; what it gives out may be published."""

    def __init__(self, rows: PrivateRows, door: Door) -> None:
        self._rows, self._door = rows, door
        self.published: list[Measurement] = []
        self._exact: tuple[Workload, list[np.ndarray]] | None = None
        self._exact_by_point: tuple[Lattice, list[np.ndarray]] | None = None

    def __repr__(self) -> str:
        return f"Curator(relation={self.protection.relation.value})"  # and nothing of the rows

    def recode(self, rows: PrivateRows) -> None:
        """Count the same rows from now on in another encoding."""
        self._rows, self._exact, self._exact_by_point = rows, None, None

    @property
    def protection(self) -> Protection:
        """Whom the noise protects."""
        return self._door.protection

    @property
    def private(self) -> bool:
        """Whether the noise is real; false only with a seeded source, in tests."""
        return self._door.private

    def total(self, rho: Fraction) -> int:
        """How many rows there are: public under substitution, else a noisy count."""
        if self.protection.relation is Relation.SUBSTITUTE:
            return self._rows.count()

        def exact() -> Int[np.ndarray, " cells"]:
            return np.array([self._rows.count()], np.int64)

        counts, scale = self._door.counts(
            "row count", rho, exact, squared=self.protection.squared(queries=1), cells=1
        )
        self.published.append(Measurement.of("row count", (), counts, scale))
        [noisy] = counts.tolist()
        return max(1, int(noisy))

    def noise_of(self, queries: QueryFamily, picks: int, rho: Fraction) -> float:
        """The standard deviation of the noise if `picks` of these are measured for ρ. Public."""
        return self.protection.noise_of(picks, rho, queries.cells_moved)

    def select(
        self,
        workload: Workload,
        family: QueryFamily,
        expected: Int[np.ndarray, "..."],
        picks: int,
        rho: Fraction,
        exclude: Shaped[np.ndarray, " asked"],
        bias: Int[np.ndarray, " queries"] | int = 0,
        slack: int = 0,
        groups: int = 1,
    ) -> Int[np.ndarray, " {picks}"]:
        """The queries furthest off `expected` counts: noisy top-K of L1 error minus public `bias`.

        Of the error in a cell only what exceeds the public `slack` counts. All three are whole
        numbers, so scores are exact integers and one row moves each by no more than the declared
        sensitivity. See docs/proofs/selection.md. Candidates can be dealt out into `groups` that
        each give their share of the picks: a pick costs time for every candidate it is among.
        """
        place = workload.place_of(family)
        candidates = np.setdiff1d(np.arange(len(family)), exclude)

        def scores() -> Int[np.ndarray, " candidates"]:
            exact = self._exact_counts(workload)[place]
            return (family.tally.errors(exact, expected, slack) - bias)[candidates]

        moved = self.protection.cells_moved(family.cells_moved)
        chosen = self._door.top(
            f"selecting {picks} of {family.name}",
            rho,
            scores,
            groups=_dealt(len(candidates), picks, groups),
            sensitivity=self.protection.rows_per_person * moved,
            asked=[np.array(place)],
            candidates=len(family),
        )
        return candidates[chosen]

    def measure(
        self,
        workload: Workload,
        family: QueryFamily,
        picks: Int[np.ndarray, " picks"],
        rho: Fraction,
    ) -> Answer:
        """Noisy counts for every cell of these queries. See docs/proofs/gaussian.md."""
        place = workload.place_of(family)
        filled = family.take(picks).filled

        def exact() -> Int[np.ndarray, " cells"]:
            counts = self._exact_counts(workload)[place]
            return np.asarray(family.tally.cells_in(counts, picks))[filled]

        noisy = np.zeros(filled.shape, np.int64)
        noisy[filled], scale = self._door.counts(
            f"measuring {len(picks)} {family.name}",
            rho,
            exact,
            squared=self.protection.squared(len(picks), family.cells_moved),
            asked=[np.array(place), picks],
            cells=int(filled.sum()),
        )
        return Answer(family, np.asarray(picks), noisy, scale)

    def intervals(
        self, lattice: Lattice, asked: Sequence[np.ndarray], rho: Fraction
    ) -> NoisyCounts:
        """Noisy counts of disjoint runs [start, stop) of points of several numerical columns.

        The runs of one column are part of a partition of the rows, so each column moves like one
        query.
        """
        for runs, size in zip(asked, lattice.all_sizes, strict=True):
            ends = np.concatenate([[0], runs.ravel(), [size]])
            if (np.diff(ends) < 0).any():
                raise ValueError("Runs must lie in order, inside the column, and must not overlap.")
        columns = sum(len(runs) > 0 for runs in asked)
        sizes = [len(runs) for runs in asked]

        def exact() -> Int[np.ndarray, " cells"]:
            counts = []
            for points, runs in zip(self._exact_points(lattice), asked, strict=True):
                below = np.concatenate([[0], np.cumsum(points)])
                counts.append(below[runs[:, 1]] - below[runs[:, 0]])
            return np.concatenate(counts)

        noisy, scale = self._door.counts(
            f"measuring {columns} distributions",
            rho,
            exact,
            squared=self.protection.squared(columns),
            asked=asked,
            cells=sum(sizes),
        )
        found = np.split(noisy, np.cumsum(sizes)[:-1])
        for column, (runs, noisy_counts) in enumerate(zip(asked, found, strict=True)):
            if len(runs):
                side = ByColumn(lattice.names[column], tuple(lattice.parts(column, runs)))
                self.published.append(Measurement.of("distributions", [side], noisy_counts, scale))
        return NoisyCounts(found, scale)

    def categories(self, axes: Sequence[int], domain: Domain, rho: Fraction) -> NoisyCounts:
        """Noisy counts of all categories of some axes, each alone: an axis partitions the rows."""
        sizes = [domain.sizes[axis] for axis in axes]
        names = [domain.axes[axis].name for axis in axes]

        def exact() -> Int[np.ndarray, " cells"]:
            return np.concatenate(self._rows.total(CategoryCounts(tuple(sizes)), names))

        noisy_counts, scale = self._door.counts(
            f"measuring {len(axes)} lists of categories",
            rho,
            exact,
            squared=self.protection.squared(len(axes)),
            asked=[np.array(axes)],
            cells=sum(sizes),
        )
        found = np.split(noisy_counts, np.cumsum(sizes)[:-1])
        for axis, noisy in zip(axes, found, strict=True):
            side = ByColumn(domain.axes[axis].name, domain.axes[axis].labels)
            self.published.append(Measurement.of("categories", [side], noisy, scale))
        return NoisyCounts(found, scale)

    def _exact_points(self, lattice: Lattice) -> list[np.ndarray]:
        """Exact counts of every point of every numerical column, from one pass over the rows."""
        if self._exact_by_point is None or self._exact_by_point[0] is not lattice:
            self._exact_by_point = lattice, self._rows.total(PointCounts(lattice), lattice.names)
        return self._exact_by_point[1]

    def _exact_counts(self, workload: Workload) -> list[np.ndarray]:
        """Exact counts of the whole workload, from one pass; they never leave this object."""
        if self._exact is None or self._exact[0] is not workload:
            counts = self._rows.total(WorkloadCounts(workload))
            self._exact = workload, unfolded(workload, counts)
        return self._exact[1]


@dataclass(frozen=True)
class PointCounts:
    """Counts the rows at every point of every numerical column."""

    lattice: Lattice

    def __call__(self, table: Table) -> list[np.ndarray]:
        points = self.lattice.points_of(table).T
        return [
            np.bincount(column, minlength=size)
            for column, size in zip(points, self.lattice.all_sizes, strict=True)
        ]


@dataclass(frozen=True)
class CategoryCounts:
    """Counts the rows in every category of tables that have these axes and no other."""

    sizes: tuple[int, ...]

    def __call__(self, table: Table) -> list[np.ndarray]:
        codes = table.codes[:, : len(self.sizes)].T
        return [
            np.bincount(column, minlength=size)
            for column, size in zip(codes, self.sizes, strict=True)
        ]


@dataclass(frozen=True)
class WorkloadCounts:
    """Counts the rows for every query of a workload, folded as each family likes to add them up."""

    workload: Workload

    def __call__(self, table: Table) -> list[np.ndarray]:
        positions = self.workload.placement.positions(table)
        domain = self.workload.domain
        return [
            family.tally.folded(table.codes, positions, domain) for family in self.workload.families
        ]


def _dealt(candidates: int, picks: int, groups: int) -> list[tuple[np.ndarray, int]]:
    """Candidates dealt out like cards, and likewise how many of each group are picked."""
    dealt = []
    for first in range(min(groups, picks)):
        share = len(range(first, picks, groups))
        dealt.append((np.arange(first, candidates, groups), share))
    return dealt


def unfolded(workload: Workload, counts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Folded counts in each family's own layout."""
    return [
        family.tally.unfold(folded)
        for family, folded in zip(workload.families, counts, strict=True)
    ]


def count(workload: Workload, table: Table) -> list[np.ndarray]:
    """Exact integer counts of every query of the workload on some real rows."""
    return unfolded(workload, WorkloadCounts(workload)(table))
