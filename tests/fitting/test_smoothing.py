"""Noisy counts of parts lose noise, and neither spikes nor what they add up to."""

import numpy as np
import pytest

from tabveil.fitting.smoothing import smoothed

PARENTS = np.repeat(np.arange(12), 8)
NOISE = 30.0


def noisy(true: np.ndarray, seed: int = 0) -> np.ndarray:
    return true + np.random.default_rng(seed).normal(0, NOISE, len(true))


def test_parts_that_differ_by_noise_alone_come_much_closer_to_the_truth() -> None:
    true = np.repeat(np.linspace(300, 100, 12), 8)
    found = smoothed(noisy(true), true, PARENTS, NOISE)
    assert np.abs(found - true).mean() < 0.35 * np.abs(noisy(true) - true).mean()


def test_a_slope_inside_the_wholes_is_found_and_noise_is_not() -> None:
    true = 200 + np.tile(np.linspace(-100, 100, 8), 12)
    found = smoothed(noisy(true), np.full(96, 200.0), PARENTS, NOISE)
    assert np.abs(found - true).mean() < 0.8 * np.abs(noisy(true) - true).mean()


def test_a_spike_among_many_empty_parts_stays_as_high_as_it_was_counted() -> None:
    true = np.zeros(96)
    true[43] = 800.0
    usual = np.repeat(np.bincount(PARENTS, true) / 8, 8)
    found = smoothed(noisy(true), usual, PARENTS, NOISE)
    assert found[43] == pytest.approx(800, abs=4 * NOISE)
    assert np.abs(np.delete(found, 43)).mean() < NOISE


def test_what_parts_add_up_to_is_what_is_usual() -> None:
    usual = np.random.default_rng(1).uniform(0, 100, 96)
    found = smoothed(noisy(usual), usual, PARENTS, NOISE)
    assert np.bincount(PARENTS, found) == pytest.approx(np.bincount(PARENTS, usual))


def test_where_there_is_no_noise_nothing_is_smoothed() -> None:
    counts = np.random.default_rng(1).uniform(0, 100, 96)
    usual = np.repeat(np.bincount(PARENTS, counts) / 8, 8)
    assert smoothed(counts, usual, PARENTS, 0.0) == pytest.approx(counts)


def test_wholes_of_one_part_have_nothing_to_be_smoothed() -> None:
    usual = np.array([3.0, 5.0])
    assert smoothed(np.array([4.0, 9.0]), usual, np.arange(2), 1.0) is usual
