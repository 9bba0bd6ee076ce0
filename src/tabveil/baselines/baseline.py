"""What every baseline gets and gives: one call to fit, one to draw rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.privacy import Budget, Relation
from tabveil.schema import Schema

LEDGER = "ledger of this package, ρ-zCDP"


@dataclass(frozen=True)
class Fitted:
    """Something that rows can be drawn from, and what it cost."""

    draw: Callable[[int, np.random.Generator], pa.Table]
    spent: Fraction | None  # ρ in this package's ledger; None where another accountant speaks
    relation: str  # which tables count as neighbours; a system may know one relation only
    # Public figures of the run, such as rounds.
    notes: Mapping[str, float] = field(default_factory=dict)

    def sample(self, rows: int, seed: int = 0) -> pd.DataFrame:
        """Synthetic rows in the order of the schema's columns."""
        return self.draw(rows, np.random.default_rng(seed)).to_pandas()


@dataclass(frozen=True)
class Baseline(ABC):
    """A synthesizer behind one `fit`; the fields of a subclass are its options."""

    title: ClassVar[str]
    source: ClassVar[str]  # who described it
    inputs: ClassVar[str]  # the kinds of columns that it works on: categorical or mixed
    accountant: ClassVar[str] = LEDGER
    private: ClassVar[bool] = True

    @abstractmethod
    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        """Spend at most the budget on these rows; `seed` drives public choices, never the noise."""

    @classmethod
    def options(cls) -> list[str]:
        """The names of what can be set."""
        return [option.name for option in fields(cls)]
