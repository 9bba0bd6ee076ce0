"""Products of memberships within classes, with a gradient that needs half the work."""

import jax
import jax.numpy as jnp
from jaxtyping import Float


@jax.custom_vjp
def products_within(
    cells: Float[jax.Array, "cells rows"], members: Float[jax.Array, "classes rows"]
) -> Float[jax.Array, "classes cells cells"]:
    """(P ∘ Y_c) Pᵀ for every class c."""
    return jax.lax.map(lambda member: (cells * member) @ cells.T, members)


def _backwards(
    kept: tuple[jax.Array, jax.Array], gradient: jax.Array
) -> tuple[jax.Array, jax.Array]:
    # Both factors are the same P: with S = G + Gᵀ one product S P serves ∂P = Y ∘ S P and ∂Y = ½ Σ
    # P ∘ S P.
    cells, members = kept

    def one(total: jax.Array, layer: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        both, member = layer
        pulled = both @ cells
        return total + member * pulled, 0.5 * (pulled * cells).sum(axis=0)

    return jax.lax.scan(one, jnp.zeros_like(cells), (gradient + gradient.swapaxes(1, 2), members))


products_within.defvjp(
    lambda cells, members: (products_within(cells, members), (cells, members)), _backwards
)
