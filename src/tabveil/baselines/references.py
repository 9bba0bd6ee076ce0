"""Where a synthesizer should stand: real rows above, independent columns below. NOT private."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.privacy import Budget, Relation
from tabveil.schema import Schema


@dataclass(frozen=True)
class Reference(Baseline):
    """Rows made from real ones without noise."""

    source: ClassVar[str] = "–"
    inputs: ClassVar[str] = "mixed"
    accountant: ClassVar[str] = "none: NOT PRIVATE"
    private: ClassVar[bool] = False

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        real = frame[list(schema.columns)].reset_index(drop=True)

        def draw(rows: int, random: np.random.Generator) -> pa.Table:
            return pa.Table.from_pandas(self.made(real, schema, rows, random), preserve_index=False)

        return Fitted(draw, Fraction(0), relation.value)

    def made(
        self, real: pd.DataFrame, schema: Schema, rows: int, random: np.random.Generator
    ) -> pd.DataFrame:
        """The rows that stand for synthetic ones."""
        raise NotImplementedError


@dataclass(frozen=True)
class Real(Reference):
    """All real rows, however many are asked for; without `numbers`, models see categories alone."""

    title: ClassVar[str] = "real rows"

    numbers: bool = True

    def made(
        self, real: pd.DataFrame, schema: Schema, rows: int, random: np.random.Generator
    ) -> pd.DataFrame:
        if self.numbers:
            return real
        # The same number everywhere teaches nothing;
        # the smallest one is where models put their zero.
        return real.assign(**{name: real[name].min() for name in schema.numerical})


@dataclass(frozen=True)
class RealSample(Reference):
    """As many real rows as were asked for: the floor that sampling alone leaves."""

    title: ClassVar[str] = "real rows, a sample"

    def made(
        self, real: pd.DataFrame, schema: Schema, rows: int, random: np.random.Generator
    ) -> pd.DataFrame:
        return real.iloc[random.choice(len(real), rows, replace=rows > len(real))]


@dataclass(frozen=True)
class Independent(Reference):
    """Every column drawn from its own exact distribution, alone."""

    title: ClassVar[str] = "independent columns"

    def made(
        self, real: pd.DataFrame, schema: Schema, rows: int, random: np.random.Generator
    ) -> pd.DataFrame:
        return pd.DataFrame(
            {
                name: real[name].to_numpy()[random.integers(len(real), size=rows)]
                for name in real.columns
            }
        )
