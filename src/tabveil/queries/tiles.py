"""Evidence about few of very many cross-tables, in square tiles: no others are computed."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.rows import Array
from tabveil.shapes import Float, Shaped

SIDE = 16
TOGETHER = 32  # tiles that one step of the loop works on
EFFORT = 10
"""What a cell of a tile costs, against a cell of one large product; measured on two cores."""


class Block(NamedTuple):
    """What is known of a cross-table of one class, from these cells on."""

    first: int
    second: int
    within: int
    shares: Float[np.ndarray, "rows columns"]
    weights: Shaped[np.ndarray, "rows columns"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tiles:
    """Noisy shares of SIDE × SIDE cells within one class; weight zero where nothing is known."""

    first: Array  # [tiles]: the cell at which one side begins
    second: Array  # [tiles]: the cell at which the other begins
    within: Array  # [tiles]: the cell of the class, or the one that holds every row
    shares: Array  # [tiles, SIDE, SIDE]
    weights: Array  # [tiles, SIDE, SIDE]
    arrears: Array  # [tiles, SIDE, SIDE]

    @classmethod
    def room_for(cls, tiles: int) -> Self:
        """Empty tiles, at least this many."""
        room = -(-max(1, tiles) // TOGETHER) * TOGETHER
        places = np.zeros(room, np.int32)
        empty = np.zeros((room, SIDE, SIDE), np.float32)
        return cls(places, places, places, empty, empty, empty)

    def with_blocks(self, blocks: Iterable[Block]) -> "Tiles":
        """With more cross-tables of one class each; the room doubles when full."""
        used = int(np.count_nonzero(np.asarray(self.weights).any(axis=(1, 2))))
        new: Tiles = jax.tree.map(np.array, self)
        for block in blocks:
            corners = list(product(*(range(0, length, SIDE) for length in block.shares.shape)))
            while used + len(corners) > len(new.first):
                new = jax.tree.map(lambda array: np.concatenate([array, np.zeros_like(array)]), new)
            for tile, (row, column) in enumerate(corners, start=used):
                new.first[tile], new.second[tile] = block.first + row, block.second + column
                new.within[tile] = block.within
                for array, known in ((new.shares, block.shares), (new.weights, block.weights)):
                    piece = known[row : row + SIDE, column : column + SIDE]
                    array[tile, : piece.shape[0], : piece.shape[1]] = piece
            used += len(corners)
        return new

    def misfit(self, members: Float[jax.Array, "cells rows"]) -> Float[jax.Array, ""]:
        """Σ w (q − â − arrears)² over all tiles, for rows whose cells `members` tells."""
        return _misfit(_padded(members), self)

    def shortfall(self, members: Float[jax.Array, "cells rows"]) -> Float[jax.Array, "tiles a b"]:
        """How far such rows fall short of what is known, tile by tile."""
        members = _padded(members)
        gaps = jax.lax.map(lambda some: _gaps(members, some)[-1] + some.arrears, _in_steps(self))
        return jnp.where(self.weights > 0, -gaps.reshape(self.shares.shape), 0.0)


def _padded(members: jax.Array) -> jax.Array:
    """Sides of tiles may reach beyond the last cell; nothing is known there."""
    return jnp.pad(members, ((0, SIDE), (0, 0)))


@jax.custom_vjp
def _misfit(members: jax.Array, tiles: Tiles) -> jax.Array:
    def add(total: jax.Array, some: Tiles) -> tuple[jax.Array, None]:
        _, _, _, _, gap = _gaps(members, some)
        return total + jnp.sum(some.weights * gap**2), None

    return jax.lax.scan(add, jnp.zeros(()), _in_steps(tiles))[0]


def _misfit_and_slope(members: jax.Array, tiles: Tiles) -> tuple[jax.Array, jax.Array]:
    # The gradient is written out and found on the way: kept for a backward pass, every tile's
    # factors would fill the memory, and each tile's gradient would be added as a whole table.
    rows = members.shape[1]

    def add(
        carry: tuple[jax.Array, jax.Array], some: Tiles
    ) -> tuple[tuple[jax.Array, jax.Array], None]:
        total, slope = carry
        left, right, member, inside, gap = _gaps(members, some)
        pull = 2 / rows * some.weights * gap
        to_left = jnp.einsum("tab,tbn->tan", pull, right)
        to_right = jnp.einsum("tab,tan->tbn", pull, inside)
        slope = slope.at[_side(some.first).ravel()].add(
            (to_left * member[:, None]).reshape(-1, rows)
        )
        slope = slope.at[_side(some.second).ravel()].add(to_right.reshape(-1, rows))
        slope = slope.at[some.within].add((to_left * left).sum(axis=1))
        return (total + jnp.sum(some.weights * gap**2), slope), None

    return jax.lax.scan(add, (jnp.zeros(()), jnp.zeros_like(members)), _in_steps(tiles))[0]


def _gaps(members: jax.Array, some: Tiles) -> tuple[jax.Array, ...]:
    """Of some tiles: both sides, class, first side within the class, and how far shares are off."""
    left, right = members[_side(some.first)], members[_side(some.second)]
    member = members[some.within]
    inside = left * member[:, None]
    found = jnp.einsum("tan,tbn->tab", inside, right) / members.shape[1]
    return left, right, member, inside, found - some.shares - some.arrears


def _side(start: Array) -> jax.Array:
    return jnp.asarray(start)[:, None] + jnp.arange(SIDE)


def _in_steps(tiles: Tiles) -> Tiles:
    return jax.tree.map(lambda array: array.reshape(-1, TOGETHER, *array.shape[1:]), tiles)


_misfit.defvjp(_misfit_and_slope, lambda slope, scale: (scale * slope, None))
