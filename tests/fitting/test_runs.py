"""How numbers usually lie: runs that grow away from zero, and rows that become fewer there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabveil.fitting.runs import cut, looseness, spread, tails

POINTS = st.integers(-(10**6), 10**6)


@given(start=POINTS, length=st.integers(1, 10**6), pieces=st.integers(1, 200), zero=POINTS)
def test_runs_hold_every_point_once(start: int, length: int, pieces: int, zero: int) -> None:
    runs = cut(start, start + length, pieces, zero, by_size=0.6)
    assert runs[0, 0] == start and runs[-1, 1] == start + length
    assert (runs[1:, 0] == runs[:-1, 1]).all() and (runs[:, 1] > runs[:, 0]).all()
    assert len(runs) <= pieces + 3


@pytest.mark.parametrize("zero", [0, 300, 999])
def test_zero_is_a_run_of_its_own(zero: int) -> None:
    assert [zero, zero + 1] in cut(0, 1000, 8, zero, by_size=0.6).tolist()


def test_far_from_zero_runs_are_of_about_equal_length() -> None:
    lengths = np.diff(cut(1900, 2030, 10, zero=0, by_size=0.5), axis=1)
    assert lengths.max() <= 26  # years: ends of both kinds lie between each other


def test_rows_beyond_those_heard_become_fewer_away_from_zero_on_both_sides() -> None:
    runs = cut(-1000, 1000, 40, zero=0, by_size=0.5)
    heard = np.flatnonzero((runs[:, 0] >= -20) & (runs[:, 1] <= 30))
    before, after = tails(np.full(len(heard), 50.0), runs, heard[0], zero=0)
    dense_before = before / np.diff(runs[: heard[0]], axis=1)[:, 0]
    dense_after = after / np.diff(runs[heard[-1] + 1 :], axis=1)[:, 0]
    assert (np.diff(dense_before) > 0).all() and (np.diff(dense_after) < 0).all()
    assert before.sum() < 50 * len(heard) and after.sum() < 50 * len(heard)


@given(start=POINTS, length=st.integers(2, 10**6), zero=POINTS, ends=st.tuples(POINTS, POINTS))
def test_what_is_heard_may_be_off_the_most_and_beyond_it_ever_less(
    start: int, length: int, zero: int, ends: tuple[int, int]
) -> None:
    runs = cut(start, start + length, 20, zero, by_size=0.5)
    first, last = sorted(int(np.clip(end - start, 0, length - 1)) % len(runs) for end in ends)
    heard = int(runs[first, 0]), int(runs[last, 1])
    loose = looseness(runs, zero, heard)
    assert (loose > 0).all() and (loose <= 1).all() and (loose[first : last + 1] == 1).all()
    if heard[1] - zero > 10:
        assert (np.diff(loose[last:]) <= 0).all()
    if zero - heard[0] > 10:
        assert (np.diff(loose[: first + 1]) >= 0).all()


def test_where_rows_are_heard_at_zero_alone_others_may_be_of_any_size() -> None:
    runs = np.array([[0, 1], [1, 31], [31, 1023], [1023, 2047]])
    loose = looseness(runs, zero=0, heard=(0, 1))
    assert loose[2] == 1 and loose[1] == pytest.approx(0.8) and loose[3] == pytest.approx(0.2)


@given(
    masses=st.lists(st.floats(0, 1e4), min_size=3, max_size=12),
    zero=st.integers(-50, 5000),
    seed=st.integers(0, 1000),
)
def test_spread_runs_hold_the_same_rows_in_the_same_order(
    masses: list[float], zero: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    ends = np.cumsum(random.integers(1, 1000, len(masses) + 1)).tolist()
    runs = list(zip(ends[:-1], ends[1:], masses, strict=True))
    found = spread(runs, zero, (ends[1], ends[-2]))
    starts, stops, held = map(np.array, zip(*found, strict=True))
    assert starts[0] == ends[0] and stops[-1] == ends[-1] and (starts[1:] == stops[:-1]).all()
    places = np.searchsorted(ends, starts, "right") - 1
    assert np.bincount(places, held) == pytest.approx(np.array(masses), abs=1e-6)


def test_a_long_run_in_the_tail_holds_most_of_its_rows_near_its_start() -> None:
    (*_,), found = [], spread([(0, 1, 900.0), (1, 100, 90.0), (100, 100_000, 10.0)], 0, (0, 100))
    near = sum(held for _, stop, held in found if 100 < stop <= 1000)
    assert near > 9
