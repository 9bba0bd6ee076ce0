"""A graphical model that learns noisy marginals (Private-PGM, McKenna et al. 2019)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.baselines.beliefs import Evidence, Structure, implicit_step, settled, shares, summed
from tabveil.baselines.junction import Axes, bags, cells
from tabveil.tables.table import Domain

SCORED_ROWS = 200_000
"""Rows drawn to see what the model says of columns that no table of its tree has together."""
MOST_PASSES = 1000  # over the tree, per fit
CONVERGED = 0.02  # of the noise's deviation
SEARCHED_STEPS = 4  # how much longer steps are that a line search finds than those that are safe
FEW_CELLS = 2**20  # a processor is done with these before an accelerator's program is compiled


@dataclass
class Measured:
    """All that was measured of some columns, and the potentials of their cells."""

    sums: np.ndarray  # of noisy counts, each over its variance
    weight: float  # the sum of one over the variance
    potentials: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """The best estimate."""
        return self.sums / self.weight


class Graphical:
    """Noisy marginals in, rows out; each fit starts where the one before ended.

    A fit goes as far as so many `iterations` of mirror descent, by one implicit step that long.
    """

    def __init__(self, domain: Domain, total: int, iterations: int, most_megabytes: float) -> None:
        self.total, self._iterations, self._most = total, iterations, most_megabytes
        self._sizes = tuple(domain.sizes)
        self._measured: dict[Axes, Measured] = {}
        self._structure = Structure.of(self._sizes, ())
        self._shares: list[np.ndarray] = []

    @property
    def cliques(self) -> list[Axes]:
        """The axes of every marginal that was learnt, in ascending order."""
        return list(self._measured)

    def learn(self, marginals: Sequence[tuple[Axes, np.ndarray]], scale: float) -> None:
        """Take noisy counts of some axes each into account, and fit again."""
        for axes, counts in marginals:
            self._add(axes, np.asarray(counts, float), 1 / scale**2)
        self._structure = Structure.of(self._sizes, self._measured)
        parts = [self._measured[axes] for axes in self._structure.measured]
        # An explicit step is safe up to one over this, in units of iterations.
        steepest = self.total * max(part.weight for part in parts)
        with jax.default_device(_machine_for(self._structure)):
            evidence = Evidence(
                _vector([part.counts for part in parts]),
                _vector([np.full(part.sums.shape, part.weight) for part in parts]),
                jnp.float32(self.total),
            )
            fitted = implicit_step(
                self._structure,
                evidence,
                _vector([part.potentials for part in parts]),
                jnp.float32(steepest / (SEARCHED_STEPS * self._iterations)),
                MOST_PASSES,
                CONVERGED,
            )
        potentials = np.asarray(fitted.here, float)
        self._shares = exact_shares(self._structure, potentials)
        kept = settled(self._structure, potentials)
        for axes, part in self._measured.items():
            part.potentials = kept.get(axes, np.zeros(part.sums.shape))

    def _add(self, axes: Axes, counts: np.ndarray, weight: float) -> None:
        table = counts.reshape([self._sizes[axis] for axis in axes])
        ascending = tuple(sorted(axes))
        table = table.transpose([axes.index(axis) for axis in ascending])
        nothing = Measured(np.zeros(table.shape), 0.0, np.zeros(table.shape))
        known = self._measured.setdefault(ascending, nothing)
        known.sums, known.weight = known.sums + weight * table, known.weight + weight

    def marginal(self, axes: Axes) -> np.ndarray:
        """The counts that the model expects for these axes, in the order of their cells."""
        structure, tables = self._structure, self._shares
        if not structure.holds(axes):
            structure, tables = self._as_if_measured(axes)
        place = structure.node_with(axes)
        ascending = tuple(sorted(axes))
        table = summed(tables[place], structure.nodes[place].axes, ascending)
        return self.total * table.transpose([ascending.index(axis) for axis in axes]).ravel()

    def _as_if_measured(self, axes: Axes) -> tuple[Structure, list[np.ndarray]]:
        """The same model on a tree that has these axes together."""
        structure = Structure.of(self._sizes, [*self._measured, tuple(sorted(axes))])
        known = {part: measured.potentials for part, measured in self._measured.items()}
        potentials = [
            known.get(part, np.zeros(structure.shape(part))).ravel() for part in structure.measured
        ]
        return structure, exact_shares(structure, np.concatenate(potentials))

    def marginals(self, wanted: Iterable[Axes], random: np.random.Generator) -> list[np.ndarray]:
        """The counts that the model expects for each of these sets of axes.

        Exact where a table of the tree has them together; else those of many rows drawn from it.
        """
        codes = self.codes(SCORED_ROWS, random)

        def drawn(axes: Axes) -> np.ndarray:
            counts = np.bincount(self._cells_of(codes, axes), minlength=cells(self._sizes, axes))
            return counts * (self.total / len(codes))

        return [
            self.marginal(axes) if self._structure.holds(axes) else drawn(axes) for axes in wanted
        ]

    def fits(self, axes: Axes, done: float) -> bool:
        """Whether the model stays small enough with these axes; it may grow as rounds are done."""
        if self._structure.holds(axes):
            return True
        tables = bags(self._sizes, [*self._measured, axes])
        return sum(cells(self._sizes, table) for table in tables) * 8 / 2**20 <= self._most * done

    def codes(self, rows: int, random: np.random.Generator) -> np.ndarray:
        """Rows of the model, [rows, axes]."""
        codes = np.zeros((rows, len(self._sizes)), np.int32)
        for node, table in zip(self._structure.nodes, self._shares, strict=True):
            known = node.shared
            for axis in (axis for axis in node.axes if axis not in node.shared):
                together = tuple(sorted((*known, axis)))
                joint = np.moveaxis(summed(table, node.axes, together), together.index(axis), -1)
                lines = joint.reshape(-1, self._sizes[axis])
                codes[:, axis] = evenly_drawn(lines, self._cells_of(codes, known), random)
                known = together
        return codes

    def _cells_of(self, codes: np.ndarray, axes: Axes) -> np.ndarray:
        """In which cell of the table of these axes each row is."""
        found = np.zeros(len(codes), np.int64)
        for axis in axes:
            found = found * self._sizes[axis] + codes[:, axis]
        return found


def exact_shares(structure: Structure, potentials: np.ndarray) -> list[np.ndarray]:
    """The tables of the tree in 64 bits, which need no program."""
    with np.errstate(divide="ignore"):  # the logarithm of nobody
        return shares(structure, potentials, np)


def evenly_drawn(
    weights: np.ndarray, groups: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """One of the cells in the line of its group for every row, as evenly as whole rows can be."""
    shuffled = random.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    used, counts = np.unique(groups[order], return_counts=True)
    group, rank = np.empty(len(groups), np.int64), np.empty(len(groups))
    group[order] = np.repeat(np.arange(len(used)), counts)
    rank[order] = np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
    below = np.cumsum(weights[used], axis=1)
    below /= np.maximum(below[:, -1:], np.finfo(float).tiny)
    place = (rank + random.random(len(groups))) / counts[group]
    ends = (below[:, :-1] + np.arange(len(used))[:, None]).ravel()
    last = weights.shape[1] - 1
    return np.minimum(np.searchsorted(ends, group + place, "right") - group * last, last)


def _vector(tables: list[np.ndarray]) -> jax.Array:
    return jnp.asarray(np.concatenate([table.ravel() for table in tables]), jnp.float32)


def _machine_for(structure: Structure) -> jax.Device:
    return jax.devices("cpu" if structure.cells <= FEW_CELLS else None)[0]
