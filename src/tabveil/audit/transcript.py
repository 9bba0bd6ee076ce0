"""Every draw of noise in a fit: its cost, and which of two neighbours explains it better."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tabveil.privacy import Mechanism, Noise, OpenDPNoise
from tabveil.privacy.noise import Integers


@dataclass(frozen=True)
class Draw:
    """Exact counts or scores, what noise made of them, and the scale that the curator asked for."""

    mechanism: Mechanism
    exact: Integers
    drawn: Integers
    scale: float

    def likelihood(self) -> float:
        """Its logarithm, up to terms that do not depend on the exact numbers."""
        if self.mechanism is Mechanism.GAUSSIAN:
            return float(-((self.drawn - self.exact) ** 2 / (2 * self.scale**2)).sum())
        left, total = self.exact / self.scale, 0.0
        for pick in self.drawn:  # one after another, each with weight exp(score / scale)
            highest = left.max()
            total += float(left[pick] - highest - np.log(np.exp(left - highest).sum()))
            left[pick] = -np.inf
        return total

    def cost(self, other: "Draw") -> float:
        """The ρ that this draw takes to hide the difference between two tables."""
        moved = (self.exact - other.exact).astype(float)
        if self.mechanism is Mechanism.GAUSSIAN:
            return float((moved**2).sum() / (2 * self.scale**2))
        return float(len(self.drawn) * np.abs(moved).max(initial=0) ** 2 / (2 * self.scale**2))


class Heard:
    """Real noise, every draw of which is kept, in order."""

    threads = 1

    def __init__(self) -> None:
        self._noise: Noise = OpenDPNoise()
        self.draws: list[Draw] = []

    @property
    def private(self) -> bool:
        return self._noise.private

    def gaussian(self, counts: Integers, scale: float) -> Integers:
        return self._keep(Mechanism.GAUSSIAN, counts, self._noise.gaussian(counts, scale), scale)

    def top(self, scores: Integers, picks: int, scale: float) -> Integers:
        return self._keep(Mechanism.TOP, scores, self._noise.top(scores, picks, scale), scale)

    def _keep(
        self, mechanism: Mechanism, exact: Integers, drawn: Integers, scale: float
    ) -> Integers:
        self.draws.append(Draw(mechanism, exact.copy(), drawn, scale))
        return drawn


class Repeated:
    """Says again what was heard on another table, and keeps what it would have said it about."""

    private = False
    threads = 1

    def __init__(self, heard: Heard) -> None:
        self._left: Iterator[Draw] = iter(heard.draws)
        self.draws: list[Draw] = []

    def gaussian(self, counts: Integers, scale: float) -> Integers:
        return self._again(Mechanism.GAUSSIAN, counts, counts.shape, scale)

    def top(self, scores: Integers, picks: int, scale: float) -> Integers:
        return self._again(Mechanism.TOP, scores, (picks,), scale)

    def require_end(self) -> None:
        """Refuse a fit that asked for less than was heard."""
        if next(self._left, None) is not None:
            raise Impossible

    def _again(
        self, mechanism: Mechanism, exact: Integers, shape: tuple[int, ...], scale: float
    ) -> Integers:
        heard = next(self._left, None)
        if heard is None or (heard.mechanism, heard.drawn.shape, heard.scale) != (
            mechanism,
            shape,
            scale,
        ):
            raise Impossible
        self.draws.append(Draw(mechanism, exact.copy(), heard.drawn, scale))
        return heard.drawn


class Impossible(Exception):
    """This table cannot lead to what was heard: something besides noisy answers tells it apart."""
