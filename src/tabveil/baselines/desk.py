"""One private table and one budget: every look of a baseline at the rows is bought here."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

from tabveil.curator import (
    Curator,
    PointCounts,
    PrivateRows,
    TableCount,
    Workload,
    WorkloadCounts,
    unfolded,
)
from tabveil.errors import InvalidInput
from tabveil.fitting.rows import EncodedRows
from tabveil.privacy import Budget, Door, Ledger, Noise, Protection, Relation
from tabveil.schema import Schema
from tabveil.shapes import Int
from tabveil.sources import Source
from tabveil.tables.placement import Lattice
from tabveil.tables.table import Codec, Table

COUNT_SHARE = Fraction(1, 100)
TOGETHER = 1024  # rows embedded at a time: an embedding is wide
Recode = Callable[[Table], Table]
"""Gives each row another form, from that row and public things alone."""


@dataclass(frozen=True)
class Embedding:
    """Whole numbers, [rows, width], of which each row has a Euclidean norm of at most `norm`."""

    of: Callable[[Table], np.ndarray]
    norm: int


class Desk:
    """Opens curators that share one allowance, and sells two more looks unknown to curators."""

    def __init__(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation,
        noise: Noise | None = None,
    ) -> None:
        if schema.privacy:
            raise InvalidInput(
                "Baselines protect single rows, but this schema protects all rows of a person.",
                "Leave privacy out of the schema, or keep one row of each person.",
            )
        self.codec = Codec(schema)
        self.relation = relation
        self._rows: PrivateRows = EncodedRows(Source.of(frame, schema), self.codec)
        self._allowance = Ledger.in_memory(relation).allowance(
            budget.rho, f"ε = {budget.epsilon:g}"
        )
        self._door = Door(self._allowance, Protection(relation), noise)
        self._exact: tuple[Workload, np.ndarray] | None = None

    @property
    def rho(self) -> Fraction:
        """The whole budget."""
        return self._allowance.total

    @property
    def spent(self) -> Fraction:
        """What has been charged so far."""
        return self._allowance.spent

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self._allowance.left

    def curator(self, recode: Recode | None = None) -> Curator:
        """A curator of the rows, or of what they are recoded to."""
        rows = Recoded(self._rows, recode) if recode else self._rows
        return Curator(rows, self._door)

    def total(self) -> int:
        """How many rows there are: public under substitution, else a noisy count."""
        return self.curator().total(self.rho * COUNT_SHARE)

    def exact_points(self, lattice: Lattice) -> list[np.ndarray]:
        """How many rows lie at every point of every number: NOT PRIVATE, and nothing is charged."""
        return self._rows.total(PointCounts(lattice), lattice.names)

    def mean(self, embedding: Embedding, total: int, rho: Fraction) -> np.ndarray:
        """The noisy mean of what rows are embedded as, in units of the norm.

        A row more or less moves the sum by its own vector, at most `norm`; a replaced row by the
        difference of two, at most twice that (docs/proofs/baselines.md).
        """
        moved = embedding.norm * self._door.protection.cells_moved()

        def exact() -> Int[np.ndarray, " width"]:
            return self._rows.total(EmbeddingSums(embedding))[0]

        noisy, _ = self._door.counts("measuring a mean embedding", rho, exact, squared=moved**2)
        return noisy / (embedding.norm * total)

    def pick(
        self,
        workload: Workload,
        recode: Recode,
        expected: np.ndarray,
        bias: np.ndarray,
        weights: np.ndarray,
        candidates: np.ndarray,
        rho: Fraction,
    ) -> int:
        """The candidate furthest off its `expected` counts, by weight times (L1 error − bias).

        Weights and bias are whole and public, so one row moves a score by its weight times what it
        moves the L1 error: the exponential mechanism needs the largest of these
        (docs/proofs/baselines.md).
        """
        queries = workload.families[0]

        def scores() -> Int[np.ndarray, " candidates"]:
            errors = queries.tally.errors(self._exact_counts(workload, recode), expected)
            return ((errors - bias) * weights)[candidates]

        chosen = self._door.top(
            "selecting by weight",
            rho,
            scores,
            groups=[(np.arange(len(candidates)), 1)],
            sensitivity=int(weights[candidates].max())
            * self._door.protection.cells_moved(queries.cells_moved),
        )
        return int(candidates[chosen[0]])

    def _exact_counts(self, workload: Workload, recode: Recode) -> np.ndarray:
        if self._exact is None or self._exact[0] is not workload:
            counts = Recoded(self._rows, recode).total(WorkloadCounts(workload))
            self._exact = workload, unfolded(workload, counts)[0]
        return self._exact[1]


@dataclass(frozen=True, repr=False)
class Recoded:
    """Private rows in another form."""

    rows: PrivateRows
    recode: Recode

    def total(self, count: TableCount, columns: object = None) -> list[np.ndarray]:
        """The sum over all batches of what is counted in their other form."""
        return self.rows.total(Counted(self.recode, count))

    def count(self) -> int:
        """How many rows there are."""
        return self.rows.count()


@dataclass(frozen=True)
class Counted:
    """Counts a batch in its other form."""

    recode: Recode
    count: TableCount

    def __call__(self, table: Table) -> list[np.ndarray]:
        return self.count(self.recode(table))


@dataclass(frozen=True)
class EmbeddingSums:
    """Adds up what the rows of a batch are embedded as."""

    embedding: Embedding

    def __call__(self, table: Table) -> list[np.ndarray]:
        parts = [slice(start, start + TOGETHER) for start in range(0, max(1, table.rows), TOGETHER)]
        few = (Table(table.codes[part], table.numbers[part]) for part in parts)
        return [sum(self.embedding.of(rows).sum(axis=0, dtype=np.int64) for rows in few)]
