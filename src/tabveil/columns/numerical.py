"""Columns of numbers inside public bounds, with special and missing values apart."""

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, model_validator

from tabveil.columns.categorical import MISSING
from tabveil.columns.cells import Codes, Numbers, numbers_in, rounded
from tabveil.columns.rule import Column, Flag, Number, Places, plain_list
from tabveil.columns.words import key, short
from tabveil.errors import InvalidInput


class Numerical(Column):
    """A column of numbers inside public bounds."""

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

    @property
    def as_numbers(self) -> "Numerical":
        """How the column is learnt: as it is."""
        return self

    def spelled(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, with defaults left out and whole numbers whole."""
        spelled = super().spelled()
        for name in ("min", "max"):
            spelled[name] = short(spelled[name])
        if "special_values" in spelled:
            spelled["special_values"] = [short(value) for value in spelled["special_values"]]
        return spelled


class NumberCodec:
    """Numbers, with kinds where the schema allows special or missing values.

    Kinds are 0 for an ordinary number, 1 and up for each special value, and last for missing.
    """

    def __init__(self, rule: Numerical) -> None:
        self.rule = rule
        kinds = 1 + len(rule.special_values) + rule.nullable
        self.kinds = kinds if kinds > 1 else 0

    def kind_names(self) -> tuple[str, ...]:
        special = (key(value) for value in self.rule.special_values)
        return ("number", *special, *[MISSING] * self.rule.nullable)

    def encode(self, column: pa.ChunkedArray) -> tuple[Numbers, Codes]:
        numbers = self.read(column)
        missing = np.isnan(numbers)
        numbers = np.where(missing, self.rule.min, numbers)
        settled = self.settle(numbers)
        kinds = np.zeros(len(numbers), np.int32)
        for cells in (settled, numbers):  # what the cell itself says wins over what it became
            for kind, special in enumerate(self.rule.special_values, start=1):
                kinds[cells == special] = kind
        if self.rule.nullable:
            kinds[missing] = self.kinds - 1
        return settled, kinds

    def decode(self, numbers: Numbers, kinds: Codes) -> pa.Array:
        numbers = self.settle(np.where(np.isnan(numbers), self.rule.min, numbers))
        for kind, special in enumerate(self.rule.special_values, start=1):
            numbers[kinds == kind] = special
        return self.write(numbers, (kinds == self.kinds - 1) if self.rule.nullable else None)

    def read(self, column: pa.ChunkedArray) -> Numbers:
        """The numbers that the cells stand for; nan where there is none."""
        return numbers_in(column)

    def write(self, numbers: Numbers, missing: np.ndarray | None) -> pa.Array:
        """Cells that stand for these numbers."""
        return pa.array(numbers.astype(np.int64) if self._is_whole() else numbers, mask=missing)

    def settle(self, numbers: Numbers) -> Numbers:
        """Numbers inside the bounds and rounded to the declared decimals."""
        low, high = self.rule.min, self.rule.max
        settled = np.clip(rounded(np.clip(numbers, low, high), self.rule.decimals), low, high)
        return settled + 0.0  # -0.0 becomes 0.0

    def _is_whole(self) -> bool:
        stated = (self.rule.min, self.rule.max, *self.rule.special_values)
        return self.rule.decimals == 0 and all(
            number.is_integer() and abs(number) < 2.0**63 for number in stated
        )
