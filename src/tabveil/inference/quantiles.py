"""Quantiles of the people: where their distribution, as noisy answers correct it, meets a level."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tabveil.inference.correction import Corrector
from tabveil.inference.rests import Rests
from tabveil.inference.statistics import Ranked

LOOKS = 64  # ends of runs at which the distribution is looked at in one go
FINE = 192  # the most of them near the ends of an interval


@dataclass(frozen=True)
class Shares:
    """Shares of people up to the ends of some runs, by the pool and corrected, and how sure."""

    places: np.ndarray  # of the ends, among the runs
    pool: np.ndarray
    corrected: np.ndarray
    errors: np.ndarray
    rests: list[Rests]

    def bounds(self, level: float, wide: float) -> tuple[int, int, Rests]:
        """The first and last run that may hold a quantile, and whether both were measured.

        A share can only grow, so what is known at the end of a run bounds the share at all ends
        before and after. Which end speaks for another is chosen by the pool and the errors, not by
        the noisy answers: to take the lowest of many noisy bounds would be to choose by luck.
        """
        least, most = self.pool - wide * self.errors, self.pool + wide * self.errors
        count = len(self.places)
        above = np.array([place + int(np.argmin(most[place:])) for place in range(count)])
        below = np.array([int(np.argmax(least[: place + 1])) for place in range(count)])
        reached = self.corrected[above] + wide * self.errors[above] >= level
        passed = self.corrected[below] - wide * self.errors[below] >= level
        first = int(np.argmax(reached)) if reached.any() else count - 1
        short = np.nonzero(~passed)[0]
        last = max(first, min(int(short[-1]) + 1, count - 1) if len(short) else 0)
        return first, last, Rests.weakest(self.rests[above[first]], self.rests[below[last]])


class Distribution:
    """The share of people up to the end of any run of numbers in which they were counted.

    Inside a run people may pile up at a round number, and nothing says at which. So an interval
    is made of whole runs, from the first to the last that may hold the quantile.
    """

    def __init__(self, ranked: Ranked, corrector: Corrector, population: bool) -> None:
        self.ranked, self.corrector, self.population = ranked, corrector, population

    def interval(self, level: float, wide: float) -> tuple[float, float, Rests]:
        """The lowest and the highest value that may be the quantile, and on what that rests."""
        looks = np.unique(np.linspace(0, len(self.ends) - 1, LOOKS).astype(int))
        first, last, _ = self.shares(looks).bounds(level, wide)
        near = np.linspace(looks[max(first - 1, 0)], looks[last], FINE).astype(int)
        shares = self.shares(np.union1d(looks, near))
        first, last, rests = shares.bounds(level, wide)
        before = shares.places[first - 1] if first else -1
        start = self.ends[before] + 1 if before >= 0 else 0
        return float(self.values[start]), float(self.values[self.ends[shares.places[last]]]), rests

    def shares(self, places: np.ndarray) -> Shares:
        """What is known up to the ends of these runs."""
        values = self.values[self.ends[places]]
        parts = np.array_split(values, -(-len(values) // LOOKS))
        found = [
            self.corrector.corrected(self.ranked.influence(part), columns=1, bounded=True)
            for part in parts
        ]
        pool = self.ranked.reached(values)
        return Shares(
            places,
            pool,
            pool + np.concatenate([one.shifts for one in found]),
            np.concatenate([one.deviations(self.population) for one in found]),
            [rests for one in found for rests in one.rests(self.population)],
        )

    @cached_property
    def values(self) -> np.ndarray:
        """Every value that occurs, in order."""
        return np.unique(self.ranked.numbers[self.ranked.there])

    @cached_property
    def ends(self) -> np.ndarray:
        """The places of the last values of runs."""
        members = self.corrector.known.members
        marks = members @ np.random.default_rng(0).random(members.shape[1])  # the same in one run
        numbers, there = self.ranked.numbers, self.ranked.there
        _, first = np.unique(numbers[there], return_index=True)
        return np.append(np.nonzero(np.diff(marks[there][first]))[0], len(first) - 1)
