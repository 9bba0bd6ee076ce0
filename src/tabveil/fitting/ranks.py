"""Learn rank space privately: noisy counts of runs of points, refined where rows are dense."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tabveil.curator import Curator
from tabveil.fitting.spending import Purchase
from tabveil.privacy import Protection
from tabveil.queries.rows import GRID
from tabveil.tables.placement import Lattice, Ranks

LEVELS = (Fraction(4, 10), Fraction(3, 10), Fraction(3, 20), Fraction(3, 20))
"""How ρ is split over the levels of refinement; what the last ones leave unspent is given back."""
DISTRIBUTIONS = "distributions"  # what the ledger and plans call them
FIRST_RUNS, BRANCHES = 128, 8  # at most, and at least


class Learnt(NamedTuple):
    """An estimate of each column's distribution function, and what came with it."""

    ranks: Ranks
    special: list[np.ndarray]  # per column: about how many rows have each special value
    noise: float  # of the first level
    unspent: Fraction  # ρ left over


def learn_ranks(curator: Curator, lattice: Lattice, rho: Fraction, total: int) -> Learnt:
    """Rank space of the ordinary numbers of each column, and counts of its special values.

    Level by level, runs of points are counted with noise, and those that hold clearly more rows
    than the noise of the next level are cut into shorter runs, down to single points. Counts of the
    parts are made to add up to the whole, which was measured better."""
    columns = len(lattice.sizes)
    if not columns:
        return Learnt(Ranks(lattice, (), ()), [], 0.0, rho)
    pieces = _first_runs(rho, columns, total)
    runs = [
        np.concatenate([_cut(np.array([[0, size]]), pieces), _points(size, every)])
        for size, every in zip(lattice.sizes, lattice.all_sizes, strict=True)
    ]
    masses: list[np.ndarray] = [np.array([float(total)])] * columns
    parents = [np.zeros(len(r), int) for r in runs]
    done: list[list[tuple[int, int, float]]] = [[] for _ in range(columns)]
    first_scale, left = 0.0, rho
    for level, share in enumerate(LEVELS):
        if not any(len(r) for r in runs):
            break
        counts, scale = curator.intervals(lattice, runs, rho * share)
        left -= rho * share
        first_scale = first_scale or scale
        following = scale * float(share / LEVELS[min(level + 1, len(LEVELS) - 1)]) ** 0.5
        for column in range(columns):
            if not len(runs[column]):
                continue
            mass = _consistent(counts[column].astype(float), masses[column], parents[column])
            wide = runs[column][:, 1] - runs[column][:, 0] > 1
            dense = wide & (mass > 6 * following) & (level + 1 < len(LEVELS))
            done[column] += [
                (int(a), int(b), m)
                for (a, b), m in zip(runs[column][~dense], mass[~dense], strict=True)
            ]
            masses[column] = mass[dense]
            parts = [_cut(run[None], _branches(run, level)) for run in runs[column][dense]]
            parents[column] = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
            runs[column] = np.concatenate([np.zeros((0, 2), int), *parts])
    special = [
        np.array([m for a, _, m in sorted(runs) if a >= size])
        for runs, size in zip(done, lattice.sizes, strict=True)
    ]
    return Learnt(_ranks(lattice, done), special, first_scale, left)


def ranks_spending(columns: int, rho: Fraction, protection: Protection) -> tuple[Purchase, ...]:
    """Rank space as a purpose of the budget; its noise is that of the first level."""
    if not columns:
        return ()
    noise = protection.noise_of(columns, rho * LEVELS[0])
    asked = f"{columns} numeric columns, level by level"
    return (Purchase(DISTRIBUTIONS, asked, rho, noise),)


def _points(start: int, stop: int) -> np.ndarray:
    """Each point as a run of its own."""
    points = np.arange(start, stop)
    return np.stack([points, points + 1], 1)


def _first_runs(rho: Fraction, columns: int, total: int) -> int:
    """Few runs, for errors of a distribution function add up over them; dense ones are cut
    again."""
    scale = (columns / (2 * float(rho * LEVELS[0]))) ** 0.5
    return int(np.clip(total / (32 * scale), 8, FIRST_RUNS))


def _branches(run: np.ndarray, level: int) -> int:
    """Into how many parts a run is cut, so that the last level reaches single points: there rows
    pile up."""
    return max(BRANCHES, math.ceil((run[1] - run[0]) ** (1 / (len(LEVELS) - level - 1)) - 1e-9))


def _cut(runs: np.ndarray, pieces: int) -> np.ndarray:
    """Each run cut into at most this many pieces of nearly equal length, at least one point
    each."""
    cut = []
    for start, stop in runs:
        ends = np.unique(
            np.linspace(start, stop, min(pieces, stop - start) + 1).round().astype(int)
        )
        cut.append(np.stack([ends[:-1], ends[1:]], 1))
    return np.concatenate([np.zeros((0, 2), int), *cut])


def _consistent(counts: np.ndarray, masses: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Counts moved by equal amounts so that the parts add up to their whole, and none is
    negative."""
    fitted = counts.copy()
    for parent, mass in enumerate(masses):
        part = parents == parent
        fitted[part] = onto_simplex(fitted[part], max(mass, 0.0))
    return fitted


def onto_simplex(values: np.ndarray, total: float) -> np.ndarray:
    """The nearest non-negative values that add up to `total`."""
    ordered = np.sort(values)[::-1]
    shift = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    last = np.nonzero(ordered - shift > 0)[0]
    if not len(last) or total <= 0:
        return np.full(len(values), max(total, 0.0) / len(values))
    return np.maximum(values - shift[last[-1]], 0.0)


def _ranks(lattice: Lattice, done: list[list[tuple[int, int, float]]]) -> Ranks:
    starts, heights = [], []
    for column, size in zip(done, lattice.sizes, strict=True):
        ordered = sorted(run for run in column if run[0] < size)
        mass = np.array([m for _, _, m in ordered])
        mass = mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))
        starts.append(np.array([a for a, _, _ in ordered], np.int64))
        # On the grid, so that a bin that ends where a run ends holds exactly that run.
        height = np.rint(np.concatenate([[0.0], np.cumsum(mass)]) * GRID) / GRID
        height[-1] = 1.0
        heights.append(np.minimum(height, 1.0))
    return Ranks(lattice, tuple(starts), tuple(heights))
