"""Belief propagation on a junction tree, in logarithms, and the fit of a model's potentials.

A model has one potential for every cell of every measured marginal: p(row) ∝ exp(sum of its
potentials). Messages go up the tree as logarithms of sums, so no product of small chances vanishes;
on the way down every table holds shares of rows, and a share too small for a float is nobody.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.baselines.junction import Axes, Node, cells, junction_tree, maximal, smallest

Array = Any  # of numpy or of JAX

MEMORY = 10  # moves that the next direction is made of
LONGEST = 3.0  # move of a potential at once
OVERSHOOT = 0.25  # the share of a slope that may be left on the other side of the valley


@dataclass(frozen=True)
class Structure:
    """Everything about a model but its numbers: what a program is compiled for."""

    sizes: tuple[int, ...]
    nodes: tuple[Node, ...]
    measured: tuple[Axes, ...]  # columns in ascending order
    wholes: tuple[Axes, ...]  # the measured marginals that lie in no other
    whole_of: tuple[int, ...]  # per measured marginal
    node_of: tuple[int, ...]  # per whole

    @classmethod
    def of(cls, sizes: Sequence[int], measured: Iterable[Axes]) -> "Structure":
        """The structure of a model in which these marginals were measured."""
        distinct = tuple(sorted(set(measured)))
        wholes = tuple(sorted(tuple(sorted(axes)) for axes in maximal(distinct)))
        nodes = junction_tree(sizes, wholes)
        return cls(
            tuple(sizes),
            nodes,
            distinct,
            wholes,
            tuple(smallest(wholes, axes, sizes) for axes in distinct),
            tuple(smallest([node.axes for node in nodes], axes, sizes) for axes in wholes),
        )

    @property
    def cells(self) -> int:
        """How many cells the tables of the tree have together."""
        return sum(cells(self.sizes, node.axes) for node in self.nodes)

    def holds(self, axes: Axes) -> bool:
        """Whether a table of the tree has these columns together."""
        return any(set(axes) <= set(node.axes) for node in self.nodes)

    def node_with(self, axes: Axes) -> int:
        """The smallest table of the tree with these columns."""
        return smallest([node.axes for node in self.nodes], axes, self.sizes)

    def shape(self, axes: Axes) -> list[int]:
        """The sizes of some columns."""
        return [self.sizes[axis] for axis in axes]

    def pieces(self, vector: Array) -> list[Array]:
        """A vector of all measured cells as one table per measured marginal."""
        ends = np.cumsum([cells(self.sizes, axes) for axes in self.measured]).tolist()
        return [
            vector[start:end].reshape(self.shape(axes))
            for axes, start, end in zip(self.measured, [0, *ends[:-1]], ends, strict=True)
        ]


def shares(structure: Structure, potentials: Array, numeric: ModuleType) -> list[Array]:
    """The share of rows in every cell of every table of the tree; by numpy, or in a program."""
    nodes = structure.nodes
    tables = [numeric.zeros(structure.shape(node.axes), potentials.dtype) for node in nodes]
    potentials_of_wholes = gathered(structure, potentials)
    for axes, place, potential in zip(
        structure.wholes, structure.node_of, potentials_of_wholes, strict=True
    ):
        tables[place] = tables[place] + spread(potential, axes, nodes[place].axes)
    messages = {}
    for place in reversed(range(1, len(nodes))):
        node = nodes[place]
        messages[place] = _log_sums(tables[place], node.axes, node.shared, numeric)
        up = spread(messages[place], node.shared, nodes[node.parent].axes)
        tables[node.parent] = tables[node.parent] + up
    found = [numeric.exp(tables[0] - _log_sums(tables[0], nodes[0].axes, (), numeric))]
    for place, node in enumerate(nodes[1:], start=1):
        above = numeric.log(summed(found[node.parent], nodes[node.parent].axes, node.shared))
        down = spread(above - messages[place], node.shared, node.axes)
        found.append(numeric.exp(tables[place] + down))
    return found


def gathered(structure: Structure, potentials: Array) -> list[Array]:
    """The potentials of the wholes, with those of their parts: small tables are added first."""
    found: list[Array] = [0.0] * len(structure.wholes)
    pieces = structure.pieces(potentials)
    for axes, whole, piece in zip(structure.measured, structure.whole_of, pieces, strict=True):
        found[whole] = found[whole] + spread(piece, axes, structure.wholes[whole])
    return found


def settled(structure: Structure, potentials: np.ndarray) -> dict[Axes, np.ndarray]:
    """Potentials of the wholes that make the same model, where contradictions do not pile up.

    Marginals with columns in common cannot all be met if their noise differs, and steps then add to
    one what they take from another. So each leaves what it says of such columns to the first.
    """
    found = dict(zip(structure.wholes, gathered(structure, potentials), strict=True))
    for one, other in combinations(structure.wholes, 2):
        common = tuple(axis for axis in one if axis in other)
        said = found[other].max(_places_without(other, common))
        found[other] = found[other] - spread(said, common, other)
        found[one] = found[one] + spread(said, common, one)
    return {axes: table - table.max() for axes, table in found.items()}


def spread(table: Array, axes: Axes, over: Axes) -> Array:
    """A table of some columns in a shape to be added to one of more, both in ascending order."""
    sizes = dict(zip(axes, table.shape, strict=True))
    return table.reshape([sizes.get(axis, 1) for axis in over])


def summed(table: Array, axes: Axes, kept: Axes) -> Array:
    """The table of fewer columns, in ascending order."""
    return table.sum(_places_without(axes, kept))


def _log_sums(table: Array, axes: Axes, kept: Axes, numeric: ModuleType) -> Array:
    gone = _places_without(axes, kept)
    highest = table.max(gone, keepdims=True)
    return numeric.log(numeric.exp(table - highest).sum(gone)) + highest.reshape(
        [size for place, size in enumerate(table.shape) if place not in gone]
    )


def _places_without(axes: Axes, kept: Axes) -> tuple[int, ...]:
    return tuple(place for place, axis in enumerate(axes) if axis not in kept)


def measured_shares(structure: Structure, potentials: Array) -> Array:
    """The share of rows in every cell of every measured marginal, as one vector."""
    tables = shares(structure, potentials, jnp)
    wholes = [
        summed(tables[place], structure.nodes[place].axes, axes)
        for place, axes in zip(structure.node_of, structure.wholes, strict=True)
    ]
    parts = [
        summed(wholes[whole], structure.wholes[whole], axes).ravel()
        for axes, whole in zip(structure.measured, structure.whole_of, strict=True)
    ]
    return jnp.concatenate(parts)


class Evidence(NamedTuple):
    """The noisy count of every measured cell, one over its variance, and the number of rows."""

    counts: jax.Array
    weights: jax.Array
    total: jax.Array


class Search(NamedTuple):
    """Where the search for the best potentials stands."""

    here: jax.Array
    slope: jax.Array
    curvature: jax.Array  # its diagonal
    direction: jax.Array
    length: jax.Array  # of the next move
    moves: jax.Array  # the last ones, [MEMORY, cells]
    turns: jax.Array  # how each of them changed the slope
    error: jax.Array
    tried: jax.Array


@partial(jax.jit, static_argnames=("structure", "most", "enough"))
def implicit_step(
    structure: Structure,
    evidence: Evidence,
    start: jax.Array,
    penalty: jax.Array,
    most: int,
    enough: float,
) -> Search:
    """One implicit step of mirror descent: potentials θ, from where they start.

    The shares that make ½ ∑ (n p − y)² / σ² + λ n KL(p, p of the start) least belong to the
    potentials that make n log Z(θ) − ⟨y, θ⟩ + λ/2 ∑ σ² (θ − start)² least, which is convex. Its
    slope g needs one pass over the tree. ∑ g² / σ² bounds ∑ (n p − n p*)² / σ² at the minimum p*,
    so the search ends where measured cells are at most `enough` of the noise's deviation off it
    (root mean square), or after `most` passes. Limited-memory BFGS, with moves taken by their
    slopes alone: differences of the function itself are lost in 32 bits.
    """
    stiffness = penalty / evidence.weights

    def tried(state: Search) -> Search:
        there = state.here + state.length * state.direction
        expected = evidence.total * measured_shares(structure, there)
        slope = expected - evidence.counts + stiffness * (there - start)
        before, after = -(state.slope @ state.direction), slope @ state.direction
        accepted = after <= OVERSHOOT * before
        moved = Search(
            there,
            slope,
            expected + stiffness,
            state.direction,
            jnp.ones(()),
            jnp.roll(state.moves, -1, 0).at[-1].set(there - state.here),
            jnp.roll(state.turns, -1, 0).at[-1].set(slope - state.slope),
            jnp.sqrt((evidence.weights * slope**2).mean()),
            state.tried,
        )
        shorter = state._replace(
            length=state.length * jnp.clip(before / (before + after), 0.1, 0.7)
        )
        chosen = jax.tree.map(partial(jnp.where, accepted), moved, shorter)
        direction = jnp.where(accepted, _downhill(chosen), chosen.direction)
        return chosen._replace(direction=direction, tried=state.tried + 1)

    nothing, none = jnp.zeros_like(start), jnp.zeros((MEMORY, len(start)))
    unknown = jnp.array(jnp.inf)
    state = Search(
        start, nothing, nothing, nothing, jnp.ones(()), none, none, unknown, jnp.array(0)
    )
    return jax.lax.while_loop(
        lambda state: (state.error > enough) & (state.tried < most), tried, state
    )


def _downhill(state: Search) -> jax.Array:
    """The direction of limited-memory BFGS, from the diagonal of the curvature."""
    products = (state.moves * state.turns).sum(1)
    inverse = jnp.where(products > 0, 1 / jnp.where(products > 0, products, 1), 0)

    def back(ahead: jax.Array, pair: tuple) -> tuple[jax.Array, jax.Array]:
        move, turn, one_over = pair
        part = one_over * (move @ ahead)
        return ahead - part * turn, part

    def forth(ahead: jax.Array, pair: tuple) -> tuple[jax.Array, None]:
        move, turn, one_over, part = pair
        return ahead + move * (part - one_over * (turn @ ahead)), None

    pairs = state.moves, state.turns, inverse
    ahead, parts = jax.lax.scan(back, state.slope, pairs, reverse=True)
    last = state.turns[-1]
    scale = products[-1] / (last**2 / state.curvature).sum()
    ahead = ahead / state.curvature * jnp.where(products[-1] > 0, scale, 1)
    ahead, _ = jax.lax.scan(forth, ahead, (*pairs, parts))
    return -ahead * jnp.minimum(1, LONGEST / jnp.abs(ahead).max())
