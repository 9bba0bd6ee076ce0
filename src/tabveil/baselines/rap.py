"""RAP: a relaxed table of categories, projected onto the marginals that it answers worst."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import jax

from tabveil.baselines.binned import Binned, BinnedDesk, Codes
from tabveil.baselines.relaxed import drawing
from tabveil.fitting.projection import Annealing
from tabveil.fitting.rappp import Ask, Plan, rappp
from tabveil.fitting.relaxed import Relaxed
from tabveil.queries import marginals_with_targets


@dataclass(frozen=True)
class Rap(Binned):
    """Aydore et al. 2021 on binned numbers: d − 1 epochs of one class-conditional marginal each.

    Whole marginals are measured, and categories are softmax blocks, as in RAP++.
    """

    title: ClassVar[str] = "RAP"
    source: ClassVar[str] = "Aydore et al. 2021"

    rows: int = 1000
    steps: int = 200
    learning_rate: float = 0.05

    def learn(self, desk: BinnedDesk, seed: int) -> tuple[Codes, int]:
        (family,) = marginals_with_targets(desk.domain, self.most_cells)
        rounds = desk.rounds(family)
        half = desk.left / (2 * rounds)
        plan = Plan(Fraction(0), ((Ask(family, 1, half, half),),) * rounds)
        annealing = Annealing.fixed(
            1.0, self.steps, tolerance=0.0, learning_rate=self.learning_rate
        )
        start = Relaxed.random(desk.domain, self.rows, jax.random.key(seed))
        result = rappp(
            desk.binned(), desk.workload(family), plan, start, annealing, total=desk.size
        )
        return drawing(result.table, desk.domain), rounds
