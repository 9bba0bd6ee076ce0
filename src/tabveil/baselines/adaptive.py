"""Choose what a model answers worst, measure it, teach it to the model, repeat (MWEM and after)."""

from fractions import Fraction
from typing import Protocol

import numpy as np

from tabveil.curator import Answer, Curator, Workload


class Learning(Protocol):
    """A model of the rows that sees noisy answers alone."""

    def usable(self, candidates: np.ndarray, done: float) -> np.ndarray:
        """The candidates that the model has room for when this share of the rounds is done."""

    def expected(self, queries: np.ndarray) -> np.ndarray:
        """The counts that the model expects for these queries, [queries, width]."""

    def learn(self, answer: Answer) -> None:
        """Take one more noisy answer into account."""


def adaptively(
    curator: Curator,
    workload: Workload,
    learner: Learning,
    rounds: int,
    rho: Fraction,
    select: Fraction,
) -> int:
    """Make so many rounds at one price, `select` its share for choosing; how many were made."""
    family = workload.families[0]
    each, asked = rho / max(1, rounds), np.zeros(0, int)
    noise = curator.noise_of(family, 1, each * (1 - select)) * np.sqrt(2 / np.pi)
    every = np.arange(len(family))
    for number in range(rounds):
        usable = learner.usable(np.setdiff1d(every, asked), (number + 1) / rounds)
        if not len(usable):
            return number
        expected = np.zeros((len(family), family.width), np.int64)
        expected[usable] = np.rint(learner.expected(usable))
        picks = curator.select(
            workload,
            family,
            expected=expected,
            picks=1,
            rho=each * select,
            exclude=np.setdiff1d(every, usable),
            bias=np.rint(family.cells * noise).astype(np.int64),
        )
        learner.learn(curator.measure(workload, family, picks, each * (1 - select)))
        asked = np.append(asked, picks)
    return rounds
