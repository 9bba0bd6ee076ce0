"""Columns with a public list of values: categories, ordered categories, booleans."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import (
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from tabveil.columns.cells import Codes, by_value, is_missing, number_in
from tabveil.columns.rule import Column, Flag, plain_list
from tabveil.columns.words import check_text, key, shown
from tabveil.errors import InvalidInput

OTHER = "OTHER"
MISSING = "missing"

# Texts that YAML reads as true and false, so that `values: [yes, no]` means what it says.
TRUTHS = {
    "true": "true",
    "yes": "true",
    "on": "true",
    "false": "false",
    "no": "false",
    "off": "false",
}

Value = StrictBool | StrictInt | StrictFloat | StrictStr


def _groups(groups: object) -> object:
    if not isinstance(groups, Mapping):
        raise ValueError("not a mapping")
    return {str(name): plain_list(values) for name, values in groups.items()}


class Categorical(Column):
    """A column with a public list of values."""

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
            _check_value(value)
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

    def labels(self) -> tuple[str, ...]:
        """What each code stands for, in words."""
        return CategoryCodec(self).names()


class Boolean(Categorical):
    """True or false."""

    type: Literal["boolean"] = "boolean"
    values: Annotated[tuple[Value, ...], BeforeValidator(plain_list)] = (False, True)

    @model_validator(mode="after")
    def _check_truths(self) -> Self:
        if set(map(key, self.values)) != {"false", "true"} or self.other:
            raise InvalidInput("a boolean is false or true.", "Leave out values and other.")
        return self


def _check_value(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(
            f"value {value} is not a finite number.", "Quote it if it is meant as a text."
        )
    if isinstance(value, str):
        check_text(value, "a value")


class CategoryCodec:
    """A categorical column as codes: the declared values, then OTHER, then missing."""

    def __init__(self, rule: Categorical) -> None:
        self.rule = rule
        self.code_of = {key(value): code for code, value in enumerate(rule.values)}
        self.is_number = [
            isinstance(value, int | float) and not isinstance(value, bool) for value in rule.values
        ]
        self.numbers_only = all(self.is_number)
        self.is_truth = [isinstance(value, bool) for value in rule.values]
        self.size = len(rule.values) + rule.other + rule.nullable
        other, last = len(rule.values), self.size - 1
        self.missing = last if rule.nullable else other if rule.other else 0
        self.undeclared = other if rule.other else last if rule.nullable else 0

    def names(self) -> tuple[str, ...]:
        declared = (key(value) for value in self.rule.values)
        return (*declared, *[OTHER] * self.rule.other, *[MISSING] * self.rule.nullable)

    def encode(self, column: pa.ChunkedArray) -> Codes:
        return by_value(
            column,
            lambda values: np.array([self.code(v) for v in values.to_pylist()], np.int32),
            self.missing,
        )

    def code(self, value: int | float | bytes | None) -> int:
        """The code of one plain value (see `plain`)."""
        code = self.declared(value)
        if code is not None:
            return code
        return self.missing if is_missing(value) else self.undeclared

    def declared(self, value: int | float | bytes | None) -> int | None:
        """The place of a plain value in the declared list, or None."""
        if value is None or value != value:
            return None
        text = key(value)
        if text in self.code_of:
            return self.code_of[text]
        if not isinstance(value, bytes):
            return None
        # A text that spells a declared number ("1.0" for 1) or truth ("True" for true).
        number = number_in(text)
        code = self.code_of.get(key(number)) if math.isfinite(number) else None
        if code is not None and self.is_number[code]:
            return code
        code = self.code_of.get(TRUTHS.get(text.lower(), ""))
        return code if code is not None and self.is_truth[code] else None

    def decode(self, codes: Codes) -> pa.Array:
        arrow_type = self._arrow_type()
        values: list[object] = [*self.rule.values, *[OTHER] * self.rule.other]
        if arrow_type == pa.string():
            values = [key(value) for value in values]
        if arrow_type == pa.float64():
            values = [float(value) for value in values]  # type: ignore[arg-type]
        missing = codes == len(values)
        if self.rule.ordered:
            places = pa.array(codes, pa.int32(), mask=missing)
            return pa.DictionaryArray.from_arrays(
                places, pa.array(values, arrow_type), ordered=True
            )
        return pa.array([*values, None], arrow_type).take(pa.array(codes))

    def _arrow_type(self) -> pa.DataType:
        values = self.rule.values
        if self.rule.other:
            return pa.string()
        if all(self.is_truth):
            return pa.bool_()
        if not self.numbers_only or any(abs(value) >= 2**63 for value in values):  # type: ignore[arg-type]
            return pa.string()
        return pa.int64() if all(isinstance(value, int) for value in values) else pa.float64()
