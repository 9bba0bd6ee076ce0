"""Builds to attack: the one that people run, and one without noise, which attacks must break."""

from collections.abc import Callable

import numpy as np

from tabveil.privacy import Noise, OpenDPNoise
from tabveil.privacy.noise import Integers

Build = Callable[[], Noise]
"""A source of noise for each fit."""


class Silence:
    """No noise at all: exact counts, and the very highest scores."""

    private = False
    threads = 1

    def gaussian(self, counts: Integers, scale: float) -> Integers:
        return counts.copy()

    def top(self, scores: Integers, picks: int, scale: float) -> Integers:
        return np.argsort(-scores, kind="stable")[:picks].astype(np.int64)


BUILDS: dict[str, Build] = {"real": OpenDPNoise, "without noise": Silence}
