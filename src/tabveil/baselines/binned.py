"""Systems that know categories alone: numbers are cut into bins before, drawn inside them after."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.baselines.binning import binning_for, discrete_workload
from tabveil.baselines.desk import Desk
from tabveil.curator import Curator, Workload
from tabveil.privacy import Budget, Relation
from tabveil.queries import QueryFamily
from tabveil.schema import Schema

Codes = Callable[[int, np.random.Generator], np.ndarray]
"""Draws so many rows of codes, [rows, axes]."""


class BinnedDesk(Desk):
    """A desk whose rows have categories alone; the bins of numbers are paid for where they cost."""

    def __init__(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation,
        bins: int,
        kind: str,
    ) -> None:
        super().__init__(frame, schema, budget, relation)
        self.size = self.total()  # how many rows there are, as far as we may know
        self.binning = binning_for(self, bins, kind, self.size)
        self.domain = self.binning.discrete

    def binned(self) -> Curator:
        """A curator of the rows with bins for numbers."""
        return self.curator(self.binning)

    def workload(self, family: QueryFamily) -> Workload:
        """Queries on these rows."""
        return discrete_workload(family, self.domain)

    def rounds(self, family: QueryFamily) -> int:
        """One fewer than columns, as in RAP, GEM and MWEM+PGM, if there are as many queries."""
        return min(max(1, len(self.domain.axes) - 1), len(family))

    def decoded(self, codes: np.ndarray, random: np.random.Generator) -> pa.Table:
        """Rows as the schema spells them."""
        return self.codec.decode(self.binning.undone(codes, random), random)


@dataclass(frozen=True)
class Binned(Baseline):
    """A baseline that says how to learn from categories; bins and rows are seen to here."""

    inputs: ClassVar[str] = "categorical"

    bins: int = 30
    binning: str = "equal"
    most_cells: int = 2**16

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        desk = BinnedDesk(frame, schema, budget, relation, self.bins, self.binning)
        codes, rounds = self.learn(desk, seed)

        def draw(rows: int, random: np.random.Generator) -> pa.Table:
            return desk.decoded(codes(rows, random), random)

        notes = {"rounds": rounds} | ({"bins_not_private": 1} if self.binning == "free" else {})
        return Fitted(draw, desk.spent, relation.value, notes)

    @abstractmethod
    def learn(self, desk: BinnedDesk, seed: int) -> tuple[Codes, int]:
        """Spend what is left: something to draw codes from, and how many rounds it took."""
