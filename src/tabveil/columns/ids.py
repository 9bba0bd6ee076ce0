"""Columns that are not learnt: ids are generated on output, dropped columns do not come back."""

import string
import uuid
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, StrictInt, StrictStr, model_validator

from tabveil.columns.rule import Column, Example, Value
from tabveil.columns.words import LONGEST, check_text
from tabveil.errors import InvalidInput

NOT_READ = {"missing": "left out, because the column is not read"}
SIGNS = {"#": string.digits, "@": string.ascii_uppercase}


class Id(Column):
    """Names of rows: the real ones are never read, synthetic rows get new ones, each once."""

    example = Example({}, usual="x", odd="y")
    wanted = NOT_READ

    type: Literal["id"] = "id"
    style: Literal["sequence", "uuid", "pattern"] = "sequence"
    pattern: StrictStr = ""  # # is a digit, @ a capital letter
    start: Annotated[StrictInt, Field(ge=0, le=2**62)] = 1
    missing: None = None
    nullable: Literal[False] = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_text(self.pattern, "pattern", LONGEST)
        if (self.style == "pattern") != bool(self.pattern):
            raise InvalidInput(
                "style: pattern and a pattern go together.", "For example pattern: 'P-####'."
            )
        if self.pattern and self.room == 1:
            raise InvalidInput(
                "the pattern has no # or @, so all ids would be the same.", "Add some #."
            )
        return self

    @property
    def room(self) -> int:
        """How many different ids the pattern can write."""
        room = 1
        for sign in self.pattern:
            room *= len(SIGNS.get(sign, "x"))
        return room

    def reading(self, tokens: tuple[Value, ...]) -> Self:
        """The same: it is not read."""
        return self

    @property
    def codec(self) -> None:
        """Ids are not learnt."""
        return None

    def generated(self, rows: int, random: np.random.Generator) -> pa.Array:
        """New ids, all different."""
        if self.style == "uuid":
            drawn = random.bytes(16 * rows)
            pieces = (drawn[16 * i : 16 * i + 16] for i in range(rows))
            return pa.array(
                [str(uuid.UUID(bytes=piece, version=4)) for piece in pieces], pa.string()
            )
        if self.style == "sequence":
            return pa.array(np.arange(self.start, self.start + rows, dtype=np.int64))
        if self.start + rows > self.room:
            raise InvalidInput(
                f"The pattern {self.pattern} cannot name {rows:,} rows.",
                "Add more # or @, or ask for fewer.",
            )
        return pa.array(
            [self._numbered(i) for i in range(self.start, self.start + rows)], pa.string()
        )

    def _numbered(self, number: int) -> str:
        text = []
        for sign in reversed(self.pattern):
            choices = SIGNS.get(sign, sign)
            number, place = divmod(number, len(choices))
            text.append(choices[place])
        return "".join(reversed(text))


class Drop(Column):
    """A column that stays behind: free text, names, notes."""

    example = Example({}, usual="?", odd="!")
    wanted = NOT_READ

    type: Literal["drop"] = "drop"
    missing: None = None
    nullable: Literal[False] = False

    def reading(self, tokens: tuple[Value, ...]) -> Self:
        """The same: it is not read."""
        return self

    @property
    def codec(self) -> None:
        """It is not learnt."""
        return None
