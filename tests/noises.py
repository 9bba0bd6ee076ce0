"""Noise for tests: none at all, kept for later, or the same every time. No release made with it is
private."""

import numpy as np

from tabveil.audit.attacks import Silence
from tabveil.audit.transcript import Draw
from tabveil.privacy import Mechanism


class Spy(Silence):
    """Adds nothing, and keeps everything that it was asked to hide."""

    def __init__(self) -> None:
        self.draws: list[Draw] = []

    def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
        drawn = super().gaussian(counts, scale)
        self.draws.append(Draw(Mechanism.GAUSSIAN, counts.copy(), drawn, scale))
        return drawn

    def top(self, scores: np.ndarray, picks: int, scale: float) -> np.ndarray:
        drawn = super().top(scores, picks, scale)
        self.draws.append(Draw(Mechanism.TOP, scores.copy(), drawn, scale))
        return drawn

    @property
    def scales(self) -> list[float]:
        return [draw.scale for draw in self.draws]

    @property
    def seen(self) -> list[np.ndarray]:
        return [draw.exact for draw in self.draws]

    @property
    def noised(self) -> int:
        """How many integers would have been noised."""
        return sum(draw.exact.size for draw in self.draws if draw.mechanism == Mechanism.GAUSSIAN)


class Loud(Silence):
    """So many standard deviations everywhere, so that nothing is left to luck."""

    def __init__(self, deviations: float) -> None:
        self.deviations = deviations

    def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
        return counts + int(self.deviations * scale)


class Fixed(Silence):
    """Noise of the right size from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)

    def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
        return counts + np.rint(self.random.normal(0, scale, counts.shape)).astype(np.int64)

    def top(self, scores: np.ndarray, picks: int, scale: float) -> np.ndarray:
        noisy = scores + self.random.gumbel(0, scale, len(scores))
        return np.argsort(-noisy, kind="stable")[:picks]


class Wild(Fixed):
    """Noise far beyond what was asked for, so that counts of every kind are met."""

    def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
        noise = np.rint(self.random.standard_cauchy(counts.shape) * scale)
        return counts + noise.clip(-1e12, 1e12).astype(int)

    def top(self, scores: np.ndarray, picks: int, scale: float) -> np.ndarray:
        return self.random.permutation(len(scores))[:picks]
