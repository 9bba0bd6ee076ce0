"""The conversions match published numbers and never flatter the user."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.errors import InvalidInput
from tabveil.privacy import Budget, delta_of, epsilon_of, gaussian_scale, rho_of, selection_scale
from tabveil.privacy.budget import _log_delta

# Computed independently from Proposition 12 of Canonne, Kamath and Steinke.
PUBLISHED = [
    (0.1, 1e-9, 0.000177138),
    (0.1, 1e-7, 0.000253558),
    (0.1, 1e-5, 0.000432994),
    (0.5, 1e-9, 0.00395319),
    (0.5, 1e-7, 0.00542728),
    (0.5, 1e-5, 0.00850553),
    (1, 1e-9, 0.0149731),
    (1, 1e-8, 0.0172053),
    (1, 1e-7, 0.0201871),
    (1, 1e-6, 0.0243560),
    (1, 1e-5, 0.0305566),
    (2, 1e-9, 0.0561305),
    (2, 1e-7, 0.0741806),
    (2, 1e-5, 0.108256),
    (10, 1e-9, 1.09079),
    (10, 1e-7, 1.35406),
    (10, 1e-5, 1.7827),
]
EXTREMES = [
    (1e9, 1e-9),
    (1e6, 0.5),
    (1e3, 1e-300),
    (1e-3, 1e-300),
    (1e-12, 1e-9),
    (0.5, 0.999),
    (1e-9, 1 - 2**-53),
]

patient = settings(deadline=None, max_examples=40)  # a busy machine is no failure
epsilons = st.floats(1e-4, 50)
deltas = st.floats(1e-15, 0.5)
rhos = st.fractions(Fraction(1, 10**6), 10, max_denominator=10**9)


def exact_delta(rho: Fraction, epsilon: float) -> Decimal:
    """The bound in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return exact_log_delta(rho, epsilon).exp()


def exact_log_delta(rho: Fraction, epsilon: float) -> Decimal:
    """Its logarithm, minimised over α by golden section in log(α − 1)."""
    with localcontext() as context:
        context.prec = 60
        r, e = Decimal(rho.numerator) / Decimal(rho.denominator), Decimal(epsilon)

        def log_delta(log_x: Decimal) -> Decimal:
            x = log_x.exp()
            return x * ((1 + x) * r - e) - log_x - (1 + x) * (1 + 1 / x).ln()

        low, high, ratio = Decimal(-60), Decimal(60), (Decimal(5).sqrt() - 1) / 2
        for _ in range(150):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, right) if log_delta(left) < log_delta(right) else (left, high)
        return log_delta((low + high) / 2)


@pytest.mark.parametrize(("epsilon", "delta", "rho"), PUBLISHED)
def test_rho_matches_the_published_table(epsilon, delta, rho):
    assert float(rho_of(epsilon, delta)) == pytest.approx(rho, rel=5e-6)


@pytest.mark.parametrize(("epsilon", "delta", "rho"), PUBLISHED)
def test_rho_agrees_with_opendp(epsilon, delta, rho):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    mechanism = dp.m.make_gaussian(*space, scale=gaussian_scale(rho_of(epsilon, delta), 1))
    profile = dp.c.make_zCDP_to_approxDP(mechanism).map(1.0)
    assert profile.epsilon(delta) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(e, d) for e, d, _ in PUBLISHED] + EXTREMES[:5])
def test_rho_keeps_its_promise_in_sixty_digits(epsilon, delta):
    assert exact_delta(rho_of(epsilon, delta), epsilon) <= Decimal(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(e, d) for e, d, _ in PUBLISHED])
def test_rho_gives_away_less_than_a_billionth(epsilon, delta):
    assert exact_delta(rho_of(epsilon, delta) * (1 + Fraction(1, 10**9)), epsilon) > Decimal(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-9), (0.5, 1e-5), (2, 1e-7)])
def test_rho_gives_away_a_trillionth_and_hardly_more(epsilon, delta):
    rho = rho_of(epsilon, delta)
    for given_away, kept in ((Fraction(9, 10), True), (Fraction(11, 10), False)):
        more = rho * (1 + given_away / 10**12)
        assert (exact_delta(more, epsilon) <= Decimal(delta)) is kept


# Where α − 1 is tiny, of medium size and huge, and where large terms cancel; with the sum of their
# sizes.
@pytest.mark.parametrize(
    ("rho", "epsilon", "terms"),
    [
        (20.0, 6.2, 4.2e-5),
        (1.0, 5.0, 20),
        (1e-6, 1e-3, 10),
        (1e-9, 2e-3, 3e3),
        (1e8, 1e9, 7e9),
        (2e5, 1e9, 3.8e12),
    ],
)
def test_the_bound_errs_upwards_by_more_than_roundings_and_by_little(rho, epsilon, terms):
    above = Decimal(_log_delta(rho, epsilon)) - exact_log_delta(Fraction(rho), epsilon)
    assert 3.5e-15 * terms < above < 6.5e-15 * terms


@pytest.mark.parametrize(("epsilon", "delta"), EXTREMES)
def test_extreme_settings_are_converted_or_refused_but_never_hang(epsilon, delta):
    assert 0 < delta_of(rho_of(epsilon, delta), epsilon) <= delta * (1 + 1e-9)


def test_the_tight_bound_never_loses_to_the_simple_one():
    for epsilon, delta, _ in PUBLISHED:
        simple = (math.sqrt(epsilon + math.log(1 / delta)) - math.sqrt(math.log(1 / delta))) ** 2
        assert rho_of(epsilon, delta) > simple


@patient
@given(epsilons, deltas)
def test_rho_is_a_multiple_of_the_grain(epsilon, delta):
    assert (rho_of(epsilon, delta) * 2**80).denominator == 1


@patient
@given(epsilons, deltas, st.floats(1.001, 10))
def test_more_epsilon_or_more_delta_buys_more_rho(epsilon, delta, factor):
    assert rho_of(epsilon * factor, delta) > rho_of(epsilon, delta)
    assert rho_of(epsilon, min(delta * factor, 0.9)) > rho_of(epsilon, delta)


@patient
@given(rhos, deltas, st.floats(1.001, 10))
def test_spending_more_rho_never_lowers_epsilon_or_delta(rho, delta, factor):
    more = rho * Fraction(factor)
    assert epsilon_of(more, delta) >= epsilon_of(rho, delta)
    assert delta_of(more, 1.0) >= delta_of(rho, 1.0)


@patient
@given(epsilons, deltas)
def test_there_and_back_returns_the_same_epsilon_and_delta(epsilon, delta):
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-6)
    assert delta_of(rho, epsilon) == pytest.approx(delta, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(rhos, st.floats(0.01, 20))
def test_delta_is_rounded_up(rho, epsilon):
    assert Decimal(delta_of(rho, epsilon)) >= min(1, exact_delta(rho, epsilon))


@settings(max_examples=15, deadline=None)
@given(rhos, deltas)
def test_epsilon_is_rounded_up(rho, delta):
    assert exact_delta(rho, epsilon_of(rho, delta)) <= Decimal(delta)


@pytest.mark.parametrize("rho", [1, 2])
def test_a_whole_rho_costs_what_a_fraction_next_to_it_does(rho):
    beside = Fraction(rho) - Fraction(1, 10**9)
    assert epsilon_of(rho, 1e-9) == pytest.approx(epsilon_of(beside, 1e-9), rel=1e-6)
    assert delta_of(rho, 5.0) == pytest.approx(delta_of(beside, 5.0), rel=1e-6)


def test_the_largest_numbers_are_still_converted():
    assert rho_of(1e9, 1e-9) > 0 and epsilon_of(1e9, 1e-9) > 1e9 and delta_of(1e9, 1e9) <= 1
    with pytest.raises(InvalidInput, match="ε"):
        rho_of(math.nextafter(1e9, math.inf), 1e-9)
    with pytest.raises(InvalidInput, match="ρ"):
        epsilon_of(math.nextafter(1e9, math.inf), 1e-9)


def test_delta_without_epsilon_is_a_probability():
    assert delta_of(Fraction(1000), 0) == 1
    assert 0 < delta_of(Fraction(1, 10**6), 0) < 0.01


def test_nothing_spent_promises_everything():
    assert epsilon_of(Fraction(0), 1e-9) == epsilon_of(Fraction(0), 1e-300) == 0
    assert delta_of(Fraction(0), 1.0) == 0


def test_a_tiny_rho_needs_no_epsilon_at_a_generous_delta():
    assert epsilon_of(Fraction(1, 10**400), 0.1) == 0


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1e10])
def test_an_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(InvalidInput, match="ε"):
        Budget(epsilon, 1e-9)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, 2, math.nan, math.inf])
def test_an_impossible_delta_is_refused(delta):
    with pytest.raises(InvalidInput, match="δ"):
        rho_of(1.0, delta)
    with pytest.raises(InvalidInput, match="δ"):
        epsilon_of(Fraction(1), delta)


def test_a_budget_too_small_for_any_measurement_is_refused():
    with pytest.raises(InvalidInput, match="too small"):
        rho_of(1e-200, 1e-200)


@pytest.mark.parametrize("rho", [-1, math.nan, math.inf, Fraction(-1, 3)])
def test_an_impossible_rho_is_refused(rho):
    with pytest.raises(InvalidInput, match="ρ"):
        epsilon_of(rho, 1e-9)
    with pytest.raises(InvalidInput, match="ρ"):
        delta_of(rho, 1.0)


@pytest.mark.parametrize("epsilon", [-1, math.nan, math.inf])
def test_a_delta_at_an_impossible_epsilon_is_refused(epsilon):
    with pytest.raises(InvalidInput, match="ε"):
        delta_of(Fraction(1), epsilon)


@patient
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30))
def test_shares_by_fractions_never_exceed_the_budget(parts):
    budget, total = Budget(1.0, 1e-9), max(1, sum(parts))
    shares = [budget.share(Fraction(part, total)) for part in parts]
    assert sum(shares) <= budget.rho
    assert sum(shares) >= budget.rho * Fraction(sum(parts), total) - Fraction(len(parts), 2**80)


@patient
@given(st.lists(st.floats(1e-3, 1), min_size=1, max_size=200))
def test_shares_by_floats_that_add_up_to_one_never_exceed_the_budget(parts):
    budget, total = Budget(1.0, 1e-9), sum(parts)
    assert sum(budget.share(min(1.0, part / total)) for part in parts) <= budget.rho


def test_ten_tenths_written_as_floats_stay_inside_the_budget():
    budget = Budget(1.0, 1e-9)
    assert sum(Fraction(0.1) for _ in range(10)) > 1
    assert (
        budget.rho * (1 - Fraction(1, 10**9))
        < sum(budget.share(0.1) for _ in range(10))
        <= budget.rho
    )


def test_a_share_by_a_float_gives_a_part_in_two_to_the_forty_for_its_rounding():
    budget, grain = Budget(1.0, 1e-9), Fraction(1, 2**80)
    whole = budget.rho * (1 - Fraction(1, 2**40))
    assert whole - grain < budget.share(1.0) <= whole


def test_the_whole_share_is_the_whole_budget():
    budget = Budget(1.0, 1e-9)
    assert budget.share(Fraction(1)) == budget.share(1) == budget.rho


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan, Fraction(-1, 2), Fraction(3, 2)])
def test_a_share_outside_the_budget_is_refused(weight):
    with pytest.raises(InvalidInput, match="share"):
        Budget(1.0, 1e-9).share(weight)


@patient
@given(rhos, st.integers(1, 10**6))
def test_the_gaussian_scale_costs_at_most_rho_and_hardly_less(rho, squared):
    cost = Fraction(squared) / (2 * Fraction(gaussian_scale(rho, squared)) ** 2)
    assert rho * (1 - Fraction(1, 10**14)) <= cost <= rho


@patient
@given(rhos, st.integers(1, 1000), st.integers(1, 4))
def test_the_selection_scale_costs_at_most_rho_and_hardly_less(rho, picks, sensitivity):
    cost = Fraction(picks * sensitivity**2) / (
        2 * Fraction(selection_scale(rho, picks, sensitivity)) ** 2
    )
    assert rho * (1 - Fraction(1, 10**14)) <= cost <= rho


def test_a_scale_that_is_a_float_is_found_exactly_down_to_the_smallest_cost():
    assert gaussian_scale(Fraction(1, 2), 1) == 1 and gaussian_scale(Fraction(1, 8), 4) == 4
    assert gaussian_scale(Fraction(1, 2**80), 2) == 2**40


def test_scales_match_the_closed_forms():
    assert gaussian_scale(Fraction(1, 200), 1) == pytest.approx(10, rel=1e-15)
    assert gaussian_scale(Fraction(1, 100), 2) == pytest.approx(10, rel=1e-15)
    assert selection_scale(Fraction(8, 1000), 10, 2) == pytest.approx(50, rel=1e-15)


def test_the_worked_example_for_fifty_rounds_comes_out():
    rho = Budget(1, 1e-9).share(
        Fraction(1, 100)
    )  # one of 50 rounds, half for selection and half for measuring
    assert gaussian_scale(rho, 20) == pytest.approx(258, abs=1)
    assert selection_scale(rho, 10, 2) == pytest.approx(365, abs=1)


@pytest.mark.parametrize("rho", [0, Fraction(-1, 2), Fraction(1, 2**81), 0.5])
def test_a_scale_for_an_impossible_cost_is_refused(rho):
    with pytest.raises(InvalidInput, match="cost"):
        gaussian_scale(rho, 1)
    with pytest.raises(InvalidInput, match="cost"):
        selection_scale(rho, 1, 1)


@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_an_impossible_sensitivity_or_number_of_picks_is_refused(count):
    with pytest.raises(InvalidInput, match="squared sensitivity"):
        gaussian_scale(Fraction(1), count)
    with pytest.raises(InvalidInput, match="picks"):
        selection_scale(Fraction(1), count, 1)
    with pytest.raises(InvalidInput, match="sensitivity"):
        selection_scale(Fraction(1), 1, count)
