"""A graphical model (Private-PGM, package mbi) that learns noisy marginals."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from tabveil.machine.packages import required
from tabveil.tables.table import Domain

SCORED_ROWS = 50_000
"""Rows drawn to see what the model answers: far quicker than eliminating variables per query."""


class Graphical:
    """Noisy marginals in, rows out; mirror descent fits potentials, from where they were."""

    def __init__(self, domain: Domain, total: int, iterations: int, most_megabytes: float) -> None:
        self._mbi = required("mbi", "bench")
        self._domain = self._mbi.Domain(tuple(range(len(domain.sizes))), domain.sizes)
        self.total, self._iterations, self._most = total, iterations, most_megabytes
        self._measured: list[Any] = []
        self._model: Any = None

    @property
    def cliques(self) -> list[tuple[int, ...]]:
        """The axes of every marginal that was learnt."""
        return [tuple(m.clique) for m in self._measured]

    def learn(self, marginals: Sequence[tuple[tuple[int, ...], np.ndarray]], scale: float) -> None:
        """Take noisy counts of some axes each into account, and fit again."""
        for axes, counts in marginals:
            self._measured.append(
                self._mbi.LinearMeasurement(counts.astype(float).ravel(), axes, scale)
            )
        with double_precision():
            self._model = self._mbi.estimation.MirrorDescent().estimate(
                self._domain,
                self._measured,
                known_total=float(self.total),
                iters=self._iterations,
                warm_start=self._model,
            )

    def marginal(self, axes: tuple[int, ...]) -> np.ndarray:
        """The counts that the model expects for these axes."""
        with double_precision():
            return np.asarray(self._model.project(axes).datavector())

    def fits(self, axes: tuple[int, ...], done: float) -> bool:
        """Whether the model stays small enough with these axes; it may grow as rounds are done."""
        size = self._mbi.junction_tree.hypothetical_model_size(self._domain, [*self.cliques, axes])
        return bool(size <= self._most * done)

    def codes(self, rows: int, random: np.random.Generator) -> np.ndarray:
        """Rows of the model, [rows, axes]."""
        with double_precision(), _numpy_seeded(int(random.integers(2**32))):
            drawn = self._model.synthetic_data(rows)
        table = drawn.to_dict()
        return np.column_stack(
            [np.asarray(table[axis]) for axis in self._domain.attributes]
        ).astype(np.int32)


@contextmanager
def double_precision() -> Iterator[None]:
    """64-bit floats, which its line search needs on large tables; our programs stay as they are."""
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _numpy_seeded(seed: int) -> Iterator[None]:
    """The package draws from numpy's global generator: seed it, and leave it as it was."""
    kept = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(kept)
