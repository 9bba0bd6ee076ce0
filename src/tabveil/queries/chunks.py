"""Answer many queries in little memory: a chunk of queries at a time, inside one compiled loop."""

import jax
import numpy as np

from tabveil.queries.family import QueryFamily
from tabveil.queries.rows import Hard, Rows, Step

ENTRIES = 2**21
"""How many numbers one chunk may hold; small enough to stay in a processor's cache."""


def answers_in_chunks(family: QueryFamily, rows: Rows, step: Step | None = None) -> jax.Array:
    """The same as `family.answers(rows, step)`, [queries, width]; the hard step unless told otherwise."""
    per_query = max(1, family.footprint) * rows.cells.shape[1]
    size = int(np.clip(ENTRIES // per_query, 1, len(family)))
    chunks = -(-len(family) // size)
    order = np.minimum(np.arange(chunks * size), len(family) - 1).reshape(chunks, size)
    return _answers_in_chunks(family, rows, step or Hard(), order)[: len(family)]


@jax.jit
def _answers_in_chunks(family: QueryFamily, rows: Rows, step: Step, order: jax.Array) -> jax.Array:
    found = jax.lax.map(lambda picks: family.take(picks).answers(rows, step), order)
    return found.reshape(-1, found.shape[-1])
