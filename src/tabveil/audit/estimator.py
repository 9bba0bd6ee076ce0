"""How much privacy loss two samples prove: a lower bound on ε, wrong by a small, stated chance."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import beta, norm

SHOWN = 0.95  # the confidence of the bounds in the table
ALARM = 1 - 1e-6  # and of those that say a claim is broken: dozens of audits must not cry wolf
MOST_THRESHOLDS = 200


class Bound(NamedTuple):
    """Lower bounds on ε: for privacy loss shaped like Gaussian noise, and for any shape."""

    epsilon: float
    any_shape: float


def lower_bound(
    without: np.ndarray, present: np.ndarray, delta: float, confidence: float = SHOWN
) -> Bound:
    """What it takes to explain how well a threshold on a statistic tells neighbouring tables apart.

    The statistic should be larger where the target is `present`. A quarter of each sample chooses
    the threshold, the rest bounds its two error rates (Clopper and Pearson), each with half the
    risk.
    """
    chosen = _best_threshold(without[::4], present[::4], confidence)
    without, present = (np.delete(sample, np.s_[::4]) for sample in (without, present))
    false_alarms, misses = _error_bounds(without, present, np.array([chosen]), confidence)
    mu = float(_mu(false_alarms, misses)[0])
    return Bound(
        epsilon_of_gaussian(mu, delta), _any_shape(float(false_alarms[0]), float(misses[0]), delta)
    )


def least_chance(events: int, trials: int, confidence: float) -> float:
    """The smallest probability that still explains so many events."""
    return float(1 - _clopper_pearson(np.array(trials - events), trials, 1 - confidence))


def epsilon_of_gaussian(mu: float, delta: float) -> float:
    """The ε at this δ of unit Gaussian noise that hides a shift of μ (Balle and Wang, 2018)."""
    if mu <= 0 or _delta_of_gaussian(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while _delta_of_gaussian(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta_of_gaussian(mu, middle) > delta else (low, middle)
    return low


def _delta_of_gaussian(mu: float, epsilon: float) -> float:
    # δ = Φ(μ/2 − ε/μ) − exp(ε)·Φ(−μ/2 − ε/μ)
    return float(
        np.exp(log_ndtr(mu / 2 - epsilon / mu)) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    )


def _best_threshold(without: np.ndarray, present: np.ndarray, confidence: float) -> float:
    seen = np.unique(np.concatenate([without, present]))
    places = np.linspace(0, len(seen) - 1, min(len(seen), MOST_THRESHOLDS)).astype(int)
    thresholds = seen[places]
    return float(
        thresholds[np.argmax(_mu(*_error_bounds(without, present, thresholds, confidence)))]
    )


def _error_bounds(
    without: np.ndarray, present: np.ndarray, thresholds: np.ndarray, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Upper bounds on how often "statistic at least the threshold" is wrong in either world."""
    risk = (1 - confidence) / 2
    false_alarms = len(without) - np.searchsorted(np.sort(without), thresholds, "left")
    misses = np.searchsorted(np.sort(present), thresholds, "left")
    return _clopper_pearson(false_alarms, len(without), risk), _clopper_pearson(
        misses, len(present), risk
    )


def _clopper_pearson(events: np.ndarray, trials: int, risk: float) -> np.ndarray:
    """The largest probability under which this few events have a chance of at least `risk`."""
    always = events >= trials
    return np.where(
        always, 1.0, beta.ppf(1 - risk, events + 1, np.where(always, 1, trials - events))
    )


def _mu(false_alarms: np.ndarray, misses: np.ndarray) -> np.ndarray:
    # Telling N(0, 1) from N(μ, 1) with these error rates needs μ
    # = Φ⁻¹(1 − false alarms) − Φ⁻¹(misses).
    return norm.isf(false_alarms) - norm.ppf(misses)


def _any_shape(false_alarms: float, misses: float, delta: float) -> float:
    """1 − misses ≤ exp(ε)·false alarms + δ, and the same with both errors exchanged."""
    ratios = [
        (1 - misses - delta) / false_alarms,
        (1 - false_alarms - delta) / misses,
    ]
    return float(np.log(max(1.0, *ratios)))
