"""The one door to the private rows: every look is charged before it is taken, every answer noised once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from tabveil.engines import Local
from tabveil.measurement import Measurement
from tabveil.privacy import Allowance, Noise, OpenDPNoise, Relation, gaussian_scale, selection_scale
from tabveil.queries import QueryFamily, real_rows
from tabveil.scale import Lattice, Scale
from tabveil.table import Domain, Table


@dataclass(frozen=True)
class Workload:
    """Everything that may be asked, and the scale that numbers are asked on. Public."""

    families: tuple[QueryFamily, ...]
    scale: Scale
    domain: Domain


@dataclass(frozen=True)
class Answer:
    """Noisy counts of some queries of one family, and the standard deviation of their noise."""

    family: int
    picks: np.ndarray  # [picks]
    counts: np.ndarray  # [picks, width], whole numbers
    scale: float
    derived: bool = False  # follows from other noisy counts; nothing was measured for it


class Intervals(NamedTuple):
    """Noisy counts of runs of points, per column, and the standard deviation of their noise."""

    counts: list[np.ndarray]
    scale: float


class PrivateRows(Protocol):
    """The table that is protected. `count` is used only where the number of rows is public."""

    def batches(self) -> Iterable[Table]: ...

    def count(self) -> int: ...


class Curator:
    """Holds the private rows and answers for a price; what it gives out may be published."""

    def __init__(
        self,
        rows: PrivateRows,
        allowance: Allowance,
        relation: Relation,
        noise: Noise | None = None,
        engine: Local | None = None,
    ) -> None:
        self._rows = rows
        self._allowance = allowance
        self._relation = relation
        self._noise = noise or OpenDPNoise()
        self._engine = engine or Local()
        self.published: list[Measurement] = []
        self._exact: tuple[Workload, list[np.ndarray]] | None = None
        self._exact_by_point: tuple[Lattice, list[np.ndarray]] | None = None

    def __repr__(self) -> str:
        return f"Curator(relation={self._relation.value})"  # and nothing of the rows

    @property
    def private(self) -> bool:
        """Whether the noise is real; false only with a seeded source, in tests."""
        return self._noise.private

    def total(self, rho: Fraction) -> int:
        """How many rows there are: public under substitution, else a noisy count (sensitivity 1)."""
        if self._relation is Relation.SUBSTITUTE:
            return self._rows.count()
        scale = gaussian_scale(rho, 1)
        self._allowance.charge("row count", rho, "discrete Gaussian", scale=scale, cells=1)
        rows = self._engine.total(
            self._rows.batches(), lambda batch: [np.array([len(batch.codes)], np.int64)]
        )
        noisy = self._noise.gaussian(rows[0] if rows else np.zeros(1, np.int64), scale)
        self.published.append(Measurement("row count", "all rows", scale, ("all",), (int(noisy[0]),)))
        return max(1, int(noisy[0]))

    def noise_of(self, queries: QueryFamily, picks: int, rho: Fraction) -> float:
        """The standard deviation of the noise when `picks` of these queries are measured for ρ. Public."""
        return gaussian_scale(rho, picks * self._moved(queries.spread))

    def select(
        self,
        workload: Workload,
        family: int,
        expected: np.ndarray,
        picks: int,
        rho: Fraction,
        exclude: np.ndarray,
        bias: np.ndarray,
    ) -> np.ndarray:
        """The queries whose `expected` counts are furthest off: noisy top-K of L1 error minus public `bias`.

        `expected` and `bias` are whole numbers, so scores are exact integers and one row moves each by no
        more than the declared sensitivity. See docs/proofs/selection.md.
        """
        queries = workload.families[family]
        sensitivity = self._moved(queries.spread)
        scale = selection_scale(rho, picks, sensitivity)
        self._allowance.charge(
            f"selecting {picks} of {queries.name}", rho, "noisy top-K", scale=scale, candidates=len(queries)
        )
        counts = self._exact_counts(workload)[family]
        scores = queries.errors(counts, expected) - bias
        candidates = np.setdiff1d(np.arange(len(queries)), exclude)
        return candidates[self._noise.top(scores[candidates], picks, scale)]

    def measure(self, workload: Workload, family: int, picks: np.ndarray, rho: Fraction) -> Answer:
        """Noisy counts for every cell of these queries. See docs/proofs/gaussian.md."""
        queries = workload.families[family].take(picks)
        scale = self.noise_of(workload.families[family], len(picks), rho)
        cells = int(queries.filled.sum())
        self._allowance.charge(
            f"measuring {len(picks)} {queries.name}", rho, "discrete Gaussian", scale=scale, cells=cells
        )
        counts = np.asarray(workload.families[family].cells_in(self._exact_counts(workload)[family], picks))
        noisy = np.zeros_like(counts)
        noisy[queries.filled] = self._noise.gaussian(counts[queries.filled], scale)
        return Answer(family, np.asarray(picks), noisy, scale)

    def intervals(self, lattice: Lattice, asked: Sequence[np.ndarray], rho: Fraction) -> Intervals:
        """Noisy counts of disjoint runs [start, stop) of points, for several numerical columns at once.

        The runs of one column are part of a partition of the rows, so each column moves like one query.
        """
        for runs, size in zip(asked, lattice.sizes, strict=True):
            ends = np.concatenate([[0], runs.ravel(), [size]])
            if (np.diff(ends) < 0).any():
                raise ValueError("Runs must lie in order, inside the column, and must not overlap.")
        columns = sum(len(runs) > 0 for runs in asked)
        scale = gaussian_scale(rho, columns * self._moved(spread=2))
        sizes = [len(runs) for runs in asked]
        self._allowance.charge(
            f"measuring {columns} distributions", rho, "discrete Gaussian", scale=scale, cells=sum(sizes)
        )
        below = [np.concatenate([[0], np.cumsum(points)]) for points in self._exact_points(lattice)]
        counts = [b[runs[:, 1]] - b[runs[:, 0]] for b, runs in zip(below, asked, strict=True)]
        noisy = self._noise.gaussian(np.concatenate(counts), scale)
        found = np.split(noisy, np.cumsum(sizes)[:-1])
        for column, (runs, noisy_counts) in enumerate(zip(asked, found, strict=True)):
            if len(runs):
                cells, shown = tuple(lattice.words(column, runs)), tuple(noisy_counts.tolist())
                self.published.append(
                    Measurement("distributions", lattice.names[column], scale, cells, shown)
                )
        return Intervals(found, scale)

    def _exact_points(self, lattice: Lattice) -> list[np.ndarray]:
        """Exact counts of every point of every numerical column, from one pass over the rows."""
        if self._exact_by_point is None or self._exact_by_point[0] is not lattice:
            counts = self._engine.total(self._rows.batches(), lambda batch: _count_points(lattice, batch))
            self._exact_by_point = lattice, counts or [np.zeros(size, np.int64) for size in lattice.sizes]
        return self._exact_by_point[1]

    def _moved(self, spread: int) -> int:
        """How many cells of one query a neighbouring table can move by one; `spread` if a row is replaced."""
        return 1 if self._relation is Relation.ADD_REMOVE else spread

    def _exact_counts(self, workload: Workload) -> list[np.ndarray]:
        """Exact counts of the whole workload, from one pass over the rows; they never leave this object."""
        if self._exact is None or self._exact[0] is not workload:
            counts = self._engine.total(self._rows.batches(), lambda batch: count(workload, batch))
            self._exact = workload, counts or [f.nothing() for f in workload.families]
        return self._exact[1]


def _count_points(lattice: Lattice, table: Table) -> list[np.ndarray]:
    points = lattice.points(table.numbers)
    return [np.bincount(p, minlength=size) for p, size in zip(points.T, lattice.sizes, strict=True)]


BATCH = 4096
"""Rows counted at once; far below 2^24, up to which sums of zeros and ones in 32-bit floats are exact."""


def count(workload: Workload, table: Table) -> list[np.ndarray]:
    """Exact integer counts of every query of the workload on some real rows."""
    totals = [f.nothing() for f in workload.families]
    positions = workload.scale.positions(table)
    for start in range(0, len(table.codes), BATCH):
        part = slice(start, start + BATCH)
        rows = real_rows(table.codes[part], positions[part], workload.domain, size=BATCH)
        for total, family in zip(totals, workload.families, strict=True):
            total += np.rint(np.asarray(family.tally(rows))).astype(np.int64)
    return totals
