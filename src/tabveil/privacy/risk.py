"""What ε lets the best possible attacker do, and which ε keeps that within limits."""

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tabveil.errors import InvalidInput
from tabveil.privacy.budget import delta_of, rho_of

GRADES = tuple(np.round(np.geomspace(1e-3, 60, 60), 6))  # the ε at which spent ρ is read
SMALLEST, LARGEST = 1e-3, 100.0  # the ε between which one is searched


class Risk:
    """Upper limits on telling apart two neighbouring tables, from (ε, δ) that all hold."""

    def __init__(self, limits: list[tuple[float, float]]) -> None:
        self.limits = limits

    @classmethod
    def of_spending(cls, rho: Fraction, epsilon: float, delta: float, used: float = 0.0) -> "Risk":
        """Every (ε', δ') that ρ implies, beside the δ that was used up, and the promised one."""
        return cls([(epsilon, delta), *((grade, used + delta_of(rho, grade)) for grade in GRADES)])

    @classmethod
    def of_fit(cls, epsilon: float, delta: float) -> "Risk":
        """What a fit that spends all of this leaves to attackers."""
        return cls.of_spending(rho_of(epsilon, delta), epsilon, delta)

    def caught(self, accused: float) -> float:
        """The largest share of members found out when this share of strangers is accused."""
        return min(
            max(accused, min(math.exp(e) * accused + d, 1 - math.exp(-e) * (1 - d - accused), 1.0))
            for e, d in self.limits
        )

    @property
    def guess(self) -> float:
        """The largest chance to be right about one record, if both answers were equally likely."""
        return min(0.5 + (math.exp(e) - 1 + 2 * d) / (math.exp(e) + 1) / 2 for e, d in self.limits)

    @property
    def advantage(self) -> float:
        """The most by which members found out can exceed strangers accused, as shares."""
        return 2 * self.guess - 1


def epsilon_within(delta: float, allowed: Callable[[Risk], bool]) -> float:
    """The largest ε of a fit, to two digits, whose risk is allowed; nothing beyond 100 is tried."""
    if not allowed(Risk.of_fit(SMALLEST, delta)):
        raise InvalidInput(
            f"Even ε = {SMALLEST:g} with δ = {delta:g} leaves attackers more than that.",
            "Allow a little more than chance alone gives, or choose a smaller δ.",
        )
    grid = [digits * 10.0**power for power in range(-4, 1) for digits in range(10, 100)]
    grid = [round(epsilon, 6) for epsilon in [*grid, LARGEST] if SMALLEST <= epsilon <= LARGEST]
    first = bisect_left(grid, True, key=lambda e: not allowed(Risk.of_fit(e, delta)))
    return grid[first - 1]
