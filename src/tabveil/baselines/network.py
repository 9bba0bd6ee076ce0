"""A small network of full layers, for the baselines that train a generator."""

from collections.abc import Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp

Layers = list[tuple[jax.Array, jax.Array]]


def new_layers(key: jax.Array, widths: Sequence[int]) -> Layers:
    """Random weights (He) and no offsets between layers of these widths."""
    keys = jax.random.split(key, len(widths) - 1)
    return [
        (jax.random.normal(k, (wide, narrow)) * jnp.sqrt(2 / wide), jnp.zeros(narrow))
        for k, (wide, narrow) in zip(keys, pairwise(widths), strict=True)
    ]


def through(layers: Layers, inputs: jax.Array) -> jax.Array:
    """What comes out at the other end, [rows, last width]."""
    for weights, offsets in layers[:-1]:
        inputs = jax.nn.relu(inputs @ weights + offsets)
    weights, offsets = layers[-1]
    return inputs @ weights + offsets


def bounded(logits: jax.Array) -> jax.Array:
    """Logits within ±10: no chance falls to nothing, and exponentials stay finite."""
    return 10.0 * jnp.tanh(logits / 10.0)
