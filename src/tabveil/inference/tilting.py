"""Weights of synthetic rows that bring them to noisy answers, as far as noise lets these count."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix

from tabveil.inference.pool import Part

HOLD = 1 / 40
"""How many people the model counts as where noisy answers contradict it, for each that there is."""
SWEEPS = 15
FARTHEST = 1.0  # that one step may move the logarithm of a weight


def weights_for(
    parts: Sequence[Part], members: Sequence[csr_matrix], noise: np.random.Generator, count: int
) -> np.ndarray:
    """Weights of rows, [rows, count], that agree with answers perturbed by as much noise again.

    With h people for the model, and weights w that add up to one, they minimise h KL(w, even) +
    Σ (shares of w − answers)² / 2s². One table after another is brought to its answers, single
    columns last, as in iterative proportional fitting, which this is where there is no noise.
    """
    asked = agreeing([part.perturbed(noise, count) for part in parts])
    asked.sort(key=lambda part: -len(part.sides))
    order = sorted(range(len(parts)), key=lambda place: -len(parts[place].sides))
    blocks = [Block(part, members[place]) for part, place in zip(asked, order, strict=True)]
    rows = members[0].shape[0]
    weights = np.full((rows, count), 1 / rows)
    for _ in range(SWEEPS):
        for block in blocks:
            weights = block.brought(weights)
    return weights


class Block:
    """One table: its answers, and the push that its cells have had."""

    def __init__(self, part: Part, members: csr_matrix) -> None:
        count = part.counts.shape[-1]
        self.shares = part.counts.reshape(-1, count) / part.total
        if not part.runs:  # runs may leave rows out; other tables hold every row once
            self.shares /= self.shares.sum(axis=0)
        self.slack = HOLD * part.variance / part.total
        self.members, self.across = members, csr_matrix(members.T)
        self.pushed = np.zeros_like(self.shares)

    def brought(self, weights: np.ndarray) -> np.ndarray:
        """Weights with which the table's cells hold what was answered, as far as noise says so."""
        found = self.across @ weights
        push = (self.shares - found - self.slack * self.pushed) / (found + self.slack + 1e-12)
        push = np.clip(push, -FARTHEST, FARTHEST)
        self.pushed += push
        moved = weights * np.exp(self.members @ push)
        return np.asarray(moved / moved.sum(axis=0))


def agreeing(parts: Sequence[Part]) -> list[Part]:
    """The same tables, but of single columns all say the same: what all of them say together.

    Noise in all cells of a table is alike, so that its margins and what is beyond them are
    independent, and nothing is lost.
    """
    margins: dict[tuple, list[Part]] = {}
    for part in parts:
        for axis, side in enumerate(part.sides):
            margins.setdefault((side, part.runs), []).append(part.margin(axis))
    merged = {key: Part.merged(alike) for key, alike in margins.items()}
    found = []
    for part in parts:
        for axis, side in enumerate(part.sides):
            part = part.with_margin(axis, merged[side, part.runs])
        found.append(part)
    return found
