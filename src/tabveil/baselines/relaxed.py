"""Rows drawn from relaxed ones, which hold a chance for each category."""

import numpy as np

from tabveil.baselines.binned import Codes
from tabveil.fitting.projection import Relaxed
from tabveil.tables.table import Domain


def drawing(table: Relaxed, domain: Domain) -> Codes:
    """Codes drawn from a relaxed table; every row of it is used about as often."""
    probabilities = np.asarray(table.probabilities)

    def codes(rows: int, random: np.random.Generator) -> np.ndarray:
        chosen = random.permutation(np.arange(rows) % probabilities.shape[1])
        return codes_of_each(probabilities[:, chosen], domain, random)

    return codes


def codes_of_each(
    probabilities: np.ndarray, domain: Domain, random: np.random.Generator
) -> np.ndarray:
    """One drawn row for each relaxed row, in their order."""
    rows = probabilities.shape[1]
    codes = np.zeros((rows, len(domain.sizes)), np.int32)
    for axis, (start, size) in enumerate(zip(domain.offsets, domain.sizes, strict=True)):
        below = np.cumsum(probabilities[start : start + size], axis=0, dtype=np.float64)
        reached = (below <= random.random(rows) * below[-1]).sum(axis=0)
        codes[:, axis] = np.minimum(reached, size - 1)
    return codes
