"""GEM: a network that makes rows, trained on the marginals that its rows answer worst."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tabveil.baselines.adaptive import adaptively
from tabveil.baselines.binned import Binned, BinnedDesk, Codes
from tabveil.baselines.network import Layers, bounded, new_layers, through
from tabveil.baselines.relaxed import drawing
from tabveil.curator import Answer
from tabveil.fitting.projection import Measured, misfit
from tabveil.fitting.relaxed import Relaxed
from tabveil.queries import Hard, Marginals, marginals_with_targets
from tabveil.tables.table import Domain

SELECT_SHARE = Fraction(1, 2)
WIDTHS = (256, 256)


@dataclass(frozen=True)
class Gem(Binned):
    """Liu, Vietri, Wu 2021 on binned numbers: fixed random inputs, a network, softmax per column.

    Without the moving average of its weights; whole class-conditional marginals, d − 1 rounds.
    """

    title: ClassVar[str] = "GEM"
    source: ClassVar[str] = "Liu, Vietri and Wu 2021"

    rows: int = 1000
    inputs_width: int = 64
    steps: int = 500
    learning_rate: float = 2e-3

    def learn(self, desk: BinnedDesk, seed: int) -> tuple[Codes, int]:
        domain = desk.domain
        (family,) = marginals_with_targets(domain, self.most_cells)
        rounds = desk.rounds(family)
        for_inputs, for_layers = jax.random.split(jax.random.key(seed))
        learner = Generating(
            family,
            domain,
            desk.size,
            Measured.reserve((family,), (rounds,)),
            jax.random.normal(for_inputs, (self.rows, self.inputs_width)),
            new_layers(for_layers, (self.inputs_width, *WIDTHS, domain.cells)),
            self.steps,
            self.learning_rate,
        )
        workload = desk.workload(family)
        made = adaptively(desk.binned(), workload, learner, rounds, desk.left, SELECT_SHARE)
        return drawing(learner.table(), domain), made


@dataclass
class Generating:
    """The network as the adaptive loop sees it."""

    family: Marginals
    domain: Domain
    total: int
    measured: Measured
    noise: jax.Array
    layers: Layers
    steps: int
    learning_rate: float

    def table(self) -> Relaxed:
        """The relaxed rows that the network makes now."""
        return made_table(self.layers, self.noise, self.domain.sizes)

    def usable(self, candidates: np.ndarray, done: float) -> np.ndarray:
        return candidates

    def expected(self, queries: np.ndarray) -> np.ndarray:
        shares = np.asarray(self.family.tally.of(self.table().rows()), np.float64) / len(self.noise)
        return shares[queries] * self.total

    def learn(self, answer: Answer) -> None:
        shares = (answer.counts / self.total).astype(np.float32)
        filled = self.family.take(answer.picks).filled.astype(np.float32)
        self.measured = self.measured.learn(self.family, answer.picks, shares, filled)
        self.layers = trained(
            self.layers,
            self.noise,
            self.measured,
            self.domain.sizes,
            self.steps,
            self.learning_rate,
        )


def made_table(layers: Layers, noise: jax.Array, sizes: tuple[int, ...]) -> Relaxed:
    """What a network makes of its inputs: logits of categories, and no numbers."""
    return Relaxed(bounded(through(layers, noise)).T, jnp.zeros((0, len(noise))), tuple(sizes))


@partial(jax.jit, static_argnames=("sizes", "steps", "rate"))
def trained(
    layers: Layers,
    noise: jax.Array,
    measured: Measured,
    sizes: tuple[int, ...],
    steps: int,
    rate: float,
) -> Layers:
    """The network after some steps of Adam on the squared error to all noisy answers so far."""
    optimiser = optax.adam(rate)

    def loss(layers: Layers) -> jax.Array:
        return misfit(made_table(layers, noise, sizes), measured, Hard())

    def step(_: Any, state: tuple) -> tuple:
        layers, memory = state
        updates, memory = optimiser.update(jax.grad(loss)(layers), memory)
        return optax.apply_updates(layers, updates), memory

    return jax.lax.fori_loop(0, steps, step, (layers, optimiser.init(layers)))[0]
