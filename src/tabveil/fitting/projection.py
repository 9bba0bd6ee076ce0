"""Algorithm 1: fit a relaxed table to noisy answers. Sees those and public shapes, never rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tabveil.fitting.relaxed import Table
from tabveil.queries import Hard, QueryFamily, Soft, Step
from tabveil.queries.family import NoisyEvidence, place_of
from tabveil.shapes import Float, Int, Shaped


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
    softness: float = 0.0  # the price of what a row knows beyond the table

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

    def insisting(self, table: Table, share: float) -> "Measured":
        """Asks for a share of what this table fell short of on top, this time and from now on.

        A table whose rows pay for what they know stays a bit short of every answer, always on the
        same side. Noise it misses now here, now there. So what is asked for again and again is
        mostly the former (Osher and others, 2005: An iterative regularization method).
        """
        # On the host, as all evidence is: a fit's programs are compiled for that alone.
        missing = [share * np.asarray(short) for short in _shortfalls(table, self)]
        return Measured(
            tuple(known.owed(more) for known, more in zip(self.evidence, missing, strict=True))
        )

    def without_arrears(self) -> "Measured":
        """The answers as they were measured, and no more."""
        return Measured(tuple(known.without_arrears() for known in self.evidence))


class Progress(NamedTuple):
    """What a projection reports: how far the table is from the noisy answers, and steps taken."""

    misfit: jax.Array
    steps: jax.Array


def misfit(table: Table, measured: Measured, step: Step) -> Float[jax.Array, ""]:
    """Σ w (q(table) − â)² over all noisy answers so far, and over what is in arrears on top."""
    rows = table.rows()
    return sum((known.misfit(rows, step) for known in measured.evidence), jnp.zeros(()))


@jax.jit
def project(start: Table, measured: Measured, annealing: Annealing) -> tuple[Table, Progress]:
    """The table that best explains the noisy answers; each stage starts where the last one ended.

    Of the tables at the start and at the end of every stage, the best on the objective itself
    (hard thresholds) is returned. The paper returns the last.
    """
    optimiser = optax.scale_by_adam()

    def objective(table: Table, step: Step) -> jax.Array:
        return misfit(table, measured, step) + annealing.softness * table.information()

    def stage(number: jax.Array, carry: tuple) -> tuple:
        table, best, lowest, taken = carry
        step, rate = Soft(annealing.sharpness(number)), annealing.rate(number)
        gradient_of = jax.grad(lambda moved: objective(start.moved(moved), step))

        def going(state: tuple) -> jax.Array:
            _, _, steps, norm = state
            return (steps < annealing.steps) & (norm > annealing.tolerance)

        def descend(state: tuple) -> tuple:
            here, memory, steps, _ = state
            gradient = gradient_of(here)
            direction, memory = optimiser.update(gradient, memory)
            there = jax.tree.map(lambda old, along: old - rate * along, here, direction)
            return start.moved(there).parameters, memory, steps + 1, optax.tree.norm(gradient)

        begun = (table, optimiser.init(table), 0, jnp.inf)
        table, _, steps, _ = jax.lax.while_loop(going, descend, begun)
        reached = objective(start.moved(table), Hard())
        better = reached < lowest
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), table, best)
        return table, best, jnp.minimum(reached, lowest), taken + steps

    here = start.parameters
    carry = (here, here, objective(start, Hard()), 0)
    _, best, _, steps = jax.lax.fori_loop(0, annealing.stages, stage, carry)
    reached = start.moved(best)
    return reached, Progress(misfit(reached, measured.without_arrears(), Hard()), steps)


@jax.jit
def _shortfalls(table: Table, measured: Measured) -> tuple[jax.Array, ...]:
    rows = table.rows()
    return tuple(known.shortfall(rows) for known in measured.evidence)
