"""Estimates about the people behind a release, with intervals that count noise and model in."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from tabveil.errors import InvalidInput
from tabveil.inference import statistics
from tabveil.inference.correction import Corrector, hidden, most_hidden
from tabveil.inference.pool import Pool, counted_rows
from tabveil.inference.quantiles import Distribution
from tabveil.inference.rests import Rests, require_level, warn_of
from tabveil.inference.statistics import Statistic
from tabveil.release import Release, load

FEWEST, MOST = 20_000, 60_000  # synthetic rows to compute with


class Study:
    """Asks a release about the people it was made from; free, as often as you like.

    Every answer is a table with a line per estimate: its standard error, interval, p-value against
    zero, and whether it rests on measured tables. With `population=False` the answers are about
    the people in the table alone, not about the population that they were drawn from. `rows` says
    how many synthetic rows to compute with; more of them make estimates no better, but smoother.
    """

    def __init__(
        self,
        release: Release | str | Path,
        *,
        level: float = 0.95,
        population: bool = True,
        rows: int | None = None,
        seed: int = 0,
    ) -> None:
        require_level(level)
        self.release = release if isinstance(release, Release) else load(release)
        self.level, self.population = level, population
        self.rows, self.seed = rows, seed
        self._correctors: dict[frozenset[str], Corrector] = {}

    def means(self, column: str, *, by: str | None = None) -> pd.DataFrame:
        """The mean of a column of numbers, of all rows or within the groups of another column."""
        if by is None:
            return self.estimated(statistics.mean(self._frame, column))
        groups = statistics.groups(self._frame, by)
        return self._all(statistics.mean(self._frame, column, group) for group in groups)

    def shares(self, *columns: str, by: str | None = None) -> pd.DataFrame:
        """The share of every value of a column, or of every cell of a cross-table."""
        if not columns:
            raise InvalidInput("No column was named.", "Name one, or several for a cross-table.")
        if by is None:
            return self.estimated(statistics.shares(self._frame, columns))
        groups = statistics.groups(self._frame, by)
        return self._all(statistics.shares(self._frame, columns, group) for group in groups)

    def quantiles(self, column: str, levels: Sequence[float] = (0.25, 0.5, 0.75)) -> pd.DataFrame:
        """Quantiles of a column of numbers."""
        return self.estimated(statistics.quantiles(self._frame, column, levels))

    def correlation(self, one: str, other: str) -> pd.DataFrame:
        """Pearson's correlation of two columns of numbers."""
        return self.estimated(statistics.correlation(self._frame, one, other))

    def difference(self, column: str, *, by: str, between: Sequence[Any] = ()) -> pd.DataFrame:
        """How far two groups differ, the first minus the second: in means, or in shares."""
        found = {group.value: group for group in statistics.groups(self._frame, by)}
        wanted = tuple(between or found)
        if len(wanted) != 2 or not set(wanted) <= set(found):
            raise InvalidInput(
                f"A difference is between two groups of {by}, which has "
                f"{', '.join(map(str, found))}.",
                f"Name two, such as between=({', '.join(map(repr, list(found)[:2]))}).",
            )
        one, other = (found[value] for value in wanted)
        if statistics.is_number(self._frame, column):
            first, second = (statistics.mean(self._frame, column, g) for g in (one, other))
            names = [column]
        else:
            first, second = (statistics.shares(self._frame, [column], g) for g in (one, other))
            names = [name.rpartition(" | ")[0] for name in first.names]
        ends = f"{one.name} − {other.value}"
        return self.estimated(first.minus(second, [f"{name} | {ends}" for name in names]))

    def linear(self, formula: str) -> pd.DataFrame:
        """Coefficients of a linear regression, such as "wage ~ age + sex" (statsmodels)."""
        return self.estimated(statistics.linear(self._frame, formula))

    def logistic(self, formula: str) -> pd.DataFrame:
        """Coefficients of a logistic regression of the last of two values (statsmodels)."""
        return self.estimated(statistics.logistic(self._frame, formula))

    def is_number(self, column: str) -> bool:
        """Whether a column has means and quantiles."""
        return statistics.is_number(self._frame, column)

    @cached_property
    def pool(self) -> Pool:
        """The synthetic rows that statistics are computed from, before they are corrected."""
        wanted = int(np.clip(2 * counted_rows(self.release).rows, FEWEST, MOST))
        return Pool(self.release, self.rows or wanted, self.seed)

    @cached_property
    def hidden(self) -> dict[str, float]:
        """How far people whom noise hides could move the mean of each number."""
        return hidden(self.pool)

    def _corrector(self, columns: frozenset[str]) -> Corrector:
        """What was measured about these columns; kept for the next question about them."""
        if columns not in self._correctors:
            known = self.pool.known(columns).occupied()
            people, far_out = counted_rows(self.release).rows, most_hidden(self.hidden, columns)
            self._correctors[columns] = Corrector(known, people, far_out)
        return self._correctors[columns]

    @property
    def _frame(self) -> pd.DataFrame:
        return self.pool.frame

    def _all(self, found: Any) -> pd.DataFrame:
        return pd.concat([self.estimated(statistic) for statistic in found])

    def estimated(self, found: Statistic) -> pd.DataFrame:
        """Any statistic of `pool.frame` whose influence is known, corrected by noisy answers."""
        wide = float(norm.ppf((1 + self.level) / 2))
        corrector = self._corrector(found.columns)
        correction = corrector.corrected(found.influence, len(found.columns))
        deviations, rests = (
            correction.deviations(self.population),
            correction.rests(self.population),
        )
        low, value, high = (
            found.read(correction.shifts + step * deviations) for step in (-wide, 0, wide)
        )
        if found.ranked:
            low, high, rests = self._crossed(found.ranked, corrector, wide)
            value = np.clip(value, low, high)
        errors = (high - low) / (2 * wide)
        with np.errstate(divide="ignore", invalid="ignore"):
            p_values = 2 * norm.sf(np.abs(value / errors))
        warn_of(found.names, rests)
        return pd.DataFrame(
            {
                "estimate": value,
                "standard_error": errors,
                "low": low,
                "high": high,
                "degrees_of_freedom": np.inf,  # all variances are known, none is estimated
                "p_value": p_values,
                "rests_on_measured": [r.value for r in rests],
            },
            index=pd.Index(found.names, name="statistic"),
        )

    def _crossed(
        self, ranked: statistics.Ranked, corrector: Corrector, wide: float
    ) -> tuple[np.ndarray, np.ndarray, list[Rests]]:
        """The ends of intervals of quantiles, and on what these rest."""
        distribution = Distribution(ranked, corrector, self.population)
        found = [distribution.interval(level, wide) for level in ranked.levels.tolist()]
        low, high, rests = zip(*found, strict=True) if found else ((), (), ())
        return np.array(low), np.array(high), list(rests)
