"""What a release's noisy answers say about its columns and pairs, and what its synthetic rows
say."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.columns.moments import UNITS, Datetime
from tabveil.errors import InvalidInput
from tabveil.queries.measurement import Measurement
from tabveil.release import Release
from tabveil.schema import did_you_mean, shown
from tabveil.tables.table import Codec, Table

SAMPLE = 50_000
MOST_BARS = 32
BINS = 10  # of a number, where its dependence on other columns is shown
JOINED = " × "  # how queries and their cells are put into words


@dataclass(frozen=True)
class Parts:
    """How a column is cut: labels, and for a number the low end of each part; special values come
    first."""

    labels: tuple[str, ...]
    lows: np.ndarray | None = None
    special: int = 0  # how many of the labels are special or missing values of a number


@dataclass(frozen=True)
class Noisy:
    """The noisy counts of one cross-table (or one column), with the standard error of each."""

    columns: tuple[str, ...]
    parts: tuple[Parts, ...]
    counts: np.ndarray  # one axis per column
    errors: np.ndarray  # standard errors, likewise

    @property
    def expected_gap(self) -> float:
        """The L1 distance that noise alone puts between these counts and the true ones."""
        return float(self.errors.sum()) * (2 / np.pi) ** 0.5


class Evidence:
    """Reads one release; draws the same synthetic rows every time. Nothing here sees a real row."""

    def __init__(self, release: Release, rows: int = SAMPLE) -> None:
        self.release = release
        self.codec = Codec(release.schema, release.groupings)
        self._rows = rows

    @cached_property
    def synthetic(self) -> Table:
        """Synthetic rows, encoded."""
        return self.codec.encode(self.arrow)

    @cached_property
    def arrow(self) -> pa.Table:
        """The same rows as values."""
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
            return max(1.0, float(counted[0].counts[0]))
        sums = [float(noisy.counts.sum()) for noisy in self.tables[:1]]
        return max(1.0, *sums)

    # -- noisy answers -----------------------------------------------------------------------------

    @cached_property
    def tables(self) -> list[Noisy]:
        """Every noisy cross-table, as arrays."""
        queries = self._queries()
        found = (
            self._noisy(m, queries[m.query])
            for m in self.release.measurements
            if m.query in queries
        )
        return [noisy for noisy in found if noisy]

    def _queries(self) -> dict[str, tuple[str, ...]]:
        """The words for each possible cross-table, and the columns in the order of its cells."""
        names, axes = self.names, self.codec.domain.axes
        words: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
        for pair in combinations(names, 2):
            words[JOINED.join(pair)] = pair
            words[JOINED.join(pair[::-1])] = pair[::-1]
        for target in (axes[t].name for t in self.codec.domain.targets):
            for one, two in combinations([name for name in names if name != target], 2):
                words[JOINED.join((one, two, target))] = (target, one, two)  # classes come first
        return words

    def _noisy(self, measurement: Measurement, columns: tuple[str, ...]) -> Noisy | None:
        if measurement.family != "cross-tables":
            return None
        cells = [cell.split(JOINED) for cell in measurement.cells]
        if any(len(cell) != len(columns) for cell in cells):
            return None  # a category has the joining sign in its own name
        labels = [
            list(dict.fromkeys(cell[place] for cell in cells)) for place in range(len(columns))
        ]
        parts = [self._parts(name, words) for name, words in zip(columns, labels, strict=True)]
        shape = tuple(len(words) for words in labels)
        whole = [part for part in parts if part is not None]
        if len(whole) < len(parts) or int(np.prod(shape)) != len(measurement.counts):
            return None
        counts = np.array(measurement.counts, float).reshape(shape)
        return Noisy(columns, tuple(whole), counts, np.full(shape, measurement.standard_error))

    def _parts(self, name: str, labels: Sequence[str]) -> Parts | None:
        if name not in self.codec.domain.numerical:
            return Parts(tuple(labels))
        special = self._special(name)
        ordinary = [label for label in labels if label not in special]
        try:
            lows = np.array([float(label.split(" to ")[0]) for label in ordinary])
        except ValueError:
            return None
        return Parts((*special, *ordinary), lows, len(special))

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
        runs = next(
            (
                m
                for m in self.release.measurements
                if m.family == "distributions" and m.query == name
            ),
            None,
        )
        parts = self._parts(name, runs.cells) if runs else None
        if runs is None or parts is None or parts.lows is None:
            return None
        cells = parts.labels[parts.special :]
        counted = dict(zip(runs.cells, runs.counts, strict=True))
        counts, ends = (
            np.array([counted[cell] for cell in cells], float),
            [c.split(" to ")[-1] for c in cells],
        )
        first, last = _bulk(counts, 3 * runs.standard_error)
        together = -(-(last - first) // MOST_BARS)
        starts = [*range(first, last, together)]
        starts[0] = 0  # what lies outside the bulk belongs to the outer bars
        stops = [*starts[1:], len(counts)]
        labels = [
            cells[a] if b == a + 1 else f"{cells[a].split(' to ')[0]} to {ends[b - 1]}"
            for a, b in zip(starts, stops, strict=True)
        ]
        special = parts.labels[: parts.special]
        runs_in_each = np.array([*[1] * len(special), *np.subtract(stops, starts)])
        return Noisy(
            (name,),
            (Parts((*special, *labels), parts.lows[starts], len(special)),),
            np.concatenate([[counted[kind] for kind in special], np.add.reduceat(counts, starts)]),
            runs.standard_error * runs_in_each**0.5,
        )

    # -- synthetic rows ----------------------------------------------------------------------------

    def codes(self, name: str, parts: Parts | None = None) -> np.ndarray:
        """The part of a column that each synthetic row lies in; numbers by default in equally full
        bins."""
        names = [axis.name for axis in self.codec.domain.axes]
        if name in names:
            return self.synthetic.codes[:, names.index(name)]
        numbers, kinds = self._numbers(name)
        if parts is None or parts.lows is None:
            ordinary = numbers[kinds == 0] if (kinds == 0).any() else numbers
            inside = np.searchsorted(
                np.unique(np.quantile(ordinary, np.arange(1, BINS) / BINS)), numbers
            )
        else:
            inside = np.clip(
                np.searchsorted(parts.lows, numbers, "right") - 1, 0, len(parts.lows) - 1
            )
        return np.where(kinds > 0, kinds - 1, inside + len(self._special(name)))

    def _numbers(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The synthetic numbers of a column, and the kind of each: 0 for ordinary ones."""
        domain = self.codec.domain
        number = domain.numerical.index(name)
        axis, numbers = domain.kinds[number], self.synthetic.numbers[:, number]
        kinds = np.zeros(len(numbers), np.int32) if axis is None else self.synthetic.codes[:, axis]
        return numbers, kinds

    def shares(self, noisy: Noisy) -> np.ndarray:
        """The synthetic shares of the same cells."""
        places = [
            self.codes(name, part) for name, part in zip(noisy.columns, noisy.parts, strict=True)
        ]
        flat = np.ravel_multi_index(places, noisy.counts.shape)
        return np.bincount(flat, minlength=noisy.counts.size).reshape(noisy.counts.shape) / len(
            flat
        )

    def column(self, name: str) -> pd.DataFrame:
        """One column as parts: noisy share, its standard error, synthetic share; nan if not
        measured."""
        self.require(name)
        noisy = self.alone(name)
        if noisy is None:
            return self._unmeasured(name)
        return pd.DataFrame(
            {
                "part": [self._words(name, label) for label in noisy.parts[0].labels],
                "noisy": noisy.counts / self.total,
                "standard_error": noisy.errors / self.total,
                "synthetic": self.shares(noisy),
            }
        )

    def _unmeasured(self, name: str) -> pd.DataFrame:
        axes = {axis.name: axis.labels for axis in self.codec.domain.axes}
        if name in axes:
            labels, codes = list(axes[name]), self.codes(name)
        else:
            numbers, _ = self._numbers(name)
            edges = np.linspace(numbers.min(), numbers.max(), BINS + 1)
            special = self._special(name)
            spans = [f"{a:.6g} to {b:.6g}" for a, b in pairwise(edges)]
            labels = [*special, *(self._words(name, span) for span in spans)]
            codes = self.codes(name, Parts((*special, *spans), edges[:-1], len(special)))
        shares = np.bincount(codes, minlength=len(labels)) / len(codes)
        return pd.DataFrame(
            {"part": labels, "noisy": np.nan, "standard_error": np.nan, "synthetic": shares}
        )

    def _words(self, name: str, label: str) -> str:
        """A part as the reader knows the column: units since the first moment become dates."""
        rule = self.release.schema.columns.get(name)
        if not isinstance(rule, Datetime) or label in self._special(name):
            return label
        form = "%Y-%m-%d" if rule.unit in ("day", "hour") else "%Y-%m-%d %H:%M"
        moments = [rule.first + round(float(end)) * UNITS[rule.unit] for end in label.split(" to ")]
        return " to ".join(rule.written(moment, form) for moment in moments)

    def require(self, name: str) -> None:
        """Refuse a column that the schema does not declare."""
        if name not in self.names:
            raise InvalidInput(
                f"There is no learnt column {shown(name)} in this release.",
                did_you_mean(name, self.names),
            )

    @cached_property
    def dependence(self) -> pd.DataFrame:
        """Cramér's V of every two columns in the synthetic rows: 0 is independent, 1 is the same
        column."""
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


def _bulk(counts: np.ndarray, noise: float) -> tuple[int, int]:
    """The first run and the one after the last that stand out of the noise; all if none does."""
    seen = np.nonzero(counts > max(noise, 0.002 * counts.sum()))[0]
    return (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (0, len(counts))
