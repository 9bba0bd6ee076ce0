"""RAP++ as in the paper's experiments (section 5): categorical marginals, single linear thresholds.

Departures, all in the user's favour and none in the promise: the tight conversion from (ε, δ) to ρ,
the tight scale of the noisy top-K (the paper prints one √K larger), scores less the noise that
measuring would leave, and of each projection the best table instead of the last. Where the paper is
silent we say what we chose: ρ is split between the two kinds of queries like the columns are; one
whole marginal is measured per epoch; a threshold is answered for every class of its label at once;
thresholds are dealt out into K groups, each of which gives one; epochs come in random order.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import jax
import numpy as np

from tabveil.curator import Curator, Workload
from tabveil.errors import InvalidInput
from tabveil.fitting.presets.preset import Task, Watch
from tabveil.fitting.projection import Annealing
from tabveil.fitting.rappp import Ask, Plan, Result, rappp
from tabveil.fitting.relaxed import Relaxed
from tabveil.fitting.spending import Spending, rounds_of, row_count
from tabveil.privacy import DELTA, Relation
from tabveil.queries import Marginals, QueryFamily, marginals_with_targets, random_linear_thresholds
from tabveil.schema import Schema
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Domain

# 100 steps take twice the time and are no better; still more fit the noise.
ANNEALING = Annealing(2.0, stages=6, steps=30, tolerance=1e-5, learning_rate=0.05)
ROW_COUNT_SHARE = Fraction(1, 100)


@dataclass(frozen=True)
class PaperEffort:
    """How hard the optimiser works; changes no charge."""

    rows: int = 1000
    annealing: Annealing = ANNEALING


@final
@dataclass(frozen=True)
class Paper:
    """The paper's parameters; a smaller copy of them serves tests and quick experiments."""

    thresholds: int = 200_000
    threshold_epochs: int = 50
    picks: int = 10
    most_cells: int = 2**16
    effort: PaperEffort = PaperEffort()

    takes_public: ClassVar[bool] = False

    def check(self, domain: Domain) -> None:
        """Refuse a schema without a single query that could be asked."""
        if not domain.numerical and not marginals_with_targets(domain, self.most_cells):
            raise InvalidInput(
                f"Every marginal of this schema has more than {self.most_cells:,} cells.",
                "Group the categories of the largest columns, or declare a shorter list with "
                "`other: true`.",
            )

    def default_delta(self, rows: int | None) -> float:
        """The paper's 1/n² where n is public."""
        return DELTA if rows is None else 1 / max(2, rows) ** 2

    def spending(self, task: Task, rows: int) -> Spending:
        """The row count, and what the epochs cost; how many rows there are changes nothing."""
        workload, plan = self._planned(task)
        bought = rounds_of(plan, [(f, len(f)) for f in workload.families], task.protection)
        return Spending((*row_count(plan.total, task.protection), *bought), len(plan.rounds))

    def __call__(self, curator: Curator, task: Task, watch: Watch) -> Result:
        """Fit with the paper's queries and parameters."""
        workload, plan = self._planned(task)
        start = Relaxed.random(task.domain, self.effort.rows, jax.random.key(task.seed))
        total = curator.total(plan.total)
        return rappp(curator, workload, plan, start, self.effort.annealing, watch, total=total)

    def _planned(self, task: Task) -> tuple[Workload, Plan]:
        self.check(task.domain)
        random = np.random.default_rng(task.seed)
        workload = self.workload(task.schema, task.domain, random)
        return workload, self.plan(workload, task.rho, task.relation, random)

    def workload(self, schema: Schema, domain: Domain, random: np.random.Generator) -> Workload:
        """All (column, column, target) marginals, and random thresholds over the numbers."""
        families: list[QueryFamily] = [*marginals_with_targets(domain, self.most_cells)]
        if domain.numerical:
            families.append(random_linear_thresholds(domain, self.thresholds, random))
        return Workload(tuple(families), MinMax.of(schema), domain)

    def plan(
        self, workload: Workload, rho: Fraction, relation: Relation, random: np.random.Generator
    ) -> Plan:
        """T_CM = categorical columns − 1 epochs of a marginal, T_LT = 50 of K = 10 thresholds."""
        domain = workload.domain
        total = rho * ROW_COUNT_SHARE if relation is Relation.ADD_REMOVE else Fraction(0)
        features = len(domain.axes) - len(domain.targets)
        weights, epochs, picks = [], [], []
        for family in workload.families:
            marginals = isinstance(family, Marginals)
            weights.append(max(1, features) if marginals else len(domain.numerical))
            picks.append(1 if marginals else min(self.picks, len(family)))
            wanted = max(1, len(domain.axes) - 1) if marginals else self.threshold_epochs
            epochs.append(min(wanted, len(family) // picks[-1]))
        order = random.permutation(np.repeat(np.arange(len(epochs)), epochs))
        halves = [
            (rho - total) * w / sum(weights) / t / 2 for w, t in zip(weights, epochs, strict=True)
        ]
        # A group of candidates for each pick: one among all of them takes ten times as long.
        asks = [
            Ask(family, some, half, half, groups=some)
            for family, some, half in zip(workload.families, picks, halves, strict=True)
        ]
        rounds = [(asks[place],) for place in order]
        return Plan(total, tuple(rounds))
