"""From the same statistic of several replicates to one estimate, by the rules for imputation."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import chi2
from scipy.stats import t as student

from tabveil.errors import InvalidInput
from tabveil.inference.correction import allowance, most_hidden
from tabveil.inference.replicates import Replicates
from tabveil.inference.rests import Rests, require_level, warn_of, warn_of_noise
from tabveil.shapes import Float

RESAMPLES = 5  # of each replicate
PAIRS = 0.75  # taken as measured, where columns were measured two by two only
DROWNED = 3.0
"""How many times the variance of sampling noise may add, for replicates to follow the answers.

Rows cannot be negative, noisy counts can: beyond, replicates are held back near the model.
"""
CLEARLY = 0.9
"""How sure that must be, as few replicates say little of how far they differ."""
TINY = 1e-300  # instead of no variance at all
MANY = 1e6  # of which more make no difference

Function = Callable[[Any], Any]


class Combined(NamedTuple):
    """Rubin's rules: what replicates say together, and how sure that is."""

    centre: np.ndarray
    variance: np.ndarray
    freedom: np.ndarray  # degrees of it

    @classmethod
    def of(cls, found: Float[np.ndarray, "replicates values"], within: Any) -> "Combined":
        """Values by replicate, each with a variance of its own `within` one."""
        count = len(found)
        between = np.maximum((1 + 1 / count) * found.var(axis=0, ddof=1), TINY)
        freedom = (count - 1) * (1 + np.minimum(within / between, MANY)) ** 2
        return cls(found.mean(axis=0), within + between, freedom)

    def wide(self, level: float) -> np.ndarray:
        """Half the width of an interval."""
        return np.asarray(student.ppf((1 + level) / 2, self.freedom) * np.sqrt(self.variance))


def estimate(
    replicates: Replicates,
    statistic: Function,
    *,
    level: float = 0.95,
    population: bool = True,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """Any function of a table, such as `lambda t: t.wage.mean()`, with its standard error.

    It may return a number, or several as a Series or a dict. Noise is seen in how replicates
    differ, the choice of people in how resampled rows of each differ, and what was not measured in
    how rows resampled inside measured cells do. With `population=False` the estimate is about the
    people in the table alone.
    """
    require_level(level)
    tried = Tried(replicates, statistic, resamples, np.random.default_rng(seed))
    columns, sampling = tried.columns(), tried.sampling()
    measured = tried.measured(columns, sampling)
    spread = len(tried.frames[0]) * sampling
    inside = allowance(measured, len(columns)) * (1 - measured)
    model = (inside + most_hidden(replicates.hidden, columns)) * spread
    combined = Combined.of(tried.values, model + (sampling if population else 0.0))
    centre, error, wide = combined.centre, np.sqrt(combined.variance), combined.wide(level)
    parts = model / combined.variance
    rests = [Rests.of(*both) for both in zip(measured.tolist(), parts.tolist(), strict=True)]
    drowned = tried.drowned(sampling)
    weakened = [Rests.PARTLY if found else Rests.YES for found in drowned]
    rests = [Rests.weakest(*both) for both in zip(rests, weakened, strict=True)]
    warn_of(tried.names, rests)
    warn_of_noise(tried.names, drowned)
    return pd.DataFrame(
        {
            "estimate": centre,
            "standard_error": error,
            "low": centre - wide,
            "high": centre + wide,
            "degrees_of_freedom": combined.freedom,
            "p_value": 2 * student.sf(np.abs(centre) / error, combined.freedom),
            "rests_on_measured": [r.value for r in rests],
        },
        index=pd.Index(tried.names, name="statistic"),
    )


@dataclass
class Tried:
    """A function of tables, and the replicates that it is tried on."""

    replicates: Replicates
    statistic: Function
    resamples: int
    random: np.random.Generator

    def __post_init__(self) -> None:
        self.frames = [pd.DataFrame(table) for table in self.replicates.tables]
        self.names = [str(name) for name in self._series(self.frames[0]).index]
        self.values = np.stack([self._of(frame) for frame in self.frames])  # of each replicate

    def sampling(self) -> np.ndarray:
        """The variance that comes from the people being a sample."""
        return self._spread(lambda frame: lambda: self.random.integers(len(frame), size=len(frame)))

    def drowned(self, sampling: np.ndarray) -> list[bool]:
        """Whether noise clearly adds more than replicates can follow."""
        left = len(self.values) - 1
        between = self.values.var(axis=0, ddof=1) * left / chi2.ppf(CLEARLY, left)
        return (between > DROWNED * sampling).tolist()

    def columns(self) -> list[str]:
        """The columns that the function looks at: with cells drawn anew, it says another thing."""
        frame, found = self.frames[0], []
        for name in frame.columns:
            anew = frame[name].iloc[self.random.integers(len(frame), size=len(frame))]
            other = self._of(frame.assign(**{name: anew.reset_index(drop=True)}))
            if not np.allclose(other, self.values[0], rtol=1e-12, atol=0, equal_nan=True):
                found.append(name)
        return found

    def measured(self, columns: Collection[str], sampling: np.ndarray) -> np.ndarray:
        """How much of the variance measured cells decide: what is left if rows stay inside them."""
        if not self.replicates.measures(columns):
            pairs = PAIRS if self.replicates.pairwise(columns) else 0.0
            return np.full(len(sampling), pairs)
        left = self._spread(lambda frame: self._inside(self.replicates.cells(frame, columns)))
        return np.clip(1 - left / np.maximum(sampling, TINY), 0, 1)

    def _inside(self, cells: np.ndarray) -> Callable[[], np.ndarray]:
        """Draws for every row another of the same cell."""
        order = np.argsort(cells, kind="stable")
        first = np.searchsorted(cells[order], cells[order], "left")
        held = np.searchsorted(cells[order], cells[order], "right") - first
        return lambda: order[first + np.floor(self.random.random(len(order)) * held).astype(int)]

    def _spread(self, drawn: Callable[[pd.DataFrame], Callable[[], np.ndarray]]) -> np.ndarray:
        """The variance over tables of rows that are drawn again from one replicate."""
        moved = []
        for frame, value in zip(self.frames, self.values, strict=True):
            rows = drawn(frame)
            for _ in range(self.resamples):
                again = frame.iloc[rows()].reset_index(drop=True)
                moved.append((self._of(again) - value) ** 2)
        return np.mean(moved, axis=0)

    def _of(self, frame: pd.DataFrame) -> np.ndarray:
        found = self._series(frame)
        if [str(name) for name in found.index] != self.names:
            raise InvalidInput(
                "The function gave values of other names for another replicate.",
                "Name them all, also where a value does not occur: reindex, or .get(name, 0).",
            )
        return found.to_numpy()

    def _series(self, frame: pd.DataFrame) -> pd.Series:
        found = self.statistic(frame)
        try:
            index = None if hasattr(found, "__len__") else ["estimate"]
            return pd.Series(found, index=index, dtype=float)
        except (TypeError, ValueError):
            raise InvalidInput(
                "The function gave something that is no number.",
                "Let it return a number, or a Series or dict of numbers.",
            ) from None
