"""Numbers drawn from relaxed rows, which hold a place for each of them, or chances of bins."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float

from tabveil.tables.drawing import Levels, as_often, drawn_places, even_levels
from tabveil.tables.placement import GRID


class RelaxedNumbers(ABC):
    """Where between 0 and 1 the numbers of each relaxed row may lie."""

    kind: ClassVar[str]
    arrays: ClassVar[tuple[str, ...]]  # what a file calls its parts

    @abstractmethod
    def between(self, column: int, start: float, stop: float) -> tuple[np.ndarray, Self]:
        """How much of each row lies there in one column, and the numbers once that is known."""

    @abstractmethod
    def drawn(
        self, rows: np.ndarray, weights: np.ndarray, levels: Levels, random: np.random.Generator
    ) -> np.ndarray:
        """Places for copies of relaxed rows, [copies, numerical]; `weights` are those of all."""

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """What a file keeps as arrays."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What a file keeps as JSON."""

    @classmethod
    @abstractmethod
    def read(cls, content: Mapping[str, Any], *arrays: np.ndarray) -> Self:
        """The numbers that `to_dict` and `to_arrays` wrote."""

    def edges(self, column: int) -> np.ndarray | None:
        """The grid positions between the bins of a number, where it has bins."""
        return None

    @abstractmethod
    def fits(self, columns: int, rows: int) -> bool:
        """Whether these are whole numbers of so many columns and rows; a file may say anything."""


@dataclass(frozen=True)
class Positions(RelaxedNumbers):
    """Each number at one place, with some room around it to tell copies apart."""

    kind: ClassVar[str] = "positions"
    arrays: ClassVar[tuple[str, ...]] = ("positions", "slack")

    positions: Float[np.ndarray, "numerical relaxed"]
    slack: Float[np.ndarray, "numerical relaxed"]

    def between(self, column: int, start: float, stop: float) -> tuple[np.ndarray, "Positions"]:
        position, room = self.positions[column], self.slack[column]
        low, high = position - room / 2, position + room / 2
        low_end, high_end = np.maximum(low, start), np.minimum(high, stop)
        inside = np.clip(high_end - low_end, 0.0, None)
        pointlike = (low >= start) & (low <= stop)
        share = np.where(room > 0, inside / np.where(room > 0, room, 1.0), pointlike)
        positions, slack = self.positions.copy(), self.slack.copy()
        positions[column] = np.where(share > 0, (low_end + high_end) / 2, position)
        slack[column] = np.where(share > 0, inside, room)
        return share, Positions(positions, slack)

    def drawn(
        self, rows: np.ndarray, weights: np.ndarray, levels: Levels, random: np.random.Generator
    ) -> np.ndarray:
        room = self.slack[:, rows]
        return (self.positions[:, rows] + room * (levels() - 0.5)).T

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"positions": self.positions, "slack": self.slack}

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}

    @classmethod
    def read(cls, content: Mapping[str, Any], *arrays: np.ndarray) -> "Positions":
        return cls(*arrays)

    def fits(self, columns: int, rows: int) -> bool:
        return self.positions.shape == self.slack.shape == (columns, rows)


@dataclass(frozen=True)
class Binned(RelaxedNumbers):
    """Each number in one of its bins by chance, and evenly inside the bin."""

    kind: ClassVar[str] = "bins"
    arrays: ClassVar[tuple[str, ...]] = ("chances",)

    chances: Float[np.ndarray, "bins relaxed"]  # those of all numbers, one below the other
    # Per number: where each of its bins begins and ends.
    ends: tuple[Float[np.ndarray, "2 _"], ...]

    @classmethod
    def cut(cls, chances: np.ndarray, edges: Sequence[np.ndarray]) -> "Binned":
        """The bins between these grid positions of each number."""
        ends = [np.concatenate([[0], between, [GRID]]) / GRID for between in edges]
        return cls(chances, tuple(np.stack([end[:-1], end[1:]]) for end in ends))

    def between(self, column: int, start: float, stop: float) -> tuple[np.ndarray, "Binned"]:
        (low, high), own = self.ends[column], self._own(column)
        low_end, high_end = np.clip(low, start, stop), np.clip(high, start, stop)
        left = self.chances[own] * ((high_end - low_end) / (high - low))[:, None]
        share = left.sum(axis=0) / np.maximum(self.chances[own].sum(axis=0), 1e-12)
        chances, ends = self.chances.copy(), list(self.ends)
        chances[own] = np.where(share > 0, left, self.chances[own])
        some = high_end > low_end
        ends[column] = np.stack([np.where(some, low_end, low), np.where(some, high_end, high)])
        return share, replace(self, chances=chances, ends=tuple(ends))

    def drawn(
        self, rows: np.ndarray, weights: np.ndarray, levels: Levels, random: np.random.Generator
    ) -> np.ndarray:
        found = np.empty((len(rows), len(self.ends)))
        for column, (low, high) in enumerate(self.ends):
            chances = self.chances[self._own(column)]
            bins = drawn_places(chances, rows, levels())
            bins = as_often(bins, chances, rows, weights, random)
            found[:, column] = low[bins] + (high - low)[bins] * even_levels(bins, random)
        return found

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"chances": self.chances}

    def edges(self, column: int) -> np.ndarray:
        low, _ = self.ends[column]
        return np.rint(low[1:] * GRID).astype(int)

    def to_dict(self) -> dict[str, Any]:
        edges = [self.edges(column).tolist() for column in range(len(self.ends))]
        return {"kind": self.kind, "edges": edges}

    @classmethod
    def read(cls, content: Mapping[str, Any], *arrays: np.ndarray) -> "Binned":
        (chances,) = arrays
        return cls.cut(chances, [np.array(edges, int) for edges in content["edges"]])

    def fits(self, columns: int, rows: int) -> bool:
        bins = sum(low.shape[-1] for low, _ in self.ends)
        return (
            len(self.ends) == columns
            and self.chances.shape == (bins, rows)
            and all((high > low).all() for low, high in self.ends)
            and all(
                (self.chances[self._own(column)].sum(axis=0) > 0).all() for column in range(columns)
            )
        )

    def _own(self, column: int) -> slice:
        """Where the bins of a number stand among all bins."""
        sizes = [end.shape[1] for end in self.ends]
        start = sum(sizes[:column])
        return slice(start, start + sizes[column])


@dataclass(frozen=True)
class Mixed(RelaxedNumbers):
    """Numbers of rows that have a place for each, and after them of rows that have bins."""

    kind: ClassVar[str] = "positions and bins"
    arrays: ClassVar[tuple[str, ...]] = (*Positions.arrays, *Binned.arrays)

    placed: Positions
    binned: Binned

    def between(self, column: int, start: float, stop: float) -> tuple[np.ndarray, "Mixed"]:
        some, placed = self.placed.between(column, start, stop)
        others, binned = self.binned.between(column, start, stop)
        return np.concatenate([some, others]), Mixed(placed, binned)

    def drawn(
        self, rows: np.ndarray, weights: np.ndarray, levels: Levels, random: np.random.Generator
    ) -> np.ndarray:
        first = self.placed.positions.shape[1]
        placed, found = rows < first, np.empty((len(rows), len(self.placed.positions)))

        def levels_of(some: np.ndarray) -> Levels:
            return lambda: levels()[some]

        found[placed] = self.placed.drawn(rows[placed], weights[:first], levels_of(placed), random)
        found[~placed] = self.binned.drawn(
            rows[~placed] - first, weights[first:], levels_of(~placed), random
        )
        return found

    def to_arrays(self) -> dict[str, np.ndarray]:
        return self.placed.to_arrays() | self.binned.to_arrays()

    def edges(self, column: int) -> np.ndarray:
        return self.binned.edges(column)

    def to_dict(self) -> dict[str, Any]:
        return self.binned.to_dict() | {"kind": self.kind}

    @classmethod
    def read(cls, content: Mapping[str, Any], *arrays: np.ndarray) -> "Mixed":
        positions, slack, chances = arrays
        return cls(Positions(positions, slack), Binned.read(content, chances))

    def fits(self, columns: int, rows: int) -> bool:
        first = self.placed.positions.shape[-1]
        return self.placed.fits(columns, first) and self.binned.fits(columns, rows - first)


KINDS: dict[str, type[RelaxedNumbers]] = {cls.kind: cls for cls in (Positions, Binned, Mixed)}
