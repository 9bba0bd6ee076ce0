"""MWEM+PGM: the marginals that a graphical model answers worst, one per round."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.baselines.adaptive import adaptively
from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.baselines.binning import Binning, axes_of, binning_for, discrete_workload
from tabveil.baselines.desk import Desk
from tabveil.baselines.graphical import SCORED_ROWS, Graphical, imported
from tabveil.curator import Answer, count
from tabveil.privacy import Budget, Relation
from tabveil.queries import Marginals, marginals_with_targets
from tabveil.schema import Schema
from tabveil.table import Domain, Table

ALONE_SHARE = Fraction(1, 10)
SELECT_SHARE = Fraction(1, 10)
CONSIDERED = 300  # candidates in a round, drawn at random where there are more


@dataclass(frozen=True)
class MwemPgm(Baseline):
    """McKenna et al. 2019, engine mbi: d − 1 rounds over class-conditional marginals of binned numbers.

    Every column is measured alone first, and what the model answers is read off rows drawn from it, which
    takes a fraction of the time; both in its favour. Where there are more than 300 marginals, a round
    chooses among a random 300 of them.
    """

    title: ClassVar[str] = "MWEM+PGM"
    source: ClassVar[str] = "McKenna et al. 2019"
    inputs: ClassVar[str] = "categorical"

    bins: int = 30
    binning: str = "equal"
    rounds: int | None = None  # d − 1
    iterations: int = 500
    most_megabytes: float = 10.0
    most_cells: int = 2**16

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        imported()  # before anything is spent
        desk = Desk(frame, schema, budget, relation)
        total = desk.total()
        binning = binning_for(desk, self.bins, self.binning, total)
        model = Graphical(binning.discrete, total, self.iterations, self.most_megabytes)
        measure_alone(desk, binning, model, desk.rho * ALONE_SHARE)
        (family,) = marginals_with_targets(binning.discrete, self.most_cells)
        workload = discrete_workload(family, binning.discrete)
        learner = Growing(model, family, binning.discrete, np.random.default_rng(seed))
        rounds = min(self.rounds or max(1, len(binning.discrete.axes) - 1), len(family))
        made = adaptively(desk.curator(binning), workload, learner, rounds, desk.left, SELECT_SHARE)
        return Fitted(drawing(desk, binning, model), desk.spent, relation.value, {"rounds": made})


def measure_alone(desk: Desk, binning: Binning, model: Graphical, rho: Fraction) -> None:
    """Teach the model every column on its own, all for ρ together."""
    domain = binning.discrete
    family = Marginals.over([(axis,) for axis in range(len(domain.axes))], domain)
    answer = desk.curator(binning).measure(discrete_workload(family, domain), 0, np.arange(len(family)), rho)
    counts = [((axis,), answer.counts[axis, :size]) for axis, size in enumerate(domain.sizes)]
    model.learn(counts, answer.scale)


def drawing(desk: Desk, binning: Binning, model: Graphical) -> Callable[[int, np.random.Generator], pa.Table]:
    """Rows of the model as the schema spells them."""

    def draw(rows: int, random: np.random.Generator) -> pa.Table:
        return desk.codec.decode(binning.undone(model.codes(rows, random), random), random)

    return draw


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
        codes = self.model.codes(SCORED_ROWS, self.random)
        rows = Table(codes, np.zeros((len(codes), 0)))
        # Always as many queries, some of them twice: one compiled program counts them in every round.
        asked = self.family.take(np.resize(queries, min(CONSIDERED, len(self.family))))
        counts = count(discrete_workload(asked, self.domain), rows)[0][: len(queries)]
        return counts * (self.model.total / len(codes))

    def learn(self, answer: Answer) -> None:
        filled = self.family.take(answer.picks).filled
        axes = [axes_of(self.family, query, self.domain) for query in answer.picks.tolist()]
        learnt = zip(axes, answer.counts, filled, strict=True)
        self.model.learn([(a, counts[f]) for a, counts, f in learnt], answer.scale)
