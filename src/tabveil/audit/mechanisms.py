"""Audits of the noise: its law, and what it hides of the worst pair of neighbouring counts."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.stats import chi2

from tabveil.audit.finding import DELTA, FALSE_ALARM, Finding, Job, Size, judged
from tabveil.privacy import (
    Mechanism,
    Noise,
    OpenDPNoise,
    epsilon_of,
    gaussian_scale,
    rho_of,
    selection_scale,
)

EPSILONS = (1.0, 4.0, 10.0)
# Powers of two, and others: samplers take both apart.
SCALES = (0.5, 0.7, 1.0, 2.5, 3.0, 10.3, 50.0, 333.3)
CANDIDATES = 10
# Draws in a cell; with fewer, chance alone reaches far into the tail of a chi-square.
LEAST_EXPECTED = 50


def jobs(size: Size) -> list[Job]:
    """The law of both samplers, and every primitive at every ε."""
    laws: list[Job] = [GaussianLaw(scale, size.draws) for scale in SCALES]
    laws += [SelectionLaw(picks, size.picks) for picks in (1, 2)]
    # With a single cell at ε = 10, σ is 0.5:
    # whole numbers are then too coarse to look like a Gaussian.
    cells = {1.0: (1, 2, 5), 4.0: (1, 2, 5), 10.0: (5, 10)}
    gaussian = [GaussianMechanism(e, squared, size.draws) for e in EPSILONS for squared in cells[e]]
    return [*laws, *gaussian, *(SelectionMechanism(e, size.picks) for e in EPSILONS)]


@dataclass(frozen=True)
class GaussianLaw:
    """Draws are whole numbers, follow the discrete Gaussian, and never come twice."""

    scale: float
    draws: int

    def __call__(self) -> Finding:
        zeros = np.zeros(self.draws // 2, np.int64)
        first, second = (np.asarray(OpenDPNoise().gaussian(zeros, self.scale)) for _ in range(2))
        drawn = np.concatenate([first, second])
        if drawn.dtype.kind != "i" or (first == second).all():
            p_value = 0.0
        else:
            p_value = gaussian_p_value(drawn, self.scale)
        case = f"{Mechanism.GAUSSIAN}, σ = {self.scale:g}"
        return Finding("noise law", case, self.draws, p_value > FALSE_ALARM, p_value=p_value)


@dataclass(frozen=True)
class SelectionLaw:
    """Ordered picks come with the probabilities of the exponential mechanism."""

    picks: int
    runs: int

    def __call__(self) -> Finding:
        p_value = picks_p_value(OpenDPNoise(), self.runs, self.picks)
        case = f"top {self.picks} of 4"
        return Finding("noise law", case, self.runs, p_value > FALSE_ALARM, p_value=p_value)


@dataclass(frozen=True)
class GaussianMechanism:
    """Cells that all move by one, noised at the scale that ε buys; their sum tells most."""

    epsilon: float
    cells: int  # the squared sensitivity: one histogram, a replaced row, five histograms
    draws: int

    def __call__(self) -> Finding:
        rho = rho_of(self.epsilon, DELTA)
        scale, runs = gaussian_scale(rho, self.cells), self.draws // self.cells
        noise = OpenDPNoise()
        without, present = (
            noise.gaussian(np.full((runs, self.cells), shift, np.int64), scale).sum(axis=1)
            for shift in (0, 1)
        )
        case = f"ε = {self.epsilon:g}, Δ² = {self.cells}"
        return judged("Gaussian noise", case, epsilon_of(rho, DELTA), without, present)


@dataclass(frozen=True)
class SelectionMechanism:
    """One pick of ten: the target lifts its own candidate's score by one and lowers all others."""

    epsilon: float
    runs: int

    def __call__(self) -> Finding:
        # One pick's loss lies in an interval of length 2D/β:
        # no δ is needed, and the shape is not Gaussian.
        scale = selection_scale(Fraction(self.epsilon) ** 2 / 8, 1, 1)
        noise = OpenDPNoise()
        worlds = np.zeros(CANDIDATES, np.int64), np.where(np.arange(CANDIDATES) == 0, 1, -1)
        without, present = (
            np.array([noise.top(scores, 1, scale)[0] == 0 for _ in range(self.runs)], float)
            for scores in worlds
        )
        case = f"ε = {self.epsilon:g}, top 1 of {CANDIDATES}"
        return judged("selection", case, 2 / scale, without, present, delta=0.0, gaussian=False)


def gaussian_p_value(draws: np.ndarray, scale: float) -> float:
    """Chi-square of draws against exact chances; both tails join the last well filled cell.

    Where draws are few for so wide a law, a cell holds several neighbouring whole numbers.
    """
    reach = math.ceil(40 * scale)
    weight = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2))
    chances = weight / weight.sum()
    together = math.ceil(2 * LEAST_EXPECTED / (len(draws) * chances.max()))
    cells = np.arange(2 * reach + 1) // together
    expected = np.bincount(cells, chances) * len(draws)
    places = np.clip(draws, -reach, reach) + reach
    observed = np.bincount(places // together, minlength=len(expected))
    filled = np.flatnonzero(expected >= LEAST_EXPECTED)
    joined = np.clip(np.arange(len(expected)), filled[0], filled[-1]) - filled[0]
    return _p_value(np.bincount(joined, observed), np.bincount(joined, expected))


def picks_p_value(noise: Noise, runs: int, picks: int) -> float:
    """Chi-square of ordered picks from four candidates against the exact probabilities."""
    scores, scale = np.array([0, 3, 5, 9]), 4.0
    weight = np.exp(scores / scale)
    orders = list(itertools.permutations(range(len(scores)), picks))
    expected = np.empty(len(orders))
    for row, order in enumerate(orders):
        left, chance = weight.sum(), 1.0
        for pick in order:
            chance *= weight[pick] / left
            left -= weight[pick]
        expected[row] = chance * runs
    observed = np.zeros(len(orders))
    for _ in range(runs):
        observed[orders.index(tuple(noise.top(scores, picks, scale).tolist()))] += 1
    return _p_value(observed, expected)


def _p_value(observed: np.ndarray, expected: np.ndarray) -> float:
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))
