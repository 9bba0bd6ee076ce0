"""The noise follows its law exactly, and nothing else is ever drawn."""

import ast
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import poisson

import tabveil.privacy
from tabveil.audit.mechanisms import gaussian_p_value, picks_p_value
from tabveil.errors import InvalidInput
from tabveil.privacy import Noise, OpenDPNoise, gaussian_scale, selection_scale
from tabveil.privacy.noise import WORTH_A_THREAD

FALSE_ALARM = 1e-6
NOISE: Noise = OpenDPNoise()


@pytest.mark.parametrize("scale", [1.0, 12.5])
def test_gaussian_noise_follows_the_discrete_gaussian(scale):
    assert (
        gaussian_p_value(NOISE.gaussian(np.zeros(20_000, dtype=np.int64), scale), scale)
        > FALSE_ALARM
    )


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


def test_draws_far_out_come_as_often_as_they_should():
    draws = NOISE.gaussian(np.zeros(50_000, dtype=np.int64), 0.5)
    weight = np.exp(-2.0 * np.arange(-9, 10) ** 2)
    beyond = weight[np.abs(np.arange(-9, 10)) >= 2].sum() / weight.sum()  # four standard deviations
    low, high = poisson.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 50_000 * beyond)
    assert 5 < low <= (np.abs(draws) >= 2).sum() <= high


def test_a_long_array_is_noised_in_place_and_its_pieces_share_no_noise():
    counts = np.arange(4 * WORTH_A_THREAD, dtype=np.int64).reshape(4, -1)
    assert (NOISE.gaussian(counts, 1e-3) == counts).all()
    noise = NOISE.gaussian(np.zeros(4 * WORTH_A_THREAD, dtype=np.int64), 1e15)
    assert len(np.unique(noise)) == len(noise)  # two equal draws have probability about 1e-10


def test_forks_and_threads_share_no_noise():
    program = (
        "import os, sys, threading, numpy as np\n"
        "from tabveil.privacy import OpenDPNoise\n"
        "noise, zeros = OpenDPNoise(), np.zeros(8, np.int64)\n"
        "def say():\n"
        "    text = ' '.join(map(str, noise.gaussian(zeros, 1e12))) + '\\n'\n"
        "    os.write(1, text.encode())\n"  # in one piece, also among threads
        "say()\n"
        "for _ in range(3):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        say(); say(); os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "threads = [threading.Thread(target=say) for _ in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True
    )
    drawn = done.stdout.split()
    assert len(drawn) == len(set(drawn)) == 8 * (1 + 3 * 2 + 4)  # twins come once in 10⁹ runs


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
    assert picks_p_value(NOISE, runs=2_500, picks=2) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("picks", [1, 2, 3])
def test_many_picks_follow_the_exponential_mechanism(picks):
    assert picks_p_value(NOISE, runs=30_000, picks=picks) > FALSE_ALARM


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


def test_all_candidates_and_a_single_one_can_be_picked():
    scores = np.array([0, 10**6, 5])
    assert NOISE.top(scores, 1, 1.0).tolist() == [1]
    assert NOISE.top(scores, 3, 1e-3).tolist() == [
        1,
        2,
        0,
    ]  # the next order is e^−5000 times as likely
    assert NOISE.top(np.array([7]), 1, 1.0).tolist() == [0]


def test_the_real_noise_says_that_it_is_private():
    assert OpenDPNoise().private is True


def modules_imported_by(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    plain = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
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
        node.attr
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
    }


@pytest.mark.parametrize(
    "file", sorted(Path(tabveil.privacy.__file__).parent.glob("*.py")), ids=lambda f: f.name
)
def test_the_privacy_core_imports_nothing_else_of_ours_but_errors_and_the_disk(file):
    ours = {name for name in modules_imported_by(file) if name.startswith("tabveil.")}
    known = ("tabveil.privacy.", "tabveil.errors.", "tabveil.disk")
    assert all(name.startswith(known) for name in ours), ours
