"""Relaxed tables: what a projection moves, and what it moves them towards sees of them."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries import GRID, Rows
from tabveil.queries.bins import Bins
from tabveil.queries.rows import Array, with_constants
from tabveil.shapes import Float
from tabveil.tables.numbers import Binned, Positions, RelaxedNumbers
from tabveil.tables.table import Domain

LOGIT_LIMIT = 20.0
"""Logits stay within ±20: exp() cannot overflow and no category's chance falls to exactly zero."""
TINY = 1e-12
OF_NUMBERS, OF_STRATA = 0.25, 3.0
"""What it counts if a row knows a number or a stratum beyond the table, where a category counts 1.

Bins follow each other: what is known of one says something of its neighbours. Strata are many, with
few people in each: rows that know theirs would learn what noise says of it.
"""

Parameters = tuple[Array, ...]


class Table(Protocol):
    """Relaxed rows, and what a gradient step may move of them."""

    @property
    def logits(self) -> Float[Array, "cells rows"]: ...

    @property
    def probabilities(self) -> Float[jax.Array, "cells rows"]:
        """The chance of each category of each axis."""

    @property
    def parameters(self) -> Parameters:
        """What a step moves."""

    def moved(self, parameters: Parameters) -> Self:
        """The table with these parameters, back inside the relaxed domain."""

    def information(self) -> Float[jax.Array, ""]:
        """How much rows know beyond the table, if that is counted."""

    def rows(self) -> Rows:
        """The relaxed rows as queries see them."""

    def numbers(self) -> RelaxedNumbers:
        """What numbers are drawn from."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Relaxed:
    """A relaxed table: category logits and numbers' positions in [0, 1]; rows on the last axis."""

    logits: Float[Array, "cells rows"]
    positions: Float[Array, "numerical rows"]
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
        return _softmax(self.logits, self.sizes)

    @property
    def parameters(self) -> Parameters:
        return self.logits, self.positions

    def moved(self, parameters: Parameters) -> "Relaxed":
        logits, positions = parameters
        return replace(self, logits=_limited(logits), positions=jnp.clip(positions, 0.0, 1.0))

    def information(self) -> Float[jax.Array, ""]:
        """Nothing: rows of the paper may settle as they like."""
        return jnp.zeros(())

    def rows(self) -> Rows:
        cells = with_constants(self.probabilities, jnp.ones(self.logits.shape[1]))
        return Rows(cells, jnp.asarray(self.positions) * GRID)

    def numbers(self) -> Positions:
        positions = np.asarray(self.positions, np.float32)
        return Positions(positions, np.zeros_like(positions))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Mixture:
    """A table of rows that stay soft: each is a product of distributions over categories and bins.

    A place that a row settles on carries the noise of the answers it was fitted to, and of there
    being few rows. A row that may lie in several bins says no more than was measured.
    """

    logits: Float[Array, "cells rows"]
    within: Float[Array, "bins rows"]  # logits of bins
    bins: Bins
    sizes: tuple[int, ...] = field(metadata={"static": True})  # cells of each axis
    numerical: int = field(metadata={"static": True})  # how many numbers the bins are of
    prices: Float[Array, " cells"]  # what it counts to know more of the axis of each cell

    @property
    def probabilities(self) -> Float[jax.Array, "cells rows"]:
        return _softmax(self.logits, self.sizes)

    @property
    def chances(self) -> Float[jax.Array, "bins rows"]:
        """The chance of each bin of each number."""
        return _shares(self.within, jnp.asarray(self.bins.number), self.numerical)

    @property
    def parameters(self) -> Parameters:
        return self.logits, self.within

    def moved(self, parameters: Parameters) -> "Mixture":
        logits, within = map(_limited, parameters)
        return replace(self, logits=logits, within=within)

    def information(self) -> Float[jax.Array, ""]:
        """The mean divergence of a row from the mean of all rows, in nats, each at its price."""
        of_categories = jnp.sum(self.prices * _divergence(self.probabilities))
        return of_categories + OF_NUMBERS * jnp.sum(_divergence(self.chances))

    def rows(self) -> Rows:
        """A number is expected at the middle of its bins."""
        cells = with_constants(self.probabilities, jnp.ones(self.logits.shape[1]))
        chances = self.chances
        return Rows(cells, self.bins.middles(self.numerical) @ chances, chances)

    def numbers(self) -> Binned:
        used = np.asarray(self.bins.number) >= 0
        return Binned.cut(np.asarray(self.chances, np.float32)[used], self.bins.edges)


def _limited(logits: Array) -> jax.Array:
    return jnp.clip(logits, -LOGIT_LIMIT, LOGIT_LIMIT)


def prices_in(domain: Domain) -> Float[np.ndarray, " cells"]:
    """What it counts if rows know more of an axis, at each of its cells."""
    of_axis = np.ones(len(domain.sizes), np.float32)
    of_axis[list(domain.strata)] = OF_STRATA
    return np.repeat(of_axis, domain.sizes)


def _divergence(chances: Float[jax.Array, "cells rows"]) -> Float[jax.Array, " cells"]:
    """The mean divergence of a row from the mean of all rows, cell by cell."""
    mean = chances.mean(axis=1, keepdims=True)
    return (chances * (jnp.log(chances + TINY) - jnp.log(mean + TINY))).mean(axis=1)


@partial(jax.jit, static_argnames="sizes")
def _softmax(logits: Array, sizes: tuple[int, ...]) -> jax.Array:
    axis = np.repeat(np.arange(len(sizes)), sizes)
    return _shares(logits, jnp.asarray(axis), len(sizes))


def _shares(logits: Array, owner: jax.Array, owners: int) -> jax.Array:
    """Softmax within what each owner has; nothing for what is nobody's."""
    member = (owner[None, :] == jnp.arange(owners)[:, None]).astype(jnp.float32)
    weights = jnp.exp(logits)
    return weights * member.sum(axis=0)[:, None] / (member.T @ (member @ weights) + TINY)
