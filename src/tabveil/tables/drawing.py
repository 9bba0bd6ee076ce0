"""Categories and bins drawn from relaxed rows, which hold a chance for each of them."""

from collections.abc import Callable

import numpy as np

from tabveil.tables.table import Domain

SLICE = 10_000_000  # numbers held at once
LIKELY = 0.01  # the least chance of a place to which a copy of a relaxed row may be moved
TINY = 1e-12
MOST_TRIED = 100_000  # copies among which those to be moved are chosen

Levels = Callable[[], np.ndarray]
"""A number between 0 and 1 for each synthetic row, afresh each time."""
Settled = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The places of synthetic rows in one column, given its chances, once few have been moved."""


def drawn_codes(
    probabilities: np.ndarray,
    domain: Domain,
    rows: np.ndarray,
    levels: Levels,
    settled: Settled = lambda places, chances: places,
) -> np.ndarray:
    """Codes of synthetic rows, [rows, axes], each drawn from the relaxed row it comes from.

    `rows` says which relaxed row that is, `settled` what becomes of the codes of an axis.
    """
    codes = np.zeros((len(rows), len(domain.sizes)), np.int32)
    for axis, (start, size) in enumerate(zip(domain.offsets, domain.sizes, strict=True)):
        chances = probabilities[start : start + size]
        codes[:, axis] = settled(drawn_places(chances, rows, levels()), chances)
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
    return _evenly(shuffled[np.argsort(groups[shuffled], kind="stable")], groups, random)


def levels_in_order(
    groups: np.ndarray, values: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """The same, but in the order that these values of the rows have."""
    return _evenly(np.lexsort((values, groups)), groups, random)


def _evenly(order: np.ndarray, groups: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Numbers from 0 to 1 in this order of the rows, group by group."""
    ordered = groups[order]
    first = np.searchsorted(ordered, ordered, "left")
    held = np.searchsorted(ordered, ordered, "right") - first
    rank, size = np.empty(len(groups)), np.empty(len(groups))
    rank[order], size[order] = np.arange(len(groups)) - first, held
    return (rank + random.random(len(groups))) / size


def as_often(
    places: np.ndarray,
    chances: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    random: np.random.Generator,
) -> np.ndarray:
    """Few rows moved, so that each place comes as often as relaxed rows of these weights say.

    What copies of each relaxed row are rounded by adds up over relaxed rows. Moved are those whose
    relaxed row gives the place where they lack the best odds.
    """
    whole = chances.sum(axis=0, dtype=np.float64)
    chances = chances / np.where(whole > 0, whole, 1.0)
    shares = chances @ weights
    if not shares.sum() > 0:
        return places
    wanted = _whole_numbers(shares, len(rows), random)
    spare = np.bincount(places, minlength=len(chances)) - wanted
    places = places.copy()
    for lacking in np.flatnonzero(spare < 0).tolist():
        some = _some(np.flatnonzero(spare[places] > 0), random)
        here, there = (chances[place, rows[some]] for place in (places[some], lacking))
        likely = there > LIKELY
        some, odds = some[likely], there[likely] / np.maximum(here[likely], TINY)
        # The largest of these keys are a sample with chances as the odds (Gumbel).
        some = some[np.argsort(-np.log(odds) - random.gumbel(size=len(some)), kind="stable")]
        moved = some[_number_in_group(places[some]) < spare[places[some]]][: -spare[lacking]]
        spare -= np.bincount(places[moved], minlength=len(spare))
        spare[lacking] += len(moved)
        places[moved] = lacking
    return places


def _whole_numbers(shares: np.ndarray, total: int, random: np.random.Generator) -> np.ndarray:
    """Whole numbers that add up to `total`, each next to its share of it."""
    below = np.concatenate([[0.0], np.cumsum(shares / shares.sum(), dtype=np.float64)])
    below[-1] = 1.0
    return np.diff(np.floor(below * total + random.random()).astype(int))


def _some(rows: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if len(rows) <= MOST_TRIED:
        return rows
    return rows[np.unique(random.integers(0, len(rows), MOST_TRIED))]


def _number_in_group(groups: np.ndarray) -> np.ndarray:
    """How many members of the same group stand before each."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    numbers = np.empty(len(groups), int)
    numbers[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered, "left")
    return numbers
