"""From the numbers of a column to its place between 0 and 1, and back."""

from dataclasses import dataclass

import numpy as np

from tabveil.queries.rows import GRID
from tabveil.schema import Numerical, Schema


@dataclass(frozen=True)
class MinMax:
    """Each column stretched from its public bounds to [0, 1]; nothing is learnt, so nothing is paid."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, schema: Schema) -> "MinMax":
        """The scale of the schema's numerical columns."""
        columns = [c for c in schema.columns.values() if isinstance(c, Numerical)]
        return cls(np.array([c.min for c in columns], float), np.array([c.max for c in columns], float))

    def positions(self, numbers: np.ndarray) -> np.ndarray:
        """Grid positions 0..GRID; each depends on its own cell alone."""
        share = (numbers - self.low) / (self.high - self.low)
        return np.rint(np.clip(share, 0.0, 1.0) * GRID).astype(np.int32)

    def numbers(self, shares: np.ndarray) -> np.ndarray:
        """The numbers at these places between 0 and 1."""
        return self.low + np.asarray(shares, float) * (self.high - self.low)
