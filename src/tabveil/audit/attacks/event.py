"""An attack on the primitives that looks for the event that tells two worlds apart best.

The idea is DP-Sniper (Bichsel and others, 2021): a classifier, trained on half of the draws, ranks
what noise gave out by how much it speaks for one world; the other half says how often the best
threshold is right. The attacker is told nothing about the mechanism: not which cells move, nor how.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tabveil.audit.attacks.attack import Attack
from tabveil.audit.finding import DELTA, Finding, judged
from tabveil.privacy import epsilon_of, gaussian_scale, rho_of, selection_scale

CELLS, MOVED = 6, (1, 4)
CANDIDATES = 10


@dataclass(frozen=True)
class EventInCounts(Attack):
    """Six counts, of which one row moves two."""

    name: ClassVar[str] = "noisy counts"

    draws: int = 20_000

    def __call__(self) -> Finding:
        rho = rho_of(self.epsilon, DELTA)
        without, present = self.worlds(gaussian_scale(rho, len(MOVED)))
        case = f"counts, ε = {self.epsilon:g}"
        return judged("attack by event", case, epsilon_of(rho, DELTA), *ranked(without, present))

    def worlds(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """What is drawn without the target, and with it."""
        noise, moved = self.build(), np.isin(np.arange(CELLS), MOVED).astype(np.int64)
        return tuple(noise.gaussian(np.tile(at * moved, (self.draws, 1)), scale) for at in (0, 1))  # type: ignore[return-value]


@dataclass(frozen=True)
class EventInPicks(Attack):
    """One pick of ten: a row lifts its own candidate past the one that led."""

    name: ClassVar[str] = "noisy pick"

    draws: int = 3_000

    def __call__(self) -> Finding:
        scale = selection_scale(Fraction(self.epsilon) ** 2 / 8, 1, 1)
        without, present = self.worlds(scale)
        case = f"pick, ε = {self.epsilon:g}"
        # One pick's loss lies in an interval of length 2D/β:
        # no δ is needed, and the shape is not Gaussian.
        return judged(
            "attack by event", case, 2 / scale, *ranked(without, present), delta=0.0, gaussian=False
        )

    def worlds(self, scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Which one was picked, a column per candidate."""
        noise, scores = self.build(), np.zeros(CANDIDATES, np.int64)
        scores[1] = 1
        moved = scores + np.where(np.arange(CANDIDATES) == 0, 1, -1)
        return tuple(
            np.eye(CANDIDATES)[[int(noise.top(world, 1, scale)[0]) for _ in range(self.draws)]]
            for world in (scores, moved)
        )  # type: ignore[return-value]


def ranked(without: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much each draw speaks for the target, by a classifier that learnt from other draws."""
    from sklearn.linear_model import LogisticRegression

    draws = np.concatenate([without[::2], present[::2]])
    learner = LogisticRegression().fit(
        draws, np.repeat([0, 1], [len(without[::2]), len(present[::2])])
    )
    return learner.decision_function(without[1::2]), learner.decision_function(present[1::2])
