"""What (ε, δ) buys: conversions to and from ρ, and the noise scale that a share of ρ pays for."""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from tabveil.errors import InvalidInput

GRAIN = Fraction(1, 2**80)  # every ρ that this module hands out is a multiple of it
DELTA = 1e-9  # of a fit, unless told otherwise
MOST_FAILURES = 0.1  # δ times rows: above, a release might give some person away whole
LARGEST_EPSILON = 1e9  # far beyond any meaning, and well inside what the floats below can carry


class Relation(StrEnum):
    """Which two tables count as neighbours: one row more or less, or one row replaced.

    >>> Relation("substitute") is Relation.SUBSTITUTE
    True
    """

    ADD_REMOVE = "add-remove"
    SUBSTITUTE = "substitute"


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) promise, and the ρ of zero-concentrated privacy that may be spent under it.

    >>> budget = Budget(epsilon=1.0, delta=1e-9)
    >>> round(epsilon_of(budget.rho, delta=1e-9), 6), 2 * budget.share(0.5) <= budget.rho
    (1.0, True)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        rho_of(self.epsilon, self.delta)  # refuses what cannot be promised

    @property
    def rho(self) -> Fraction:
        """The whole budget as ρ."""
        return rho_of(self.epsilon, self.delta)

    def share(self, weight: Fraction | float) -> Fraction:
        """The part `weight` (0 to 1) of ρ, rounded down to a multiple of 2⁻⁸⁰."""
        if not 0 <= weight <= 1:
            raise _outside("A share of the budget", weight, "between 0 and 1")
        if isinstance(weight, float):
            # Floats that add up to 1 on paper (ten times 0.1) can exceed it by their rounding. A
            # part in 2^40 pays for that; integers and fractions are taken as they are.
            weight = Fraction(weight) * (1 - Fraction(1, 2**40))
        return _snap_down(self.rho * Fraction(weight))


# Canonne, Kamath and Steinke (2020), Proposition 12; proof in docs/proofs/conversion.md. With x = α
# − 1: δ = min over x > 0 of exp(x((1 + x)ρ − ε)) / x · (x / (1 + x))^(1 + x)


@lru_cache(maxsize=256)
def rho_of(epsilon: float, delta: float) -> Fraction:
    """The largest ρ that implies (ε, δ), rounded down to a multiple of 2⁻⁸⁰."""
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise _outside("ε", epsilon, f"a number above 0 and at most {LARGEST_EPSILON:g}")
    _require_delta(delta)
    allowed = math.log(delta)
    rho, _ = _last_before(lambda rho: _log_delta(rho, epsilon) > allowed)
    # `_log_delta` already errs upwards. The relative 1e-12 is a second guard, against a mathematics
    # library that rounds worse than we assume: it costs nobody any accuracy and always shrinks the
    # budget.
    snapped = _snap_down(Fraction(rho) * (1 - Fraction(1, 10**12)))
    if snapped == 0:
        raise InvalidInput(
            f"ε = {epsilon:g} with δ = {delta:g} is too small to measure anything.",
            "Choose a larger ε or δ.",
        )
    return snapped


def epsilon_of(rho: Fraction | float, delta: float) -> float:
    """The ε that ρ implies at this δ, rounded up."""
    _require_delta(delta)
    if _require_rho(rho) == 0:
        return 0.0
    spent, allowed = _float_above(rho), math.log(delta)
    if _log_delta(spent, 0.0) <= allowed:
        return 0.0
    _, epsilon = _last_before(lambda epsilon: _log_delta(spent, epsilon) <= allowed)
    return epsilon * (1 + 1e-12)


def delta_of(rho: Fraction | float, epsilon: float) -> float:
    """The δ that ρ implies at this ε, rounded up."""
    if not 0 <= epsilon <= LARGEST_EPSILON:
        raise _outside("ε", epsilon, f"a number from 0 to {LARGEST_EPSILON:g}")
    if _require_rho(rho) == 0:
        return 0.0
    delta = math.exp(min(0.0, _log_delta(_float_above(rho), epsilon)))
    return min(1.0, math.nextafter(delta * (1 + 1e-12), 1.0))


def rounded_up(number: Fraction) -> float:
    """The number with four digits, never less than it was: a promise must not shrink when printed.

    >>> rounded_up(Fraction(100832345, 10**8)), rounded_up(Fraction(1e-9))
    (1.009, 1e-09)
    """
    if not number:
        return 0.0
    unit = Fraction(10) ** (math.floor(math.log10(number)) - 3)
    # A float such as 1e-9 is not quite that; what lies within its rounding counts as that.
    up = float(math.ceil(number / unit * (1 - Fraction(1, 10**15))) * unit)
    while Fraction(up) < number:
        up = math.nextafter(up, math.inf)
    return up


def gaussian_scale(rho: Fraction, sensitivity_squared: int) -> float:
    """The σ of a discrete Gaussian that costs at most ρ: Δ²/(2σ²) ≤ ρ (docs/proofs/gaussian.md)."""
    return _scale(rho, _count("The squared sensitivity", sensitivity_squared))


def selection_scale(rho: Fraction, picks: int, sensitivity: int) -> float:
    """The β of a noisy top-`picks` costing ≤ ρ: picks·D²/(2β²) ≤ ρ (docs/proofs/selection.md)."""
    return _scale(
        rho, _count("The number of picks", picks) * _count("The sensitivity", sensitivity) ** 2
    )


def _scale(rho: Fraction, squared: int) -> float:
    """The smallest float s, or a neighbour of it, with squared/(2s²) ≤ ρ in exact arithmetic."""
    if isinstance(rho, float) or rho < GRAIN:
        raise _outside("The cost ρ of a measurement", rho, "a Fraction of at least 2^-80")
    exact = squared / (2 * Fraction(rho))
    scale = math.sqrt(exact)
    while Fraction(scale) ** 2 < exact:
        scale = math.nextafter(scale, math.inf)
    return scale


def _log_delta(rho: float, epsilon: float) -> float:
    """An upper bound on log δ, tight to a few parts in 10¹⁴."""
    # log δ is convex in x: its derivative (1 + 2x)ρ − ε − log(1 + 1/x) only grows; its root is the
    # minimum. Any other x gives a valid bound too, so an inexact root can only make us too careful.
    x, _ = _last_before(lambda x: (1 + 2 * x) * rho - epsilon - math.log1p(1 / x) > 0)
    if x < 1:  # two ways to write one sum; each keeps its terms free of cancellation
        terms = x * (1 + x) * rho, -x * epsilon, x * math.log(x), -(1 + x) * math.log1p(x)
    else:
        terms = x * (1 + x) * rho, -x * epsilon, -math.log(x), -(1 + x) * math.log1p(1 / x)
    # Each term carries fewer than ten roundings of 2⁻⁵³; 5e-15 is more than four times that.
    return math.fsum(terms) + 5e-15 * math.fsum(map(abs, terms))


def _last_before(passed: Callable[[float], bool]) -> tuple[float, float]:
    """Neighbouring floats around where `passed` begins to hold, searched down to 1e-300."""
    low = high = 1.0
    while not passed(high):
        low, high = high, high * 2
    while passed(low) and low > 1e-300:
        low, high = low / 2, low
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if passed(middle) else (middle, high)
    return low, high


def _snap_down(rho: Fraction) -> Fraction:
    return math.floor(rho / GRAIN) * GRAIN


def _float_above(rho: Fraction | float) -> float:
    # Below the grain nothing is ever charged;
    # counting it as a grain only overstates what was spent.
    return math.nextafter(float(max(rho, GRAIN)), math.inf)


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise _outside("δ", delta, "a number between 0 and 1, both excluded")


def _require_rho(rho: Fraction | float) -> Fraction | float:
    if not 0 <= rho <= LARGEST_EPSILON:
        raise _outside("ρ", rho, f"a number from 0 to {LARGEST_EPSILON:g}")
    return rho


def _count(name: str, count: int) -> int:
    if isinstance(count, float) or count < 1:
        raise _outside(name, count, "a whole number of at least 1")
    return operator.index(count)


def delta_warning(delta: float, rows: float) -> str:
    """What is wrong with a δ for so many rows, in words; nothing if it is far below one in them.

    >>> delta_warning(1e-9, 10_000)
    ''
    """
    if delta * rows <= MOST_FAILURES:
        return ""
    return (
        f"δ = {delta:.4g} is not far below one in {rows:,.0f} rows. With chance δ the promise "
        f"fails altogether. {HINTS['δ']}"
    )


HINTS = {
    "ε": "Values from 0.1 to 10 are common; smaller is safer.",
    "δ": "Choose far less than one in the number of rows, such as 1e-9.",
}


def _outside(name: str, value: Fraction | float, allowed: str) -> InvalidInput:
    hint = HINTS.get(name, "Check the privacy settings.")
    return InvalidInput(f"{name} is {value}, but must be {allowed}.", hint)
