"""Numbers drawn from relaxed rows: each kind keeps its promise, on its own and through a file."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.tables.numbers import KINDS, Binned, Mixed, Positions, RelaxedNumbers
from tabveil.tables.placement import GRID

COLUMNS, ROWS = 2, 40


def positions(random: np.random.Generator) -> Positions:
    places = random.uniform(0.05, 0.95, (COLUMNS, ROWS)).astype(np.float32)
    return Positions(places, np.full_like(places, 0.02))


def binned(random: np.random.Generator, rows: int = ROWS) -> Binned:
    edges = [np.sort(random.choice(np.arange(1, GRID), size, replace=False)) for size in (3, 6)]
    chances = random.random((sum(map(len, edges)) + COLUMNS, rows)).astype(np.float32)
    return Binned.cut(chances, edges)


def mixed(random: np.random.Generator) -> Mixed:
    half = ROWS // 2
    places, bins = positions(random), binned(random, ROWS - half)
    first = Positions(places.positions[:, :half], places.slack[:, :half])
    return Mixed(first, bins)


MADE = {"positions": positions, "bins": binned, "positions and bins": mixed}


@pytest.fixture(params=KINDS)
def numbers(request: pytest.FixtureRequest) -> RelaxedNumbers:
    return MADE[request.param](np.random.default_rng(0))


def drawn(numbers: RelaxedNumbers, copies: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    rows = np.repeat(np.arange(ROWS), copies)
    return numbers.drawn(rows, np.ones(ROWS), lambda: random.random(len(rows)), random)


def test_places_lie_between_0_and_1(numbers: RelaxedNumbers) -> None:
    found = drawn(numbers, 50)
    assert found.shape == (50 * ROWS, COLUMNS)
    assert (found >= 0).all() and (found <= 1).all()


def test_a_file_gives_back_the_same_numbers(numbers: RelaxedNumbers) -> None:
    arrays = numbers.to_arrays()
    assert tuple(arrays) == numbers.arrays
    again = KINDS[numbers.to_dict()["kind"]].read(numbers.to_dict(), *arrays.values())
    assert (drawn(again, 5) == drawn(numbers, 5)).all()
    assert again.fits(COLUMNS, ROWS) and not again.fits(COLUMNS + 1, ROWS)
    assert not again.fits(COLUMNS, ROWS + 1)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 1000),
    ends=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_what_is_known_to_lie_between_two_ends_is_drawn_there(
    kind: str, seed: int, ends: tuple[float, float]
) -> None:
    start, stop = sorted(ends)
    before = MADE[kind](np.random.default_rng(seed))
    share, after = before.between(1, start, stop)
    assert share.shape == (ROWS,) and (share >= 0).all() and (share <= 1 + 1e-6).all()
    possible = np.repeat(share > 1e-6, 30)
    found = drawn(after, 30, seed)
    assert ((found[possible, 1] >= start - 1e-6) & (found[possible, 1] <= stop + 1e-6)).all()
    other = drawn(before, 30, seed)[:, 0]
    assert np.histogram(found[:, 0], 4)[0].sum() == np.histogram(other, 4)[0].sum()


def test_the_share_is_that_of_the_drawn_rows() -> None:
    for made in MADE.values():
        numbers = made(np.random.default_rng(3))
        share, _ = numbers.between(0, 0.3, 0.6)
        found = drawn(numbers, 4000)[:, 0]
        inside = ((found >= 0.3) & (found <= 0.6)).reshape(ROWS, -1).mean(axis=1)
        assert share == pytest.approx(inside, abs=0.05)


def test_bins_are_drawn_by_chance_and_filled_evenly() -> None:
    chances = np.array([[0.1] * ROWS, [0.9] * ROWS], np.float32)
    found = drawn(Binned.cut(chances, [np.array([GRID // 2])]), 500)[:, 0]
    assert (found < 0.5).mean() == pytest.approx(0.1, abs=0.01)
    low = np.sort(found[found < 0.5])
    even = (np.arange(len(low)) + 0.5) / len(low) / 2
    assert np.abs(low - even).max() < 2 / len(low)  # far more even than by luck


def neighbours() -> Binned:
    """Young rows lie in the first two bins of three, old ones in the last two."""
    young, old = (np.array([[2, 1, 0], [0, 1, 2]]) / 3).astype(np.float32)
    chances = np.where(np.arange(ROWS) < ROWS // 2, young[:, None], old[:, None])
    return Binned.cut(chances, [np.array([GRID // 4, 3 * GRID // 4])])


def test_inside_a_bin_rows_lie_towards_the_bin_that_suits_them_better() -> None:
    found = drawn(neighbours(), 500)[:, 0].reshape(ROWS, -1)
    young, old = np.sort(found[: ROWS // 2].ravel()), np.sort(found[ROWS // 2 :].ravel())
    inside = [part[(part > 0.25) & (part < 0.75)] for part in (young, old)]
    assert inside[0].mean() < 0.43 and inside[1].mean() > 0.57  # 0.5 without it
    both = np.sort(np.concatenate(inside))
    even = 0.25 + (np.arange(len(both)) + 0.5) / len(both) / 2
    assert np.abs(both - even).max() < 2 / len(both)  # together they fill the bin evenly


def test_rows_that_are_all_alike_lean_nowhere() -> None:
    chances = np.repeat(np.array([[0.5], [0.4], [0.1]], np.float32), ROWS, axis=1)
    assert not Binned.cut(chances, [np.array([GRID // 4, GRID // 2])]).leaning.any()


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(1, 99), min_size=1, max_size=3, unique=True))
def test_the_parts_of_bins_that_lean_add_up_to_the_whole(cuts: list[int]) -> None:
    numbers, ends = neighbours(), [0.0, *(cut / 100 for cut in sorted(cuts)), 1.0]
    parts = [numbers.between(0, *pair)[0] for pair in pairwise(ends)]
    assert np.sum(parts, axis=0) == pytest.approx(np.ones(ROWS), abs=1e-5)
    _, half = numbers.between(0, 0.0, ends[1])  # a part of a part is as if taken at once
    share, _ = half.between(0, 0.0, ends[1] / 2)
    assert share * parts[0] == pytest.approx(numbers.between(0, 0.0, ends[1] / 2)[0], abs=1e-5)


def test_bins_that_a_file_got_wrong_do_not_fit() -> None:
    good = binned(np.random.default_rng(0))
    empty = good.chances.copy()
    empty[:4, 0] = 0
    assert not replace(good, chances=empty).fits(COLUMNS, ROWS)
    backwards = {"kind": "bins", "edges": [[500, 400, 600], [1, 2, 3, 4, 5, 6]]}
    assert not Binned.read(backwards, good.chances).fits(COLUMNS, ROWS)
