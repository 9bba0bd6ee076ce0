"""Places on a map are read from texts, kept inside the map, and refused where there is no map."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabveil.columns import Point
from tabveil.errors import InvalidInput

SYDNEY = Point(latitude=[-34.0, -33.6], longitude=[150.8, 151.4], grid=[4, 6])
FIJI = Point(latitude=[-20, -10], longitude=[177, -178], grid=[5, 4], nullable=True)


def codes(rule: Point, *cells: str | None) -> list[int]:
    return rule.codec.encode(pa.chunked_array([pa.array(cells, pa.string())])).tolist()


def test_a_place_is_read_in_either_way_of_writing_it() -> None:
    cells = "-33.87, 151.21", " (-33.87 151.21) ", "-33.87;151.21", "POINT (151.21 -33.87)"
    assert len(set(codes(SYDNEY, *cells))) == 1
    assert codes(FIJI, "Suva", "", None, "1, 2, 3", "nan, 178", "1e400, 178") == [20] * 6


def test_a_place_outside_the_map_is_in_its_nearest_cell() -> None:
    corners = "-90, 150.8", "-90, 151.39", "0, 150.81", "0, 151.39"
    assert codes(SYDNEY, *corners) == [0, 5, 18, 23]
    assert codes(SYDNEY, "-33.99, 150", "-33.99, -170") == [0, 5]  # by the short way round


def test_a_map_may_lie_across_the_date_line() -> None:
    assert codes(FIJI, "-15, 179.9", "-15, -179.9", "-15, -170", "-15, 170") == [10, 10, 11, 8]
    assert FIJI.codec.declared_code("-15, 179.9") == 10 and FIJI.codec.declared_code("0, 0") is None


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_a_drawn_place_lies_in_the_cell_that_was_read(latitude: float, longitude: float) -> None:
    for rule in (SYDNEY, FIJI):
        [code] = codes(rule, f"{latitude}, {longitude}")
        drawn = rule.codec.decode(np.full(9, code), np.random.default_rng(0)).to_pylist()
        assert set(codes(rule, *drawn)) == {code}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"latitude": [5, 1]}, "latitude is not south < north."),
        ({"longitude": [0, 0]}, "longitude is not west to east."),
        ({"longitude": [0, 200]}, "longitude is not west to east."),
        ({"grid": [200, 200]}, "a grid of 200 × 200 cells cannot be learnt."),
        ({"grid": [0, 3]}, "a grid of 0 × 3 cells cannot be learnt."),
        ({"decimals": 0}, "the cells are too fine for the decimals."),
        ({"latitude": 3}, "latitude must be two numbers, south and north, such as [40.4, 41.0]."),
        ({"grid": [1.5, 2]}, "grid must be two whole numbers"),
    ],
)
def test_a_map_that_makes_no_sense_is_refused_in_one_line(wrong: dict, said: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Point(**{"latitude": [1, 2], "longitude": [0, 1], **wrong})
    assert refusal.value.message.startswith(said) and "\n" not in refusal.value.message
