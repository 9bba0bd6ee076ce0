"""Categories drawn from relaxed rows, which hold a chance for each of them."""

from collections.abc import Callable

import numpy as np

from tabveil.tables.table import Domain

SLICE = 10_000_000  # numbers held at once


def drawn_codes(
    probabilities: np.ndarray, domain: Domain, rows: np.ndarray, levels: Callable[[], np.ndarray]
) -> np.ndarray:
    """Codes of synthetic rows, [rows, axes], each drawn from the relaxed row it comes from.

    `rows` says which relaxed row that is, and `levels` gives each row a number between 0 and 1,
    afresh for every axis.
    """
    codes = np.zeros((len(rows), len(domain.sizes)), np.int32)
    for axis, (start, size) in enumerate(zip(domain.offsets, domain.sizes, strict=True)):
        below = np.cumsum(probabilities[start : start + size], axis=0, dtype=np.float64)
        level = levels() * below[-1, rows]
        step = SLICE // size + 1
        for part in (slice(first, first + step) for first in range(0, len(rows), step)):
            reached = (below[:, rows[part]] <= level[part]).sum(axis=0)
            codes[part, axis] = np.minimum(reached, size - 1)
    return codes
