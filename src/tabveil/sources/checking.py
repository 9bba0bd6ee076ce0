"""A table checked for its owner: which columns break which rule of the schema."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabveil.columns import CategoryCodec, Column, NumberCodec, figures_of
from tabveil.columns.cells import by_value, is_missing, rounded
from tabveil.schema import Categorical, Numerical, Schema, shown
from tabveil.sources import Source
from tabveil.sources.reader import explained

UNFORESEEN = "This is a fault of tabveil. Please report it, without the table."


def check(data: object, schema: Schema) -> list[str]:
    """For the owner's eyes: which columns break which rule, without values or counts."""
    found: dict[str, set[str]] = {name: set() for name in schema.learnt}
    everything = replace(Source.of(data, schema), bound=None)
    with explained("the table could not be checked.", UNFORESEEN):
        for table in everything.batches():
            for name in found:
                found[name] |= _broken_rules(table.column(name), schema.columns[name])
    return [
        f"Column {shown(name)}: {text}." for name, texts in found.items() for text in sorted(texts)
    ]


def _broken_rules(column: pa.ChunkedArray, rule: Column) -> set[str]:
    if isinstance(rule, Categorical):
        return _broken_labels(column, rule)
    figures = figures_of(rule)
    return _broken_figures(column, figures, rule) if figures else set()


def _broken_labels(column: pa.ChunkedArray, rule: Categorical) -> set[str]:
    labels = CategoryCodec(rule)
    blank = by_value(column, _blank, True)
    undeclared = by_value(
        column,
        lambda values: np.array([labels.declared(v) is None for v in values.to_pylist()], bool),
        True,
    )
    absent = "OTHER" if rule.other else "the first declared value"
    became = "missing" if rule.nullable else "the first declared value"
    found = set()
    if not rule.nullable and (blank & undeclared).any():
        found.add(f"some cells are missing, and it is not nullable (they are read as {absent})")
    if not rule.other and (undeclared & ~blank).any():
        found.add(f"some values are not declared (they are read as {became})")
    return found


def _broken_figures(column: pa.ChunkedArray, figures: NumberCodec, declared: Column) -> set[str]:
    rule = figures.rule
    numbers = figures.read(column)
    absent = np.isnan(numbers)
    blank = absent & by_value(column, _blank_number, True)
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
        is_missing(v) or (isinstance(v, bytes) and v.strip().lower() == b"nan")
        for v in values.to_pylist()
    ]
    return np.array(blank, bool)
