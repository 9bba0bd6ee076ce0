"""Columns of numbers inside public bounds, with special and missing values apart."""

import math
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, model_validator

from tabveil.columns.cells import Numbers, numbers_in
from tabveil.columns.codec import NumberCodec, NumberLine
from tabveil.columns.rule import Column, Example, Flag, Number, Places, plain_list
from tabveil.columns.words import short
from tabveil.errors import InvalidInput


class Numerical(Column):
    """A column of numbers inside public bounds."""

    example = Example(
        {"min": 0, "max": 7, "decimals": 0, "special_values": [-1, 99]}, usual=3, odd=-1
    )

    type: Literal["numerical"] = "numerical"
    min: Number
    max: Number
    decimals: Places | None = None
    special_values: Annotated[tuple[Number, ...], BeforeValidator(plain_list)] = ()
    nullable: Flag = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_finite()
        if not self.min < self.max:
            raise InvalidInput(
                f"min {short(self.min)} is not below max {short(self.max)}.",
                "Bounds must satisfy min < max.",
            )
        if not math.isfinite(self.max - self.min):
            raise InvalidInput(
                "the range from min to max is too wide.", "Choose bounds below 1e308."
            )
        for name, bound in (("min", self.min), ("max", self.max)):
            if self.decimals is not None and bound != round(bound, self.decimals):
                raise InvalidInput(
                    f"{name} {short(bound)} has more than {self.decimals} decimals.",
                    f"Round {name}, or raise decimals.",
                )
        if len(set(self.special_values)) < len(self.special_values):
            raise InvalidInput(
                "a special value is declared twice.", "List each special value once."
            )
        return self

    def _check_finite(self) -> None:
        numbers = [
            ("min", self.min),
            ("max", self.max),
            *(("special_values", v) for v in self.special_values),
        ]
        for name, number in numbers:
            if not math.isfinite(number):
                raise InvalidInput(
                    f"{name} is not a finite number.", "Bounds are public numbers such as 0 or 99."
                )

    @cached_property
    def codec(self) -> NumberCodec:
        """How its cells become numbers: as they are."""
        stated = short(self.min), short(self.max)
        return NumberCodec(self, PlainLine(self), stated, self.tokens)

    def spelled(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, with defaults left out and whole numbers whole."""
        spelled = super().spelled()
        for name in ("min", "max"):
            spelled[name] = short(spelled[name])
        if "special_values" in spelled:
            spelled["special_values"] = [short(value) for value in spelled["special_values"]]
        return spelled


class PlainLine(NumberLine):
    """Numbers that are what they say."""

    ruler = "number"
    noun = "numbers"

    def __init__(self, rule: Numerical) -> None:
        stated = (rule.min, rule.max, *rule.special_values)
        self._whole = rule.decimals == 0 and all(
            number.is_integer() and abs(number) < 2.0**63 for number in stated
        )

    def read(self, column: pa.ChunkedArray) -> Numbers:
        return numbers_in(column)

    def write(self, numbers: Numbers, missing: NDArray[np.bool_] | None) -> pa.Array:
        return pa.array(numbers.astype(np.int64) if self._whole else numbers, mask=missing)

    def quantity(self, value: object) -> float:
        return plain_quantity(value)

    def words(self, low: float, high: float) -> str:
        return plain_words(low, high)


def plain_quantity(value: object) -> float:
    """The finite number that a text or number is; else nan."""
    if isinstance(value, bool):
        return math.nan
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def plain_words(low: float, high: float) -> str:
    """A number, or from where to where.

    >>> plain_words(3, 3), plain_words(0.5, 12)
    ('3', '0.5 to 12')
    """
    return f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
