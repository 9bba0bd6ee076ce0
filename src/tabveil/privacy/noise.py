"""The only source of privacy randomness: exact discrete samplers fed by the operating system."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tabveil.errors import InvalidInput

Integers = NDArray[np.int64]
TESTED = ("0.14.2", "0.15.0", "0.15.1", "0.16.0")
"""Versions of OpenDP whose laws were tested (benchmarks/opendp_versions.py).

0.14.0 and 0.14.1 draw Bernoulli(exp(-x)) wrongly, so that their Gaussian noise hides less than it
should.
"""
WORTH_A_THREAD = 256
"""Draws: an exact one takes about ten microseconds, starting a thread as long as a few of them."""


class Noise(Protocol):
    """What the curator needs; `private`: whether a release made with it may leave the building."""

    @property
    def private(self) -> bool: ...

    @property
    def threads(self) -> int:
        """How many calls may run at once; one where their order matters."""

    def gaussian(self, counts: Integers, scale: float) -> Integers:
        """Counts of the same shape, each with fresh discrete Gaussian noise of this scale."""

    def top(self, scores: Integers, picks: int, scale: float) -> Integers:
        """Distinct positions of high scores, in order picked, each by the exponential mechanism."""


class OpenDPNoise:
    """OpenDP's exact samplers, which cannot be seeded: draws may come in any order and thread."""

    private = True
    threads = os.cpu_count() or 1

    def gaussian(self, counts: Integers, scale: float) -> Integers:
        """Counts plus discrete Gaussian noise; ρ = Δ²/(2·scale²). Proof in docs/proofs/gaussian.md.

        Noise is independent from cell to cell: a long array is cut into pieces that are noised side
        by side.
        """
        whole, add_noise = _whole_numbers(counts), _gaussian(scale)
        pieces = np.array_split(
            whole.ravel(), max(1, min(self.threads, whole.size // WORTH_A_THREAD))
        )
        with ThreadPoolExecutor(len(pieces)) as pool:
            noisy = [np.array(piece, dtype=np.int64) for piece in pool.map(add_noise, pieces)]
        return np.concatenate(noisy).reshape(whole.shape)

    def top(self, scores: Integers, picks: int, scale: float) -> Integers:
        """Positions of `picks` high scores; ρ = picks·D²/(2·scale²).

        Proof in docs/proofs/selection.md.
        """
        whole = _whole_numbers(scores)
        if whole.ndim != 1 or not 1 <= picks <= whole.size:
            raise InvalidInput(
                f"{picks} picks were asked for, but the scores have shape {whole.shape}."
            )
        return np.array(_top(picks, scale)(whole), dtype=np.int64)


def gaussian_cost(scale: float, sensitivity_squared: int) -> float:
    """The ρ of Gaussian noise by the privacy map of the measurement that draws it, rounded up."""
    return float(_gaussian(scale).map(math.nextafter(math.sqrt(sensitivity_squared), math.inf)))


def top_cost(scale: float, picks: int, sensitivity: int) -> float:
    """The ρ of a noisy top-K by the privacy map of the measurement that picks, rounded up."""
    return float(_top(picks, scale).map(int(sensitivity)))


def _gaussian(scale: float) -> Any:
    dp = _opendp()
    space = (
        dp.domains.vector_domain(dp.domains.atom_domain(T="i64")),
        dp.metrics.l2_distance(T="f64"),
    )
    return dp.measurements.make_gaussian(*space, scale=_positive(scale))


def _top(picks: int, scale: float) -> Any:
    dp = _opendp()
    # Adding a row can raise one error and lower another,
    # so the cheaper monotonic metric never applies.
    metric = dp.metrics.linf_distance(T="i64", monotonic=False)
    space = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), metric
    measure = dp.measures.zero_concentrated_divergence()
    return dp.measurements.make_noisy_top_k(
        *space, output_measure=measure, k=int(picks), scale=_positive(scale)
    )


@cache
def _opendp() -> Any:
    found = version("opendp")
    if found not in TESTED:
        raise InvalidInput(
            f"OpenDP {found} is installed, whose noise was not tested; allowed are "
            f"{', '.join(TESTED)}.",
            f"Install one of them: pip install opendp=={TESTED[-1]}",
        )
    # Imported on first use: loading the compiled library takes longer than most commands that draw
    # no noise. Part by part: OpenDP's prelude brings scikit-learn along, which takes longer still.
    import opendp.domains
    import opendp.measurements
    import opendp.measures
    import opendp.metrics
    import opendp.mod

    opendp.mod.enable_features("contrib")
    return opendp


def _whole_numbers(counts: Integers) -> Integers:
    # A float here would mean that rounding met the data before the noise did.
    if counts.dtype.kind != "i":
        raise InvalidInput(f"Noise is added to whole numbers, but these are {counts.dtype}.")
    return np.asarray(counts, dtype=np.int64, order="C")


def _positive(scale: float) -> float:
    # OpenDP accepts a scale of 0 and then returns the counts as they are.
    if not 0 < scale < math.inf:
        raise InvalidInput(f"The scale of the noise is {scale}, but must be a number above 0.")
    return float(scale)
