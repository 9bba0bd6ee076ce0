"""Numbers as categories, for systems that know categories alone.

Bins are equal, or noisy quantiles that are paid for. Those that are `free` are exact quantiles and
NOT PRIVATE: other people's comparisons often give them away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tabveil.baselines.desk import Desk
from tabveil.curator import Workload
from tabveil.errors import InvalidInput
from tabveil.fitting.ranks import learn_ranks
from tabveil.queries import Marginals, QueryFamily
from tabveil.tables.placement import Lattice, MinMax, Ranks
from tabveil.tables.table import Axis, Domain, Table

QUANTILE_SHARE = Fraction(1, 10)


@dataclass(frozen=True)
class Binning:
    """Each number cut into runs of the points that it may lie on; public, or bought before."""

    domain: Domain  # of the table as it is
    lattice: Lattice
    starts: tuple[np.ndarray, ...]  # the first point of each bin, per number

    @property
    def discrete(self) -> Domain:
        """The domain with every number as one more axis."""
        bins = [
            Axis(name, tuple(f"bin {i + 1}" for i in range(len(starts))))
            for name, starts in zip(self.domain.numerical, self.starts, strict=True)
        ]
        return Domain((*self.domain.axes, *bins), (), self.domain.targets)

    def __call__(self, table: Table) -> Table:
        """The same rows as codes alone."""
        points = self.lattice.points(table.numbers)
        bins = [
            np.searchsorted(s, p, "right") - 1 for s, p in zip(self.starts, points.T, strict=True)
        ]
        codes = np.column_stack([table.codes, *bins]).astype(np.int32)
        return Table(codes, np.zeros((table.rows, 0)))

    def undone(self, codes: np.ndarray, random: np.random.Generator) -> Table:
        """Rows with numbers again, each drawn uniformly from the points of its bin."""
        axes = len(self.domain.axes)
        points = np.zeros((len(codes), len(self.starts)))
        for column, (starts, size) in enumerate(zip(self.starts, self.lattice.sizes, strict=True)):
            ends, bins = np.append(starts, size), codes[:, axes + column]
            points[:, column] = starts[bins] + np.floor(
                random.random(len(codes)) * np.diff(ends)[bins]
            )
        return Table(codes[:, :axes].astype(np.int32), self.lattice.numbers(points))


def binning_for(desk: Desk, bins: int, kind: str, total: int) -> Binning:
    """Cut every number into about so many bins."""
    lattice = Lattice.of(desk.codec.schema)
    if kind not in KINDS or bins < 2:
        raise InvalidInput(
            f"{bins} {kind} bins cannot be made.", f"Use 2 or more, {' or '.join(KINDS)}."
        )
    starts = KINDS[kind](desk, lattice, bins, total) if lattice.sizes else ()
    return Binning(desk.codec.domain, lattice, tuple(starts))


def discrete_workload(family: QueryFamily, domain: Domain) -> Workload:
    """Queries on codes alone."""
    return Workload((family,), MinMax(np.zeros(0), np.zeros(0)), domain)


def axes_of(marginals: Marginals, query: int, domain: Domain) -> tuple[int, ...]:
    """The axes of one marginal, in the order of its cells."""
    places = {axis.name: place for place, axis in enumerate(domain.axes)}
    return tuple(places[name] for name in marginals.columns(query, domain))


def _equal(desk: Desk, lattice: Lattice, bins: int, total: int) -> list[np.ndarray]:
    """Bins of as many points each, from public bounds."""
    return [
        np.unique(np.floor(np.arange(bins) * size / bins).astype(np.int64))
        for size in lattice.sizes
    ]


def _quantiles(desk: Desk, lattice: Lattice, bins: int, total: int) -> list[np.ndarray]:
    """Bins of about as many rows each, for a tenth of ρ."""
    ranks = learn_ranks(desk.curator(), lattice, desk.rho * QUANTILE_SHARE, total).ranks
    return [_between_quantiles(ranks, column, bins) for column in range(len(lattice.sizes))]


def _free(desk: Desk, lattice: Lattice, bins: int, total: int) -> list[np.ndarray]:
    """Exact quantiles, and bins of their own for values that are as common: NOT PRIVATE."""
    counts = zip(desk.exact_points(lattice), lattice.sizes, strict=True)
    return [_exact_quantiles(points[:size], bins) for points, size in counts]


KINDS: dict[str, Callable[[Desk, Lattice, int, int], list[np.ndarray]]] = {
    "equal": _equal,
    "quantile": _quantiles,
    "free": _free,
}


def _between_quantiles(ranks: Ranks, column: int, bins: int) -> np.ndarray:
    """Where runs begin that hold the wanted quantiles; a point that holds one is its own bin."""
    starts, heights = ranks.starts[column], ranks.heights[column]
    ends = np.append(starts, ranks.lattice.sizes[column])
    holding = np.clip(
        np.searchsorted(heights, np.arange(bins) / bins, "right") - 1, 0, len(starts) - 1
    )
    single = holding[np.diff(ends)[holding] == 1]
    chosen = np.unique(np.concatenate([[0], ends[holding], ends[single + 1]]))
    return chosen[chosen < ranks.lattice.sizes[column]].astype(np.int64)


def _exact_quantiles(counts: np.ndarray, bins: int) -> np.ndarray:
    """Where at most so many bins begin, if common values alone are not more."""
    common = np.flatnonzero(counts * bins >= max(1, counts.sum()))
    rare = counts.copy()
    rare[common] = 0
    below = np.cumsum(rare)
    for wanted in range(bins, 0, -1):
        quantiles = below[-1] * np.arange(1, wanted) / wanted
        cuts = np.searchsorted(below, quantiles, "right")
        starts = np.unique(np.concatenate([[0], common, common + 1, cuts]))
        starts = starts[starts < len(counts)]
        if len(starts) <= bins:
            break
    return starts
