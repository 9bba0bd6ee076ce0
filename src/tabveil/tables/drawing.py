"""Categories and bins drawn from relaxed rows, which hold a chance for each of them."""

from collections.abc import Callable

import numpy as np

from tabveil.tables.table import Domain

SLICE = 10_000_000  # numbers held at once

Levels = Callable[[], np.ndarray]
"""A number between 0 and 1 for each synthetic row, afresh each time."""


def drawn_codes(
    probabilities: np.ndarray, domain: Domain, rows: np.ndarray, levels: Levels
) -> np.ndarray:
    """Codes of synthetic rows, [rows, axes], each drawn from the relaxed row it comes from.

    `rows` says which relaxed row that is.
    """
    codes = np.zeros((len(rows), len(domain.sizes)), np.int32)
    for axis, (start, size) in enumerate(zip(domain.offsets, domain.sizes, strict=True)):
        codes[:, axis] = drawn_places(probabilities[start : start + size], rows, levels())
    return codes


def drawn_places(chances: np.ndarray, rows: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """One of the lines of `chances`, [places, relaxed], for each synthetic row."""
    below = np.cumsum(chances, axis=0, dtype=np.float64)
    level = levels * below[-1, rows]
    places = np.zeros(len(rows), np.int32)
    step = SLICE // len(chances) + 1
    for part in (slice(first, first + step) for first in range(0, len(rows), step)):
        reached = (below[:, rows[part]] <= level[part]).sum(axis=0)
        places[part] = np.minimum(reached, len(chances) - 1)
    return places


def even_levels(groups: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A uniform number per row, spread evenly over the rows of one group.

    Copies of a relaxed row then take each category as often as its probability says, up to
    rounding, not by luck.
    """
    shuffled = random.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    ordered = groups[order]
    first = np.searchsorted(ordered, ordered, "left")
    held = np.searchsorted(ordered, ordered, "right") - first
    rank, size = np.empty(len(groups)), np.empty(len(groups))
    rank[order], size[order] = np.arange(len(groups)) - first, held
    return (rank + random.random(len(groups))) / size
