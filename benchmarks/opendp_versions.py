"""Whether the installed OpenDP draws by the laws that the proofs assume: one line per law.

    python benchmarks/opendp_versions.py             # about two minutes; ten with OpenDP 0.14.1

Needs OpenDP, NumPy and SciPy only, so that a version can be tried in an environment of its own
before tabveil allows it. "off" is the total variation between what was drawn and the exact law;
"chance" is what an exact sampler would show on average with as many draws. A p below a millionth is
a wrong law."""

import argparse
import itertools
import math
from importlib.metadata import version

import numpy as np
import opendp.domains as domains
import opendp.measurements as measurements
import opendp.measures as measures
import opendp.metrics as metrics
from opendp.mod import enable_features
from scipy.stats import chi2

SIGMAS = (0.5, 0.7, 1.0, 1.7, 2.5, 3.0, 7.3, 10.3, 50.0, 333.3)
SCALES = (
    4.0,
    2.7,
    3.0,
)  # of a selection: a power of two, a long fraction, a short one
SCORES = np.array([0, 3, 5, 9])
LEAST_EXPECTED = 50  # draws in a cell; those with fewer are counted together
INTEGERS = domains.vector_domain(domains.atom_domain(T="i64"))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--draws", type=int, default=500_000, help="of the discrete Gaussian, per σ"
    )
    options.add_argument("--runs", type=int, default=20_000, help="of the selection, per scale")
    asked = options.parse_args()
    enable_features("contrib")
    print(f"OpenDP {version('opendp')}\n{'law':<24}{'off':>10}{'chance':>10}{'p':>12}")
    for sigma in SIGMAS:
        show(f"Gaussian, σ = {sigma:g}", *gaussian(sigma, asked.draws))
    for picks, scale in itertools.product((1, 2), SCALES):
        show(f"top {picks} of 4, β = {scale:g}", *selection(picks, scale, asked.runs))


def gaussian(sigma: float, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Observed and expected numbers of draws, value by value."""
    add_noise = measurements.make_gaussian(INTEGERS, metrics.l2_distance(T="f64"), scale=sigma)
    drawn = np.array(add_noise(np.zeros(draws, np.int64)))
    values = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    weight = np.exp(-(values**2) / (2 * sigma**2))
    observed = np.bincount(np.clip(drawn, values[0], values[-1]) - values[0], minlength=len(values))
    return observed, weight / weight.sum() * draws


def selection(picks: int, scale: float, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Observed and expected numbers of runs, one per ordered choice."""
    metric = metrics.linf_distance(T="i64", monotonic=False)
    measure = measures.zero_concentrated_divergence()
    choose = measurements.make_noisy_top_k(
        INTEGERS, metric, output_measure=measure, k=picks, scale=scale
    )
    orders = list(itertools.permutations(range(len(SCORES)), picks))
    seen = [orders.index(tuple(int(place) for place in choose(SCORES))) for _ in range(runs)]
    weight = np.exp(SCORES / scale)
    chances = []
    for order in orders:
        left = weight.sum() - np.cumsum(
            [0, *weight[list(order[:-1])]]
        )  # what each pick chooses from
        chances.append(np.prod(weight[list(order)] / left))
    return np.bincount(seen, minlength=len(orders)), np.array(chances) * runs


def show(law: str, observed: np.ndarray, expected: np.ndarray) -> None:
    draws = expected.sum()
    off = np.abs(observed - expected).sum() / 2 / draws
    # The mean distance of a binomial from its mean is √(2·variance/π), where it looks like a
    # Gaussian.
    chance = np.sqrt(2 * expected * (1 - expected / draws) / math.pi).sum() / 2 / draws
    print(f"{law:<24}{off:>10.4f}{chance:>10.4f}{p_value(observed, expected):>12.2g}", flush=True)


def p_value(observed: np.ndarray, expected: np.ndarray) -> float:
    """Chi-square; all rare cells join the rarest of the others."""
    rank = np.argsort(np.argsort(-expected))
    cells = np.minimum(rank, (expected >= LEAST_EXPECTED).sum() - 1)
    observed, expected = np.bincount(cells, observed), np.bincount(cells, expected)
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


if __name__ == "__main__":
    main()
