"""What every part of a schema file has in common: frozen, and refused in one line with a hint."""

import datetime
import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)

from tabveil.columns.codec import CellCodec
from tabveil.columns.tokens import Tokens
from tabveil.columns.words import check_text, did_you_mean, key, shown
from tabveil.errors import InvalidInput

MOST_DECIMALS = 12

# What each key accepts, in the words of the error messages.
WANTED = {
    "values": "a list of texts, numbers or true/false",
    "groups": "a mapping from group names to lists of declared values",
    "other": "true or false",
    "nullable": "true or false",
    "missing": "a list of what stands for a missing cell, such as [N, -9]",
    "ordered": "true or false",
    "min": "a number",
    "max": "a number",
    "decimals": f"a whole number from 0 to {MOST_DECIMALS}, or left out",
    "special_values": "a list of numbers",
    "targets": "a list of column names",
    "strata": "a list of column names",
    "unit": "known",
    "max_rows": "a whole number of 1 or more",
    "timezone": "a name such as UTC or Europe/Berlin",
    "format": "a text such as %Y-%m-%d",
    "style": "sequence, uuid or pattern",
    "pattern": "a text in which # stands for a digit and @ for a capital letter",
    "start": "a whole number of 0 or more",
    "privacy": "a mapping such as {unit: person_id, max_rows: 3}",
    "constraints": "a list such as [wage <= total_income]",
    "found": "a mapping with what the discovery cost",
}


class Rule(BaseModel):
    """A pydantic model whose refusals are one line and a hint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wanted: ClassVar[dict[str, str]] = {}  # what keys accept that no other rule has

    @classmethod
    def wants(cls, field: str, otherwise: str) -> str:
        """What a key accepts, in words."""
        return (WANTED | cls.wanted).get(field, otherwise)

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise _refusal(error, type(self)) from None


def _refusal(error: ValidationError, rule: type[Rule]) -> InvalidInput:
    first = error.errors(include_url=False, include_input=False)[0]
    field = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return InvalidInput(
            f"{shown(field)} is not a known key.", did_you_mean(field, rule.model_fields)
        )
    if first["type"] == "missing":
        return InvalidInput(f"{field} is missing.", f"It must be {rule.wants(field, 'given')}.")
    return InvalidInput(
        f"{field} must be {rule.wants(field, 'something else')}.", _field_hint(field)
    )


def _field_hint(field: str) -> str:
    if field == "values":
        return (
            "Quote dates and odd texts; "
            "for missing cells write nullable: true instead of a null value."
        )
    return ""


def plain_lists(value: Any) -> Any:
    """The same with lists where there were tuples."""
    if isinstance(value, dict):
        return {name: plain_lists(entry) for name, entry in value.items()}
    return [plain_lists(entry) for entry in value] if isinstance(value, list | tuple) else value


def plain_list(values: object) -> object:
    """Lists, tuples and arrays of numpy scalars as a list of Python values; others are refused."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, list | tuple):
        raise ValueError("not a list")
    return [plain_value(value) for value in values]


def text_keys(mapping: object) -> object:
    """What is left of a mapping to be checked once its keys are texts."""
    if isinstance(mapping, Mapping) and not all(isinstance(name, str) for name in mapping):
        raise ValueError("not all keys are text")
    return mapping


def plain_value(value: object) -> object:
    if hasattr(value, "item"):  # numpy scalars
        value = value.item()
    return key(value) if isinstance(value, datetime.date) else value


def plain_number(value: object) -> object:
    value = plain_value(value)
    if isinstance(value, bool):
        raise ValueError("not a number")
    if isinstance(value, int) and abs(value) > 2**1023:
        return math.inf
    return value


def check_value(value: object) -> None:
    """Refuse a value that no cell can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(
            f"value {value} is not a finite number.", "Quote it if it is meant as a text."
        )
    if isinstance(value, str):
        check_text(value, "a value")


Number = Annotated[float, BeforeValidator(plain_number)]
Places = Annotated[int, Field(ge=0, le=MOST_DECIMALS), BeforeValidator(plain_number)]
Flag = Annotated[StrictBool, BeforeValidator(plain_value)]
Value = StrictBool | StrictInt | StrictFloat | StrictStr
Missing = Annotated[tuple[Value, ...], BeforeValidator(plain_list)]


class Example(NamedTuple):
    """A rule of a type, a cell that follows it and one that does not; tests and audits try them."""

    rule: dict[str, Any]  # without its type
    usual: object
    odd: object


class Column(Rule):
    """The rule of one column; a column type is a subclass, and an entry in `RULES`."""

    example: ClassVar[Example]

    type: str
    missing: Missing | None = None  # what stands for a missing cell; None: what the table says
    nullable: bool

    def __init__(self, /, **data: Any) -> None:
        if data.get("missing") and "nullable" not in data:
            data["nullable"] = True
        super().__init__(**data)
        for token in self.missing or ():
            self._check_token(token)

    def _check_token(self, token: Value) -> None:
        check_value(token)
        if self.codec is not None and self.codec.knows(token):
            raise InvalidInput(
                f"{shown(key(token))} cannot stand for a missing cell: it is one of its values.",
                "Give the column a list of its own (missing: [] for none), or take it out of the "
                "values or bounds; numbers that mean something are special_values.",
            )

    @classmethod
    def __pydantic_init_subclass__(cls, **more: Any) -> None:
        super().__pydantic_init_subclass__(**more)
        if "example" not in cls.__dict__:
            raise TypeError(
                f"{cls.__name__} has no example; docs/extending.md says what it is for."
            )

    @property
    @abstractmethod
    def codec(self) -> CellCodec | None:
        """How its cells are learnt, as categories or as numbers; None if they are not."""

    @property
    def tokens(self) -> Tokens:
        """What stands for a missing cell."""
        return Tokens(self.missing or ())

    def reading(self, tokens: tuple[Value, ...]) -> Self:
        """The same rule with a table's signs for missing cells, unless it has its own."""
        if self.missing is not None or not tokens:
            return self
        known = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**known | {"missing": tokens})

    def signed(self, cells: pa.Array) -> pa.Array:
        """Cells with the first sign in the place of missing ones, if there is any."""
        return self.tokens.into(cells) if self.nullable else cells

    def generated(self, rows: int, random: np.random.Generator) -> pa.Array | None:
        """New cells for so many synthetic rows, where a column is not learnt but comes back."""
        return None

    def following(self, columns: Mapping[str, pa.Array]) -> pa.Array | None:
        """The cells that follow from other columns of the same synthetic rows, where they do."""
        return None

    def check_beside(self, columns: "Mapping[str, Column]") -> None:
        """Refuse what does not go together with the other columns of a schema."""

    def spelled(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, with defaults left out."""
        explicit = {"nullable": False} if self.missing and not self.nullable else {}
        return {
            "type": self.type, **plain_lists(self.model_dump(exclude_defaults=True)), **explicit
        }  # fmt: skip
