"""Columns with a public list of values: categories, ordered categories, booleans."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from tabveil.columns.cells import Codes, Numbers, Plain, by_value
from tabveil.columns.codec import MISSING, OTHER, CategoryCodec
from tabveil.columns.rule import Column, Example, Flag, Value, check_value, plain_list
from tabveil.columns.tokens import Spelled
from tabveil.columns.words import key, shown
from tabveil.errors import InvalidInput


def _groups(groups: object) -> object:
    if not isinstance(groups, Mapping):
        raise ValueError("not a mapping")
    return {str(name): plain_list(values) for name, values in groups.items()}


class Categorical(Column):
    """A column with a public list of values."""

    example = Example({"values": ["no", "yes"]}, usual="yes", odd="perhaps")

    type: Literal["categorical", "boolean"] = "categorical"
    values: Annotated[tuple[Value, ...], BeforeValidator(plain_list)]
    other: Flag = False  # undeclared values become OTHER
    nullable: Flag = False
    ordered: Flag = False  # the list is in order
    groups: Annotated[dict[str, tuple[Value, ...]], BeforeValidator(_groups)] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.values:
            raise InvalidInput("values is empty.", "List at least one value.")
        seen: set[str] = set()
        for value in self.values:
            check_value(value)
            text = key(value)
            if text in seen:
                raise InvalidInput(
                    f"value {shown(text)} is declared twice.",
                    "1, 1.0 and '1' count as one value, as do true and 'true'.",
                )
            seen.add(text)
        if self.other and OTHER in seen:
            raise InvalidInput(
                "OTHER is declared as a value, and other: true adds it again.",
                "Leave it out of values.",
            )
        self._check_groups(seen)
        return self

    def _check_groups(self, declared: set[str]) -> None:
        grouped: set[str] = set()
        for name, values in self.groups.items():
            for text in map(key, values):
                if text not in declared:
                    raise InvalidInput(
                        f"group {shown(name)} holds {shown(text)}, which is not a declared value.",
                        "Groups hold values from the list.",
                    )
                if text in grouped:
                    raise InvalidInput(
                        f"value {shown(text)} is in two groups.", "Leave it in one of them."
                    )
                grouped.add(text)

    @cached_property
    def codec(self) -> "ListCodec":
        """How its cells become codes."""
        return ListCodec(self)


class Boolean(Categorical):
    """True or false."""

    example = Example({}, usual=True, odd="perhaps")

    type: Literal["boolean"] = "boolean"
    values: Annotated[tuple[Value, ...], BeforeValidator(plain_list)] = (False, True)

    @model_validator(mode="after")
    def _check_truths(self) -> Self:
        if set(map(key, self.values)) != {"false", "true"} or self.other:
            raise InvalidInput("a boolean is false or true.", "Leave out values and other.")
        return self


class ListCodec(CategoryCodec):
    """Cells as places in the declared list, then OTHER, then missing."""

    def __init__(self, rule: Categorical) -> None:
        self.rule, self.tokens = rule, rule.tokens
        self.declared, self.nullable, self.ordered = len(rule.values), rule.nullable, rule.ordered
        self._spelled = Spelled(rule.values)
        self.labels = (*self._spelled.texts, *[OTHER] * rule.other, *[MISSING] * rule.nullable)
        self.groups = {name: tuple(map(key, values)) for name, values in rule.groups.items()}
        self.ruler = "number" if all(self._spelled.is_number) else None
        other, last = len(rule.values), len(self.labels) - 1
        self._if_missing = last if rule.nullable else other if rule.other else 0
        self._if_undeclared = other if rule.other else last if rule.nullable else 0

    def encode(self, column: pa.ChunkedArray) -> Codes:
        return by_value(
            column,
            lambda values: np.array([self._code(v) for v in values.to_pylist()], np.int32),
            self._if_missing,
        )

    def _code(self, value: Plain) -> int:
        code = self._spelled.place(value)
        if code is not None:
            return code
        return self._if_missing if self.tokens.absent(value) else self._if_undeclared

    def declared_code(self, value: object) -> int | None:
        try:
            return self._spelled.place(key(value).encode())
        except TypeError:
            return None

    def knows(self, value: object) -> bool:
        return super().knows(value) or (self.rule.other and key(value) == OTHER)

    def decode(self, codes: Codes, random: np.random.Generator) -> pa.Array:
        if self.ordered:
            places = pa.array(codes, pa.int32(), mask=codes == len(self.levels))
            return pa.DictionaryArray.from_arrays(places, self.levels, ordered=True)
        nothing = pa.nulls(1, self.levels.type)
        return pa.concat_arrays([self.levels, nothing]).take(pa.array(codes))

    @cached_property
    def levels(self) -> pa.Array:
        kind = self._arrow_type()
        values: list[object] = [*self.rule.values, *[OTHER] * self.rule.other]
        if kind == pa.string():
            values = [key(value) for value in values]
        if kind == pa.float64():
            values = [float(value) for value in values]  # type: ignore[arg-type]
        return pa.array(values, kind)

    def _arrow_type(self) -> pa.DataType:
        values = self.rule.values
        if self.rule.other:
            return pa.string()
        if all(self._spelled.is_truth):
            return pa.bool_()
        if self.ruler is None or any(abs(value) >= 2**63 for value in values):  # type: ignore[arg-type]
            return pa.string()
        return pa.int64() if all(isinstance(value, int) for value in values) else pa.float64()

    @cached_property
    def _line(self) -> Numbers:
        """The declared values as numbers, in the order of their codes."""
        return np.array([float(v) if self.ruler else math.nan for v in self.rule.values])

    @property
    def bounds(self) -> tuple[float, float]:
        return float(self._line.min()), float(self._line.max())

    def quantity(self, value: object) -> float:
        code = self.declared_code(value)
        return math.nan if code is None else float(self._line[code])

    def on_line(self, codes: Codes, numbers: Numbers) -> Numbers:
        rest = len(self.labels) - self.declared
        return np.append(self._line, [math.nan] * rest)[codes]

    def from_line(self, quantities: Numbers) -> tuple[Codes, Numbers]:
        line, order = self._line, np.argsort(self._line)
        after = np.clip(np.searchsorted(line[order], quantities), 1, max(1, len(line) - 1))
        low, high = order[np.maximum(after - 1, 0)], order[np.minimum(after, len(line) - 1)]
        nearer = np.abs(line[high] - quantities) <= np.abs(line[low] - quantities)
        return np.where(nearer, high, low), np.zeros(len(quantities))

    def above(self, quantities: Numbers, *, strict: bool) -> Numbers:
        line = np.sort(self._line)
        places = np.searchsorted(line, quantities, "right" if strict else "left")
        return line[np.minimum(places, len(line) - 1)]

    def below(self, quantities: Numbers, *, strict: bool) -> Numbers:
        line = np.sort(self._line)
        places = np.searchsorted(line, quantities, "left" if strict else "right") - 1
        return line[np.maximum(places, 0)]

    def broken(self, column: pa.ChunkedArray) -> dict[str, int]:
        blank = by_value(column, self.tokens.blanks, True)
        undeclared = by_value(column, self._undeclared, True)
        rule, first = self.rule, "the first declared value"
        absent = OTHER if rule.other else first
        became = MISSING if rule.nullable else first
        broken = {
            f"some cells are missing, and it is not nullable (they are read as {absent})": (
                0 if rule.nullable else (blank & undeclared).sum()
            ),
            f"some values are not declared (they are read as {became})": (
                0 if rule.other else (undeclared & ~blank).sum()
            ),
        }
        return {text: int(cells) for text, cells in broken.items() if cells}

    def _undeclared(self, values: pa.Array) -> NDArray[np.bool_]:
        return np.array([self._spelled.place(value) is None for value in values.to_pylist()], bool)
