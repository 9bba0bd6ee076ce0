"""What every metric is given, and the rows it gives back."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tabveil.schema import Schema
from tabveil.tables.table import Domain, Table


@dataclass(frozen=True)
class Comparison:
    """Real and synthetic rows of one schema, encoded alike; `targets` index `domain.axes`.

    `answered` is shared by comparisons that differ in their synthetic rows alone.
    """

    schema: Schema
    domain: Domain
    real: Table
    synthetic: Table
    test: Table | None = None
    targets: tuple[int, ...] = ()
    seed: int = 0
    queries: int = 3000  # random ones of each kind
    references: bool = True  # whether to say what real rows reach, which costs as much again
    answered: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    """What the real rows answer to random queries, by the name of their score."""

    @property
    def features(self) -> tuple[int, ...]:
        """The categorical axes that are not targets."""
        return tuple(axis for axis in range(len(self.domain.axes)) if axis not in self.targets)

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The public minimum and maximum of every numeric column."""
        pairs = [(rule.min, rule.max) for rule in self.schema.numbers.values()]
        low, high = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        return low, high


@dataclass(frozen=True)
class Score:
    """One number: which metric, about what (a column, or mean or max of all), what real rows reach.

    >>> Score("correlation", "age × wage", 0.91, reference=0.98)
    Score(metric='correlation', subject='age × wage', value=0.91, reference=0.98)
    """

    metric: str
    subject: str
    value: float
    reference: float | None = None
