"""The projection alone, given exact answers: annealed against fixed sharpness. NOT private."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import jax
import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.curator import Workload, count
from tabveil.fitting.projection import Annealing, Measured, project
from tabveil.fitting.relaxed import Relaxed
from tabveil.privacy import Budget, Relation
from tabveil.queries import random_mixed_marginals
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.tables.drawing import drawn_codes
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Codec, Table


@dataclass(frozen=True)
class Projection(Baseline):
    """Random 2-way mixed marginals of a number and a category, as in Figure 1 of the RAP++ paper.

    Every way gets the same number of steps. `sharpness` 0 anneals: σ doubles from 1 to 2^15, and
    moves shrink as steps sharpen.
    """

    title: ClassVar[str] = "projection alone"
    source: ClassVar[str] = "Vietri et al. 2022"
    inputs: ClassVar[str] = "mixed"
    accountant: ClassVar[str] = "none: NOT PRIVATE"
    private: ClassVar[bool] = False

    sharpness: float = 0.0
    queries: int = 1000
    rows: int = 1000
    steps: int = 1200

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        codec = Codec(schema)
        parts = [codec.encode(batch) for batch in Source.of(frame, schema).batches()]
        real = Table(
            np.concatenate([p.codes for p in parts]), np.concatenate([p.numbers for p in parts])
        )
        domain, scale = codec.domain, MinMax.of(schema)
        axes = [(axis,) for axis in range(len(domain.axes))]
        family = random_mixed_marginals(
            domain, self.queries, np.random.default_rng(seed), labels=axes, numbers=1
        )
        shares = count(Workload((family,), scale, domain), real)[0] / real.rows
        measured = Measured.reserve((family,), (self.queries,))
        every = np.arange(self.queries)
        measured = measured.learn(family, every, shares.astype(np.float32), family.filled)
        start = Relaxed.random(domain, self.rows, jax.random.key(seed))
        table, _ = project(start, measured, self._annealing())
        found = np.asarray(family.tally.of(table.rows())) / self.rows
        gaps = np.abs(found - shares)[family.filled]
        probabilities, numbers = np.asarray(table.probabilities), np.asarray(table.positions)

        def draw(rows: int, random: np.random.Generator) -> pa.Table:
            chosen = random.permutation(np.arange(rows) % self.rows)
            codes = drawn_codes(probabilities, domain, chosen, lambda: random.random(rows))
            return codec.decode(Table(codes, scale.numbers(numbers[:, chosen].T)), random)

        notes = {
            "projected_error_mean": float(gaps.mean()),
            "projected_error_max": float(gaps.max()),
        }
        return Fitted(draw, Fraction(0), relation.value, notes)

    def _annealing(self) -> Annealing:
        if self.sharpness:
            return Annealing.fixed(self.sharpness, self.steps, tolerance=0.0)
        return Annealing(
            1.0, stages=16, steps=self.steps // 16, tolerance=0.0, learning_rate=0.1, cooling=0.75
        )
