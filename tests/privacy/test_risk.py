"""Risk follows from ε, and ε from what may be risked."""

from fractions import Fraction

import numpy as np
import pytest

from tabveil.errors import InvalidInput
from tabveil.privacy import Risk, epsilon_within, rho_of


def test_risk_follows_the_definition_of_differential_privacy() -> None:
    risk = Risk([(np.log(3), 0.0)])
    assert risk.guess == pytest.approx(0.75)  # e^ε / (1 + e^ε)
    assert risk.caught(0.01) == pytest.approx(0.03) and risk.caught(1.0) == 1
    assert Risk([(0.0, 0.0)]).guess == 0.5


def test_exact_accounting_never_claims_less_than_a_gaussian_attacker_reaches() -> None:
    # A Gaussian mechanism with ρ has μ = √(2ρ): no bound that holds for all may be below its
    # trade-off.
    from scipy.stats import norm

    for epsilon in (0.1, 1.0, 10.0):
        rho = rho_of(epsilon, 1e-9)
        worst, reach = Risk.of_spending(Fraction(rho), epsilon, 1e-9), np.sqrt(2 * float(rho))
        assert worst.guess >= norm.cdf(reach / 2)
        for accused in (0.001, 0.01, 0.1, 0.5):
            assert worst.caught(accused) >= norm.cdf(norm.ppf(accused) + reach)
            assert worst.caught(accused) <= Risk([(epsilon, 1e-9)]).caught(accused)


def test_the_advantage_is_the_largest_gap_between_members_found_and_strangers_accused() -> None:
    risk = Risk.of_fit(1.0, 1e-9)
    gaps = [risk.caught(accused) - accused for accused in np.linspace(0, 1, 401)]
    assert max(gaps) == pytest.approx(risk.advantage, rel=0.02) and max(gaps) <= risk.advantage


@pytest.mark.parametrize("limit", [0.001, 0.02, 0.1, 0.3, 0.9])
def test_the_epsilon_within_a_limit_is_the_largest_of_two_digits(limit: float) -> None:
    found = epsilon_within(1e-9, lambda risk: risk.advantage <= limit)
    assert Risk.of_fit(found, 1e-9).advantage <= limit
    unit = 10.0 ** (np.floor(np.log10(found)) - 1)
    assert Risk.of_fit(found + unit, 1e-9).advantage > limit
    assert found == round(found, 6)


def test_no_more_than_100_is_named_and_less_than_chance_is_refused() -> None:
    assert epsilon_within(1e-9, lambda risk: True) == 100.0
    with pytest.raises(InvalidInput, match=r"Even ε = 0\.001"):
        epsilon_within(1e-9, lambda risk: risk.caught(0.01) <= 0.01)
