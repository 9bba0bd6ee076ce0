"""Builds to attack: the one that people run, and one without noise, on which an attack must
succeed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tabveil.fitting.synthesizer import RAPpp
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


class Built(RAPpp):
    """The synthesizer with the noise of a build."""

    def __init__(self, build: Build, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.build = build

    def _noise(self) -> Noise:
        return self.build()
