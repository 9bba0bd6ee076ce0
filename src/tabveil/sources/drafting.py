"""A table drafted into a schema for its owner to fill in."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tabveil.columns.cells import blank_numbers, by_value, is_missing, number_in, plain
from tabveil.schema import TODO, key, short
from tabveil.sources import Source
from tabveil.sources.checking import UNFORESEEN
from tabveil.sources.reader import explained

MOST_VALUES = 100  # a text column with more distinct values is not drafted as a list
MOST_WHOLE_NUMBERS = 20  # more different whole numbers are drafted as numerical, fewer as codes
MOST_SIGNS = 3  # numbers with no more different texts among them are drafted as numbers
MOST_DRAFTED_DECIMALS = 6


def draft_schema(data: object, *, public: bool) -> dict[str, Any]:
    """A schema to fill in: names and types; also the data's own values and bounds if public.

    Types are guessed from the cells, without noise; but for them nothing that cells say is written.
    """
    source = Source.whole(data)
    seen = {name: _Seen() for name in source.columns}
    with explained("the table could not be looked at.", UNFORESEEN):
        for table in source.batches():
            for name, column in seen.items():
                column.look(table.column(name), any_text=source.is_text)
    return {"columns": {name: column.draft(public) for name, column in seen.items()}}


@dataclass
class _Seen:
    """What a pass over one column has met so far."""

    missing: bool = False
    texts: set[str] = field(default_factory=set)
    numbers: set[float] = field(default_factory=set)
    low: float = math.inf
    high: float = -math.inf
    decimals: int = 0
    kind_of_moments: str = "date"  # none once a text was met that spells no moment
    first: str = ""
    last: str = ""

    def look(self, column: pa.ChunkedArray, *, any_text: bool) -> None:
        """Take in a batch; with `any_text` (CSV), texts that spell numbers are numbers."""
        self.missing |= bool(by_value(column, blank_numbers, True).any())
        for chunk in column.chunks:
            for value in plain(chunk).unique().to_pylist():
                if is_missing(value):
                    continue
                text = key(value)
                number = number_in(text) if any_text or not isinstance(value, bytes) else math.nan
                if math.isfinite(number) and text.lower() not in ("true", "false"):
                    self._number(number)
                else:
                    self._text(text)

    def _number(self, number: float) -> None:
        self.low, self.high = min(self.low, number), max(self.high, number)
        while self.decimals <= MOST_DRAFTED_DECIMALS and round(number, self.decimals) != number:
            self.decimals += 1
        if len(self.numbers) <= MOST_WHOLE_NUMBERS:
            self.numbers.add(number)

    def _text(self, text: str) -> None:
        if len(self.texts) <= MOST_VALUES:
            self.texts.add(text)
        if not self.kind_of_moments:
            return
        try:
            moment = datetime.datetime.fromisoformat(text).replace(tzinfo=None)
        except ValueError:
            self.kind_of_moments = ""
            return
        if len(text) > len("2013-01-31"):
            self.kind_of_moments = "datetime"
        day = moment.date().isoformat()
        after = (moment.date() + datetime.timedelta(days=1)).isoformat()
        self.first = min(self.first or day, day)
        self.last = max(self.last, after)

    def draft(self, public: bool) -> dict[str, Any]:
        """The rule for the schema file."""
        nullable = {"nullable": True} if public and self.missing else {}
        if self._is_truth:
            return {"type": "categorical", "values": [False, True]} | nullable
        if self.texts and self.kind_of_moments and not self.numbers:
            first, last = (self.first, self.last) if public else (TODO, TODO)
            return {"type": self.kind_of_moments, "min": first, "max": last} | nullable
        if self._is_categorical or (public and self.low == self.high):
            return {"type": "categorical", "values": self._listed() if public else TODO} | nullable
        low, high = (short(self.low), short(self.high)) if public else (TODO, TODO)
        known = self.decimals == 0 or (public and self.decimals <= MOST_DRAFTED_DECIMALS)
        decimals = {"decimals": self.decimals} if known else {}
        signs = {"missing": sorted(self.texts)} if public and self.texts else {}
        return {"type": "numerical", "min": low, "max": high} | decimals | (signs or nullable)

    @property
    def _is_truth(self) -> bool:
        truths = {text.lower() for text in self.texts} <= {"true", "false"}
        return bool(self.texts) and truths and not self.numbers

    @property
    def _is_categorical(self) -> bool:
        # A few texts among many numbers are signs for missing cells.
        codes = self.decimals == 0 and len(self.numbers) <= MOST_WHOLE_NUMBERS
        return codes or not self.numbers or len(self.texts) > MOST_SIGNS

    def _listed(self) -> Sequence[object] | str:
        if not self.texts:
            return [short(number) for number in sorted(self.numbers)] or TODO
        if len(self.texts) > MOST_VALUES or len(self.numbers) > MOST_WHOLE_NUMBERS:
            return TODO  # some were not kept
        return sorted(self.texts | {key(number) for number in self.numbers})
