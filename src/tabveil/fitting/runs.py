"""How numbers usually lie: many near zero, fewer and fewer away from it. Public, a guess.

Wages, interest, hours and ages differ in scale by far more than in this. Noisy counts say how many
rows a run of points holds; where it is cut, and what is too rare to be heard, follows from here.
"""

import numpy as np

from tabveil.shapes import Float, Int

Run = tuple[int, int, float]
"""The points from one to before another, and how many rows they hold."""

THINNING = 3.0
"""The power of the distance that rows beyond it fall with, where they are too few to be heard."""
BESIDE_ZERO = 8
"""Points from zero: rows that pile up there do not say how far others lie."""
STEEPEST = 2.5
"""The power that rows in a run fall with, at most, where its neighbours say how steeply."""
PARTS = 16
"""That a long run is spread over."""
LONG = 1.5
"""Of a run: how many times farther its end is from zero than its start."""


def cut(start: int, stop: int, pieces: int, zero: int, by_size: float) -> Int[np.ndarray, "runs 2"]:
    """Points cut into runs of nearly equal length, but the share `by_size` grow away from zero.

    >>> cut(0, 1000, 4, zero=0, by_size=0.5).tolist()
    [[0, 1], [1, 31], [31, 500], [500, 1000]]
    """
    if stop - start <= pieces:
        return points(start, stop)
    sized = max(1, round(pieces * by_size))
    even = np.linspace(start, stop, pieces - sized + 1)
    sizes = np.linspace(_size(start - zero), _size(stop - zero), sized + 1)
    away = zero + np.sign(sizes) * np.expm1(np.abs(sizes))
    alone = [zero, zero + 1]  # where the most rows pile up
    ends = np.concatenate([[start, stop], even, away, alone]).round().astype(np.int64)
    ends = np.unique(np.clip(ends, start, stop))
    return np.stack([ends[:-1], ends[1:]], 1)


def points(start: int, stop: int) -> Int[np.ndarray, "runs 2"]:
    """Each point as a run of its own."""
    found = np.arange(start, stop)
    return np.stack([found, found + 1], 1)


def tails(
    held: Float[np.ndarray, " some"], runs: Int[np.ndarray, "runs 2"], first: int, zero: int
) -> tuple[Float[np.ndarray, " before"], Float[np.ndarray, " after"]]:
    """How many rows to expect in the runs before, and after, those that `held` so many."""
    last = first + len(held) - 1
    before = _thinner(zero - runs[first::-1, ::-1], held[0])
    return before[::-1], _thinner(runs[last:] - zero, held[-1])


def looseness(
    runs: Int[np.ndarray, "runs 2"], zero: int, heard: tuple[int, int]
) -> Float[np.ndarray, " runs"]:
    """How many rows each run may lack, or have too many, where one that was `heard` may have 1.

    Beyond the last of these it is less and less. Where rows are heard at zero alone, others may be
    of any size: so many in each doubling of it.

    >>> runs = np.array([[0, 50], [50, 100], [100, 200]])
    >>> looseness(runs, zero=0, heard=(0, 50)).tolist()
    [1.0, 1.0, 0.125]
    """
    found = np.ones(len(runs))
    for near, far, end in (
        (runs[:, 0] - zero, runs[:, 1] - zero, heard[1] - zero),
        (zero - runs[:, 1], zero - runs[:, 0], zero - heard[0]),
    ):
        beyond = near >= max(end, 0)
        if end > BESIDE_ZERO:
            found[beyond] = (end / near[beyond]) ** THINNING
        elif beyond.any():
            doublings = np.log1p(far[beyond]) - np.log1p(near[beyond])
            found[beyond] = doublings / doublings.max()
    return found


def spread(runs: list[Run], zero: int, heard: tuple[int, int]) -> list[Run]:
    """Long runs in parts that hold fewer rows away from zero, as their neighbours let expect.

    Outside the points that were `heard` they fall as numbers usually do.
    """
    found: list[Run] = []
    for place, (start, stop, held) in enumerate(runs):
        side = -1 if stop <= zero else 1
        near, far = (start - zero, stop - zero) if side > 0 else (zero - stop, zero - start)
        if near < 0 or far < LONG * (near + 1) or stop - start <= 2:
            found.append((start, stop, held))
            continue
        inner = runs[place - side] if 0 <= place - side < len(runs) else None
        outside = start >= heard[1] or stop <= heard[0]
        power = THINNING + 1 if outside else _steepness((start, stop, held), inner, zero)
        ends = np.expm1(np.linspace(np.log1p(near), np.log1p(far), PARTS + 1)).round()
        ends = np.unique(ends.astype(np.int64))
        shares = np.diff(ends) * np.sqrt((1.0 + ends[1:]) * (1.0 + ends[:-1])) ** -power
        parts = held * shares / shares.sum()
        between = zip(ends[:-1].tolist(), ends[1:].tolist(), parts.tolist(), strict=True)
        cells = [(zero + a, zero + b, part) for a, b, part in between]
        found += cells if side > 0 else [(2 * zero - b, 2 * zero - a, m) for a, b, m in cells[::-1]]
    return found


def _size(distance: int) -> float:
    return float(np.sign(distance) * np.log1p(abs(distance)))


def _thinner(distances: Int[np.ndarray, "runs 2"], held: float) -> np.ndarray:
    """Rows in runs farther and farther from zero, after a first one that holds so many."""
    beyond = (1.0 + np.maximum(distances, 0)) ** -THINNING
    shares = beyond[:, 0] - beyond[:, 1]
    return held * shares[1:] / shares[0] if shares[0] > 0 else np.zeros(len(shares) - 1)


def _steepness(run: Run, inner: Run | None, zero: int) -> float:
    """The power of the distance that rows fall with, from the run nearer to zero to this one."""
    if inner is None or (inner[0] < zero) != (run[0] < zero):
        return 0.0
    (here, density), (there, denser) = (
        (np.sqrt((1.0 + abs(a - zero)) * (1.0 + abs(b - zero))), max(held, 1e-9) / (b - a))
        for a, b, held in (run, inner)
    )
    return float(np.clip(np.log(denser / density) / np.log(here / there), 0.0, STEEPEST))
