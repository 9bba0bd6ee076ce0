"""Noisy counts of parts of a whole, smoothed: what sets neighbours apart is kept if noise does not.

Counts of single ages or wages are mostly noise where rows are few, but halves of their range are
not. So differences are taken between halves, quarters, and so on (Haar), and at each of these
depths as much is kept of them as stands out from noise (James and Stein); all of a spike is.
"""

from collections.abc import Iterator

import numpy as np

from tabveil.shapes import Float, Int

CLEARLY = 3.0  # standard errors; a difference beyond them, as next to a spike, is kept as it is


def smoothed(
    counts: Float[np.ndarray, " parts"],
    usual: Float[np.ndarray, " parts"],
    parents: Int[np.ndarray, " parts"],
    scale: float,
) -> Float[np.ndarray, " parts"]:
    """Counts with noise of this scale, moved towards what is `usual` for parts of their wholes.

    Parts of a whole stand side by side. What they add up to is left to `usual`.

    >>> parents = np.zeros(4, int)
    >>> smoothed(np.array([9.0, 11.0, 29.0, 31.0]), np.full(4, 20.0), parents, 0.0).tolist()
    [9.0, 11.0, 29.0, 31.0]
    """
    ends = np.flatnonzero(np.diff(parents)) + 1
    wholes = zip([0, *ends.tolist()], [*ends.tolist(), len(parents)], strict=True)
    cuts = [cut for start, stop in wholes for cut in _cuts(start, stop, 0)]
    if not cuts:
        return usual
    depth, start, middle, stop = np.array(cuts).T
    before, after = middle - start, stop - middle
    below = np.concatenate([[0.0], np.cumsum(counts - usual)])
    # Each difference of means is divided by what noise makes of it: all carry the same noise.
    size = np.sqrt(1 / before + 1 / after)
    apart = (below[middle] - below[start]) / before - (below[stop] - below[middle]) / after
    apart /= size
    unclear = np.abs(apart) <= CLEARLY * scale
    noise = np.maximum(0, np.bincount(depth, unclear) - 2) * scale**2
    squares = np.bincount(depth, unclear * apart**2)
    kept = np.maximum(0.0, squares - noise) / np.where(squares > 0, squares, 1.0)
    apart *= np.where(unclear, kept[depth], 1.0) / size
    rises = np.zeros(len(counts) + 1)
    np.add.at(rises, start, apart / before)
    np.add.at(rises, middle, -apart / before - apart / after)
    np.add.at(rises, stop, apart / after)
    return usual + np.cumsum(rises)[:-1]


def _cuts(start: int, stop: int, depth: int) -> Iterator[tuple[int, int, int, int]]:
    """How deep, and where from, where and where to: halves, halves of these, down to one part."""
    if stop - start > 1:
        middle = (start + stop + 1) // 2
        yield depth, start, middle, stop
        yield from _cuts(start, middle, depth + 1)
        yield from _cuts(middle, stop, depth + 1)
