"""Learn rank space privately: noisy counts of runs of points, refined where rows are dense."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tabveil.curator import Curator
from tabveil.fitting.runs import Run, cut, looseness, points, spread, tails
from tabveil.fitting.smoothing import smoothed
from tabveil.fitting.spending import Purchase
from tabveil.privacy import Protection
from tabveil.queries.rows import GRID
from tabveil.shapes import Float, Int
from tabveil.tables.placement import Lattice, Ranks

LEVELS = (Fraction(4, 10), Fraction(3, 10), Fraction(3, 20), Fraction(3, 20))
"""How ρ is split over the levels of refinement; what the last ones leave unspent is given back."""
DISTRIBUTIONS = "distributions"  # what the ledger and plans call them
FIRST_RUNS, FEWEST_RUNS, BRANCHES = 128, 8, 4  # at most, at least, and of a run that is cut again
AT_FIRST, LATER = 0.5, 0.3  # share of runs that are cut by size and not by length
CLEARLY, DENSE = 2.5, 3.0  # standard errors above zero: to be heard, and to be cut again
UNHEARD = 0.25  # standard errors: what a run beyond the clear ones may be expected to hold
FAR = 2**30  # points from zero, where all numbers are about as large
FINE = 16  # parts of a run that a public table gives its shape
SHORT_LOOK = Fraction(1, 5)
"""Of a column's price, to see whether a public table tells it; the rest is spent where not."""
FIRM = 1e-9  # the least that a value is moved where others are moved by 1
MOST_APART = 0.5  # how much of where the two differ may be more than noise
Below = np.ndarray
"""The share of public rows below each point of a column, and 1 after the last: [points + 1]."""


class Look(NamedTuple):
    """Runs of one column that were counted together, and how noisily."""

    runs: Int[np.ndarray, "runs 2"]
    parents: Int[np.ndarray, " runs"]  # which of the runs before each is a part of
    scale: float


class Learnt(NamedTuple):
    """An estimate of each column's distribution function, and what came with it."""

    ranks: Ranks
    special: list[np.ndarray]  # per column: about how many rows have each special value
    noise: Float[np.ndarray, " numerical"]  # of the first level
    unspent: Fraction  # ρ left over
    own: Int[np.ndarray, " own"]  # the numbers that no public table had a say in
    looks: Sequence[Sequence[Look]] = ()  # per column, level by level

    def noise_in_bins(self, column: int, edges: Int[np.ndarray, " edges"]) -> float:
        """The standard error of how many rows lie between these grid positions, in the usual bin.

        A bin is a sum of runs of the first look, and of parts of those that it ends in. Parts add
        up to their whole: of k of them, the share f of the whole is known up to k·f·(1 − f) times
        the noise of one.
        """
        ends = np.concatenate([[0], edges, [GRID]]) / GRID
        starts = np.append(self.ranks.starts[column], self.ranks.lattice.sizes[column])
        variance = np.zeros(len(ends) - 1)
        for level, look in enumerate(self.looks[column]):
            ordinary = look.runs[:, 1] <= self.ranks.lattice.sizes[column]
            runs = np.interp(look.runs[ordinary], starts, self.ranks.heights[column])
            if level == 0:
                variance += look.scale**2 * (_overlaps(ends, runs) ** 2).sum(axis=1)
                continue
            whole, parts = np.unique(look.parents[ordinary], return_counts=True)
            of = np.searchsorted(whole, look.parents[ordinary])
            wholes = np.stack([np.full(len(whole), np.inf), np.full(len(whole), -np.inf)], 1)
            np.minimum.at(wholes[:, 0], of, runs[:, 0])
            np.maximum.at(wholes[:, 1], of, runs[:, 1])
            inside = _overlaps(ends, wholes)
            variance += look.scale**2 * (parts * inside * (1 - inside)).sum(axis=1)
        return float(np.sqrt(variance.mean()))


def learn_ranks(
    curator: Curator,
    lattice: Lattice,
    rho: Fraction,
    total: int,
    public: Sequence[Below | None] | None = None,
) -> Learnt:
    """Rank space of the ordinary numbers of each column, and counts of its special values.

    Level by level, runs of points are counted with noise, and those that hold clearly more rows
    than the noise of the next level are cut into shorter runs, down to single points. Counts of the
    parts correct the whole and are made to add up to it. Where a `public` table has
    the column, counts lean towards it as far as noise is all that sets them apart, and a short look
    does; where that finds more than noise, the rest of the look follows, and nothing is lost.
    """
    if not lattice.sizes:
        return Learnt(Ranks(lattice, (), ()), [], np.zeros(0), rho, np.zeros(0, int))
    pieces = _first_runs(rho, len(lattice.sizes), total)
    columns = [
        Refining.start(size, every, _zero(lattice, column), pieces, total, below)
        for column, (size, every, below) in enumerate(
            zip(
                lattice.sizes, lattice.all_sizes, public or [None] * len(lattice.sizes), strict=True
            )
        )
    ]
    noise, spent, left = np.zeros(0), Fraction(0), rho
    for level, share in enumerate(LEVELS):
        runs = [column.runs for column in columns]
        if not any(map(len, runs)):
            break
        # After single points there is nothing to refine, and nothing to save for.
        price = rho * share if level == 0 or any(map(_divisible, runs)) else left
        left -= price
        looks, cost = _looked_at(curator, lattice, columns, price, level)
        spent += cost
        noise = noise if len(noise) else np.array([look.scale for look in looks])
        after = float(share / LEVELS[min(level + 1, len(LEVELS) - 1)]) ** 0.5
        for column, look in zip(columns, looks, strict=True):
            if len(look.counts):
                column.refine(look.counts, look.scale, level, look.scale * after)
    special = [
        np.array([held for start, _, held in sorted(column.done) if start >= size])
        for column, size in zip(columns, lattice.sizes, strict=True)
    ]
    ordinary = [column.ordinary(size) for column, size in zip(columns, lattice.sizes, strict=True)]
    own = np.flatnonzero([column.public is None for column in columns])
    seen = [column.looks for column in columns]
    return Learnt(_ranks(lattice, ordinary), special, noise, rho - spent, own, seen)


class Counted(NamedTuple):
    """Noisy counts of a column's runs, and their noise."""

    counts: np.ndarray
    scale: float

    def and_again(self, other: "Counted") -> "Counted":
        """Two looks at the same runs as one, each as much as it is sure of; one may have none."""
        if not len(self.counts) or not len(other.counts):
            return other if len(other.counts) else self
        sure, surer = self.scale**-2, other.scale**-2
        counts = (sure * self.counts + surer * other.counts) / (sure + surer)
        return Counted(counts, (sure + surer) ** -0.5)


def _looked_at(
    curator: Curator, lattice: Lattice, columns: Sequence["Refining"], price: Fraction, level: int
) -> tuple[list[Counted], Fraction]:
    """One look at the runs of every column, for the same price each, and what was spent.

    Columns that a public table tells, as far as a short look can see, cost no more than that.
    """
    asked = np.array([len(column.runs) > 0 for column in columns])
    told = asked & [column.public is not None for column in columns]
    each = price / int(asked.sum())
    short = each * int(told.sum()) * SHORT_LOOK
    looks = _look(curator, lattice, columns, told, short)
    doubted = told & [c.doubts(*look, level) for c, look in zip(columns, looks, strict=True)]
    rest = each * (int((asked & ~told).sum()) + int(doubted.sum()) * (1 - SHORT_LOOK))
    others = _look(curator, lattice, columns, (asked & ~told) | doubted, rest)
    both = [look.and_again(other) for look, other in zip(looks, others, strict=True)]
    return both, short + rest


def _look(
    curator: Curator,
    lattice: Lattice,
    columns: Sequence["Refining"],
    asked: np.ndarray,
    rho: Fraction,
) -> list[Counted]:
    """A look at the runs of the columns that are asked for, together; none, if none is."""
    if not asked.any():
        return [Counted(np.zeros(0), 0.0) for _ in columns]
    nothing = np.zeros((0, 2), int)
    runs = [column.runs if some else nothing for column, some in zip(columns, asked, strict=True)]
    counts, scale = curator.intervals(lattice, runs, rho)
    return [Counted(noisy.astype(float), scale) for noisy in counts]


def ranks_spending(columns: int, rho: Fraction, protection: Protection) -> tuple[Purchase, ...]:
    """Rank space as a purpose of the budget; its noise is that of the first level."""
    if not columns:
        return ()
    noise = protection.noise_of(columns, rho * LEVELS[0])
    asked = f"{columns} numeric columns, level by level"
    return (Purchase(DISTRIBUTIONS, asked, rho, noise),)


@dataclass
class Refining:
    """A column on its way: the runs to count next, what they are parts of, and what is done."""

    runs: np.ndarray  # [runs, 2]
    wholes: np.ndarray  # how many rows each of the runs held that were cut last
    parents: np.ndarray  # [runs]: which of these wholes each is a part of
    zero: int  # the point that it is, or would be beyond the bounds
    done: list[Run] = field(default_factory=list)
    heard: tuple[int, int] = (0, 0)  # points from where to where runs clearly hold rows
    public: Below | None = None
    kept: float = 1.0  # how much of where counts differ from the public table, on the last level
    noise: float = 0.0  # in each of the wholes
    looks: list[Look] = field(default_factory=list)
    size: int = 0  # ordinary points; special ones come after

    @classmethod
    def start(
        cls,
        size: int,
        every: int,
        zero: int,
        pieces: int,
        total: int,
        public: Below | None = None,
    ) -> "Refining":
        """All ordinary points in so many pieces, and each special one as a run of its own."""
        ordinary, special = cut(0, size, pieces, zero, AT_FIRST), points(size, every)
        parents = np.concatenate([np.zeros(len(ordinary), int), 1 + np.arange(len(special))])
        runs, whole = np.concatenate([ordinary, special]), np.array([float(total)])
        return cls(runs, whole, parents, zero, public=public, size=size)

    def doubts(self, counts: np.ndarray, scale: float, level: int) -> bool:
        """Whether the public table is further from these counts than noise can easily bring it.

        Of whole columns it is then believed nothing; of the parts of a run, the next one may do.
        """
        if self.public is None or not len(counts):
            return False
        _, kept = leaning(counts, self._foretold(level), scale)
        if level == 0 and kept > MOST_APART:
            self.public = None
        return kept > MOST_APART

    def refine(self, counts: np.ndarray, scale: float, level: int, following: float) -> None:
        """Cut the runs that hold clearly more rows than the noise to come; the rest is done."""
        self.looks.append(Look(self.runs, self.parents, scale))
        if level > 0:
            self.wholes = self._pooled(counts, scale)
        if self.public is not None:
            counts, self.kept = leaning(counts, self._foretold(level), scale)
        elif level > 0:
            counts = smoothed(counts, self._usual(), self.parents, scale)
        loose = np.ones(len(counts))
        if level == 0:
            self.wholes = _adding_up(counts, self.parents, self.wholes.sum())
            ordinary = self.parents == 0
            if self.public is None:
                runs = self.runs[ordinary]
                counts[ordinary], self.heard = thinning_out(
                    counts[ordinary], runs, self.zero, scale
                )
                loose[ordinary] = looseness(runs, self.zero, self.heard)
        mass = _consistent(counts, self.wholes, self.parents, loose)
        lengths = self.runs[:, 1] - self.runs[:, 0]
        dense = (lengths > 1) & (mass > DENSE * following) & (level + 1 < len(LEVELS))
        for (start, stop), held in zip(self.runs[~dense], mass[~dense], strict=True):
            self.done += self._shaped(int(start), int(stop), held)
        parts = [
            cut(start, stop, _branches(stop - start, level, held / following), self.zero, LATER)
            for (start, stop), held in zip(self.runs[dense].tolist(), mass[dense], strict=True)
        ]
        self.wholes, self.noise = mass[dense], scale
        self.parents = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        self.runs = np.concatenate([np.zeros((0, 2), int), *parts])

    def ordinary(self, size: int) -> list[Run]:
        """What is known of ordinary numbers in the end."""
        runs = sorted(run for run in self.done if run[0] < size)
        return runs if self.public is not None else spread(runs, self.zero, self.heard)

    def _pooled(self, counts: np.ndarray, scale: float) -> np.ndarray:
        """The wholes as both they and their parts were counted, each with noise; the same sum."""
        noise_of_sums = scale**2 * np.bincount(self.parents)
        trust = self.noise**2 / (self.noise**2 + noise_of_sums)
        sums = np.bincount(self.parents, counts)
        return onto_simplex(self.wholes + trust * (sums - self.wholes), self.wholes.sum())

    def _usual(self) -> np.ndarray:
        """How many rows parts hold if their wholes fall off as numbers usually do (`spread`)."""
        lengths = (self.runs[:, 1] - self.runs[:, 0]).astype(float)
        even = lengths / np.bincount(self.parents, lengths)[self.parents]
        first = np.searchsorted(self.parents, np.arange(len(self.wholes)))
        last = np.append(first[1:], len(self.runs)) - 1
        between = zip(self.runs[first, 0].tolist(), self.runs[last, 1].tolist(), strict=True)
        wholes = [(*ends, held) for ends, held in zip(between, self.wholes.tolist(), strict=True)]
        runs = spread(
            sorted([*(run for run in self.done if run[0] < self.size), *wholes]),
            self.zero,
            self.heard,
        )
        starts = [*(start for start, _, _ in runs), runs[-1][1]]
        below = np.cumsum([0.0, *(held for _, _, held in runs)])
        shares = np.diff(np.interp(self.runs, starts, below), axis=1)[:, 0]
        of_whole = np.bincount(self.parents, shares)[self.parents]
        shares = np.where(of_whole > 0, shares / np.maximum(of_whole, 1e-300), even)
        return shares * self.wholes[self.parents]

    def _foretold(self, level: int) -> np.ndarray:
        """How many rows the public table expects in each run, given what is known of its whole."""
        shares = np.diff(self.public[self.runs], axis=1)[:, 0]  # type: ignore[index]
        if level == 0:
            return shares * self.wholes.sum()
        lengths = (self.runs[:, 1] - self.runs[:, 0]).astype(float)
        of_whole = np.bincount(self.parents, shares)
        even = lengths / np.bincount(self.parents, lengths)[self.parents]
        there = of_whole[self.parents] > 0
        inside = np.where(there, shares / np.maximum(of_whole, 1e-300)[self.parents], even)
        return inside * self.wholes[self.parents]

    def _shaped(self, start: int, stop: int, held: float) -> list[Run]:
        """A run whose rows lie as in the public table, as far as that was found to be alike."""
        if self.public is None or stop - start == 1:
            return [(start, stop, held)]
        below = self.public[start : stop + 1]
        whole = below[-1] - below[0]
        if whole <= 0:
            return [(start, stop, held)]
        ends = np.searchsorted(below, below[0] + whole * np.arange(1, FINE) / FINE, "left")
        # A point that many public rows share is a part of its own.
        ends = np.unique(np.concatenate([[0, stop - start], ends - 1, ends]))
        alike = np.diff(below[ends]) / whole
        even = np.diff(ends) / (stop - start)
        parts = held * ((1 - self.kept) * alike + self.kept * even)
        places = (start + ends).tolist()
        return list(zip(places[:-1], places[1:], parts.tolist(), strict=True))


def thinning_out(
    counts: np.ndarray, runs: np.ndarray, zero: int, scale: float
) -> tuple[np.ndarray, tuple[int, int]]:
    """Noisy counts that beyond the first clear ones on either side are as numbers usually lie.

    And from where to where they are clear. Noise that is kept wherever it is positive adds up: many
    empty runs far out would hold as many rows as a full one, and every variance would be wrong.
    """
    (full,) = np.nonzero(counts > CLEARLY * scale)
    if not len(full):
        return counts, (int(runs[0, 0]), int(runs[-1, 1]))
    first, last = full[0], full[-1] + 1
    before, after = tails(counts[first:last], runs, first, zero)
    found = counts.copy()
    for some, expected in ((slice(first), before), (slice(last, None), after)):
        unheard = np.minimum(expected, UNHEARD * scale)
        found[some] = np.maximum(leaning(counts[some], unheard, scale)[0], 0.0)
    return found, (int(runs[first, 0]), int(runs[last - 1, 1]))


def leaning(counts: np.ndarray, foretold: np.ndarray, scale: float) -> tuple[np.ndarray, float]:
    """Noisy counts moved towards what was foretold, and how much of the difference was kept.

    As James and Stein do, but only where the two are further apart than noise can easily bring
    them: a forecast is wrong seldom, and noise always.
    """
    apart = counts - foretold
    square = float(apart @ apart)
    noise = (len(counts) + 2 * (2 * len(counts)) ** 0.5) * scale**2
    kept = max(0.0, 1 - noise / square) if square > 0 else 0.0
    return foretold + kept * apart, kept


def _overlaps(
    ends: Float[np.ndarray, " ends"], runs: Float[np.ndarray, "runs 2"]
) -> Float[np.ndarray, "bins runs"]:
    """The share of each run that lies in each of the bins between these ends."""
    low, high = np.maximum(ends[:-1, None], runs[:, 0]), np.minimum(ends[1:, None], runs[:, 1])
    return np.maximum(0.0, high - low) / np.maximum(runs[:, 1] - runs[:, 0], 1 / GRID)


def _zero(lattice: Lattice, column: int) -> int:
    """The point that zero is, or would be beyond a column's bounds; not farther than counts."""
    return round(float(np.clip(-lattice.first[column] / lattice.step[column], -FAR, FAR)))


def _divisible(runs: np.ndarray) -> bool:
    """Whether some run has more than one point."""
    return bool((runs[:, 1] - runs[:, 0] > 1).any())


def _first_runs(rho: Fraction, columns: int, total: int) -> int:
    """Few runs, as errors of a distribution function add up over them; dense ones are cut again."""
    scale = (columns / (2 * float(rho * LEVELS[0]))) ** 0.5
    return int(np.clip(total / (32 * scale), FEWEST_RUNS, FIRST_RUNS))


def _branches(length: int, level: int, clear: float) -> int:
    """How many parts a run is cut into: to end at single points, but for noise to leave some."""
    to_points = math.ceil(length ** (1 / (len(LEVELS) - level - 1)) - 1e-9)
    return max(BRANCHES, min(max(8, to_points), int(2 * clear)))


def _adding_up(counts: np.ndarray, parents: np.ndarray, total: float) -> np.ndarray:
    """Rows with ordinary numbers together, and with each special value, as counted.

    What is missing from the total is noise, most of it in the sum that has the most parts.
    """
    sums, parts = np.bincount(parents, counts), np.bincount(parents)
    return onto_simplex(sums + (total - sums.sum()) * parts / parts.sum(), total)


def _consistent(
    counts: np.ndarray, masses: np.ndarray, parents: np.ndarray, loose: np.ndarray
) -> np.ndarray:
    """Counts moved so that parts add up to their whole and none is negative.

    Each moves as far as it is `loose`: what a whole lacks is not far out, where no row was heard.
    """
    fitted = counts.copy()
    for parent, mass in enumerate(masses):
        part = parents == parent
        fitted[part] = onto_simplex(fitted[part], max(mass, 0.0), loose[part])
    return fitted


def onto_simplex(values: np.ndarray, total: float, loose: np.ndarray | None = None) -> np.ndarray:
    """The nearest non-negative values that add up to `total`; as near as each is not `loose`.

    >>> onto_simplex(np.array([4.0, 2.0, 1.0]), 4.0).tolist()
    [3.0, 1.0, 0.0]
    >>> onto_simplex(np.array([4.0, 2.0, 1.0]), 4.5, np.array([1.0, 1.0, 0.5])).tolist()
    [3.0, 1.0, 0.5]
    """
    loose = np.maximum(1.0 if loose is None else loose, FIRM) * np.ones(len(values))
    order = np.argsort(-values / loose)
    shift = (np.cumsum(values[order]) - total) / np.cumsum(loose[order])
    above = np.flatnonzero(values[order] / loose[order] > shift)
    if not len(above) or total <= 0:
        return np.full(len(values), max(total, 0.0) / len(values))
    return np.maximum(values - shift[above[-1]] * loose, 0.0)


def _ranks(lattice: Lattice, columns: list[list[Run]]) -> Ranks:
    """The distribution function that runs in order and their masses say."""
    starts, heights = [], []
    for ordinary in columns:
        mass = np.array([held for _, _, held in ordinary])
        mass = mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))
        starts.append(np.array([start for start, _, _ in ordinary], np.int64))
        # On the grid, so that a bin that ends where a run ends holds exactly that run.
        height = np.rint(np.concatenate([[0.0], np.cumsum(mass)]) * GRID) / GRID
        height[-1] = 1.0
        heights.append(np.minimum(height, 1.0))
    return Ranks(lattice, tuple(starts), tuple(heights))
