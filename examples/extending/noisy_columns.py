"""Every column alone, with noise: the least that a private synthesizer should beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.baselines.desk import Desk
from tabveil.privacy import Budget, Relation
from tabveil.schema import Schema
from tabveil.tables.placement import Lattice
from tabveil.tables.table import Table


@dataclass(frozen=True)
class NoisyColumns(Baseline):
    """Noisy counts of categories and of runs of numbers; rows are drawn column by column."""

    title: ClassVar[str] = "noisy columns"
    source: ClassVar[str] = "an example"
    inputs: ClassVar[str] = "mixed"

    runs: int = 32  # that each number is cut into

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        desk = Desk(frame, schema, budget, relation)  # the only one that sees the rows
        curator, domain, lattice = desk.curator(), desk.codec.domain, Lattice.of(schema)
        ends = [
            np.linspace(0, size, min(self.runs, size) + 1).astype(int) for size in lattice.sizes
        ]
        asked = [np.stack([e[:-1], e[1:]], 1) for e in ends]
        # Half of the budget for each kind; what does not apply is not spent.
        half = desk.rho / 2
        counts = (
            curator.categories(range(len(domain.axes)), domain, half).counts if domain.axes else []
        )
        heights = curator.intervals(lattice, asked, half).counts if asked else []

        def draw(rows: int, random: np.random.Generator) -> pa.Table:
            codes = np.zeros((rows, len(counts)), np.int32)
            points = np.zeros((rows, len(heights)), np.int64)
            for axis, noisy in enumerate(counts):
                codes[:, axis] = _drawn(noisy, rows, random)
            for number, noisy in enumerate(heights):
                run = _drawn(noisy, rows, random)
                points[:, number] = random.integers(asked[number][run, 0], asked[number][run, 1])
            return desk.codec.decode(Table(codes, lattice.numbers(points)))

        return Fitted(draw, desk.spent, relation.value)


def _drawn(noisy: np.ndarray, rows: int, random: np.random.Generator) -> np.ndarray:
    shares = np.maximum(noisy, 0) + 1e-9
    return random.choice(len(shares), rows, p=shares / shares.sum())
