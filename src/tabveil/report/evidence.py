"""What a release's noisy answers say about columns and pairs, and what its synthetic rows say."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.columns.codec import NumberLine
from tabveil.errors import InvalidInput
from tabveil.release import Release
from tabveil.schema import did_you_mean, shown
from tabveil.tables.measurement import Measurement
from tabveil.tables.placement import Interval, Part
from tabveil.tables.sides import ByColumn
from tabveil.tables.table import Codec, Table

SAMPLE = 50_000
MOST_BARS = 32
CROSSED = ("cross-tables", "marginals")  # families that count whole tables of columns
BELOW, FROM = "< ", "≥ "  # before the end or start of a part that takes in all beyond
BINS = 10  # of a number, where its dependence on other columns is shown


@dataclass(frozen=True)
class Noisy:
    """The noisy counts of one cross-table (or one column), with the standard error of each.

    Special values of a number come before its runs.
    """

    sides: tuple[ByColumn, ...]
    counts: np.ndarray  # one axis per side
    errors: np.ndarray  # standard errors, likewise

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the order of the axes."""
        return tuple(side.column for side in self.sides)

    @property
    def expected_gap(self) -> float:
        """The L1 distance that noise alone puts between these counts and the true ones."""
        return float(self.errors.sum()) * (2 / np.pi) ** 0.5


class Evidence:
    """Reads one release; draws the same synthetic rows every time. Nothing here sees a real row."""

    def __init__(
        self, release: Release, rows: int | pa.Table = SAMPLE, *, replicates: int = 0
    ) -> None:
        self.release = release
        self.codec = Codec(release.schema, release.groupings)
        self.replicates = replicates  # to draw, for bands
        self._rows = rows

    @cached_property
    def synthetic(self) -> Table:
        """Synthetic rows, encoded."""
        return self.codec.encode(self.arrow)

    @cached_property
    def arrow(self) -> pa.Table:
        """The same rows as values."""
        if isinstance(self._rows, pa.Table):
            return self._rows
        return self.release.sample(self._rows, seed=0, kind="arrow")

    @property
    def names(self) -> list[str]:
        """Categorical columns, then numbers, as cross-tables know them."""
        domain = self.codec.domain
        axes = [axis.name for place, axis in enumerate(domain.axes) if place not in domain.kinds]
        return [*axes, *domain.numerical]

    @cached_property
    def total(self) -> float:
        """The (noisy) number of rows; where it was not bought, what the first table adds up to."""
        counted = [m for m in self.release.measurements if m.family == "row count"]
        if counted:
            return max(1.0, float(counted[0].counts.sum()))
        sums = [float(noisy.counts.sum()) for noisy in self.tables[:1]]
        return max([1.0, *sums])

    # -- noisy answers -----------------------------------------------------------------------------

    @cached_property
    def tables(self) -> list[Noisy]:
        """Every noisy cross-table of columns as this schema knows them."""
        found = (self._noisy(m) for m in self.release.measurements if m.family in CROSSED)
        return [noisy for noisy in found if noisy]

    def _noisy(self, measurement: Measurement) -> Noisy | None:
        """A measurement by columns as this schema knows them; None of any other."""
        sides = [side for side in measurement.sides if isinstance(side, ByColumn)]
        if not sides or len(sides) < len(measurement.sides) or not all(map(self._known, sides)):
            return None
        counts = measurement.counts.astype(float)
        for axis, side in enumerate(sides):
            counts = counts.take(_special_first(side.parts), axis)
        ordered = [replace(side, parts=(*side.labels, *side.intervals)) for side in sides]
        return Noisy(tuple(ordered), counts, np.full(counts.shape, measurement.standard_error))

    def _known(self, side: ByColumn) -> bool:
        """Whether these are all categories, or all special values and runs of a number."""
        if side.column not in self.codec.domain.numerical:
            return side.parts == self._categories.get(side.column)
        lows = [run.low for run in side.intervals]
        whole = side.labels == self._special(side.column) and len(lows) > 0
        return whole and lows == sorted(lows)

    @cached_property
    def _categories(self) -> dict[str, tuple[str, ...]]:
        return {axis.name: axis.labels for axis in self.codec.domain.axes}

    def _special(self, name: str) -> tuple[str, ...]:
        """The special and missing values of a number, in words."""
        domain = self.codec.domain
        return domain.special(domain.numerical.index(name))

    def alone(self, name: str) -> Noisy | None:
        """The noisy counts of one column on its own, if they were measured."""
        if name in self.codec.domain.numerical:
            return self._distribution(name)
        return next((noisy for noisy in self.tables if noisy.columns == (name,)), None)

    def _distribution(self, name: str) -> Noisy | None:
        """The first, even runs of a number; neighbours are put together until they can be drawn."""
        distributions = [m for m in self.release.measurements if m.family == "distributions"]
        measured = (m for m in distributions if [side.name for side in m.sides] == [name])
        found = next(map(self._noisy, measured), None)
        if found is None:
            return None
        [side], special = found.sides, self._special(name)
        kinds, counts = np.split(found.counts, [len(special)])
        first, last = _bulk(counts, 3 * found.errors[0])
        starts = [*range(first, last, -(-(last - first) // MOST_BARS))]
        starts[0] = 0  # what lies outside the bulk belongs to the outer bars
        stops = [*starts[1:], len(counts)]
        bars = [
            Interval(side.intervals[start].low, side.intervals[stop - 1].high)
            for start, stop in zip(starts, stops, strict=True)
        ]
        runs_in_each = np.array([*[1] * len(special), *np.subtract(stops, starts)])
        return Noisy(
            (ByColumn(name, (*special, *bars)),),
            np.concatenate([kinds, np.add.reduceat(counts, starts)]),
            found.errors[0] * runs_in_each**0.5,
        )

    # -- synthetic rows ----------------------------------------------------------------------------

    def codes(self, name: str, side: ByColumn | None = None) -> np.ndarray:
        """Each synthetic row's part of a column; of numbers, by default, equally full bins."""
        names = [axis.name for axis in self.codec.domain.axes]
        if name in names:
            return self.synthetic.codes[:, names.index(name)]
        numbers, kinds = self._numbers(name)
        if side is None:
            ordinary = numbers[kinds == 0] if (kinds == 0).any() else numbers
            inside = np.searchsorted(
                np.unique(np.quantile(ordinary, np.arange(1, BINS) / BINS)), numbers
            )
        else:
            lows = [run.low for run in side.intervals]
            inside = np.clip(np.searchsorted(lows, numbers, "right") - 1, 0, len(lows) - 1)
        return np.where(kinds > 0, kinds - 1, inside + len(self._special(name)))

    def _numbers(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The synthetic numbers of a column, and the kind of each: 0 for ordinary ones."""
        domain = self.codec.domain
        number = domain.numerical.index(name)
        axis, numbers = domain.kinds[number], self.synthetic.numbers[:, number]
        kinds = np.zeros(len(numbers), np.int32) if axis is None else self.synthetic.codes[:, axis]
        return numbers, kinds

    def shares(self, sides: Sequence[ByColumn]) -> np.ndarray:
        """The shares of the synthetic rows in each cell."""
        shape = tuple(len(side.parts) for side in sides)
        flat = np.ravel_multi_index([self.codes(side.column, side) for side in sides], shape)
        return np.bincount(flat, minlength=math.prod(shape)).reshape(shape) / len(flat)

    # -- one column --------------------------------------------------------------------------------

    def column(self, name: str) -> pd.DataFrame:
        """A column as parts: noisy share, standard error, synthetic share; nan if not measured."""
        side, noisy = self.shown(name), self.alone(name)
        return pd.DataFrame(
            {
                "part": [self._as_read(name, part) for part in side.parts],
                "noisy": noisy.counts / self.total if noisy else np.nan,
                "standard_error": noisy.errors / self.total if noisy else np.nan,
                "synthetic": self.shares([side]),
            }
        )

    def starts(self, name: str) -> list[str] | None:
        """Where each part of a number begins, as it is read; None for a column of categories.

        The outer parts take in all that lies beyond, and say so.
        """
        if name not in self.codec.domain.numerical:
            return None
        side = self.shown(name)
        starts = [self._as_read(name, Interval(run.low, run.low)) for run in side.intervals]
        if len(starts) > 1 and side.intervals[0].low < side.intervals[0].high:
            starts = [f"{BELOW}{starts[1]}", *starts[1:-1], f"{FROM}{starts[-1]}"]
        return [*side.labels, *starts]

    def _as_read(self, name: str, part: Part) -> str:
        """A part as the reader knows the column: units since the first moment become dates."""
        return part if isinstance(part, str) else self._lines[name].words(part.low, part.high)

    @cached_property
    def _lines(self) -> dict[str, NumberLine]:
        return {name: c.line for name, c in self.release.schema.number_codecs.items()}

    def shown(self, name: str) -> ByColumn:
        """The parts in which a column is shown: as it was measured, or evenly cut."""
        self.require(name)
        noisy = self.alone(name)
        if noisy:
            return noisy.sides[0]
        if name in self._categories:
            return ByColumn(name, self._categories[name])
        numbers, _ = self._numbers(name)
        edges = np.linspace(numbers.min(), numbers.max(), BINS + 1)
        few_digits = [float(f"{edge:.6g}") for edge in edges]
        runs = [Interval(low, high) for low, high in pairwise(few_digits)]
        return ByColumn(name, (*self._special(name), *runs))

    def require(self, name: str) -> None:
        """Refuse a column that the schema does not declare."""
        if name not in self.names:
            raise InvalidInput(
                f"There is no learnt column {shown(name)} in this release.",
                did_you_mean(name, self.names),
            )

    @cached_property
    def dependence(self) -> pd.DataFrame:
        """Cramér's V of any two columns in synthetic rows: 0 is independent, 1 the same column."""
        codes = {name: self.codes(name) for name in self.names}
        found = [(a, b, cramers_v(codes[a], codes[b])) for a, b in combinations(self.names, 2)]
        return pd.DataFrame(found, columns=["first", "second", "dependence"])


def cramers_v(one: np.ndarray, two: np.ndarray) -> float:
    """Cramér's V with Bergsma's correction, so that independent columns score about 0."""
    shape = int(one.max()) + 1, int(two.max()) + 1
    counts = np.bincount(
        one.astype(np.int64) * shape[1] + two, minlength=shape[0] * shape[1]
    ).reshape(shape)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(float)
    total, (rows, columns) = counts.sum(), counts.shape
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0) / total
    phi = ((counts - expected) ** 2 / expected).sum() / total
    phi = max(0.0, phi - (rows - 1) * (columns - 1) / (total - 1))
    least = min(size - (size - 1) ** 2 / (total - 1) for size in (rows, columns)) - 1
    return min(1.0, float(phi / least) ** 0.5) if least > 0 else 0.0


def _special_first(parts: Sequence[Part]) -> list[int]:
    """The places of the special values, then those of the runs."""
    return sorted(range(len(parts)), key=lambda place: isinstance(parts[place], Interval))


def _bulk(counts: np.ndarray, noise: float) -> tuple[int, int]:
    """The first run and the one after the last that stand out of the noise; all if none does."""
    seen = np.nonzero(counts > max(noise, 0.002 * counts.sum()))[0]
    return (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (0, len(counts))
