"""Algorithm 1: fit a relaxed table to noisy answers. Sees those and public shapes, never rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float, Int, Shaped

from tabveil.queries import GRID, Hard, QueryFamily, Rows, Soft, Step
from tabveil.queries.family import NoisyEvidence, place_of
from tabveil.queries.rows import with_constants
from tabveil.tables.table import Domain

LOGIT_LIMIT = 20.0
"""Logits stay within ±20: exp() cannot overflow and no category's chance falls to exactly zero."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Annealing:
    """How the projection is run: sharpness σ doubles with each stage (one stage keeps it fixed).

    `cooling` multiplies the learning rate from stage to stage: sharp steps are decided by small
    moves. All this is data, not part of the compiled program: quick and thorough projections share
    one.

    >>> [Annealing(2.0, stages=4).sharpness(stage) for stage in range(4)]
    [2.0, 4.0, 8.0, 16.0]
    """

    first_sharpness: float = 2.0
    stages: int = 6
    steps: int = 200  # at most, in every stage
    tolerance: float = 1e-5
    learning_rate: float = 0.05
    cooling: float = 1.0

    @classmethod
    def fixed(cls, sharpness: float, steps: int, **settings: float) -> "Annealing":
        """One stage at one sharpness, for comparison."""
        return cls(first_sharpness=sharpness, stages=1, steps=steps, **settings)

    def sharpness(self, stage: Any) -> Any:
        """σ in a stage, counted from 0."""
        return self.first_sharpness * 2.0**stage

    def rate(self, stage: Any) -> Any:
        """The learning rate in a stage, counted from 0."""
        return self.learning_rate * self.cooling**stage


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Relaxed:
    """A relaxed table: category logits and numbers' positions in [0, 1]; rows on the last axis."""

    logits: Float[jax.Array, "cells rows"]
    positions: Float[jax.Array, "numerical rows"]
    sizes: tuple[int, ...] = field(metadata={"static": True})  # cells of each axis

    @classmethod
    def random(cls, domain: Domain, rows: int, key: jax.Array) -> "Relaxed":
        """Uniformly random numbers and random categories."""
        categories, numbers = jax.random.split(key)
        return cls(
            jax.random.normal(categories, (domain.cells, rows)),
            jax.random.uniform(numbers, (len(domain.numerical), rows)),
            tuple(domain.sizes),
        )

    @property
    def probabilities(self) -> Float[jax.Array, "cells rows"]:
        """Softmax within each axis."""
        return _softmax(self.logits, self.sizes)

    def rows(self) -> Rows:
        """The relaxed rows as queries see them."""
        cells = with_constants(self.probabilities, jnp.ones(self.logits.shape[1]))
        return Rows(cells, self.positions * GRID)

    def clipped(self) -> "Relaxed":
        """Back into the relaxed domain after a gradient step."""
        return replace(
            self,
            logits=jnp.clip(self.logits, -LOGIT_LIMIT, LOGIT_LIMIT),
            positions=jnp.clip(self.positions, 0.0, 1.0),
        )


@partial(jax.jit, static_argnames="sizes")
def _softmax(logits: jax.Array, sizes: tuple[int, ...]) -> jax.Array:
    axis = np.repeat(np.arange(len(sizes)), sizes)
    member = jnp.asarray(axis[None, :] == np.arange(len(sizes))[:, None], jnp.float32)
    weights = jnp.exp(logits)
    return weights / (member.T @ (member @ weights))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Measured:
    """Noisy answers, with room for the whole plan so that the projection is compiled once."""

    evidence: tuple[NoisyEvidence, ...]  # of each family

    @classmethod
    def reserve(cls, families: Sequence[QueryFamily], room: Sequence[int]) -> "Measured":
        """Room for this many queries of each family."""
        pairs = zip(families, room, strict=True)
        return cls(tuple(family.evidence(queries) for family, queries in pairs))

    def learn(
        self,
        family: QueryFamily,
        picks: Int[np.ndarray, " picks"],
        shares: Float[np.ndarray, "picks width"],
        weights: Shaped[np.ndarray, "picks width"],
    ) -> "Measured":
        """With noisy shares of these queries of one family, and their weights."""
        evidence = list(self.evidence)
        place = place_of(family, [known.family for known in evidence])
        evidence[place] = evidence[place].learn(picks, shares, weights)
        return Measured(tuple(evidence))


class Progress(NamedTuple):
    """What a projection reports: objective on noisy answers, thresholds hard, and steps taken."""

    objective: jax.Array
    steps: jax.Array


def objective(table: Relaxed, measured: Measured, step: Step) -> Float[jax.Array, ""]:
    """Σ w (q(table) − â)² over all noisy answers so far."""
    rows = table.rows()
    misfits = [evidence.misfit(rows, step) for evidence in measured.evidence]
    return sum(misfits, jnp.zeros(()))


@jax.jit
def project(start: Relaxed, measured: Measured, annealing: Annealing) -> tuple[Relaxed, Progress]:
    """The relaxed table that best explains noisy answers; each stage starts where the last ended.

    Of the tables at the start and at the end of every stage, the best on the noisy objective itself
    (hard thresholds) is returned. The paper returns the last.
    """
    optimiser = optax.scale_by_adam()

    def stage(number: jax.Array, carry: tuple) -> tuple:
        table, best, lowest, taken = carry
        sharpness, rate = annealing.sharpness(number), annealing.rate(number)
        gradient_of = jax.grad(lambda t: objective(t, measured, Soft(sharpness)))

        def going(state: tuple) -> jax.Array:
            _, _, steps, norm = state
            return (steps < annealing.steps) & (norm > annealing.tolerance)

        def descend(state: tuple) -> tuple:
            table, memory, steps, _ = state
            gradient = gradient_of(table)
            direction, memory = optimiser.update(gradient, memory)
            moved = jax.tree.map(lambda old, along: old - rate * along, table, direction)
            return moved.clipped(), memory, steps + 1, optax.tree.norm(gradient)

        table, _, steps, _ = jax.lax.while_loop(
            going, descend, (table, optimiser.init(table), 0, jnp.inf)
        )
        reached = objective(table, measured, Hard())
        better = reached < lowest
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), table, best)
        return table, best, jnp.minimum(reached, lowest), taken + steps

    first = objective(start, measured, Hard())
    _, best, lowest, steps = jax.lax.fori_loop(0, annealing.stages, stage, (start, start, first, 0))
    return best, Progress(lowest, steps)
