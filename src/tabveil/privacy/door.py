"""The door between private rows and everyone else: charged, then looked at, then noised, once.

Nothing but this module draws privacy noise (`tests/test_layers.py`). What a draw costs is worked
out twice: by our own formula, which sets its scale, and by the privacy map of the OpenDP
measurement that draws. If the second says more than is charged, nothing is charged and nothing is
drawn.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tabveil.errors import Mispriced
from tabveil.privacy.budget import gaussian_scale, selection_scale
from tabveil.privacy.journal import Integers
from tabveil.privacy.ledger import Allowance
from tabveil.privacy.mechanism import Mechanism
from tabveil.privacy.noise import Noise, OpenDPNoise, gaussian_cost, top_cost
from tabveil.privacy.promise import Protection

ROUNDING = Fraction(1, 10**9)  # OpenDP rounds every step upwards, in floats


class NoisyAnswer(NamedTuple):
    """Noisy whole numbers, and the standard deviation of their noise."""

    counts: Integers
    scale: float


class Door:
    """Where one release buys its looks: an allowance to charge, whom to protect, a noise source."""

    def __init__(
        self, allowance: Allowance, protection: Protection, noise: Noise | None = None
    ) -> None:
        self.allowance, self.protection = allowance, protection
        self._noise = noise or OpenDPNoise()

    def __repr__(self) -> str:
        return f"Door({self.protection.relation.value})"

    @property
    def private(self) -> bool:
        """Whether the noise is real; false only with a seeded source, in tests."""
        return self._noise.private

    def counts(
        self,
        what: str,
        rho: Fraction,
        exact: Callable[[], Integers],
        *,
        squared: int,
        asked: Sequence[np.ndarray] = (),
        **details: str | int | float | bool,
    ) -> NoisyAnswer:
        """Counts with Gaussian noise, for ρ; a neighbour moves them by at most √`squared` in L2."""
        scale = gaussian_scale(rho, squared)
        _hold_against(rho, gaussian_cost(scale, squared), what)
        noisy = self.allowance.buy(
            what,
            rho,
            Mechanism.GAUSSIAN,
            lambda: self._noise.gaussian(exact(), scale),
            asked=asked,
            scale=scale,
            **details,
        )
        return NoisyAnswer(noisy, scale)

    def top(
        self,
        what: str,
        rho: Fraction,
        scores: Callable[[], Integers],
        *,
        groups: Sequence[tuple[Integers, int]],
        sensitivity: int,
        asked: Sequence[np.ndarray] = (),
        **details: str | int | float | bool,
    ) -> Integers:
        """Places of high scores, so many out of each group of places, for ρ together.

        A neighbour moves each score by no more than `sensitivity` (docs/proofs/selection.md).
        """
        picks = sum(k for _, k in groups)
        scale = selection_scale(rho, picks, sensitivity)
        _hold_against(rho, sum(top_cost(scale, k, sensitivity) for _, k in groups), what)

        def choose() -> Integers:
            found = scores()

            def pick(places: Integers, k: int) -> Integers:
                return places[self._noise.top(found[places], k, scale)]

            with ThreadPoolExecutor(self._noise.threads) as pool:
                return np.concatenate(list(pool.map(pick, *zip(*groups, strict=True))))

        return self.allowance.buy(
            what,
            rho,
            Mechanism.TOP,
            choose,
            asked=asked,
            scale=scale,
            groups=len(groups),
            **details,
        )

    def frequent(
        self,
        what: str,
        rho: Fraction,
        tallies: Callable[[], Sequence[Mapping[str, int]]],
        *,
        squared: int,
        least: Callable[[float], int],
        delta: float,
    ) -> list[list[str]]:
        """Of each tally the names clearly many rows hold, for ρ and δ (docs/proofs/discovery.md).

        `least` gives, for the scale of the noise, the noisy count from which on a name is given
        out.
        """
        scale = gaussian_scale(rho, squared)
        _hold_against(rho, gaussian_cost(scale, squared), what)
        needed = least(scale)

        def draw() -> Integers:
            # What is bought is kept as whole numbers, so names become their bytes.
            held = [(tally, sorted(tally)) for tally in tallies()]
            counts = np.array([tally[name] for tally, names in held for name in names], np.int64)
            noisy = iter(self._noise.gaussian(counts, scale).tolist())
            kept = [[name for name in names if next(noisy) >= needed] for _, names in held]
            return np.frombuffer(json.dumps(kept).encode(), np.uint8).astype(np.int64)

        named = self.allowance.buy(
            what, rho, Mechanism.THRESHOLD, draw, scale=scale, threshold=needed, delta=delta
        )
        found: list[list[str]] = json.loads(named.astype(np.uint8).tobytes())
        return found


def _hold_against(charge: Fraction, mapped: float, what: str) -> None:
    """Refuse a draw of which OpenDP says that it costs more than would be charged."""
    if not mapped <= charge * (1 + ROUNDING):
        raise Mispriced(
            f"{what} would cost ρ = {mapped:.6g} by OpenDP's account, but ρ = "
            f"{float(charge):.6g} by ours.",
            "Nothing was drawn or charged. Do not use this build; see SECURITY.md.",
        )
