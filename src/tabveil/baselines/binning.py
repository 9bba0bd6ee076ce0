"""Numbers as categories, for systems that know categories alone: equal bins, or noisy quantiles."""

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
    """Cut every number into about so many bins: equal ones for free, quantiles for a tenth of ρ."""
    lattice = Lattice.of(desk.codec.schema)
    if kind not in KINDS or bins < 2:
        raise InvalidInput(
            f"{bins} {kind} bins cannot be made.", f"Use 2 or more, {' or '.join(KINDS)}."
        )
    if kind == "equal" or not lattice.sizes:
        starts = tuple(_equal(size, bins) for size in lattice.sizes)
    else:
        ranks = learn_ranks(desk.curator(), lattice, desk.rho * QUANTILE_SHARE, total).ranks
        starts = tuple(_quantiles(ranks, column, bins) for column in range(len(lattice.sizes)))
    return Binning(desk.codec.domain, lattice, starts)


KINDS = ("equal", "quantile")


def discrete_workload(family: QueryFamily, domain: Domain) -> Workload:
    """Queries on codes alone."""
    return Workload((family,), MinMax(np.zeros(0), np.zeros(0)), domain)


def axes_of(marginals: Marginals, query: int, domain: Domain) -> tuple[int, ...]:
    """The axes of one marginal, in the order of its cells."""
    places = {axis.name: place for place, axis in enumerate(domain.axes)}
    return tuple(places[name] for name in marginals.columns(query, domain))


def _equal(size: int, bins: int) -> np.ndarray:
    return np.unique(np.floor(np.arange(bins) * size / bins).astype(np.int64))


def _quantiles(ranks: Ranks, column: int, bins: int) -> np.ndarray:
    """Where runs begin that hold the wanted quantiles; a point that holds one is its own bin."""
    starts, heights = ranks.starts[column], ranks.heights[column]
    ends = np.append(starts, ranks.lattice.sizes[column])
    holding = np.clip(
        np.searchsorted(heights, np.arange(bins) / bins, "right") - 1, 0, len(starts) - 1
    )
    single = holding[np.diff(ends)[holding] == 1]
    chosen = np.unique(np.concatenate([[0], ends[holding], ends[single + 1]]))
    return chosen[chosen < ranks.lattice.sizes[column]].astype(np.int64)
