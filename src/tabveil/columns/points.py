"""Places on a map: learnt as cells of a public grid, and written as a point inside the cell."""

import math
import re
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, StrictInt, model_validator

from tabveil.columns.cells import Codes, Numbers, Plain, by_value, is_missing, number_in
from tabveil.columns.codec import MISSING, CategoryCodec
from tabveil.columns.rule import Column, Example, Flag, Number, Places, plain_list
from tabveil.columns.words import LONGEST, key
from tabveil.errors import InvalidInput

MOST_CELLS = 10_000
AROUND = 360.0  # degrees of longitude
# "40.7, -74.0" is latitude and longitude; well-known text, "POINT (-74.0 40.7)", has them the
# other way round.
PAIR = re.compile(r"\s*\(?\s*([^\s,;()]+)\s*[,;\s]\s*([^\s,;()]+?)\s*\)?\s*")
WELL_KNOWN = re.compile(r"\s*POINT\s*\(\s*([^\s,;()]+)\s+([^\s,;()]+)\s*\)\s*", re.IGNORECASE)

Bounds = Annotated[tuple[Number, Number], BeforeValidator(plain_list)]
Grid = Annotated[tuple[StrictInt, StrictInt], BeforeValidator(plain_list)]


class Point(Column):
    """Latitude and longitude as one cell of text, such as 40.7, -74.0 or POINT (-74.0 40.7)."""

    example = Example(
        {"latitude": [40.4, 41.0], "longitude": [-74.3, -73.6], "grid": [3, 4]},
        usual="40.7, -74.0",
        odd="downtown",
    )
    wanted: ClassVar[dict[str, str]] = {
        "latitude": "two numbers, south and north, such as [40.4, 41.0]",
        "longitude": "two numbers, west and east, such as [-74.3, -73.6]",
        "grid": "two whole numbers, how many cells from south to north and from west to east",
    }

    type: Literal["point"] = "point"
    latitude: Bounds
    longitude: Bounds  # west may be the larger one: then the map lies across the date line
    grid: Grid = (10, 10)
    decimals: Places = 5
    nullable: Flag = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        south, north = self.latitude
        west, east = self.longitude
        if not -90 <= south < north <= 90:
            raise InvalidInput("latitude is not south < north.", "Degrees from -90 to 90.")
        if not (-180 <= west <= 180 and -180 <= east <= 180 and west != east):
            raise InvalidInput("longitude is not west to east.", "Degrees from -180 to 180.")
        rows, columns = self.grid
        if min(rows, columns) < 1 or rows * columns > MOST_CELLS:
            raise InvalidInput(
                f"a grid of {rows} × {columns} cells cannot be learnt.",
                f"Cells are counted one by one: choose 1 to {MOST_CELLS:,} of them.",
            )
        if min(self.codec.height, self.codec.width) < 2 * 10.0**-self.decimals:
            raise InvalidInput("the cells are too fine for the decimals.", "Raise decimals.")
        return self

    @cached_property
    def codec(self) -> "PointCodec":
        """How its cells become codes."""
        return PointCodec(self)


class PointCodec(CategoryCodec):
    """Cells of the grid, row by row from the south-west, then missing."""

    def __init__(self, rule: Point) -> None:
        self.rule, self.nullable, self.tokens = rule, rule.nullable, rule.tokens
        self.rows, self.columns = rule.grid
        self.declared = self.rows * self.columns
        (self.south, north), (self.west, east) = rule.latitude, rule.longitude
        self.around = (east - self.west) % AROUND or AROUND  # how far the map reaches to the east
        self.height, self.width = (north - self.south) / self.rows, self.around / self.columns

    @cached_property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The middle of each cell, in as many digits as it takes to tell them apart."""
        down, across = np.divmod(np.arange(self.declared), self.columns)
        enough = 1 + math.ceil(-math.log10(min(self.height, self.width)))
        middles = _written(
            self.south + (down + 0.5) * self.height,
            self.west + (across + 0.5) * self.width,
            max(enough, 1),
        )
        return (*middles, *[MISSING] * self.nullable)

    def encode(self, column: pa.ChunkedArray) -> Codes:
        return by_value(column, self._codes, self._code(None))

    def _codes(self, values: pa.Array) -> Codes:
        return np.array([self._code(value) for value in values.to_pylist()], np.int32)

    def _code(self, value: Plain) -> int:
        """The cell that a text lies in, or the nearest one; the first where it is no place."""
        place = None if self.tokens.stand_for(value) else located(value)
        if place is None:
            return self.declared if self.nullable else 0
        down, across = self._offsets(*place)
        if across > self.around:  # outside; which edge is nearer, the short way around the globe?
            across = self.around if across - self.around <= AROUND - across else 0.0
        row = min(max(math.floor(down / self.height), 0), self.rows - 1)
        return row * self.columns + min(math.floor(across / self.width), self.columns - 1)

    def _offsets(self, latitude: float, longitude: float) -> tuple[float, float]:
        return latitude - self.south, (longitude - self.west) % AROUND

    def declared_code(self, value: object) -> int | None:
        try:
            place = located(key(value).encode())
        except TypeError:
            return None
        return self._code(key(value).encode()) if place and self._inside(*place) else None

    def _inside(self, latitude: float, longitude: float) -> bool:
        down, across = self._offsets(latitude, longitude)
        return 0 <= down <= self.height * self.rows and across <= self.around

    def decode(self, codes: Codes, random: np.random.Generator) -> pa.Array:
        down, across = np.divmod(np.where(codes < self.declared, codes, 0), self.columns)
        latitude = self._drawn(self.south, down, self.height, random)
        longitude = self._drawn(self.west, across, self.width, random)
        texts = _written(latitude, longitude, self.rule.decimals)
        return pa.array(texts, pa.string(), mask=codes == self.missing)

    def _drawn(
        self, start: float, cells: Codes, size: float, random: np.random.Generator
    ) -> Numbers:
        """Somewhere in each cell, at one of the points that the decimals can write."""
        points = 10.0**self.rule.decimals
        low, high = start + cells * size, start + (cells + 1) * size
        first = np.ceil(np.nextafter(low, np.inf) * points)
        last = np.maximum(np.floor(np.nextafter(high, -np.inf) * points), first)
        return np.floor(first + random.random(len(cells)) * (last - first + 1)) / points

    def broken(self, column: pa.ChunkedArray) -> dict[str, int]:
        blank, lost = by_value(column, self.tokens.blanks, True), by_value(column, _lost, True)
        outside = by_value(column, self._outside, False)
        became = MISSING if self.nullable else "the first cell of the grid"
        broken = {
            f"some cells are missing, and it is not nullable (they are read as {became})": (
                0 if self.nullable else blank.sum()
            ),
            f"some cells are no latitude and longitude (they are read as {became})": (
                lost & ~blank
            ).sum(),
            "some places lie outside the map (they are read as its nearest cell)": outside.sum(),
        }
        return {text: int(cells) for text, cells in broken.items() if cells}

    def _outside(self, values: pa.Array) -> NDArray[np.bool_]:
        places = [
            None if self.tokens.stand_for(value) else located(value) for value in values.to_pylist()
        ]
        return np.array([place is not None and not self._inside(*place) for place in places], bool)


def _written(latitude: Numbers, longitude: Numbers, digits: int) -> list[str]:
    east = np.where(longitude > AROUND / 2, longitude - AROUND, longitude)
    pairs = zip(latitude.tolist(), east.tolist(), strict=True)
    return [f"{one:.{digits}f}, {other:.{digits}f}" for one, other in pairs]


def _lost(values: pa.Array) -> NDArray[np.bool_]:
    return np.array([located(value) is None for value in values.to_pylist()], bool)


def located(value: Plain) -> tuple[float, float] | None:
    """The latitude and longitude that a plain value spells, if it does.

    >>> located(b"40.7, -74.0"), located(b"POINT (-74.0 40.7)"), located(b"downtown")
    ((40.7, -74.0), (40.7, -74.0), None)
    """
    if is_missing(value) or not isinstance(value, bytes):
        return None
    text = key(value)
    if len(text) > LONGEST:
        return None
    if found := WELL_KNOWN.fullmatch(text):
        latitude, longitude = found[2], found[1]
    elif found := PAIR.fullmatch(text):
        latitude, longitude = found[1], found[2]
    else:
        return None
    place = number_in(latitude), number_in(longitude)
    return place if all(map(math.isfinite, place)) else None
