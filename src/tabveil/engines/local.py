"""Sums over the rows on this machine, batch by batch; exact integers, so batches add up to the same bits."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

Batch = TypeVar("Batch")


class Local:
    """One pass over the batches, in order."""

    def total(self, batches: Iterable[Batch], count: Callable[[Batch], list[np.ndarray]]) -> list[np.ndarray]:
        """The sum over all batches of the integer arrays that `count` gives for one batch."""
        totals: list[np.ndarray] = []
        for batch in batches:
            counted = count(batch)
            totals = [a + b for a, b in zip(totals, counted, strict=True)] if totals else counted
        return totals
