"""MWEM+PGM: the marginals that a graphical model answers worst, one per round."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tabveil.baselines.adaptive import adaptively
from tabveil.baselines.binned import Binned, BinnedDesk, Codes
from tabveil.baselines.binning import axes_of
from tabveil.baselines.graphical import Graphical
from tabveil.curator import Answer
from tabveil.queries import Marginals, marginals_with_targets
from tabveil.tables.table import Domain

ALONE_SHARE = Fraction(1, 10)
SELECT_SHARE = Fraction(1, 10)
CONSIDERED = 300  # candidates in a round, drawn at random where there are more


@dataclass(frozen=True)
class MwemPgm(Binned):
    """McKenna et al. 2019: d − 1 rounds over class-conditional marginals, numbers binned.

    Every column is measured alone first, in its favour. Where there are more than 300 marginals, a
    round chooses among a random 300 of them.
    """

    title: ClassVar[str] = "MWEM+PGM"
    source: ClassVar[str] = "McKenna et al. 2019"

    rounds: int | None = None  # d − 1
    iterations: int = 500
    most_megabytes: float = 10.0

    def learn(self, desk: BinnedDesk, seed: int) -> tuple[Codes, int]:
        model = Graphical(desk.domain, desk.size, self.iterations, self.most_megabytes)
        measure_alone(desk, model, desk.rho * ALONE_SHARE)
        (family,) = marginals_with_targets(desk.domain, self.most_cells)
        learner = Growing(model, family, desk.domain, np.random.default_rng(seed))
        rounds = min(self.rounds or desk.rounds(family), len(family))
        workload = desk.workload(family)
        made = adaptively(desk.binned(), workload, learner, rounds, desk.left, SELECT_SHARE)
        return model.codes, made


def measure_alone(desk: BinnedDesk, model: Graphical, rho: Fraction) -> None:
    """Teach the model every column on its own, all for ρ together."""
    family = Marginals.over([(axis,) for axis in range(len(desk.domain.axes))], desk.domain)
    answer = desk.binned().measure(desk.workload(family), family, np.arange(len(family)), rho)
    counts = [((axis,), answer.counts[axis, :size]) for axis, size in enumerate(desk.domain.sizes)]
    model.learn(counts, answer.scale)


@dataclass
class Growing:
    """A graphical model as the adaptive loop sees it."""

    model: Graphical
    family: Marginals
    domain: Domain
    random: np.random.Generator

    def usable(self, candidates: np.ndarray, done: float) -> np.ndarray:
        if len(candidates) > CONSIDERED:
            candidates = np.sort(self.random.choice(candidates, CONSIDERED, replace=False))
        axes = (axes_of(self.family, query, self.domain) for query in candidates)
        fitting = [self.model.fits(a, done) for a in axes]
        return candidates[np.array(fitting, bool)]

    def expected(self, queries: np.ndarray) -> np.ndarray:
        filled = self.family.take(queries).filled
        expected = np.zeros(filled.shape)
        axes = [axes_of(self.family, query, self.domain) for query in queries.tolist()]
        expected[filled] = np.concatenate(self.model.marginals(axes, self.random))
        return expected

    def learn(self, answer: Answer) -> None:
        filled = self.family.take(answer.picks).filled
        axes = [axes_of(self.family, query, self.domain) for query in answer.picks.tolist()]
        learnt = zip(axes, answer.counts, filled, strict=True)
        self.model.learn([(a, counts[f]) for a, counts, f in learnt], answer.scale)
