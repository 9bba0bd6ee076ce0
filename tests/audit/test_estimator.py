"""The estimator finds what is there, and hardly ever more."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from tabveil.audit.estimator import epsilon_of_gaussian, least_chance, lower_bound


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [(0.1, 1e-9, 0.000198332), (1, 1e-5, 0.0359257), (1, 1e-9, 0.0165574), (10, 1e-5, 2.00089)],
)
def test_the_epsilon_of_a_shift_matches_the_published_table(epsilon, delta, rho):
    assert epsilon_of_gaussian(math.sqrt(2 * rho), delta) == pytest.approx(epsilon, rel=1e-5)


def test_no_shift_and_a_tiny_shift_prove_nothing():
    assert epsilon_of_gaussian(0.0, 1e-5) == epsilon_of_gaussian(-1.0, 1e-5) == 0
    assert epsilon_of_gaussian(1e-6, 1e-5) == 0


def samples(mu: float, runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(0, 1, runs), random.normal(mu, 1, runs)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
def test_many_samples_prove_almost_all_of_the_loss(epsilon):
    low, high = 0.0, 10.0
    for _ in range(60):
        mu = (low + high) / 2
        low, high = (mu, high) if epsilon_of_gaussian(mu, 1e-5) < epsilon else (low, mu)
    found = lower_bound(*samples(mu, 200_000, seed=0), 1e-5)
    assert 0.9 * epsilon < found.epsilon < epsilon
    assert 0 < found.any_shape < found.epsilon


def test_a_bound_is_wrong_no_more_often_than_it_says():
    claimed = epsilon_of_gaussian(1.0, 1e-5)
    wrong = sum(
        lower_bound(*samples(1.0, 400, seed), 1e-5).epsilon > claimed for seed in range(400)
    )
    assert wrong <= 20  # 5 %


def test_more_confidence_proves_less():
    pair = samples(1.0, 1000, seed=1)
    assert lower_bound(*pair, 1e-5, 1 - 1e-6).epsilon < lower_bound(*pair, 1e-5, 0.95).epsilon


def test_worlds_that_never_look_alike_prove_what_the_number_of_runs_allows():
    apart = np.full(400, -math.inf), np.full(400, math.inf)
    found = lower_bound(*apart, 0.0)
    rate = 1 - 0.025 ** (1 / 300)  # Clopper and Pearson: no event in the 300 runs that count
    assert found.any_shape == pytest.approx(math.log((1 - rate) / rate))
    assert found.epsilon > 10


def test_worlds_that_always_look_alike_prove_nothing():
    assert lower_bound(np.zeros(100), np.zeros(100), 1e-5) == (0, 0)


def test_the_least_chance_is_that_under_which_so_many_events_are_just_believable():
    assert least_chance(0, 100, 0.95) == 0
    assert least_chance(100, 100, 0.95) == pytest.approx(0.05 ** (1 / 100))
    low = least_chance(7, 100, 0.95)
    assert binom.sf(6, 100, low) == pytest.approx(0.05)
