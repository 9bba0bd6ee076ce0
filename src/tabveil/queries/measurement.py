"""A noisy answer in words and numbers, as it is published."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """The noisy counts of one query, and the standard deviation of the noise in each."""

    family: str
    query: str
    standard_error: float
    cells: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Measurement":
        """The measurement that a file spells out; a file may say anything."""
        found = cls(
            **{**content, "cells": tuple(content["cells"]), "counts": tuple(content["counts"])}
        )
        right = (
            all(isinstance(text, str) for text in (found.family, found.query, *found.cells))
            and all(type(count) is int for count in found.counts)
            and len(found.cells) == len(found.counts)
            and 0 <= found.standard_error < math.inf
        )
        if not right:
            raise ValueError("not a measurement")
        return found
