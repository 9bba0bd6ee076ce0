"""Synthetic rows to compute with, and what the noisy answers of their release say about them."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix, hstack

from tabveil.release import Release
from tabveil.release.output import as_kind
from tabveil.tables.measurement import Measurement
from tabveil.tables.sides import ByColumn, Side
from tabveil.tables.table import Codec, Table

if TYPE_CHECKING:
    import pandas as pd

WHOLE = ("row count", "cross-tables", "marginals")  # families whose cells hold every row once
RUNS = "distributions"  # the family that counts runs of numbers, whatever bins were cut later


@dataclass(frozen=True)
class Known:
    """Noisy shares of cells, the variance of their noise, and which row of a pool is in which."""

    members: csr_matrix  # [rows, cells], zeros and ones
    shares: np.ndarray
    variances: np.ndarray
    total_variance: float  # of the number of rows that counts were divided by, relative

    @cached_property
    def expected(self) -> np.ndarray:
        """The shares of the pool in these cells."""
        return np.asarray(self.members.mean(axis=0)).ravel()

    def occupied(self) -> "Known":
        """Only the cells that rows are in: others have nothing to correct."""
        there = np.nonzero(self.expected)[0]
        return Known(
            self.members[:, there], self.shares[there], self.variances[there], self.total_variance
        )


@dataclass(frozen=True)
class Part:
    """A measured table as far as it is about some columns: the others are added up."""

    sides: tuple[ByColumn, ...]
    runs: bool  # whether numbers are cut into runs of their own, and not into bins
    counts: np.ndarray  # one axis per side; one more for several tables side by side
    variance: float
    total: float  # about how many people there are

    @classmethod
    def merged(cls, parts: "Sequence[Part]") -> "Part":
        """Several noisy counts of the same cells as one, weighted by precision."""
        precisions = np.array([1 / max(part.variance, 1e-12) for part in parts])
        counts = np.tensordot(precisions, [part.counts for part in parts], 1) / precisions.sum()
        return replace(parts[0], counts=counts, variance=1 / precisions.sum())

    def margin(self, axis: int) -> "Part":
        """One of the columns alone."""
        others = tuple(place for place in range(len(self.sides)) if place != axis)
        added = math.prod(self.counts.shape[place] for place in others)
        counts = self.counts.sum(axis=others)
        return replace(
            self, sides=(self.sides[axis],), counts=counts, variance=added * self.variance
        )

    def with_margin(self, axis: int, margin: "Part") -> "Part":
        """The table nearest to this one whose column along an axis is counted so."""
        own = self.margin(axis)
        if len(self.sides) == 1:
            return replace(self, counts=margin.counts, variance=margin.variance)
        others = tuple(place for place in range(len(self.sides)) if place != axis)
        added = math.prod(self.counts.shape[place] for place in others)
        change = np.expand_dims((margin.counts - own.counts) / added, others)
        return replace(self, counts=self.counts + change)

    def perturbed(self, random: np.random.Generator, count: int) -> "Part":
        """So many tables side by side, each with as much noise again."""
        noise = random.normal(0.0, self.variance**0.5, (*self.counts.shape, count))
        return replace(self, counts=self.counts[..., None] + noise)


class Pool:
    """Many synthetic rows of one release; the same ones for the same seed."""

    def __init__(self, release: Release, rows: int, seed: int = 0) -> None:
        self.release, self.rows = release, rows
        self.arrow: pa.Table = release.sample(rows, seed=seed, kind="arrow")
        self._grouped = Codec(release.schema, release.groupings)
        self._plain = Codec(release.schema)

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """The rows as an analyst sees them."""
        found: pd.DataFrame = as_kind(self.arrow, "pandas", self.release.schema, self.release.types)
        return found

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """The cells of every column of numbers, as such."""
        return dict(zip(self._grouped.domain.numerical, self._table.numbers.T, strict=True))

    def known(self, columns: Collection[str] | None = None) -> Known:
        """All that was measured about these columns, alone and together; without any, about all.

        Tables that ask for the same cells once others are added up become one, by precision.
        """
        parts, none = self.parts(columns), np.zeros(0)
        total, error = counted_rows(self.release)
        return Known(
            hstack([csr_matrix((self.rows, 0)), *map(self.members, parts)], format="csr"),
            np.concatenate([none, *(part.counts.ravel() for part in parts)]) / total,
            np.concatenate([none, *(np.full(p.counts.size, p.variance) for p in parts)]) / total**2,
            (error / total) ** 2,
        )

    @property
    def cuts(self) -> dict[frozenset[str], dict[str, tuple[float, ...]]]:
        """Which columns were measured together, and where the runs of their numbers begin."""
        found: dict[frozenset[str], dict[str, tuple[float, ...]]] = {}
        for part in self.parts():
            runs = found.setdefault(frozenset(side.column for side in part.sides), {})
            for side in part.sides:
                starts = {*runs.get(side.column, ()), *(run.low for run in side.intervals)}
                runs[side.column] = tuple(sorted(starts))
        return found

    def parts(self, columns: Collection[str] | None = None) -> list[Part]:
        """Measured tables as far as they are about these columns; without any, whole ones."""
        total = counted_rows(self.release).rows
        alike: dict[tuple, list[Part]] = {}
        for measurement in self.release.measurements:
            if all(map(self._readable, measurement.sides)):
                part = _about(measurement, columns, total)
                alike.setdefault((part.sides, part.runs), []).append(part)
        return [Part.merged(parts) for (sides, _), parts in alike.items() if sides]

    def _readable(self, side: Side) -> bool:
        """Whether it asks for parts of a column that rows of this schema can be sorted into."""
        if not isinstance(side, ByColumn):
            return False
        if side.column in self.release.schema.numbers:
            return len(side.intervals) > 0
        return side.parts in self._labels.get(side.column, ())

    @cached_property
    def _labels(self) -> dict[str, list[tuple[str, ...]]]:
        """The lists of categories by which a column may have been counted: grouped, and whole."""
        domains = self._grouped.domain, self._plain.domain
        found: dict[str, list[tuple[str, ...]]] = {}
        for axis in (axis for domain in domains for axis in domain.axes):
            found.setdefault(axis.name, []).append(axis.labels)
        return found

    def members(self, part: Part) -> csr_matrix:
        """Which row is in which cell of a table; a row that none of its runs holds is in none."""
        shape = tuple(len(side.parts) for side in part.sides)
        places = [self._places(side, part.runs) for side in part.sides]
        inside = np.logical_and.reduce([place >= 0 for place in places])
        rows = np.nonzero(inside)[0]
        cells = np.ravel_multi_index([place[rows] for place in places], shape)
        ones = np.ones(len(rows))
        return csr_matrix((ones, (rows, cells)), shape=(self.rows, math.prod(shape)))

    def _places(self, side: ByColumn, runs: bool) -> np.ndarray:
        """Each row's place among the parts of one column, -1 for none."""
        if side.column in self.release.schema.numbers:
            return self._number_places(side, runs)
        grouped = side.parts == self._labels[side.column][0]
        codec, table = (self._grouped, self._table) if grouped else (self._plain, self._whole)
        names = [axis.name for axis in codec.domain.axes]
        return table.codes[:, names.index(side.column)]

    def _number_places(self, side: ByColumn, runs: bool) -> np.ndarray:
        domain = self._grouped.domain
        number = domain.numerical.index(side.column)
        numbers, axis = self._table.numbers[:, number], domain.kinds[number]
        intervals = [place for place, part in enumerate(side.parts) if not isinstance(part, str)]
        bins = self.release.numbers.edges(number)
        if not runs and bins is not None and len(bins) + 1 == len(intervals):
            inside = np.searchsorted(bins, self._positions[:, number], "right")
            found = np.array(intervals)[inside]
        else:
            lows, highs = np.array(side.intervals).T
            run = np.searchsorted(lows, numbers, "right") - 1
            held = (run >= 0) & (numbers <= highs[run])
            found = np.where(held, np.array(intervals)[run], -1)
        if axis is None:
            return found
        special = np.array([-1, *(_place(name, side.parts) for name in domain.special(number))])
        kinds = self._table.codes[:, axis]
        return np.where(kinds > 0, special[kinds], found)

    @cached_property
    def _table(self) -> Table:
        return self._grouped.encode(self.arrow)

    @cached_property
    def _whole(self) -> Table:
        return self._plain.encode(self.arrow)

    @cached_property
    def _positions(self) -> np.ndarray:
        return self.release.placement.positions(self._table)


class RowCount(NamedTuple):
    """About how many people there are, and the standard error of that."""

    rows: float
    error: float


def counted_rows(release: Release) -> RowCount:
    """All that was measured about the number of rows: whole tables add up to it, too."""
    whole = [m for m in release.measurements if m.family in WHOLE]
    if not whole:
        return RowCount(1.0, 0.0)
    sums = np.array([m.counts.sum() for m in whole], float)
    precisions = 1 / np.array([m.counts.size * max(m.standard_error, 1e-6) ** 2 for m in whole])
    return RowCount(max(1.0, float(sums @ precisions / precisions.sum())), precisions.sum() ** -0.5)


def _about(measurement: Measurement, columns: Collection[str] | None, total: float) -> Part:
    """A table of these columns alone, in the order of their names."""
    sides = [side for side in measurement.sides if isinstance(side, ByColumn)]
    kept = [axis for axis, side in enumerate(sides) if columns is None or side.column in columns]
    others = tuple(axis for axis in range(len(sides)) if axis not in kept)
    added = math.prod(measurement.counts.shape[axis] for axis in others)
    order = sorted(range(len(kept)), key=lambda place: sides[kept[place]].column)
    return Part(
        tuple(ByColumn(sides[kept[place]].column, sides[kept[place]].parts) for place in order),
        measurement.family == RUNS,
        measurement.counts.sum(axis=others, dtype=float).transpose(order),
        added * measurement.standard_error**2,
        total,
    )


def _place(name: str, parts: Sequence) -> int:
    return parts.index(name) if name in parts else -1
