"""What the axes of counted cells stand for, as data; words are made of it where they are shown."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

from tabveil.tables.placement import Interval, Part

JOINED = " × "
ALL_ROWS, ALL = "all rows", "all"  # a query without sides, and its one cell
Weights = Mapping[str, float]
"""A weighted sum of the positions of columns; positions lie between 0 and 1 in their placement."""


class Side(ABC):
    """One axis of the counts of a query."""

    type: ClassVar[str]  # in files
    of_positions: ClassVar[bool] = False  # whether it asks for positions, not for parts of a column

    @property
    def classes(self) -> bool:
        """Whether the other sides are counted within the cells of this one."""
        return False

    @property
    @abstractmethod
    def name(self) -> str:
        """The axis in words."""

    @property
    @abstractmethod
    def cells(self) -> tuple[str | None, ...]:
        """Each cell along the axis in words; None where there is nothing to say."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A form for JSON."""

    @classmethod
    @abstractmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The side that a file spells out; a file may say anything."""


@dataclass(frozen=True)
class ByColumn(Side):
    """A column by its categories, or by runs of numbers and special values."""

    type: ClassVar[str] = "column"

    column: str
    parts: tuple[Part, ...]
    classes: bool = False

    @property
    def name(self) -> str:
        return self.column

    @property
    def cells(self) -> tuple[str, ...]:
        return tuple(map(part_in_words, self.parts))

    @property
    def labels(self) -> tuple[str, ...]:
        """The parts that are categories or special values."""
        return tuple(part for part in self.parts if isinstance(part, str))

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The parts that are runs of numbers."""
        return tuple(part for part in self.parts if isinstance(part, Interval))

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.column, "classes": self.classes, "parts": list(self.parts)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        parts = tuple(map(_part, content["parts"]))
        if type(content["classes"]) is not bool:
            raise ValueError("neither true nor false")
        return cls(_text(content["column"]), parts, content["classes"])


@dataclass(frozen=True)
class AlongLine(Side):
    """Bins along a weighted sum of positions, each up to an edge; the last lies above all edges."""

    type: ClassVar[str] = "line"
    of_positions: ClassVar[bool] = True

    weights: Weights
    edges: tuple[float, ...]

    @property
    def name(self) -> str:
        return sum_in_words(self.weights)

    @property
    def cells(self) -> tuple[str, ...]:
        return (*(f"up to {edge:.3f}" for edge in self.edges), f"above {self.edges[-1]:.3f}")

    def to_dict(self) -> dict[str, Any]:
        return {"weights": dict(self.weights), "edges": list(self.edges)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        return cls(_weights(content["weights"]), tuple(map(_number, content["edges"])))


class UpperBound(NamedTuple):
    """A weighted sum of positions, and what it must not exceed."""

    weights: Weights
    at_most: float

    @property
    def words(self) -> str:
        """The inequality; of a single column just its name."""
        alone = list(self.weights.values()) == [1.0]
        line = next(iter(self.weights)) if alone else sum_in_words(self.weights)
        return f"{line} ≤ {self.at_most:.3f}"


@dataclass(frozen=True)
class UnderBounds(Side):
    """A single cell: the rows that keep all of some bounds."""

    type: ClassVar[str] = "bounds"
    of_positions: ClassVar[bool] = True

    bounds: tuple[UpperBound, ...]

    @property
    def name(self) -> str:
        return " and ".join(bound.words for bound in self.bounds)

    @property
    def cells(self) -> tuple[None]:
        return (None,)

    def to_dict(self) -> dict[str, Any]:
        return {"bounds": [{"weights": dict(b.weights), "at_most": b.at_most} for b in self.bounds]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        bounds = content["bounds"]
        return cls(tuple(UpperBound(_weights(b["weights"]), _number(b["at_most"])) for b in bounds))


@dataclass(frozen=True)
class InWords(Side):
    """An axis of which only words are known, as of some releases of version 0.1."""

    type: ClassVar[str] = "words"

    query: str
    texts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.query

    @property
    def cells(self) -> tuple[str, ...]:
        return self.texts

    def to_dict(self) -> dict[str, Any]:
        return {"query": self.query, "cells": list(self.texts)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        return cls(_text(content["query"]), tuple(map(_text, content["cells"])))


SIDES: dict[str, type[Side]] = {
    side.type: side for side in (ByColumn, AlongLine, UnderBounds, InWords)
}


def side_to_dict(side: Side) -> dict[str, Any]:
    """A form for JSON that says which type of side it is."""
    return {"type": side.type, **side.to_dict()}


def side_from_dict(content: Mapping[str, Any]) -> Side:
    """The side that `side_to_dict` wrote, checked: a file may say anything."""
    side = SIDES[content["type"]].from_dict(content)
    if not side.cells:
        raise ValueError("a side without cells")
    return side


def query_in_words(sides: Sequence[Side]) -> str:
    """A query as "age × income", or as "+0.500·age +0.700·wage ≤ 0.300, by income"."""
    asked = [side.name for side in sides if not side.classes]
    classes = [side.name for side in sides if side.classes]
    if any(side.of_positions for side in sides):
        return f"{JOINED.join(asked)}, by {JOINED.join(classes) or ALL_ROWS}"
    return JOINED.join([*asked, *classes]) if sides else ALL_ROWS


def cells_in_words(sides: Sequence[Side]) -> list[str]:
    """Every cell of a query as "12 to 30 × low", in the order of its flattened counts."""
    if not sides:
        return [ALL]
    cells = product(*(side.cells for side in sides))
    return [JOINED.join(word for word in words if word is not None) for words in cells]


def part_in_words(part: Part) -> str:
    """A category as it is, a run of numbers as "12 to 30"."""
    return part if isinstance(part, str) else part.words


def sum_in_words(weights: Weights) -> str:
    """A weighted sum of positions."""
    return " ".join(f"{weight:+.3f}·{column}" for column, weight in weights.items())


def _part(content: Any) -> Part:
    if isinstance(content, str):
        return content
    low, high = map(_number, content)
    if low > high:
        raise ValueError("an interval ends before it begins")
    return Interval(low, high)


def _weights(content: Any) -> Weights:
    return {_text(column): _number(weight) for column, weight in content.items()}


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise ValueError("not a text")
    return content


def _number(content: Any) -> float:
    if type(content) not in (int, float) or not math.isfinite(content):
        raise ValueError("not a finite number")
    return float(content)
