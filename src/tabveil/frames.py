"""Tables handed back as people know them, checked for their owner, and drafted into a schema."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from tabveil.columns import Column, Figures, Labels, figures_of
from tabveil.columns.cells import is_missing, number_in, plain, rounded, spread, texts_in
from tabveil.columns.dtypes import as_series, as_type
from tabveil.columns.moments import spelled_durations
from tabveil.errors import InvalidInput
from tabveil.files import atomic_write
from tabveil.schema import TODO, Categorical, Numerical, Schema, key, short, shown
from tabveil.sources import Source
from tabveil.sources.reader import explained
from tabveil.spreadsheets import harmless

if TYPE_CHECKING:
    import pandas as pd

MOST_VALUES = 100  # a text column with more distinct values is not drafted as a list
MOST_WHOLE_NUMBERS = 20  # a column with more distinct whole numbers is drafted as numerical
MOST_DRAFTED_DECIMALS = 6
UNFORESEEN = "This is a fault of tabveil. Please report it, without the table."


def as_kind(table: pa.Table, kind: str, schema: Schema, types: Mapping[str, str] | None = None) -> Any:
    """The table as a pandas, polars or Arrow frame; its dtypes follow from the schema and the given types.

    `types` are those that columns had when they came in (`Source.types`).
    """
    types = types or {}
    names = table.column_names
    columns = {n: as_type(schema.columns[n], table.column(n), types.get(n, "")) for n in names}
    arrow = pa.table(columns)
    if kind == "arrow":
        return arrow
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(arrow)
    if kind == "pandas":
        return _to_pandas(arrow, schema, types)
    raise InvalidInput(f"{shown(kind)} is not a kind of frame.", "Choose pandas, polars or arrow.")


def _to_pandas(table: pa.Table, schema: Schema, types: Mapping[str, str]) -> "pd.DataFrame":
    import pandas as pd

    names = table.column_names
    series = {n: as_series(schema.columns[n], table.column(n), types.get(n, "")) for n in names}
    return pd.DataFrame(series)


def write(table: pa.Table, path: str | Path, *, raw: bool = False) -> None:
    """Write a .csv or .parquet file, whole or not at all.

    In a CSV file, texts that a spreadsheet would run as formulas get an apostrophe in front, unless `raw`.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        atomic_write(path, lambda file: pa.parquet.write_table(table, file))
    elif suffix == ".csv":
        cells = _spelled(table) if raw else harmless(_spelled(table))
        atomic_write(path, lambda file: pa.csv.write_csv(cells, file))
    else:
        raise InvalidInput(f"{path} has an unknown extension.", "Use a name that ends in .csv or .parquet.")


def _spelled(table: pa.Table) -> pa.Table:
    """The table with durations and texts of any type as plain texts; Arrow does not write all to CSV."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        is_length = pa.types.is_duration(column.type)
        texts = spelled_durations(column) if is_length else texts_in(column)
        if texts is not None:
            table = table.set_column(place, name, texts)
    return table


def check(data: object, schema: Schema) -> list[str]:
    """For the owner's eyes: which columns break which rule, without values or counts."""
    found: dict[str, set[str]] = {name: set() for name in schema.learnt}
    everything = replace(Source.of(data, schema), bound=None)
    with explained("the table could not be checked.", UNFORESEEN):
        for table in everything.batches():
            for name in found:
                found[name] |= _broken_rules(table.column(name), schema.columns[name])
    return [f"Column {shown(name)}: {text}." for name, texts in found.items() for text in sorted(texts)]


def _broken_rules(column: pa.ChunkedArray, rule: Column) -> set[str]:
    if isinstance(rule, Categorical):
        return _broken_labels(column, rule)
    figures = figures_of(rule)
    return _broken_figures(column, figures, rule) if figures else set()


def _broken_labels(column: pa.ChunkedArray, rule: Categorical) -> set[str]:
    labels = Labels(rule)
    blank = spread(column, _blank, True)
    undeclared = spread(
        column, lambda values: np.array([labels.declared(v) is None for v in values.to_pylist()], bool), True
    )
    absent = "OTHER" if rule.other else "the first declared value"
    became = "missing" if rule.nullable else "the first declared value"
    rules = {
        f"some cells are missing, and it is not nullable (they are read as {absent})": not rule.nullable
        and bool((blank & undeclared).any()),
        f"some values are not declared (they are read as {became})": not rule.other
        and bool((undeclared & ~blank).any()),
    }
    return {text for text, broken in rules.items() if broken}


def _broken_figures(column: pa.ChunkedArray, figures: Figures, declared: Column) -> set[str]:
    rule = figures.rule
    numbers = figures.read(column)
    absent = np.isnan(numbers)
    blank = absent & spread(column, _blank_number, True)
    stated = numbers[~absent & ~np.isin(numbers, rule.special_values)]
    became = "missing" if rule.nullable else "min"
    what = "numbers" if isinstance(declared, Numerical) else f"a {declared.type}"
    low, high = declared.spelled()["min"], declared.spelled()["max"]
    rules = {
        "some cells are missing, and it is not nullable (they are read as min)": not rule.nullable
        and blank.any(),
        f"some cells are not {what} (they are read as {became})": (absent & ~blank).any(),
        f"some cells are below min {low} (they are read as min)": (stated < rule.min).any(),
        f"some cells are above max {high} (they are read as max)": (stated > rule.max).any(),
        "some numbers have more decimals than declared (they are rounded)": (
            rounded(stated, rule.decimals) != stated
        ).any(),
    }
    return {text for text, broken in rules.items() if broken}


def _blank(values: pa.Array) -> NDArray[np.bool_]:
    return np.array([is_missing(value) for value in values.to_pylist()], bool)


def _blank_number(values: pa.Array) -> NDArray[np.bool_]:
    """Like `_blank`, where the text "nan" is missing too."""
    blank = [
        is_missing(v) or (isinstance(v, bytes) and v.strip().lower() == b"nan") for v in values.to_pylist()
    ]
    return np.array(blank, bool)


def draft_schema(data: object, *, public: bool) -> dict[str, Any]:
    """A schema to fill in: names and types, or also the data's own values and bounds if those are public."""
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

    def look(self, column: pa.ChunkedArray, *, any_text: bool) -> None:
        """Take in a batch; with `any_text` (CSV), texts that spell numbers are numbers."""
        self.missing |= bool(spread(column, _blank_number, True).any())
        for chunk in column.chunks:
            for value in plain(chunk).unique().to_pylist():
                if is_missing(value):
                    continue
                text = key(value)
                number = number_in(text) if any_text or not isinstance(value, bytes) else math.nan
                if math.isfinite(number) and text.lower() not in ("true", "false"):
                    self._number(number)
                elif len(self.texts) <= MOST_VALUES:
                    self.texts.add(text)

    def _number(self, number: float) -> None:
        self.low, self.high = min(self.low, number), max(self.high, number)
        while self.decimals <= MOST_DRAFTED_DECIMALS and round(number, self.decimals) != number:
            self.decimals += 1
        if len(self.numbers) <= MOST_WHOLE_NUMBERS:
            self.numbers.add(number)

    def draft(self, public: bool) -> dict[str, Any]:
        """The rule for the schema file."""
        nullable = {"nullable": True} if public and self.missing else {}
        if self.texts and {text.lower() for text in self.texts} <= {"true", "false"} and not self.numbers:
            return {"type": "categorical", "values": [False, True]} | nullable
        if self.texts or not self.numbers:
            return {"type": "categorical", "values": self._listed() if public else TODO} | nullable
        few = self.decimals == 0 and len(self.numbers) <= MOST_WHOLE_NUMBERS
        if public and (few or self.low == self.high):
            return {
                "type": "categorical",
                "values": [short(number) for number in sorted(self.numbers)],
            } | nullable
        low, high = (short(self.low), short(self.high)) if public else (TODO, TODO)
        known = self.decimals == 0 or (public and self.decimals <= MOST_DRAFTED_DECIMALS)
        decimals = {"decimals": self.decimals} if known else {}
        return {"type": "numerical", "min": low, "max": high} | decimals | nullable

    def _listed(self) -> list[str] | str:
        texts = self.texts | {key(number) for number in self.numbers}
        return sorted(texts) if 0 < len(texts) <= MOST_VALUES else TODO
