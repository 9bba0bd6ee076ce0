"""Columns that another one decides: never read, worked out again for every synthetic row."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, StrictStr, model_validator

from tabveil.columns.categorical import Categorical
from tabveil.columns.numerical import Numerical
from tabveil.columns.rule import (
    Column,
    Example,
    Number,
    Value,
    check_value,
    plain_list,
    plain_value,
)
from tabveil.columns.words import did_you_mean, key, shown
from tabveil.errors import InvalidInput


def _by_key(mapping: object) -> object:
    """A mapping whose keys are spelled as cells are compared: 1, 1.0 and "1" are one."""
    if not isinstance(mapping, Mapping):
        raise ValueError("not a mapping")
    spelled = {key(plain_value(name)): plain_value(value) for name, value in mapping.items()}
    if len(spelled) < len(mapping):
        raise InvalidInput("the map names a value twice.", "1, 1.0 and '1' count as one value.")
    return spelled


class Follows(Column):
    """A column whose value follows from another: a region's density, the group of an age.

    With values alone, which of them follows from what is bought when a table is fitted.

    >>> group = Follows(of="age", cuts=[18, 65], values=["child", "adult", "old"])
    >>> group.following({"age": pa.array([3, 18, None, 90])}).to_pylist()
    ['child', 'adult', None, 'old']
    """

    example = Example({"of": "boolean", "map": {"false": "off", "true": "on"}}, usual="on", odd="?")
    wanted: ClassVar[dict[str, str]] = {
        "of": "the name of the column that decides",
        "map": "a mapping from values of the other column to values of this one",
        "cuts": "a list of growing numbers",
    }

    type: Literal["follows"] = "follows"
    of: StrictStr
    map: Annotated[dict[str, Value], BeforeValidator(_by_key)] = Field(default_factory=dict)
    # Of a number: below the first cut comes the first value, from the last on the last.
    cuts: Annotated[tuple[Number, ...], BeforeValidator(plain_list)] = ()
    values: Annotated[tuple[Value, ...], BeforeValidator(plain_list)] = ()
    nullable: Literal[True] = True  # where the other is missing, so is this

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.map and self.cuts) or not (self.map or self.cuts or self.values):
            raise InvalidInput(
                "it needs a map, or cuts and values, or values alone, whose map is then bought.",
                "For example map: {north: 12.5, south: 80.1}, cuts: [18, 65] and values: [child, "
                "adult, old], or values: [12.5, 80.1].",
            )
        if self.cuts and len(self.values) != len(self.cuts) + 1:
            raise InvalidInput(
                f"{len(self.cuts)} cuts need {len(self.cuts) + 1} values, not {len(self.values)}.",
                "List the value below the first cut, those between, and the one from the last on.",
            )
        if self.map and self.values:
            raise InvalidInput("values go without a map.", "Leave them out; the map says them.")
        if not all(low < high for low, high in pairwise(self.cuts)):
            raise InvalidInput("cuts must grow.", "Write them from the smallest to the largest.")
        for value in (*self.map.values(), *self.values):
            check_value(value)
        return self

    @property
    def codec(self) -> None:
        """It is not learnt."""
        return None

    @property
    def bought(self) -> Categorical | None:
        """How its cells are read where its map is bought."""
        if self.map or self.cuts:
            return None
        return Categorical(values=self.values, nullable=True, missing=self.missing)

    def mapped(self, followed: dict[str, Value]) -> "Follows":
        """The same column with the map that was bought."""
        return Follows(of=self.of, map=followed, missing=self.missing)

    def check_beside(self, columns: Mapping[str, Column]) -> None:
        """Refuse a map of what has no list of values, cuts of what is no number, and gaps."""
        learnt = {name: rule for name, rule in columns.items() if rule.codec is not None}
        if self.of not in learnt:
            raise InvalidInput(
                f"{shown(self.of)}, which it follows, is not a column that is learnt.",
                did_you_mean(self.of, learnt) or "Name another column of the schema.",
            )
        source = learnt[self.of]
        if self.cuts:
            if not isinstance(source, Numerical):
                raise InvalidInput(
                    f"{shown(self.of)} is {source.type}, and cuts need a numerical column.",
                    "Write a map from its values instead.",
                )
            return
        if not isinstance(source, Categorical):
            raise InvalidInput(
                f"{shown(self.of)} is {source.type}, and a map needs a categorical column.",
                "Of a number write cuts: [18, 65] and values instead.",
            )
        if self.bought:
            return
        left_out = [
            text for text in (key(value) for value in source.values) if text not in self.map
        ]
        if left_out:
            raise InvalidInput(
                f"the map says nothing of {shown(left_out[0])}, a value of {shown(self.of)}.",
                "Give every declared value of the other column a value.",
            )

    def following(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        """Missing where the other column's cell is, or nothing is said of it."""
        source = columns[self.of]
        if not self.cuts:
            cells = source.to_pylist()
            found = [None if cell is None else self.map.get(key(cell)) for cell in cells]
            return pa.array(found, self._type)
        numbers = np.asarray(source.to_numpy(zero_copy_only=False), float)
        values = pa.array(self.values, self._type)
        places = np.searchsorted(np.array(self.cuts), numbers, "right")
        return values.take(pa.array(places, mask=np.isnan(numbers)))

    @property
    def _type(self) -> pa.DataType:
        """Numbers and truths stay what they are; a mix becomes text."""
        kinds = {type(value) for value in (*self.map.values(), *self.values)}
        if kinds == {bool}:
            return pa.bool_()
        if kinds == {int}:
            return pa.int64()
        return pa.float64() if kinds <= {int, float} else pa.string()
