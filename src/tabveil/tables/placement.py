"""From the numbers of a column to its place between 0 and 1, and back."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from tabveil.columns.codec import NumberRule
from tabveil.schema import Schema
from tabveil.shapes import Float, Int32
from tabveil.tables.table import Codec, Table

GRID = 2**16
"""Numeric columns lie on the integers 0..GRID.

With directions of L1 norm below 2^14 every product and sum fits in 32 bits, so a real row's
predicate is integer arithmetic: the same bit in any batch, order, thread count or device. (Sums in
floating point are not: removing a row can move another row's result.)
"""
CHUNK = 2**13  # rows placed at a time, so that what is in between stays in a processor's cache
FINEST = 2**20
"""About the most points a column is told apart by before noise."""


class Interval(NamedTuple):
    """The numbers of a column from one to another, both included."""

    low: float
    high: float

    @property
    def words(self) -> str:
        """Both ends, or the one number that there is."""
        low, high = (f"{end:.10g}" for end in self)
        return low if self.low == self.high else f"{low} to {high}"


Part = Interval | str
"""A run of the numbers of a column, or the name of a category or special value."""


class Placement(Protocol):
    """A monotone map between the numbers of each column and [0, 1]."""

    def positions(self, table: Table) -> Int32[np.ndarray, "rows numerical"]:
        """Grid positions 0..GRID of every number; each depends on its own row alone."""

    def numbers(
        self, shares: Float[np.ndarray, "rows numerical"]
    ) -> Float[np.ndarray, "rows numerical"]:
        """The numbers at these places between 0 and 1."""

    def span(self, column: int, low: float, high: float) -> tuple[float, float]:
        """Where between 0 and 1 the numbers from `low` to `high` of one column lie."""

    def to_dict(self) -> dict:
        """A form for JSON."""

    def fits(self, columns: int) -> bool:
        """Whether this is a whole scale for so many columns; a file may say anything."""


@dataclass(frozen=True)
class MinMax:
    """Columns stretched from public bounds to [0, 1]; nothing is learnt, so nothing is paid."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, schema: Schema) -> "MinMax":
        """The scale of the schema's numerical columns."""
        columns = _numerical(schema)
        return cls(
            np.array([c.min for c in columns], float), np.array([c.max for c in columns], float)
        )

    def positions(self, table: Table) -> Int32[np.ndarray, "rows numerical"]:
        share = (table.numbers - self.low) / (self.high - self.low)
        return np.rint(np.clip(share, 0.0, 1.0) * GRID).astype(np.int32)

    def numbers(
        self, shares: Float[np.ndarray, "rows numerical"]
    ) -> Float[np.ndarray, "rows numerical"]:
        return self.low + np.asarray(shares, float) * (self.high - self.low)

    def span(self, column: int, low: float, high: float) -> tuple[float, float]:
        start, width = self.low[column], self.high[column] - self.low[column]
        a, b = np.clip((np.array([low, high]) - start) / width, 0.0, 1.0)
        return float(a), float(b)

    def to_dict(self) -> dict:
        return {"kind": "min-max"}

    def fits(self, columns: int) -> bool:
        return len(self.low) == columns


@dataclass(frozen=True)
class Lattice:
    """The points that numbers of a column may lie on: declared decimals, or round steps if finer.

    Zero and round numbers are points wherever the bounds are, for there rows pile up; so are the
    bounds. Special and missing values are points of their own, after those of the numbers.
    """

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    step: np.ndarray
    first: np.ndarray  # where the first point would lie if it were not kept inside the bounds
    digits: tuple[int | None, ...]  # of round points after the dot; None where points are not round
    sizes: tuple[int, ...]  # points of numbers
    kinds: tuple[tuple[str, ...], ...]  # names of the special points

    @classmethod
    def of(cls, schema: Schema, from_bound: bool = False) -> "Lattice":
        """The lattice of the schema's numerical columns; public.

        Early releases counted their steps `from_bound`, the lower one, and not from zero.
        """
        step, first, sizes, digits = [], [], [], []
        for column in _numerical(schema):
            wanted = _step(column, from_bound)
            steps = column.min / wanted  # from zero; beyond 2^50 floats cannot tell steps apart
            round_ones = not from_bound and abs(steps) < 2**50
            start = math.floor(steps + 1e-6) * wanted if round_ones else column.min
            step.append(wanted)
            first.append(start)
            digits.append(max(0, -math.floor(math.log10(wanted))) if round_ones else None)
            # The last is the upper bound.
            sizes.append(math.ceil((column.max - start) / wanted - 1e-6) + 1)
        bounds = MinMax.of(schema)
        domain = Codec(schema).domain
        kinds = tuple(domain.special(number) for number in range(len(domain.numerical)))
        arrays = bounds.low, bounds.high, np.array(step, float), np.array(first, float)
        return cls(schema.numerical, *arrays, tuple(digits), tuple(sizes), kinds)

    def points(self, numbers: np.ndarray) -> np.ndarray:
        """The nearest point of each number, [rows, numerical]; each from its own cell alone."""
        nearest = np.rint((numbers - self.first) / self.step)
        last = np.array(self.sizes, float) - 1
        inside = np.where(numbers <= self.low, 0, np.clip(nearest, 0, last))
        return np.where(numbers >= self.high, last, inside).astype(np.int64)

    def numbers(self, points: np.ndarray) -> np.ndarray:
        """The numbers at these points."""
        found = np.empty(points.shape)
        for column in range(len(self.sizes)):
            found[..., column] = self.at(column, points[..., column])
        return found

    def at(self, column: int, points: np.ndarray) -> np.ndarray:
        """The numbers at these points of one column."""
        found = self.first[column] + points * self.step[column]
        digits = self.digits[column]
        if digits is not None:  # 3 × 0.1 is 0.30000000000000004
            found = found.round(min(digits, 300))
        return np.clip(found, self.low[column], self.high[column])

    def points_of(self, table: Table) -> np.ndarray:
        """The point of every number, special ones included, [rows, numerical]."""
        points = self.points(table.numbers)
        special = [column for column, names in enumerate(self.kinds) if names]
        # Kinds are the last axes of a table.
        codes = table.codes.T[table.codes.shape[1] - len(special) :]
        for column, kinds in zip(special, codes, strict=True):
            points[:, column] = np.where(
                kinds > 0, self.sizes[column] + kinds - 1, points[:, column]
            )
        return points

    @property
    def all_sizes(self) -> tuple[int, ...]:
        """How many points each column has, special ones included."""
        return tuple(size + len(names) for size, names in zip(self.sizes, self.kinds, strict=True))

    def parts(self, column: int, runs: np.ndarray) -> list[Part]:
        """Runs [start, stop) of points of one column as the numbers or special values in them."""
        size = self.sizes[column]
        lows, highs = self.at(column, np.stack([runs[:, 0], runs[:, 1] - 1])).tolist()
        return [
            Interval(low, high) if start < size else self.kinds[column][start - size]
            for start, low, high in zip(runs[:, 0].tolist(), lows, highs, strict=True)
        ]


@dataclass(frozen=True)
class Ranks:
    """Rank space: each column mapped by an estimate of its own distribution function.

    The points of a column are cut into runs; a run owns as wide a piece of [0, 1] as it has mass. A
    single point that many rows share is a run of its own, and everything inside its piece maps back
    to exactly it.
    """

    lattice: Lattice
    starts: tuple[np.ndarray, ...]  # per column: the first point of each run
    # Per column: the share of rows below each run, and 1 at the end.
    heights: tuple[np.ndarray, ...]

    def positions(self, table: Table) -> Int32[np.ndarray, "rows numerical"]:
        found = np.empty(table.numbers.shape, np.int32, order="F")
        for start in range(0, len(found), CHUNK):
            part = slice(start, start + CHUNK)
            points = self.lattice.points(table.numbers[part])
            spread = _own_fraction(points, table.codes[part])
            for column, (starts, heights) in enumerate(zip(self.starts, self.heights, strict=True)):
                run_of, widths, rises = self._runs[column]
                run = run_of[points[:, column]]
                inside = (points[:, column] - starts[run] + spread[:, column]) / widths[run]
                share = heights[run] + rises[run] * inside
                found[part, column] = np.clip(np.floor(share * GRID), 0, GRID - 1)
        return found

    @cached_property
    def _runs(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For each column: the run of every point, and how wide and how high each run is."""
        found = []
        for starts, heights, size in zip(
            self.starts, self.heights, self.lattice.sizes, strict=True
        ):
            widths = np.diff(np.append(starts, size))
            run_of = np.repeat(np.arange(len(starts), dtype=np.int32), widths)
            found.append((run_of, widths, np.diff(heights)))
        return found

    def numbers(
        self, shares: Float[np.ndarray, "rows numerical"]
    ) -> Float[np.ndarray, "rows numerical"]:
        points = np.empty(shares.shape)
        for column, (starts, heights) in enumerate(zip(self.starts, self.heights, strict=True)):
            share = np.clip(np.asarray(shares[:, column], float), 0, 1 - 1e-9)
            run = np.clip(np.searchsorted(heights, share, "right") - 1, 0, len(starts) - 1)
            widths = np.diff(np.append(starts, self.lattice.sizes[column]))
            height = np.maximum(heights[run + 1] - heights[run], 1e-12)
            inside = np.clip((share - heights[run]) / height, 0, 1 - 1e-9)
            points[:, column] = starts[run] + np.floor(inside * widths[run])
        return self.lattice.numbers(points)

    def fits(self, columns: int) -> bool:
        return len(self.starts) == len(self.heights) == columns and all(
            len(heights) == len(starts) + 1 >= 2
            and starts[0] == 0
            and (np.diff(np.append(starts, size)) > 0).all()
            and heights[0] == 0
            and heights[-1] == 1
            and (np.diff(heights) >= 0).all()
            for starts, heights, size in zip(
                self.starts, self.heights, self.lattice.sizes, strict=True
            )
        )

    def span(self, column: int, low: float, high: float) -> tuple[float, float]:
        lattice, heights = self.lattice, self.heights[column]
        numbers = lattice.at(column, np.arange(lattice.sizes[column]))
        first = int(np.searchsorted(numbers, low - 1e-9 * lattice.step[column], "left"))
        last = int(np.searchsorted(numbers, high + 1e-9 * lattice.step[column], "right"))
        starts = np.append(self.starts[column], lattice.sizes[column])
        ends = np.interp([first, max(first, last)], starts, heights)
        return float(ends[0]), float(ends[1])

    def intervals(self, column: int, edges: np.ndarray) -> list[Interval]:
        """The bins between these grid positions as the numbers that they cover."""
        ends = np.concatenate([[0], edges, [GRID]])
        shares = np.zeros((2 * len(ends) - 2, len(self.starts)))
        # Edges are rounded to the grid: of the point beyond one, a sliver may lie inside.
        rounding = np.minimum(0.6, np.diff(ends) / 3)
        shares[:, column] = np.stack([ends[:-1] + rounding, ends[1:] - rounding], 1).ravel() / GRID
        return [
            Interval(low, high)
            for low, high in self.numbers(shares)[:, column].reshape(-1, 2).tolist()
        ]

    def bins(
        self, wanted: int, standing: Mapping[int, Sequence[float]] | None = None
    ) -> list[np.ndarray]:
        """Grid positions that cut columns into about `wanted` bins, never inside a point.

        Points that fill a bin have one to themselves; the others are cut into equal bins. Where
        some shares of a column are said to be `standing`, there is an edge at each of them.
        """
        standing = standing or {}
        return [self._bins(c, wanted, standing.get(c, ())) for c in range(len(self.starts))]

    def _bins(self, column: int, wanted: int, standing: Sequence[float]) -> np.ndarray:
        starts, heights = self.starts[column], self.heights[column]
        single = np.diff(np.append(starts, self.lattice.sizes[column])) == 1
        equal = _equal_bins(heights, single & (np.diff(heights) >= 1 / wanted), wanted)
        run = np.clip(np.searchsorted(heights, equal, "right") - 1, 0, len(starts) - 1)
        low, high = heights[run], heights[run + 1]
        snapped = np.where(single[run], np.where(equal - low < high - equal, low, high), equal)
        # Around points with much mass the edges must stand;
        # others only where the bins keep some mass.
        least = 0.5 / wanted
        while len(kept := _around(heights, single & (np.diff(heights) > least))) > wanted:
            least *= 2
        kept = np.union1d(kept, _places(np.array(standing, float)))
        for place in _places(snapped).tolist():
            if np.abs(np.array([0, GRID, *kept]) - place).min() >= GRID / (4 * wanted):
                kept = np.append(kept, place)
        return np.sort(kept)

    def to_dict(self) -> dict:
        return {
            "kind": "ranks",
            "from": "zero",
            "starts": [s.tolist() for s in self.starts],
            "heights": [h.tolist() for h in self.heights],
        }


def placement_from_dict(content: dict, schema: Schema) -> Placement:
    """The scale that `to_dict` wrote."""
    if content["kind"] == "min-max":
        return MinMax.of(schema)
    starts = tuple(np.array(s, np.int64) for s in content["starts"])
    heights = tuple(np.array(h, float) for h in content["heights"])
    return Ranks(Lattice.of(schema, from_bound=content.get("from") != "zero"), starts, heights)


def _equal_bins(heights: np.ndarray, apart: np.ndarray, wanted: int) -> np.ndarray:
    """Shares of rows that cut what lies in other runs equally; not too fine if that is little."""
    mass = np.where(apart, 0.0, np.diff(heights))
    below = np.concatenate([[0.0], np.cumsum(mass)])
    bins = max(1, min(wanted - int(apart.sum()), int(2 * wanted * below[-1])))
    equal = np.arange(1, bins) / bins * below[-1]
    run = np.clip(np.searchsorted(below, equal, "right") - 1, 0, len(mass) - 1)
    return heights[run] + (equal - below[run])


def _around(heights: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """The grid positions where these runs begin and end."""
    return _places(np.concatenate([heights[:-1][runs], heights[1:][runs]]))


def _places(shares: np.ndarray) -> np.ndarray:
    places = np.unique(np.rint(shares * GRID).astype(int))
    return places[(places > 0) & (places < GRID)]


def _numerical(schema: Schema) -> list[NumberRule]:
    return list(schema.numbers.values())


def _step(column: NumberRule, from_bound: bool) -> float:
    """How far apart points are: the declared unit, or more if that made over FINEST of them."""
    span = column.max - column.min
    finest = span / FINEST or span  # a span so small that its parts underflow has two points
    if column.decimals is not None and 10.0**-column.decimals >= finest:
        return 10.0**-column.decimals
    if from_bound:
        unit = finest if column.decimals is None else 10.0**-column.decimals
        return unit * max(1, math.ceil(finest / unit))
    tens = 10.0 ** math.floor(math.log10(finest))
    return next((m * tens for m in (1, 2, 5, 10) if m * tens >= finest * (1 - 1e-9)), finest)


def _own_fraction(points: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """A number in [0, 1) per row and column, mixed from the row's own cells: equal values spread.

    It is no randomness, only a public scattering, and no other row or position in the table enters
    it.
    """
    mixed = np.full(len(points), 0x9E3779B97F4A7C15, np.uint64)
    for column in (*points.T, *codes.T):
        mixed ^= column.astype(np.uint64)
        _mix(mixed)
    fractions = np.empty(points.shape, order="F")
    for number in range(points.shape[1]):
        own = _mix(mixed + np.uint64(number + 1))
        # 53 bits: the nearest float is below one.
        fractions[:, number] = (own >> np.uint64(11)) / 2.0**53
    return fractions


def _mix(bits: np.ndarray) -> np.ndarray:
    """The last steps of the splitmix64 generator, in place: every bit given changes every bit."""
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits
