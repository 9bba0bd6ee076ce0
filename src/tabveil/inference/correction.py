"""From a statistic of synthetic rows to one of the people: noisy answers correct it, with a width.

See docs/proofs/inference.md for the derivation.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags
from scipy.sparse.linalg import splu

from tabveil.inference.pool import Known, Pool
from tabveil.inference.rests import Rests

DOUBT = 0.5
"""By how many standard deviations of what no answer speaks of the model may be off."""
FREEDOM = 1.0
"""The same, where answers do speak: so many that the model hardly holds them back.

The model was fitted to the same answers, so to trust it here would be to count their noise once
where it enters twice.
"""

TINY = 1e-9  # so that cells which say the same can be told apart


@dataclass(frozen=True)
class Correction:
    """How far each statistic lies from that of the pool, how sure that is, and on what it rests."""

    shifts: np.ndarray  # [statistics]
    noise: np.ndarray  # variances due to the noise
    sampling: np.ndarray  # due to the people being a sample of their population
    model: np.ndarray  # allowed for what no answer speaks of
    measured: np.ndarray  # share of each statistic that measured tables decide

    def deviations(self, population: bool) -> np.ndarray:
        """Standard errors, for the population or for the people in the table alone."""
        return np.sqrt(self._variances(population))

    def rests(self, population: bool) -> list[Rests]:
        """Whether each statistic rests on measured tables."""
        variances = np.maximum(self._variances(population), 1e-300)
        return [Rests.of(*both) for both in zip(self.measured, self.model / variances, strict=True)]

    def _variances(self, population: bool) -> np.ndarray:
        return self.noise + self.model + (self.sampling if population else 0.0)


def allowance(measured: np.ndarray, columns: int) -> np.ndarray:
    """κ²: the variance that is allowed for each of what no answer speaks of.

    Less where answers say nearly all of how columns hang together: inside small cells they hardly
    do. A number alone may pile up at one end of a run however short that is.
    """
    return DOUBT**2 * (np.sqrt(1 - measured) if columns > 1 else np.ones_like(measured))


def most_hidden(numbers: Mapping[str, float], columns: Collection[str]) -> float:
    """Of what `hidden` says of numbers, the most that a statistic of these columns meets."""
    return max((numbers[column] for column in columns if column in numbers), default=0.0)


def hidden(pool: Pool) -> dict[str, float]:
    """For each number, the variance in its mean of people whom noise may hide far out.

    In units of the column's own variance. Where a run holds hardly any synthetic rows, answers are
    not heard above their noise, and the model's doubt about them is next to nothing.
    """
    return {column: _hidden(pool, column) for column in pool.release.schema.numbers}


def _hidden(pool: Pool, column: str) -> float:
    numbers = pool.numbers[column]
    numbers = numbers[~pool.frame[column].isna().to_numpy()]
    runs = [part for part in pool.parts([column]) if part.runs]
    if not runs or not numbers.std() > 0:
        return 0.0
    first = max(runs, key=lambda part: sum(run.high - run.low for run in part.sides[0].intervals))
    middles = [
        numbers.mean() if isinstance(run, str) else (run.low + run.high) / 2
        for run in first.sides[0].parts
    ]
    far = (np.array(middles) - numbers.mean()) / numbers.std()
    held = np.asarray(pool.members(first).mean(axis=0)).ravel()
    beyond_doubt = np.maximum(first.variance / first.total**2 - DOUBT**2 * held, 0.0)
    return float(far**2 @ beyond_doubt)


class Corrector:
    """Corrects statistics by what is known about their columns.

    Rows are in few cells each, and runs of one column lie inside each other, so that matrices of
    thousands of cells are nearly empty; each is factored once, for all statistics.
    """

    def __init__(self, known: Known, people: float, hidden: float = 0.0) -> None:
        self.known, self.people, self.hidden = known, people, hidden
        self._rows = known.members.shape[0]
        self._across = csr_matrix(known.members.T)
        self._gram = self._across @ known.members / self._rows
        self._variances = known.variances + TINY

    def corrected(self, influence: np.ndarray, columns: int, bounded: bool = False) -> Correction:
        """The correction of statistics with these influences, [rows, statistics], of a pool's rows.

        People whom noise hides far out can move all but `bounded` ones.

        With ψ the influence, D the memberships of rows in measured cells, g the gaps between noisy
        shares and the pool's, and S the variance of the noise, it is bᵀg with the b that minimises
        E(ψ − Db)² + bᵀSb / FREEDOM².
        """
        towards = np.asarray(self._across @ influence) / self._rows
        weights = self._weights(towards)
        left = influence - self.known.members @ weights
        measured = self._measured(influence, towards)
        expected, total = self.known.expected, self.known.total_variance
        own = (weights**2 * self._variances[:, None]).sum(axis=0)
        return Correction(
            shifts=weights.T @ (self.known.shares - expected),
            noise=own + total * (expected @ weights) ** 2,
            sampling=(influence**2).mean(axis=0) / self.people,
            model=allowance(measured, columns) * (left**2).mean(axis=0)
            + (0.0 if bounded else self.hidden) * (influence**2).mean(axis=0),
            measured=measured,
        )

    def _weights(self, towards: np.ndarray) -> np.ndarray:
        """(G + S)⁻¹ times this, where S is a diagonal and t qqᵀ, by Sherman and Morrison."""
        expected, by_total = self.known.expected, self.known.total_variance / FREEDOM**2
        found, along = self._noisy.solve(towards), self._noisy.solve(expected)
        back = by_total * (expected @ found) / (1 + by_total * (expected @ along))
        return np.asarray(found - np.outer(along, back))

    def _measured(self, influence: np.ndarray, towards: np.ndarray) -> np.ndarray:
        """R² of each influence on the cells of measured tables."""
        explained = (towards * self._free.solve(towards)).sum(axis=0)
        whole = (influence**2).mean(axis=0)
        share = np.divide(explained, whole, out=np.ones_like(whole), where=whole > 0)
        return np.clip(share, 0.0, 1.0)

    @cached_property
    def _noisy(self) -> Any:
        return _factored(self._gram, self._variances / FREEDOM**2)

    @cached_property
    def _free(self) -> Any:
        return _factored(self._gram, np.full(len(self._variances), TINY))


def _factored(gram: csr_matrix, more: np.ndarray) -> Any:
    """The factors of a symmetric matrix with this added to its diagonal."""
    return splu(
        csc_matrix(gram + diags(more)),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
