"""Rows as queries see them: how much each belongs to each category, and where its numbers lie."""

from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.shapes import Float, Int, Num
from tabveil.tables.placement import GRID as GRID
from tabveil.tables.table import Domain

Array = jax.Array | np.ndarray


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rows:
    """A batch of rows, one per last axis, so that picking a column is picking a contiguous line.

    Cells are 0 or 1 for real rows and probabilities for relaxed ones. After those of all axes come
    two more: one that every row is in, and one that no row is in. Values are integers 0..GRID for
    real rows and floats for relaxed ones.
    """

    cells: Float[jax.Array, "cells rows"]
    values: Num[jax.Array, "numerical rows"]
    # How much each row belongs to each bin, where rows know; else it follows from the values.
    bins: Float[jax.Array, "bins rows"] | None = None
    # How many rows each stands for, where that is not one.
    weights: Float[jax.Array, " rows"] | None = None


def everyone(domain: Domain) -> int:
    """The cell that holds every row."""
    return domain.cells


def nobody(domain: Domain) -> int:
    """The cell that holds no row; it pads queries to one width."""
    return domain.cells + 1


class Step(Protocol):
    """Decides on which side of zero a margin lies; `unit`: one step of the paper's scale."""

    def __call__(self, margin: Any, unit: float) -> jax.Array: ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Hard:
    """Exactly: 1 where the margin is not negative, else 0."""

    def __call__(self, margin: Any, unit: float) -> jax.Array:
        return (margin >= 0).astype(jnp.float32)


HARD = Hard()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Soft:
    """Softly, by the tempered sigmoid 1/(1 + exp(-σ·margin)) (RAP++, Definition 11)."""

    sharpness: Array | float

    def __call__(self, margin: Any, unit: float) -> jax.Array:
        return jax.nn.sigmoid(self.sharpness / unit * margin)


def real_rows(
    codes: Int[np.ndarray, "rows axes"],
    positions: Int[np.ndarray, "rows numerical"],
    domain: Domain,
    size: int | None = None,
) -> Rows:
    """Real rows from their category codes and grid positions.

    `size` fills the batch up with rows that are in no cell at all, so that one compiled program
    serves batches of any length.
    """
    fill = ((0, max(0, (size or 0) - len(codes))), (0, 0))
    axis = np.repeat(np.arange(len(domain.sizes)), domain.sizes).astype(np.int32)
    code = np.concatenate([np.arange(n) for n in domain.sizes] or [np.zeros(0, int)]).astype(
        np.int32
    )
    present = np.pad(np.ones((len(codes), 1), np.float32), fill)[:, 0]
    return _real_rows(
        np.pad(codes.astype(np.int32), fill, constant_values=-1),
        np.pad(positions.astype(np.int32), fill),
        present,
        axis,
        code,
    )


@jax.jit
def _real_rows(
    codes: jax.Array, positions: jax.Array, present: jax.Array, axis: jax.Array, code: jax.Array
) -> Rows:
    cells = (codes.T[axis] == code[:, None]).astype(jnp.float32)
    return Rows(with_constants(cells, present), positions.T)


def with_constants(
    cells: Float[jax.Array, "cells rows"], everyone: Float[jax.Array, " rows"]
) -> Float[jax.Array, "cells+2 rows"]:
    """Append the cell of every row and the cell of no row."""
    return jnp.concatenate([cells, everyone[None], jnp.zeros((1, len(everyone)))])
