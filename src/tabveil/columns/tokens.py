"""Lists of values as cells spell them, and the signs that stand for a missing cell."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabveil.columns.cells import Plain, is_missing, number_in, plain, spelled
from tabveil.columns.words import key

# Texts that YAML reads as true and false, so that `values: [yes, no]` means what it says.
TRUTHS = {
    "true": "true",
    "yes": "true",
    "on": "true",
    "false": "false",
    "no": "false",
    "off": "false",
}


class Spelled:
    """A list of values, and which of them a cell spells.

    >>> colours = Spelled(["red", 1, True])
    >>> [colours.place(cell) for cell in (b"red", b"1.0", 1, b"Yes", b"Red", None)]
    [0, 1, 1, 2, None, None]
    """

    def __init__(self, values: Sequence[object]) -> None:
        self.texts = tuple(key(value) for value in values)
        self.is_truth = [isinstance(value, bool) for value in values]
        self.is_number = [
            isinstance(value, int | float) and not isinstance(value, bool) for value in values
        ]
        self._places = {text: place for place, text in enumerate(self.texts)}

    def place(self, value: Plain) -> int | None:
        """The place of a plain value (see `plain`) in the list, or None."""
        if value is None or value != value:
            return None
        text = key(value)
        if text in self._places:
            return self._places[text]
        if not isinstance(value, bytes):
            return None
        # A text that spells a listed number ("1.0" for 1) or truth ("True" for true).
        number = number_in(text)
        place = self._places.get(key(number)) if math.isfinite(number) else None
        if place is not None and self.is_number[place]:
            return place
        place = self._places.get(TRUTHS.get(text.lower(), ""))
        return place if place is not None and self.is_truth[place] else None


class Tokens:
    """Signs that stand for a missing cell; the first is written in the place of missing cells."""

    def __init__(self, values: Sequence[object] = ()) -> None:
        self.values = tuple(values)
        self._spelled = Spelled(values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def stand_for(self, value: Plain) -> bool:
        """Whether a plain value is one of the signs."""
        return self._spelled.place(value) is not None

    def absent(self, value: Plain) -> bool:
        """Whether a plain value counts as a missing cell."""
        return is_missing(value) or self.stand_for(value)

    def among(self, values: pa.Array) -> NDArray[np.bool_]:
        """Which plain values are signs."""
        return np.array([self.stand_for(value) for value in values.to_pylist()], bool)

    def blanks(self, values: pa.Array) -> NDArray[np.bool_]:
        """Which plain values count as missing."""
        return np.array([self.absent(value) for value in values.to_pylist()], bool)

    @cached_property
    def written(self) -> str | None:
        """What is written in the place of a missing cell; None where it stays empty."""
        return self._spelled.texts[0] or None if self.values else None

    def into(self, cells: pa.Array) -> pa.Array:
        """Cells with the sign in the place of empty ones; texts, if their type cannot hold it."""
        if self.written is None:
            return cells
        if pa.types.is_dictionary(cells.type):
            return self._into_levels(cells)
        sign = self._as_cell(cells.type)
        if sign is None:
            cells, sign = spelled(cells), pa.array([self.written], pa.string())
        return cells.fill_null(sign[0])

    def _into_levels(self, cells: pa.DictionaryArray) -> pa.Array:
        """The sign becomes the last level."""
        levels, indices = cells.dictionary, cells.indices
        last = pa.array([len(levels)], indices.type)[0]
        levels = self.into(pa.concat_arrays([levels, pa.nulls(1, levels.type)]))
        ordered = cells.type.ordered
        return pa.DictionaryArray.from_arrays(indices.fill_null(last), levels, ordered=ordered)

    def _as_cell(self, kind: pa.DataType) -> pa.Array | None:
        """The sign as one cell of a type, if that can hold it as it is."""
        try:
            cell = pa.array([self.written], pa.string()).cast(kind)
        except pa.ArrowException:
            return None
        return cell if key(plain(cell)[0].as_py()) == self.written else None
