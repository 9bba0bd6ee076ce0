"""RAP++ of this package, as one entry among the others."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.fitting.presets import Default, Paper, PaperEffort, Preset
from tabveil.fitting.synthesizer import RAPpp
from tabveil.privacy import Budget, Relation
from tabveil.schema import Schema


@dataclass(frozen=True)
class OurDefault(Baseline):
    """The default preset: rank space and whole cross-tables."""

    title: ClassVar[str] = "RAP++ (default preset)"
    source: ClassVar[str] = "this package"
    inputs: ClassVar[str] = "mixed"

    constraints: bool = True  # whether those of the schema are heeded

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        document = schema.to_dict()
        if not self.constraints:
            document.pop("constraints", None)
        known = Schema.from_dict(document)
        return fitted(Default(), frame, known, budget, relation, seed)


@dataclass(frozen=True)
class OurPaper(Baseline):
    """The paper's own queries and parameters."""

    title: ClassVar[str] = "RAP++ (paper preset)"
    source: ClassVar[str] = "Vietri et al. 2022"
    inputs: ClassVar[str] = "mixed"

    thresholds: int = 200_000
    threshold_epochs: int = 50
    picks: int = 10
    rows: int = 1000

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        preset = Paper(
            self.thresholds, self.threshold_epochs, self.picks, effort=PaperEffort(self.rows)
        )
        return fitted(preset, frame, schema, budget, relation, seed)


def fitted(
    preset: Preset,
    frame: pd.DataFrame,
    schema: Schema,
    budget: Budget,
    relation: Relation,
    seed: int,
) -> Fitted:
    """A release of this package as other systems are seen here."""
    model = RAPpp(
        schema,
        budget.epsilon,
        delta=budget.delta,
        preset=preset,
        neighbours=relation.value,
        seed=seed,
    ).fit(frame)
    release = model.release_

    def draw(rows: int, random: np.random.Generator) -> pa.Table:
        return release.sample(rows, seed=int(random.integers(2**32)), kind="arrow")

    spent = sum((Fraction(charge["rho"]) for charge in release.charges), Fraction(0))
    return Fitted(draw, spent, relation.value)
