"""From a statistic of synthetic rows to one of the people: noisy answers correct it, with a width.

See docs/proofs/inference.md for the derivation.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from tabveil.inference.pool import Known
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


def corrected(influence: np.ndarray, known: Known, people: float, columns: int) -> Correction:
    """The correction of statistics with these influences, [rows, statistics], of a pool's rows.

    With ψ the influence, D the memberships of rows in measured cells, g the gaps between noisy
    shares and the pool's, and S the variance of the noise, it is bᵀg with the b that minimises
    E(ψ − Db)² + bᵀSb / FREEDOM².
    """
    members, rows = known.members, len(influence)
    gram = np.asarray((members.T @ members).todense()) / rows
    towards = np.asarray(members.T @ influence) / rows
    expected = known.expected
    noise = np.diag(known.variances + TINY) + known.total_variance * np.outer(expected, expected)
    weights = solve(gram + noise / FREEDOM**2, towards, assume_a="pos")
    left = influence - members @ weights
    measured = _measured(influence, gram, towards)
    return Correction(
        shifts=weights.T @ (known.shares - expected),
        noise=(weights * (noise @ weights)).sum(axis=0),
        sampling=(influence**2).mean(axis=0) / people,
        model=allowance(measured, columns) * (left**2).mean(axis=0),
        measured=measured,
    )


def _measured(influence: np.ndarray, gram: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """R² of each influence on the cells of measured tables."""
    free = solve(gram + TINY * np.eye(len(gram)), towards, assume_a="sym")
    explained = (towards * free).sum(axis=0)
    whole = (influence**2).mean(axis=0)
    return np.clip(np.divide(explained, whole, out=np.ones_like(whole), where=whole > 0), 0.0, 1.0)
