"""Numbers drawn from relaxed rows, which hold a place for each of them, or chances of bins."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tabveil.shapes import Float
from tabveil.tables.drawing import Levels, as_often, drawn_places, levels_in_order
from tabveil.tables.placement import GRID

RARELY = 0.02  # as often as the table: below it, how rarely a row lies in a bin says nothing
STEEPEST = 6.0  # times, as a power of e, that a bin is denser at one end than at the other


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
    """Each number in one of its bins by chance, and inside it towards where its row lies more.

    The table fills a bin evenly. A row that lies in the next bin more often than other rows do,
    and seldom in the one before, lies near the upper end: what is known of bins side by side says
    something of the places between.
    """

    kind: ClassVar[str] = "bins"
    arrays: ClassVar[tuple[str, ...]] = ("chances",)

    chances: Float[np.ndarray, "bins relaxed"]  # those of all numbers, one below the other
    # Per number: where each of its bins begins and ends.
    ends: tuple[Float[np.ndarray, "2 _"], ...]
    # From one end of a bin to the other, the logarithm of how often a row lies there grows by this.
    leaning: Float[np.ndarray, "bins relaxed"]

    @classmethod
    def cut(cls, chances: np.ndarray, edges: Sequence[np.ndarray]) -> "Binned":
        """The bins between these grid positions of each number."""
        ends = [np.concatenate([[0], between, [GRID]]) / GRID for between in edges]
        found = cls(chances, tuple(np.stack([end[:-1], end[1:]]) for end in ends), chances)
        own = [chances[found._own(column)] for column in range(len(edges))]
        return replace(found, leaning=np.concatenate([chances[:0], *map(_leaning, own)]))

    def between(self, column: int, start: float, stop: float) -> tuple[np.ndarray, "Binned"]:
        (low, high), own = self.ends[column], self._own(column)
        low_end, high_end = np.clip(low, start, stop), np.clip(high, start, stop)
        begins, stops = (((end - low) / (high - low))[:, None] for end in (low_end, high_end))
        lean = self.leaning[own]
        left = self.chances[own] * (_below(stops, lean) - _below(begins, lean))
        share = left.sum(axis=0) / np.maximum(self.chances[own].sum(axis=0), 1e-12)
        chances, leaning, ends = self.chances.copy(), self.leaning.copy(), list(self.ends)
        some = high_end > low_end
        chances[own] = np.where(share > 0, left, self.chances[own])
        leaning[own] = np.where(some[:, None], lean * (stops - begins), lean)
        ends[column] = np.stack([np.where(some, low_end, low), np.where(some, high_end, high)])
        return share, Binned(chances, tuple(ends), leaning)

    def drawn(
        self, rows: np.ndarray, weights: np.ndarray, levels: Levels, random: np.random.Generator
    ) -> np.ndarray:
        found = np.empty((len(rows), len(self.ends)))
        for column, (low, high) in enumerate(self.ends):
            own = self._own(column)
            bins = drawn_places(self.chances[own], rows, levels())
            bins = as_often(bins, self.chances[own], rows, weights, random)
            inside = _place(random.random(len(rows)), self.leaning[own][bins, rows])
            inside = levels_in_order(bins, inside, random)
            found[:, column] = low[bins] + (high - low)[bins] * inside
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


def _leaning(chances: Float[np.ndarray, "bins relaxed"]) -> Float[np.ndarray, "bins relaxed"]:
    """Of each row in each bin: half of how much more often it lies in the next than in the last."""
    whole = chances.sum(axis=0)
    shares = chances / np.where(whole > 0, whole, 1.0)
    of_table = shares.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # a file may hold anything, and is checked later
        odds = np.log(shares / np.where(of_table > 0, of_table, 1.0) + RARELY)
    beside = np.pad(odds, ((1, 1), (0, 0)), mode="edge")
    return np.clip((beside[2:] - beside[:-2]) / 2, -STEEPEST, STEEPEST)


def _below(place: np.ndarray, lean: np.ndarray) -> np.ndarray:
    """How much of a bin lies below a place in it, if the density grows like e^(lean · place)."""
    steep = np.abs(lean) > 1e-4
    lean = np.where(steep, lean, 1.0)
    return np.where(steep, np.expm1(lean * place) / np.expm1(lean), place)


def _place(below: np.ndarray, lean: np.ndarray) -> np.ndarray:
    """The place in a bin that so much of it lies below."""
    steep = np.abs(lean) > 1e-4
    lean = np.where(steep, lean, 1.0)
    return np.where(steep, np.log1p(below * np.expm1(lean)) / lean, below)


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
