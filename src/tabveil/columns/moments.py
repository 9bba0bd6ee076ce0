"""Columns of time: dates, timestamps and durations, learnt as whole units between public bounds."""

import datetime
import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, StrictStr, model_validator

from tabveil.columns.cells import Numbers, Objects, laid_out, number_in, numbers_in, once_each
from tabveil.columns.codec import NumberCodec, NumberLine
from tabveil.columns.numerical import Numerical, plain_quantity, plain_words
from tabveil.columns.rule import Column, Example, Flag, Number
from tabveil.columns.words import LONGEST, check_text, key, short, shown
from tabveil.errors import InvalidInput

# Microseconds in each unit.
UNITS = {
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
Unit = Literal["day", "hour", "minute", "second", "millisecond", "microsecond"]
EPOCH = datetime.datetime(1970, 1, 1)
YEARS = (1600, 9000)  # far from where calendars and 64-bit nanoseconds end
# Hours, minutes and seconds, with days before them as tabveil,
# pandas (" +") and Python (", ") write them.
CLOCK = re.compile(r"(-?)(?:(\d+) days?( \+|, | ))?(\d+):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
FARTHEST = 2**62  # microseconds; what lies beyond is clamped


def _moment_text(value: object) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    if not isinstance(value, str):
        raise ValueError("not a moment")
    datetime.datetime.fromisoformat(value)
    return value


Moment = Annotated[str, BeforeValidator(_moment_text)]


class Datetime(Column):
    """Moments between public bounds, told apart to the unit.

    With a `timezone`, moments are instants, and texts and clock times without an offset are local
    there; without one, they are readings of a clock, and moments with an offset are read in UTC.
    """

    wanted: ClassVar[dict[str, str]] = dict.fromkeys(
        ("min", "max"), "a day or a moment such as 2013-01-31"
    )
    example = Example(
        {"min": "2013-01-01", "max": "2014-01-01", "unit": "hour", "timezone": "Europe/Berlin"},
        usual="2013-03-01 12:00",
        odd="2013-03-31 02:30",  # a time that no clock showed
    )

    type: Literal["datetime", "date"] = "datetime"
    min: Moment
    max: Moment
    unit: Unit = "second"
    timezone: StrictStr | None = None
    format: StrictStr | None = None  # of texts, in the signs of strptime; without it texts are ISO
    nullable: Flag = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        zone(self.timezone)
        for name, text in (("min", self.min), ("max", self.max)):
            if not YEARS[0] <= datetime.datetime.fromisoformat(text).year < YEARS[1]:
                raise InvalidInput(
                    f"{name} is outside the years {YEARS[0]} to {YEARS[1]}.", "Check it."
                )
        if self.units < 1:
            raise InvalidInput(
                f"min {self.min} is not at least one {self.unit} before max {self.max}.",
                "Bounds must satisfy min < max.",
            )
        if self.format is not None:
            check_text(self.format, "format", LONGEST)
            self._check_format(self.format)
        return self

    def _check_format(self, form: str) -> None:
        try:
            # Not min itself: it is often midnight, which any form holds.
            some = self.first + UNITS[self.unit]
            again = microseconds(
                datetime.datetime.strptime(self.written(some, form), form), self.timezone
            )
        except Exception:
            # strptime raises more than ValueError: for a sign that stands twice, re.error.
            raise InvalidInput(
                f"format {shown(form)} cannot be read back.", "For example %Y-%m-%d %H:%M."
            ) from None
        if abs(again - some) >= UNITS[self.unit]:
            raise InvalidInput(
                f"format {shown(form)} does not hold the {self.unit}.",
                "Add the missing parts, or a wider unit.",
            )

    @property
    def first(self) -> int:
        """min, in microseconds since 1970."""
        return microseconds(datetime.datetime.fromisoformat(self.min), self.timezone)

    @property
    def units(self) -> int:
        """How many units lie between min and max."""
        last = microseconds(datetime.datetime.fromisoformat(self.max), self.timezone)
        return (last - self.first) // UNITS[self.unit]

    @cached_property
    def codec(self) -> NumberCodec:
        """How its cells become numbers: as units since min."""
        numbers = Numerical(min=0, max=self.units, decimals=0, nullable=self.nullable)
        return NumberCodec(numbers, MomentLine(self), (self.min, self.max), self.tokens)

    def written(self, moment: int, form: str) -> str:
        """A moment as text."""
        return clock(moment, self.timezone).strftime(form)


class Date(Datetime):
    """Days between public bounds."""

    example = Example(
        {"min": "1990-01-01", "max": "2010-01-01"}, usual="2000-02-29", odd="0000-99-99"
    )

    type: Literal["date"] = "date"
    unit: Literal["day"] = "day"
    timezone: None = None


class Duration(Column):
    """Lengths of time, in whole units between public bounds."""

    example = Example(
        {"min": 0, "max": 10, "unit": "hour", "nullable": True},
        usual="2:00:00",
        odd=f"{'9' * 5000}:00:00",
    )

    type: Literal["duration"] = "duration"
    min: Number
    max: Number
    unit: Unit = "second"
    nullable: Flag = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if max(abs(self.min), abs(self.max)) * UNITS[self.unit] >= 2**62:
            raise InvalidInput("the bounds do not fit into 64 bits.", "Choose a wider unit.")
        _ = self.codec
        return self

    @cached_property
    def codec(self) -> NumberCodec:
        """How its cells become numbers: of units."""
        numbers = Numerical(min=self.min, max=self.max, decimals=0, nullable=self.nullable)
        stated = short(self.min), short(self.max)
        return NumberCodec(numbers, DurationLine(self), stated, self.tokens)

    def spelled(self) -> dict[str, Any]:
        """Plain texts and numbers, with whole bounds whole."""
        return super().spelled() | {"min": short(self.min), "max": short(self.max)}


class MomentLine(NumberLine):
    """Moments as units since min; quantities are microseconds since 1970."""

    ruler = "moment"
    summable = False

    def __init__(self, rule: Datetime) -> None:
        self.rule, self.unit = rule, UNITS[rule.unit]
        self.noun = f"a {rule.type}"

    def read(self, column: pa.ChunkedArray) -> Numbers:
        return _read_all(column, self._read)

    def _read(self, cells: pa.Array) -> Numbers:
        kind = cells.type
        if isinstance(kind, Objects):
            return _first_found(cells, ("wall", "instant", "text"), self._read)
        if pa.types.is_timestamp(kind):
            return self._since(
                _scaled(_integers(cells), kind.unit), _nulls(cells), wall=kind.tz is None
            )
        if pa.types.is_date(kind):
            days = _integers(cells) // (1 if pa.types.is_date32(kind) else 86_400_000)
            return self._since(_scaled(days, "day"), _nulls(cells), wall=True)
        return once_each(cells, _each(self._parsed))

    def _since(self, moments: NDArray[np.int64], missing: np.ndarray, *, wall: bool) -> Numbers:
        rule, unit = self.rule, UNITS[self.rule.unit]
        # More than any zone is off; what lies beyond is clamped anyway.
        near = 2 * UNITS["day"] + unit
        low, high = rule.first - near, rule.first + rule.units * unit + near
        moments = np.clip(moments, low, high)
        if wall and rule.timezone is not None:
            distinct, places = np.unique(moments, return_inverse=True)
            local = [microseconds(clock(m, None), rule.timezone) for m in distinct.tolist()]
            moments = np.array(local, np.int64)[places]
        units = np.floor_divide(moments - rule.first, unit).astype(np.float64)
        return np.where(missing, math.nan, units)

    def _parsed(self, text: str) -> float:
        """Units since min that a text stands for, or nan."""
        rule = self.rule
        try:
            if rule.format is not None:
                moment = datetime.datetime.strptime(text, rule.format)
            else:
                moment = datetime.datetime.fromisoformat(text.strip())
            return float((microseconds(moment, rule.timezone) - rule.first) // UNITS[rule.unit])
        except Exception:  # whatever a calendar says about it, no text stops a fit
            return math.nan

    def write(self, numbers: Numbers, missing: np.ndarray | None) -> pa.Array:
        rule = self.rule
        moments = rule.first + numbers.astype(np.int64) * UNITS[rule.unit]
        if rule.format is not None:
            distinct, places = np.unique(moments, return_inverse=True)
            texts = np.array([rule.written(m, rule.format) for m in distinct.tolist()], object)
            return pa.array(texts[places], pa.string(), mask=missing)
        if rule.type == "date":
            return pa.array(
                (moments // UNITS["day"]).astype(np.int32), pa.int32(), mask=missing
            ).cast(pa.date32())
        return pa.array(moments, pa.int64(), mask=missing).cast(pa.timestamp("us", rule.timezone))

    def quantity(self, value: object) -> float:
        try:
            text = "" if isinstance(value, bool) else key(value)
        except TypeError:
            return math.nan
        return self.rule.first + self._parsed(text) * self.unit

    def words(self, low: float, high: float) -> str:
        form = "%Y-%m-%d" if self.rule.unit in ("day", "hour") else "%Y-%m-%d %H:%M"
        units = [round(min(max(end, 0), self.rule.units)) for end in dict.fromkeys((low, high))]
        moments = [self.rule.first + unit * self.unit for unit in units]
        return " to ".join(self.rule.written(moment, form) for moment in moments)

    def quantities(self, numbers: Numbers) -> Numbers:
        return self.rule.first + numbers * self.unit

    def numbers(self, quantities: Numbers) -> Numbers:
        return (quantities - self.rule.first) / self.unit

    def above(self, quantities: Numbers, decimals: int | None, *, strict: bool) -> Numbers:
        steps = np.ceil(self.numbers(quantities))
        steps += strict & (self.quantities(steps) <= quantities)
        return self.quantities(steps)

    def below(self, quantities: Numbers, decimals: int | None, *, strict: bool) -> Numbers:
        steps = np.floor(self.numbers(quantities))
        steps -= strict & (self.quantities(steps) >= quantities)
        return self.quantities(steps)


class DurationLine(NumberLine):
    """Durations as a number of units."""

    ruler = "duration"
    noun = "a duration"

    def __init__(self, rule: Duration) -> None:
        self.unit = UNITS[rule.unit]

    def read(self, column: pa.ChunkedArray) -> Numbers:
        return _read_all(column, self._read)

    def _read(self, cells: pa.Array) -> Numbers:
        kind = cells.type
        if isinstance(kind, Objects):
            return _first_found(cells, ("length", "text"), self._read)
        if pa.types.is_duration(kind):
            units = np.floor_divide(_scaled(_integers(cells), kind.unit), self.unit).astype(
                np.float64
            )
            return np.where(_nulls(cells), math.nan, units)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return numbers_in(pa.chunked_array([cells]))
        return once_each(cells, _each(self._parsed))

    def _parsed(self, text: str) -> float:
        """Units that a text stands for, or nan."""
        found = CLOCK.fullmatch(text.strip())
        if not found:
            return number_in(text)
        sign, days, between, hours, minutes, seconds, rest = found.groups()
        try:
            whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
            clock, before = (
                whole * 10**9 + int((rest or "0").ljust(9, "0")),
                int(days or 0) * 86_400 * 10**9,
            )
            if sign:  # of all, or of the days alone: minus one hour is -1 days +23:00:00 in pandas
                clock, before = (-clock if between in (None, " ") else clock), -before
            return float((before + clock) // (1000 * self.unit))
        except (ValueError, OverflowError):  # more digits than Python reads
            return -math.inf if sign else math.inf

    def write(self, numbers: Numbers, missing: np.ndarray | None) -> pa.Array:
        lengths = numbers.astype(np.int64) * self.unit
        return pa.array(lengths, pa.int64(), mask=missing).cast(pa.duration("us"))

    def quantity(self, value: object) -> float:
        return plain_quantity(value)

    def words(self, low: float, high: float) -> str:
        return plain_words(low, high)


def zone(name: str | None) -> datetime.tzinfo | None:
    """The time zone of this name."""
    if name is None:
        return None
    try:
        return datetime.UTC if name == "UTC" else ZoneInfo(name)
    except Exception:
        raise InvalidInput(
            f"timezone {shown(name)} is not known.", "For example UTC or Europe/Berlin."
        ) from None


def microseconds(moment: datetime.datetime, timezone: str | None) -> int:
    """Microseconds since 1970: of the instant with a zone, of the clock's reading without."""
    if moment.tzinfo is None and timezone is not None:
        moment = moment.replace(tzinfo=zone(timezone))
    # The offset is taken off here, because the first and the last year
    # of the calendar have no room for it.
    offset = moment.utcoffset() or datetime.timedelta(0)
    return (moment.replace(tzinfo=None) - EPOCH - offset) // datetime.timedelta(microseconds=1)


def clock(moment: int, timezone: str | None) -> datetime.datetime:
    """What a clock in this zone shows at a moment; without a zone, the moment as a reading."""
    reading = EPOCH + datetime.timedelta(microseconds=moment)
    if timezone is None:
        return reading
    return reading.replace(tzinfo=datetime.UTC).astimezone(zone(timezone))


def _read_all(column: pa.ChunkedArray, read: Callable[[pa.Array], Numbers]) -> Numbers:
    return np.concatenate(
        [np.empty(0), *(laid_out(chunk, read, math.nan) for chunk in column.chunks)]
    )


def _first_found(
    cells: pa.Array, parts: Sequence[str], read: Callable[[pa.Array], Numbers]
) -> Numbers:
    """What the first of these parts says that says anything."""
    found = np.full(len(cells), math.nan)
    for part in parts:
        found = np.where(np.isnan(found), read(cells.storage.field(part)), found)
    return found


def _nulls(cells: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(cells.is_null())


def _integers(cells: pa.Array) -> NDArray[np.int64]:
    """The integers behind times, with 0 where there is none."""
    whole = cells.cast(pa.int32()) if pa.types.is_date32(cells.type) else cells
    return np.asarray(whole.cast(pa.int64()).fill_null(0), np.int64)


def _scaled(times: NDArray[np.int64], unit: str) -> NDArray[np.int64]:
    """Times in microseconds; what would not fit into 64 bits is clamped."""
    if unit == "ns":
        return times // 1000
    factor = {"day": UNITS["day"], "s": 1_000_000, "ms": 1_000, "us": 1}[unit]
    room = FARTHEST // factor
    return np.clip(times, -room, room) * factor


def _each(parsed: Callable[[str], float]) -> Callable[[pa.Array], Numbers]:
    """Apply a reading of texts to the distinct values of a column."""

    def answer(values: pa.Array) -> Numbers:
        texts = ("" if value is None else key(value) for value in values.to_pylist())
        return np.fromiter(map(parsed, texts), np.float64, len(values))

    return answer
