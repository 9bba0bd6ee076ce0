"""Numbers drawn from relaxed rows: each kind keeps its promise, on its own and through a file."""

from dataclasses import replace

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


def binned(random: np.random.Generator) -> Binned:
    edges = [np.sort(random.choice(np.arange(1, GRID), size, replace=False)) for size in (3, 6)]
    chances = random.random((sum(map(len, edges)) + COLUMNS, ROWS)).astype(np.float32)
    return Binned.cut(chances, edges)


def mixed(random: np.random.Generator) -> Mixed:
    places, bins = positions(random), binned(random)
    half = ROWS // 2
    first = Positions(places.positions[:, :half], places.slack[:, :half])
    return Mixed(first, replace(bins, chances=bins.chances[:, half:]))


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


def test_bins_that_a_file_got_wrong_do_not_fit() -> None:
    good = binned(np.random.default_rng(0))
    empty = good.chances.copy()
    empty[:4, 0] = 0
    assert not Binned(empty, good.ends).fits(COLUMNS, ROWS)
    backwards = {"kind": "bins", "edges": [[500, 400, 600], [1, 2, 3, 4, 5, 6]]}
    assert not Binned.read(backwards, good.chances).fits(COLUMNS, ROWS)
