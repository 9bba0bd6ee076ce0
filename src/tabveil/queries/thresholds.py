"""Threshold queries: rows of each class that lie below a line, or below several bounds at once."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.queries.family import QueryFamily, padded
from tabveil.queries.rows import GRID, Array, Rows, Step, everyone, nobody
from tabveil.shapes import Bool, Float, Int, Num
from tabveil.tables.sides import ByColumn, Side, UnderBounds, UpperBound
from tabveil.tables.table import Domain


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Classes:
    """Groups of rows that a threshold is counted in. A class is a combination of categories."""

    # [classes, categories]: the cells multiplied to make a class; the last class is empty
    factors: Array
    # of each group; none for all rows
    columns: tuple[tuple[ByColumn, ...], ...] = field(metadata={"static": True})
    # classes that share their columns
    groups: tuple[tuple[int, ...], ...] = field(metadata={"static": True})

    @classmethod
    def of(cls, columns: Sequence[Sequence[int]], domain: Domain) -> Self:
        """One group per combination of axes; the empty combination is the group of all rows."""
        factors: list[Sequence[int]] = []
        groups, sides = [], []
        for axes in columns:
            cells = [range(domain.offsets[a], domain.offsets[a] + domain.sizes[a]) for a in axes]
            made = list(product(*cells)) if axes else [(everyone(domain),)]
            groups.append(tuple(range(len(factors), len(factors) + len(made))))
            named = [domain.axes[axis] for axis in axes]
            sides.append(tuple(ByColumn(a.name, a.labels, classes=True) for a in named))
            factors += made
        factors.append([nobody(domain)])
        return cls(padded(factors, everyone(domain)), tuple(sides), tuple(groups))

    def members(self, rows: Rows) -> Float[jax.Array, "classes rows"]:
        """How much each row belongs to each class."""
        return rows.cells[self.factors].prod(axis=1)

    def sides(self, block: Array) -> tuple[ByColumn, ...]:
        """The columns whose classes stand in a block."""
        first = int(block[0])
        return next(
            sides for sides, group in zip(self.columns, self.groups, strict=True) if first in group
        )

    def there(self, blocks: Array) -> np.ndarray:
        """Which places of some blocks hold a class, and not padding."""
        return np.asarray(blocks) != len(self.factors) - 1

    def blocks(self, groups: np.ndarray) -> np.ndarray:
        """For each group number, its classes, padded with the empty class."""
        return padded(self.groups, len(self.factors) - 1)[groups]


class ClassConditional(QueryFamily):
    """Queries that ask of each class in a block how many of its rows are below."""

    classes: Classes
    blocks: Array  # [queries, width]

    @abstractmethod
    def below(self, rows: Rows, step: Step) -> Float[jax.Array, "queries rows"]:
        """Whether each row satisfies each query's inequalities."""

    def answers(self, rows: Rows, step: Step) -> Float[jax.Array, "queries width"]:
        totals = self.below(rows, step) @ self.classes.members(rows).T
        return jnp.take_along_axis(totals, self.blocks, axis=1)

    @property
    def filled(self) -> Bool[np.ndarray, "queries width"]:
        return self.classes.there(self.blocks)

    def sides(self, query: int, domain: Domain) -> tuple[Side, ...]:
        bounds = UnderBounds(self.bounds_of(query, domain))
        return (bounds, *self.classes.sides(self.blocks[query]))

    @abstractmethod
    def bounds_of(self, query: int, domain: Domain) -> tuple[UpperBound, ...]:
        """The inequalities of one query."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LinearThresholds(ClassConditional):
    """Rows of each class below a halfspace, ⟨θ, x⟩ ≤ τ (RAP++, Definition 4), in integers."""

    name: ClassVar[str] = "linear thresholds"

    directions: Array  # [queries, numerical], whole numbers; L1 norm under 2^14
    offsets: Array  # [queries], whole numbers
    unit: float = field(metadata={"static": True})  # what 1 in the paper's scale measures in ours
    classes: Classes
    blocks: Array

    def below(self, rows: Rows, step: Step) -> Float[jax.Array, "queries rows"]:
        return step(self.offsets[:, None] - weighted_sum(self.directions, rows.values), self.unit)

    def take(self, picks: Int[Array, " picks"]) -> Self:
        return replace(
            self,
            directions=self.directions[picks],
            offsets=self.offsets[picks],
            blocks=self.blocks[picks],
        )

    def bounds_of(self, query: int, domain: Domain) -> tuple[UpperBound, ...]:
        weights = weights_of(self.directions[query], self.unit, domain)
        return (UpperBound(weights, float(self.offsets[query] / self.unit)),)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MixedMarginals(ClassConditional):
    """Rows of each class with every named number at or below its bound (RAP++, Definition 3).

    With the class of all rows these are the prefix marginals of the paper's appendix.
    """

    name: ClassVar[str] = "mixed marginals"

    columns: Array  # [queries, numbers]
    bounds: Array  # [queries, numbers], grid positions; GRID asks nothing
    classes: Classes
    blocks: Array

    def below(self, rows: Rows, step: Step) -> Float[jax.Array, "queries rows"]:
        below = [
            step(self.bounds[:, i, None] - rows.values[self.columns[:, i]], GRID)
            for i in range(self.columns.shape[1])
        ]
        return jnp.stack(below).prod(axis=0)

    def take(self, picks: Int[Array, " picks"]) -> Self:
        return replace(
            self, columns=self.columns[picks], bounds=self.bounds[picks], blocks=self.blocks[picks]
        )

    def bounds_of(self, query: int, domain: Domain) -> tuple[UpperBound, ...]:
        pairs = zip(np.asarray(self.columns)[query], np.asarray(self.bounds)[query], strict=True)
        return tuple(UpperBound({domain.numerical[c]: 1.0}, float(b / GRID)) for c, b in pairs)


def random_linear_thresholds(
    domain: Domain,
    count: int,
    random: np.random.Generator,
    labels: Sequence[Sequence[int]] | None = None,
) -> LinearThresholds:
    """θ ~ N(0,1)/√d, τ ~ N(0,1) (the paper's section 5), as whole numbers; a random label each."""
    numbers = len(domain.numerical)
    directions = random.standard_normal((count, numbers)) / np.sqrt(numbers)
    offsets = random.standard_normal(count)
    scale = largest_scale(directions)
    unit = float(GRID * scale)
    classes, blocks = random_blocks(domain, count, random, labels)
    whole = np.rint(directions * scale).astype(np.int32)
    # Margins stay inside 32 bits; no decision changes.
    limited = np.clip(np.floor(offsets * unit), -(2**30), 2**30).astype(np.int32)
    return LinearThresholds(whole, limited, unit, classes, blocks)


def random_mixed_marginals(
    domain: Domain,
    count: int,
    random: np.random.Generator,
    labels: Sequence[Sequence[int]] | None = None,
    numbers: int = 2,
) -> MixedMarginals:
    """Distinct random numeric columns with uniform bounds, and a random label, each."""
    numbers = min(numbers, len(domain.numerical))
    columns = np.argsort(random.random((count, len(domain.numerical))), axis=1)[:, :numbers]
    bounds = random.integers(0, GRID + 1, (count, numbers))
    classes, blocks = random_blocks(domain, count, random, labels)
    return MixedMarginals(columns.astype(np.int32), bounds.astype(np.int32), classes, blocks)


def random_prefix_marginals(
    domain: Domain, count: int, random: np.random.Generator, numbers: int = 2
) -> MixedMarginals:
    """Mixed marginals of numbers alone (RAP++, Definition 13)."""
    return random_mixed_marginals(domain, count, random, labels=[()], numbers=numbers)


def weights_of(direction: Array, unit: float, domain: Domain) -> dict[str, float]:
    """The weights of a direction, for positions between 0 and 1."""
    weights = (np.asarray(direction) * (GRID / unit)).tolist()
    return {name: w for name, w in zip(domain.numerical, weights, strict=True) if w}


def largest_scale(directions: np.ndarray) -> float:
    """What directions can be multiplied by so that, rounded, their L1 norm stays under 2^14."""
    largest = max(1.0, np.abs(directions).sum(axis=1).max(initial=0))
    return np.floor((2**14 - 1 - directions.shape[1]) / largest)


def random_blocks(
    domain: Domain,
    count: int,
    random: np.random.Generator,
    labels: Sequence[Sequence[int]] | None = None,
) -> tuple[Classes, np.ndarray]:
    """Classes of some labels (of all targets, else all rows), and those of a random label each."""
    classes = Classes.of(labels or [(t,) for t in domain.targets] or [()], domain)
    return classes, classes.blocks(random.integers(0, len(classes.groups), count))


def weighted_sum(
    directions: Int[Array, "queries numerical"], values: Num[jax.Array, "numerical rows"]
) -> Num[jax.Array, "queries rows"]:
    """⟨θ, x⟩ for every query and row; 32-bit integers for real rows, floats for relaxed ones."""
    if jnp.issubdtype(values.dtype, jnp.floating):
        return jnp.asarray(directions, jnp.float32) @ values
    # Column by column: the compiler fuses this with the comparison,
    # at half the time of an integer dot.
    terms = [directions[:, j, None] * values[j] for j in range(len(values))]
    return jnp.asarray(sum(terms, jnp.zeros((), jnp.int32)))
