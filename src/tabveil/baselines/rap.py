"""RAP: a relaxed table of categories, projected onto the marginals that it answers worst."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import jax
import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.baselines.binning import binning_for, discrete_workload
from tabveil.baselines.desk import Desk
from tabveil.baselines.relaxed import drawn_codes
from tabveil.privacy import Budget, Relation
from tabveil.projection import Annealing, Relaxed
from tabveil.queries import marginals_with_targets
from tabveil.rappp import Ask, Plan, rappp
from tabveil.schema import Schema


@dataclass(frozen=True)
class Rap(Baseline):
    """Aydore et al. 2021 on binned numbers: d − 1 epochs of one class-conditional marginal each.

    Whole marginals are measured, and categories are softmax blocks, as in RAP++.
    """

    title: ClassVar[str] = "RAP"
    source: ClassVar[str] = "Aydore et al. 2021"
    inputs: ClassVar[str] = "categorical"

    bins: int = 30
    binning: str = "equal"
    rows: int = 1000
    steps: int = 200
    learning_rate: float = 0.05
    most_cells: int = 2**16

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        desk = Desk(frame, schema, budget, relation)
        total = desk.total()
        binning = binning_for(desk, self.bins, self.binning, total)
        domain = binning.discrete
        (family,) = marginals_with_targets(domain, self.most_cells)
        rounds = min(max(1, len(domain.axes) - 1), len(family))
        half = desk.left / (2 * rounds)
        plan = Plan(Fraction(0), ((Ask(0, 1, half, half),),) * rounds)
        annealing = Annealing.fixed(1.0, self.steps, tolerance=0.0, learning_rate=self.learning_rate)
        start = Relaxed.random(domain, self.rows, jax.random.key(seed))
        workload = discrete_workload(family, domain)
        result = rappp(desk.curator(binning), workload, plan, start, annealing, total=total)
        probabilities = np.asarray(result.table.probabilities)

        def draw(rows: int, random: np.random.Generator) -> pa.Table:
            codes = drawn_codes(probabilities, domain, rows, random)
            return desk.codec.decode(binning.undone(codes, random), random)

        return Fitted(draw, desk.spent, relation.value, {"rounds": rounds})
