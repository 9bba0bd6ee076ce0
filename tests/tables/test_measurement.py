"""A measurement is data: it can be written, read and checked, and words are made of it."""

import json
from typing import Any

import numpy as np
import pytest

from tabveil.tables.measurement import Measurement
from tabveil.tables.placement import Interval
from tabveil.tables.sides import AlongLine, ByColumn, InWords, Side, UnderBounds, UpperBound

SEX = ByColumn("sex", ("F", "M"))
CLASSES = ByColumn("income", ("low", "high"), classes=True)
AGE = ByColumn("age", (Interval(0, 17), Interval(18, 18), "missing"))
LINE = AlongLine({"age": 0.5, "wage": -1.25}, (-0.5, 0.25))
BELOW = UnderBounds((UpperBound({"age": 1.0}, 0.3), UpperBound({"wage": 1.0}, 0.75)))
HALFSPACE = UnderBounds((UpperBound({"age": 0.5, "wage": -1.25}, 0.3),))

EVERY_SHAPE: dict[str, tuple[Side, ...]] = {
    "all rows": (),
    "sex": (SEX,),
    "age × sex": (AGE, SEX),
    "sex × age × income": (CLASSES, SEX, AGE),
    "+0.500·age -1.250·wage, by income": (LINE, CLASSES),
    "+0.500·age -1.250·wage, by all rows": (LINE,),
    "age ≤ 0.300 and wage ≤ 0.750, by income": (BELOW, CLASSES),
    "+0.500·age -1.250·wage ≤ 0.300, by all rows": (HALFSPACE,),
    "what was said": (InWords("what was said", ("once", "twice")),),
}


def measured(sides: tuple[Side, ...]) -> Measurement:
    size = int(np.prod([len(side.cells) for side in sides]))
    return Measurement.of("some family", sides, np.arange(size) - 3, 2.5)


@pytest.mark.parametrize("words", EVERY_SHAPE)
def test_a_query_has_words(words: str) -> None:
    assert measured(EVERY_SHAPE[words]).query == words


def test_cells_are_named_in_the_order_of_the_counts() -> None:
    assert measured((AGE, SEX)).cells == [
        "0 to 17 × F", "0 to 17 × M", "18 × F", "18 × M", "missing × F", "missing × M",
    ]  # fmt: skip
    assert measured((HALFSPACE, SEX)).cells == ["F", "M"]
    assert measured((LINE,)).cells == ["up to -0.500", "up to 0.250", "above 0.250"]
    assert measured(()).cells == ["all"]


@pytest.mark.parametrize("words", EVERY_SHAPE)
def test_what_is_written_is_read_back_the_same(words: str) -> None:
    one = measured(EVERY_SHAPE[words])
    again = Measurement.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again == one and again.sides == one.sides
    assert again.counts.shape == tuple(len(side.cells) for side in again.sides)


def test_another_count_is_another_measurement() -> None:
    one = measured((SEX,))
    assert one != Measurement.of(one.family, one.sides, one.counts + 1, one.standard_error)
    assert one != "sex"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("family",), 1), (("standard_error",), -1.0), (("standard_error",), True),
        (("standard_error",), float("inf")), (("counts",), [1, 2]), (("counts",), 3),
        (("counts", 0, 0), 1.5), (("counts", 0, 0), True), (("counts", 0), [1]),
        (("counts", 0, 0), 2**70), (("sides",), []), (("sides", 0, "type"), "columns"),
        (("sides", 0, "column"), None), (("sides", 0, "classes"), 1), (("sides", 0, "parts"), []),
        (("sides", 0, "parts", 0), [0]), (("sides", 0, "parts", 0), [17, 0]),
        (("sides", 0, "parts", 0), [0, float("nan")]), (("sides", 0, "parts", 0), [False, 1]),
        (("sides", 0, "parts", 2), 3), (("sides", 1, "weights"), {"age": "much"}),
        (("sides", 1, "weights"), []), (("sides", 1, "edges"), []), (("sides", 1, "edges", 0), "a"),
        (("sides", 2, "bounds", 0, "at_most"), None), (("sides", 2, "bounds", 0, "weights"), 1),
        (("sides", 3, "query"), 1), (("sides", 3, "cells", 0), None),
    ],
)  # fmt: skip
def test_a_file_that_says_something_else_is_refused(path: tuple, value: Any) -> None:
    words = InWords("what was said", ("once", "twice"))
    content = json.loads(json.dumps(measured((AGE, LINE, BELOW, words)).to_dict()))
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError, OverflowError)):
        Measurement.from_dict(content)
