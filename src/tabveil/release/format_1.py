"""Reads what version 0.1 wrote: its measurements are words, which are turned back into data.

Whatever is read out of words must give the same words again; what does not is kept as words.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from tabveil.tables.measurement import Measurement
from tabveil.tables.placement import Interval, Part
from tabveil.tables.sides import (
    JOINED,
    AlongLine,
    ByColumn,
    InWords,
    Side,
    UnderBounds,
    UpperBound,
    cells_in_words,
    query_in_words,
)
from tabveil.tables.table import Domain

POSITIONS = ("numbers", "slack")
PLACEMENT = "scale"
MOST_COLUMNS = 3  # of a query
MOST_READINGS = 20  # of the same words
WEIGHT = re.compile(r"(?:^| )([+-]\d+\.\d{3})·")

Sides = tuple[Side, ...]
Cells = Sequence[str]


def measurement_from_dict(content: Mapping[str, Any], domain: Domain) -> Measurement:
    """The measurement that a file of format 1 spells out; a file may say anything."""
    if set(content) != {"family", "query", "standard_error", "cells", "counts"}:
        raise ValueError("not a measurement")
    family, query, cells = content["family"], content["query"], tuple(content["cells"])
    counts, error = list(content["counts"]), content["standard_error"]
    right = (
        all(isinstance(text, str) for text in (family, query, *cells))
        and all(type(count) is int for count in counts)
        and len(cells) == len(counts) > 0
        and type(error) in (int, float)
        and 0 <= error < math.inf
    )
    if not right:
        raise ValueError("not a measurement")
    sides = _sides(family, query, cells, domain)
    return Measurement.of(family, sides, np.array(counts, np.int64), float(error))


def _sides(family: str, query: str, cells: Cells, domain: Domain) -> Sides:
    """The one way to read these words, or the words themselves."""
    readings = READERS[family](query, cells, domain) if family in READERS else iter(())
    found = [
        sides
        for sides in islice(readings, MOST_READINGS)
        if query_in_words(sides) == query and tuple(cells_in_words(sides)) == cells
    ]
    return found[0] if len(found) == 1 else (InWords(query, tuple(cells)),)


# -- readers: each gives the sides that some words may stand for -----------------------------------


def _row_count(query: str, cells: Cells, domain: Domain) -> Iterator[Sides]:
    yield ()


def _one_column(query: str, cells: Cells, domain: Domain) -> Iterator[Sides]:
    """Categories, or runs of a number and its special values."""
    if any(query == axis.name for axis in domain.axes):
        yield (ByColumn(query, tuple(cells)),)
    if query in domain.numerical:
        yield (ByColumn(query, _parts(query, cells, domain)),)


def _cross_table(query: str, cells: Cells, domain: Domain) -> Iterator[Sides]:
    """The classes of a target come last in the query, but first in the cells."""
    targets = [domain.axes[target].name for target in domain.targets]
    for columns in _columns(query, domain):
        *asked, last = columns
        if len(columns) < MOST_COLUMNS:
            yield from _crossed(columns, cells, domain)
        elif last in targets:
            for sides in _crossed([last, *asked], cells, domain):
                yield (replace(sides[0], classes=True), *sides[1:])


def _marginal(query: str, cells: Cells, domain: Domain) -> Iterator[Sides]:
    for columns in _columns(query, domain):
        yield from _crossed(columns, cells, domain)


def _columns(text: str, domain: Domain, most: int = MOST_COLUMNS) -> Iterator[list[str]]:
    """Every way to read a text as joined names of columns."""
    names = [*(axis.name for axis in domain.axes), *domain.numerical]
    if text in names:
        yield [text]
    if most > 1:
        for name in names:
            if text.startswith(name + JOINED):
                rest = text.removeprefix(name + JOINED)
                yield from ([name, *more] for more in _columns(rest, domain, most - 1))


def _crossed(
    columns: Sequence[str], cells: Cells, domain: Domain
) -> Iterator[tuple[ByColumn, ...]]:
    """Labels are known; numbers come after them, and have no joining sign in their words."""
    labels = {axis.name: axis.labels for axis in domain.axes}
    known = [ByColumn(name, labels[name]) for name in columns if name in labels]
    numbers = columns[len(known) :]
    inside = len(cells) // math.prod(len(side.parts) for side in known)  # cells of numbers alone
    words = [cell.split(JOINED)[-len(numbers) :] for cell in cells[:inside]]
    if set(numbers) & set(labels) or any(len(line) < len(numbers) for line in words):
        return
    for texts in _along_axes(words, len(numbers)):
        parts = [_parts(name, some, domain) for name, some in zip(numbers, texts, strict=True)]
        yield (*known, *map(ByColumn, numbers, parts))


def _along_axes(words: Sequence[Sequence[str]], axes: int) -> list[list[list[str]]]:
    """Every way to see so many axes, two at most, in words for their cells: those along each."""
    if axes == 0:
        return [[]]
    first = [line[0] for line in words]
    if axes == 1:
        return [[first]]
    # Neighbouring runs may have the same words, so the second axis may be shorter than this.
    longest = next((at for at, word in enumerate(first) if word != first[0]), len(first))
    lengths = [length for length in range(1, longest + 1) if longest % length == 0]
    return [[first[::length], [line[1] for line in words[:length]]] for length in lengths]


def _parts(name: str, texts: Sequence[str], domain: Domain) -> tuple[Part, ...]:
    special = domain.special(domain.numerical.index(name))
    return tuple(text if text in special else _interval(text) for text in texts)


def _interval(text: str) -> Part:
    """A run of numbers such as "12 to 30" or "12"; other words stay words."""
    try:
        low, high = map(float, (text.split(" to ") * 2)[:2])
    except ValueError:
        return text
    return Interval(low, high) if -math.inf < low <= high < math.inf else text


def _threshold(query: str, cells: Cells, domain: Domain) -> Iterator[Sides]:
    """Weights are known as far as they were written, to three decimals."""
    for line, classes in _by_classes(query, domain):
        text, _, bound = line.rpartition(" ≤ ")
        weights = _weights(text, domain)
        if weights is not None and re.fullmatch(r"-?\d+\.\d{3}", bound):
            yield (UnderBounds((UpperBound(weights, float(bound)),)), *classes)


def _histogram(query: str, cells: Cells, domain: Domain) -> Iterator[Sides]:
    for line, classes in _by_classes(query, domain):
        weights = _weights(line, domain)
        each = math.prod(len(side.parts) for side in classes)
        edges = [re.match(r"up to (-?\d+\.\d{3})", cell) for cell in cells[:-each:each]]
        numbers = [float(edge[1]) for edge in edges if edge]
        if weights is not None and numbers and len(numbers) == len(edges):
            yield (AlongLine(weights, tuple(numbers)), *classes)


def _by_classes(query: str, domain: Domain) -> Iterator[tuple[str, tuple[ByColumn, ...]]]:
    """A line, and the classes of the target that it is answered for, if any."""
    if query.endswith(", by all rows"):
        yield query.removesuffix(", by all rows"), ()
    for axis in (domain.axes[target] for target in domain.targets):
        if query.endswith(f", by {axis.name}"):
            side = ByColumn(axis.name, axis.labels, classes=True)
            yield query.removesuffix(f", by {axis.name}"), (side,)


def _weights(text: str, domain: Domain) -> dict[str, float] | None:
    """A weighted sum of columns, such as "+0.300·age -1.200·wage"."""
    nothing, *found = WEIGHT.split(text)
    weights, names = found[::2], found[1::2]
    if nothing or not names or len(set(names)) < len(names) or set(names) - set(domain.numerical):
        return None
    return dict(zip(names, map(float, weights), strict=True))


READERS: dict[str, Callable[[str, Cells, Domain], Iterator[Sides]]] = {
    "row count": _row_count,
    "distributions": _one_column,
    "categories": _one_column,
    "cross-tables": _cross_table,
    "marginals": _marginal,
    "linear thresholds": _threshold,
    "projected histograms": _histogram,
}
