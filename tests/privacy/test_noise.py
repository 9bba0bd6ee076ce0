"""The noise follows its law exactly, and nothing else is ever drawn."""

import ast
import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import chi2

import tabveil.privacy
from tabveil.errors import InvalidInput
from tabveil.privacy import Noise, OpenDPNoise, gaussian_scale, selection_scale

FALSE_ALARM = 1e-6
NOISE: Noise = OpenDPNoise()


def p_value(observed: np.ndarray, expected: np.ndarray) -> float:
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


def gaussian_p_value(draws: np.ndarray, scale: float) -> float:
    """Chi-square of draws against the exact probabilities, cells of fewer than 10 expected draws pooled."""
    reach = math.ceil(40 * scale)
    weight = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2))
    expected = weight / weight.sum() * len(draws)
    observed = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1)
    body = np.flatnonzero(expected >= 10)
    first, last = body[0], body[-1] + 1

    def pooled(cells: np.ndarray) -> np.ndarray:
        return np.concatenate([[cells[:first].sum()], cells[first:last], [cells[last:].sum()]])

    kept = pooled(expected) > 1e-3  # at tiny scales even the pooled tails are out of reach
    return p_value(pooled(observed)[kept], pooled(expected)[kept])


def picks_p_value(runs: int, picks: int) -> float:
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
        observed[orders.index(tuple(NOISE.top(scores, picks, scale).tolist()))] += 1
    return p_value(observed, expected)


@pytest.mark.parametrize("scale", [1.0, 12.5])
def test_gaussian_noise_follows_the_discrete_gaussian(scale):
    assert gaussian_p_value(NOISE.gaussian(np.zeros(20_000, dtype=np.int64), scale), scale) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0, 50.0, 1000.0])
def test_a_million_draws_follow_the_discrete_gaussian(scale):
    draws = NOISE.gaussian(np.zeros(1_000_000, dtype=np.int64), scale)
    assert gaussian_p_value(draws, scale) > FALSE_ALARM
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 5e-3


def test_the_test_of_the_law_notices_ten_percent_too_little_noise():
    draws = NOISE.gaussian(np.zeros(20_000, dtype=np.int64), 12.5)
    # Non-centrality 371 on 80 degrees of freedom: a draw that hides it has probability 5e-21.
    assert gaussian_p_value(draws, 12.5 / 0.9) < FALSE_ALARM


def test_repeated_calls_are_independent():
    zeros = np.zeros(10_000, dtype=np.int64)
    first, second = NOISE.gaussian(zeros, 50.0), NOISE.gaussian(zeros, 50.0)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05  # five standard errors
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.05


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4), (2, 0)])
def test_noise_keeps_the_shape_and_leaves_the_counts_alone(shape):
    counts = np.full(shape, 1000)
    noisy = NOISE.gaussian(counts, 2.0)
    assert noisy.shape == shape and noisy.dtype == np.int64
    assert (counts == 1000).all() and (abs(noisy - 1000) < 60).all()


def test_noise_is_centred_on_each_count_whatever_its_memory_layout():
    counts = np.arange(0, 60_000, 1000, dtype=np.int32).reshape(6, 10).T
    assert (abs(NOISE.gaussian(counts, 1.0) - counts) < 30).all()


def test_picks_follow_the_exponential_mechanism_without_replacement():
    assert picks_p_value(runs=2_500, picks=2) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("picks", [1, 2, 3])
def test_many_picks_follow_the_exponential_mechanism(picks):
    assert picks_p_value(runs=30_000, picks=picks) > FALSE_ALARM


def test_picks_are_distinct_even_when_scores_tie():
    for _ in range(50):
        assert sorted(NOISE.top(np.zeros(5, dtype=np.int64), 5, 1.0)) == [0, 1, 2, 3, 4]


def test_far_apart_scores_are_picked_in_order():
    assert NOISE.top(np.array([-(2**62), 0, 2**62, 5000]), 4, 1.0).tolist() == [2, 3, 1, 0]


@pytest.mark.parametrize("squared", [1, 2, 20])
@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 3)])
def test_opendp_charges_no_more_for_the_gaussian_than_we_do(rho, squared):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    mechanism = dp.m.make_gaussian(*space, scale=gaussian_scale(rho, squared))
    assert mechanism.map(math.sqrt(squared)) == pytest.approx(float(rho), rel=1e-9)


@pytest.mark.parametrize(("picks", "sensitivity"), [(1, 1), (10, 1), (3, 2)])
@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 3)])
def test_opendp_charges_no_more_for_a_selection_than_we_do(rho, picks, sensitivity):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    scale = selection_scale(rho, picks, sensitivity)
    measure = dp.zero_concentrated_divergence()
    mechanism = dp.m.make_noisy_top_k(*space, output_measure=measure, k=picks, scale=scale)
    assert mechanism.map(sensitivity) == pytest.approx(float(rho), rel=1e-9)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_that_protects_nobody_is_refused(scale):
    with pytest.raises(InvalidInput, match="scale"):
        NOISE.gaussian(np.zeros(3, dtype=np.int64), scale)
    with pytest.raises(InvalidInput, match="scale"):
        NOISE.top(np.zeros(3, dtype=np.int64), 1, scale)


@pytest.mark.parametrize("dtype", [np.float64, np.uint64, bool, object])
def test_only_signed_whole_numbers_get_noise(dtype):
    with pytest.raises(InvalidInput, match="whole numbers"):
        NOISE.gaussian(np.zeros(3, dtype=dtype), 1.0)


@pytest.mark.parametrize(("shape", "picks"), [((3,), 0), ((3,), 4), ((2, 2), 1)])
def test_more_picks_than_candidates_are_refused(shape, picks):
    with pytest.raises(InvalidInput, match="picks"):
        NOISE.top(np.zeros(shape, dtype=np.int64), picks, 1.0)


def test_the_real_noise_says_that_it_is_private():
    assert OpenDPNoise().private is True


def modules_imported_by(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return plain | {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize(
    "file", sorted(Path(tabveil.privacy.__file__).parent.glob("*.py")), ids=lambda f: f.name
)
def test_no_other_source_of_randomness_enters_the_privacy_core(file):
    banned = {"random", "secrets", "jax", "scipy", "numpy.random", "pickle"}
    for name in modules_imported_by(file):
        assert not any(name == module or name.startswith(f"{module}.") for module in banned), name
    assert not {"random", "urandom"} & {
        node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)
    }


@pytest.mark.parametrize(
    "file", sorted(Path(tabveil.privacy.__file__).parent.glob("*.py")), ids=lambda f: f.name
)
def test_the_privacy_core_imports_nothing_else_of_ours_but_errors(file):
    ours = {name for name in modules_imported_by(file) if name.startswith("tabveil.")}
    assert all(name.startswith(("tabveil.privacy.", "tabveil.errors.")) for name in ours), ours
