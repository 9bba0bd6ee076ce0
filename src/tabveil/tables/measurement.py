"""A noisy answer as data, as it is published."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabveil.tables.sides import (
    Side,
    cells_in_words,
    query_in_words,
    side_from_dict,
    side_to_dict,
)


@dataclass(frozen=True, eq=False)
class Measurement:
    """The noisy counts of one query, and the standard deviation of the noise in each."""

    family: str
    sides: tuple[Side, ...]
    counts: np.ndarray  # whole numbers, one axis per side; without sides a single number
    standard_error: float

    @classmethod
    def of(
        cls, family: str, sides: Sequence[Side], cells: np.ndarray, standard_error: float
    ) -> "Measurement":
        """The measurement whose cells, one after another, hold these counts."""
        shape = tuple(len(side.cells) for side in sides)
        counts = np.asarray(cells, np.int64).reshape(shape)
        return cls(family, tuple(sides), counts, standard_error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measurement) and self.to_dict() == other.to_dict()

    @property
    def query(self) -> str:
        """What was asked, in words."""
        return query_in_words(self.sides)

    @property
    def cells(self) -> list[str]:
        """Every cell in words, in the order of the flattened counts."""
        return cells_in_words(self.sides)

    def to_dict(self) -> dict[str, Any]:
        """A form for JSON."""
        return {
            "family": self.family,
            "standard_error": self.standard_error,
            "sides": [side_to_dict(side) for side in self.sides],
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Measurement":
        """The measurement that a file spells out; a file may say anything."""
        family, error = content["family"], content["standard_error"]
        sides = tuple(map(side_from_dict, content["sides"]))
        counts = np.array(content["counts"], object)  # numpy would turn what is mixed into floats
        right = (
            isinstance(family, str)
            and type(error) in (int, float)
            and 0 <= error < math.inf
            and all(type(count) is int for count in counts.flat)
            and counts.shape == tuple(len(side.cells) for side in sides)
        )
        if not right:
            raise ValueError("not a measurement")
        return cls(family, sides, counts.astype(np.int64), float(error))
