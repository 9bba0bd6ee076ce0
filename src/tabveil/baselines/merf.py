"""DP-MERF: one noisy mean of random Fourier features, and a generator trained to match it."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pyarrow as pa

from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.baselines.desk import Desk, Embedding
from tabveil.baselines.network import Layers, bounded, new_layers, through
from tabveil.fitting.relaxed import Relaxed
from tabveil.privacy import Budget, Relation
from tabveil.queries import GRID
from tabveil.schema import Schema
from tabveil.tables.drawing import drawn_codes
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Domain, Table

TURN = 2**12  # steps of the table of cosines
FINE = 2**16  # of a turn, in which frequencies are written
NORM = 2**20
BATCH = 500


@dataclass(frozen=True)
class Merf(Baseline):
    """Harder et al. 2021 for mixed types: the mean embedding per class of each target, noised once.

    The features are those of a Gaussian kernel on numbers and one-hot categories together; its
    width follows from the schema, where the original takes it from the data.
    """

    title: ClassVar[str] = "DP-MERF"
    source: ClassVar[str] = "Harder et al. 2021"
    inputs: ClassVar[str] = "mixed"

    features: int = 1000
    steps: int = 2000
    learning_rate: float = 1e-3
    inputs_width: int = 32
    width: int = 200

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        desk = Desk(frame, schema, budget, relation)
        domain, scale = desk.codec.domain, MinMax.of(schema)
        total = desk.total()
        waves = Waves.random(domain, scale, self.features // 2, np.random.default_rng(seed))
        mean = desk.mean(Embedding(waves, NORM), total, desk.left)
        for_layers, for_training = jax.random.split(jax.random.key(seed))
        widths = (self.inputs_width, self.width, self.width, domain.cells + len(domain.numerical))
        layers = trained(
            new_layers(for_layers, widths),
            for_training,
            jnp.asarray(waves.frequencies / FINE, jnp.float32),
            jnp.asarray(mean, jnp.float32),
            Shape(domain.sizes, tuple(waves.classes.tolist()), max(1, len(domain.targets))),
            self.steps,
            self.learning_rate,
        )

        def draw(rows: int, random: np.random.Generator) -> pa.Table:
            noise = jnp.asarray(random.standard_normal((rows, self.inputs_width)), jnp.float32)
            table = made_table(layers, noise, domain.sizes)
            codes = drawn_codes(
                np.asarray(table.probabilities),
                domain,
                np.arange(rows),
                lambda: random.random(rows),
            )
            numbers = scale.numbers(np.asarray(table.positions).T)
            return desk.codec.decode(Table(codes, numbers), random)

        return Fitted(draw, desk.spent, relation.value, {"features": len(mean)})


@dataclass(frozen=True)
class Waves:
    """Cosines and sines of random combinations of a row's cells, in whole numbers alone.

    No float meets a row, so a row's features are the same bits in any batch.
    """

    domain: Domain
    scale: MinMax
    frequencies: np.ndarray  # [cells + numerical, waves], in parts of a turn
    classes: np.ndarray  # the cells of the classes that means are kept for; none: all rows

    @classmethod
    def random(
        cls, domain: Domain, scale: MinMax, waves: int, random: np.random.Generator
    ) -> "Waves":
        """Frequencies of a Gaussian kernel about as wide as two random rows are apart."""
        apart = math.sqrt(0.6 * len(domain.axes) + len(domain.numerical) / 6)
        size = domain.cells + len(domain.numerical)
        frequencies = random.standard_normal((size, waves)) / (2 * math.pi * apart)
        frequencies[: domain.cells] /= math.sqrt(2)  # one-hot codes of two categories are √2 apart
        cells = [domain.offsets[t] + np.arange(domain.sizes[t]) for t in domain.targets]
        classes = np.concatenate([np.zeros(0, int), *cells])
        return cls(domain, scale, np.rint(frequencies * FINE).astype(np.int64), classes)

    def __call__(self, table: Table) -> np.ndarray:
        """The features of each row, [rows, groups × 2 × waves]; zero but for its own classes."""
        cells = self.domain.cells
        phase = self.scale.positions(table).astype(np.int64) @ self.frequencies[cells:]
        for axis, offset in enumerate(self.domain.offsets):
            phase += self.frequencies[offset + table.codes[:, axis]] * GRID
        turn = (phase // (FINE * GRID // TURN)) % TURN
        groups = max(1, len(self.domain.targets))
        # Rounded towards zero: a row has so many waves of norm at
        # most one in each group, and no more.
        size = NORM / math.sqrt(groups * turn.shape[1])
        angles = 2 * math.pi * (np.arange(TURN) + 0.5) / TURN
        waves = np.stack([np.trunc(size * np.cos(angles)), np.trunc(size * np.sin(angles))]).astype(
            np.int64
        )
        found = np.concatenate([waves[0][turn], waves[1][turn]], axis=1)
        if not len(self.classes):
            return found
        parts = [
            found * (table.codes[:, target, None] == code)
            for target in self.domain.targets
            for code in range(self.domain.sizes[target])
        ]
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Shape:
    """What compiled programs must know beforehand."""

    sizes: tuple[int, ...]
    classes: tuple[int, ...]  # their cells
    groups: int  # how many targets they belong to


def made_table(layers: Layers, noise: jax.Array, sizes: tuple[int, ...]) -> Relaxed:
    """Logits of categories, and numbers between 0 and 1."""
    made, cells = through(layers, noise).T, sum(sizes)
    return Relaxed(bounded(made[:cells]), jax.nn.sigmoid(made[cells:]), tuple(sizes))


def mean_embedding(table: Relaxed, frequencies: jax.Array, shape: Shape) -> jax.Array:
    """The mean features of relaxed rows, as `Waves` has them for real ones."""
    chances = table.probabilities
    phase = 2 * jnp.pi * (jnp.concatenate([chances, table.positions]).T @ frequencies)
    size = jnp.sqrt(shape.groups * phase.shape[1])
    found = jnp.concatenate([jnp.cos(phase), jnp.sin(phase)], axis=1) / size
    members = chances[jnp.array(shape.classes, int)] if shape.classes else jnp.ones((1, len(found)))
    return (members @ found / len(found)).ravel()


@partial(jax.jit, static_argnames=("shape", "steps", "rate"))
def trained(
    layers: Layers,
    key: jax.Array,
    frequencies: jax.Array,
    wanted: jax.Array,
    shape: Shape,
    steps: int,
    rate: float,
) -> Layers:
    """A generator whose rows have about the wanted mean embedding, by Adam on fresh batches."""
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))
    inputs = layers[0][0].shape[0]

    def loss(layers: Layers, noise: jax.Array) -> jax.Array:
        found = mean_embedding(made_table(layers, noise, shape.sizes), frequencies, shape)
        return jnp.sum((found - wanted) ** 2)

    def step(number: Any, state: tuple) -> tuple:
        layers, memory = state
        noise = jax.random.normal(jax.random.fold_in(key, number), (BATCH, inputs))
        updates, memory = optimiser.update(jax.grad(loss)(layers, noise), memory)
        return optax.apply_updates(layers, updates), memory

    return jax.lax.fori_loop(0, steps, step, (layers, optimiser.init(layers)))[0]
