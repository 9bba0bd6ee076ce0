"""Columns of marks from A to a last letter, in order."""

import string
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, StrictStr

from tabveil.columns.cells import Codes, Plain, by_value
from tabveil.columns.codec import MISSING, CategoryCodec
from tabveil.columns.rule import Column, Example, Flag
from tabveil.columns.words import key


class Letters(Column):
    """A letter from A to the last one that is given; read in upper or lower case."""

    example = Example({"last": "F"}, usual="b", odd="Z")
    wanted: ClassVar[dict[str, str]] = {"last": "a capital letter such as F"}

    type: Literal["letters"] = "letters"
    last: Annotated[StrictStr, Field(pattern="^[A-Z]$")]
    nullable: Flag = False

    @cached_property
    def codec(self) -> "LettersCodec":
        """How its cells become codes."""
        return LettersCodec(self)


class LettersCodec(CategoryCodec):
    """Places in the alphabet, then missing."""

    def __init__(self, rule: Letters) -> None:
        self.nullable, self.tokens = rule.nullable, rule.tokens
        self.letters = string.ascii_uppercase[: string.ascii_uppercase.index(rule.last) + 1]
        self.declared = len(self.letters)
        self.labels = (*self.letters, *[MISSING] * rule.nullable)

    def encode(self, column: pa.ChunkedArray) -> Codes:
        return by_value(column, self._codes, self._code(None))

    def _codes(self, values: pa.Array) -> Codes:
        return np.array([self._code(value) for value in values.to_pylist()], np.int32)

    def _code(self, value: Plain) -> int:
        place = self.declared_code(value)
        return place if place is not None else self.declared if self.nullable else 0

    def declared_code(self, value: object) -> int | None:
        try:
            text = key(value).strip().upper()
        except TypeError:  # None, or something that is no cell
            return None
        return self.letters.index(text) if len(text) == 1 and text in self.letters else None

    def decode(self, codes: Codes, random: np.random.Generator) -> pa.Array:
        letters: list[str | None] = [*self.letters, None]
        return pa.array([letters[code] for code in codes], pa.string())

    def broken(self, column: pa.ChunkedArray) -> dict[str, int]:
        odd = int((~by_value(column, self._known, False)).sum())
        return {f"some cells are no letter from A to {self.letters[-1]}": odd} if odd else {}

    def _known(self, values: pa.Array) -> np.ndarray:
        cells = values.to_pylist()
        return np.array([self._is_allowed(cell) for cell in cells], bool)

    def _is_allowed(self, value: Plain) -> bool:
        absent = self.nullable and self.tokens.absent(value)
        return absent or self.declared_code(value) is not None
