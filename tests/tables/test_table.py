"""Encoding is total and row-wise, and decoding gives back what was encoded."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.columns.cells import rounded
from tabveil.schema import Schema
from tabveil.tables.table import Codec, Table

NUMBER = {"type": "numerical", "min": -10, "max": 100}
WAGE = {
    "type": "numerical",
    "min": 0,
    "max": 100,
    "decimals": 0,
    "special_values": [0, -1],
    "nullable": True,
}


def codes(rule, cells, arrow_type=None):
    return encoded(rule, cells, arrow_type).codes[:, 0].tolist()


def numbers(rule, cells, arrow_type=None):
    return encoded(rule, cells, arrow_type).numbers[:, 0].tolist()


def encoded(rule, cells, arrow_type=None):
    return Codec(Schema(columns={"x": rule})).encode(pa.table({"x": pa.array(cells, arrow_type)}))


def labels(values, **options):
    return {"type": "categorical", "values": values, **options}


def test_a_domain_follows_from_the_schema_alone():
    columns = {
        "wage": WAGE,
        "sex": labels(["F", "M"]),
        "age": NUMBER,
        "city": labels(["a"], other=True, nullable=True),
    }
    domain = Codec(Schema(columns=columns, targets=["city"])).domain
    assert [axis.name for axis in domain.axes] == ["sex", "city", "wage:kind"]
    assert (domain.sizes, domain.offsets, domain.cells) == ((2, 3, 4), (0, 2, 5), 9)
    assert (domain.numerical, domain.targets) == (("wage", "age"), (1,))
    assert domain.axes[1].labels == ("a", "OTHER", "missing")


@pytest.mark.parametrize(
    ("options", "undeclared", "missing"),
    [
        ({}, 0, 0),
        ({"other": True}, 2, 2),
        ({"nullable": True}, 2, 2),
        ({"other": True, "nullable": True}, 2, 3),
    ],
)
def test_undeclared_and_missing_cells_become_a_public_code(options, undeclared, missing):
    rule = labels(["a", "b"], **options)
    assert codes(rule, ["b", "zzz", None, "", "A", "a "]) == [
        1,
        undeclared,
        missing,
        missing,
        undeclared,
        undeclared,
    ]


def test_an_empty_text_can_be_declared():
    assert codes(labels(["", "a"], nullable=True), ["", "a", None]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("cells", "arrow_type"),
    [
        ([1, 2], pa.int64()),
        ([1, 2], pa.uint8()),
        ([1.0, 2.0], pa.float64()),
        (["1", "2"], pa.string()),
        (["1.0", "2.00"], pa.large_string()),
        ([b"1", b" 2 "], pa.binary()),
        (["1", "2"], pa.string_view()),
        ([Decimal("1.00"), Decimal("2.00")], pa.decimal128(5, 2)),
        (["1", "2"], pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_a_number_is_the_same_category_however_it_is_written(cells, arrow_type):
    assert codes(labels([1, 2, 9], nullable=True), cells, arrow_type) == [0, 1]


@pytest.mark.parametrize(
    "cells", [[True, False], ["true", "false"], ["True", "FALSE"], ["yes", "no"], ["on", "off"]]
)
def test_a_declared_truth_matches_the_texts_yaml_reads_as_truths(cells):
    assert codes(labels([True, False], nullable=True), cells) == [0, 1]


def test_a_declared_text_is_matched_to_the_letter():
    assert codes(labels(["1", "true"], other=True), ["1", "1.0", "true", "True"]) == [0, 2, 1, 2]


def test_a_date_is_its_iso_text():
    rule = labels(["2013-01-31", "2013-01-31 05:00:00.5"], other=True)
    day, moment = datetime.date(2013, 1, 31), datetime.datetime(2013, 1, 31, 5, 0, 0, 500_000)
    assert codes(rule, [day]) == [0]
    for unit in ("ms", "us", "ns"):
        assert codes(rule, [datetime.datetime(2013, 1, 31), moment], pa.timestamp(unit)) == [0, 1]
    assert codes(rule, [moment], pa.timestamp("us", "Europe/Paris")) == [1]


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (5, 5.0),
        (-11.0, -10.0),
        (101.0, 100.0),
        (math.inf, 100.0),
        (-math.inf, -10.0),
        (1e308, 100.0),
        (5e-324, 5e-324),
        (-0.0, 0.0),
        ("5.5", 5.5),
        (" 5 ", 5.0),
        ("1e1", 10.0),
        ("1e999", 100.0),
        ("-inf", -10.0),
        ("-0", 0.0),
        ("True", 1.0),
        (False, 0.0),
        (Decimal("5.50"), 5.5),
        (2**63 - 1, 100.0),
        (None, -10.0),
        (math.nan, -10.0),
        ("nan", -10.0),
        ("", -10.0),
        ("five", -10.0),
        (b"\xff", -10.0),
        ("5\x00", -10.0),
        (datetime.date(2013, 1, 1), -10.0),
        ([5], -10.0),
        ({"a": 5}, -10.0),
        (datetime.timedelta(5), -10.0),
    ],
)
def test_a_cell_of_a_numerical_column_becomes_a_number_inside_the_bounds(cell, number):
    [result] = numbers(NUMBER, [cell])
    assert result == number and math.copysign(1, result) == math.copysign(1, number)


def test_the_largest_unsigned_integer_is_a_number():
    assert numbers(NUMBER | {"max": 2**64}, [2**64 - 1], pa.uint64()) == [2.0**64]


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_has_the_same_bits_as_integer_and_as_text(integer):
    wide = {"type": "numerical", "min": -1e19, "max": 1e19}
    assert numbers(wide, [integer]) == numbers(wide, [str(integer)]) == [float(integer)]


@given(st.floats(allow_nan=False), st.sampled_from([None, 0, 2, 12]))
def test_a_float_has_the_same_bits_as_float_and_as_text(number, decimals):
    wide = {"type": "numerical", "min": -1e300, "max": 1e300, "decimals": decimals}
    assert numbers(wide, [number]) == numbers(wide, [repr(number)])


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
def test_a_number_with_the_declared_decimals_is_not_changed_by_rounding(whole, decimals):
    number = float(f"{whole}e-{decimals}")
    assert rounded(np.array([number]), decimals)[0] == number


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 12))
def test_rounding_twice_is_rounding_once(number, decimals):
    once = rounded(np.array([number]), decimals)
    assert (rounded(once, decimals) == once).all() and np.isfinite(once).all()


def test_special_and_missing_numbers_are_told_by_the_companion_axis():
    table = encoded(WAGE, [50, 0, -1, None, -7, 0.3, 1000])
    assert table.codes[:, 0].tolist() == [
        0,
        1,
        2,
        3,
        1,
        1,
        0,
    ]  # -7 and 0.3 become the special value 0
    assert table.numbers[:, 0].tolist() == [50, 0, 0, 0, 0, 0, 100]


def test_a_missing_number_in_a_column_that_is_not_nullable_is_read_as_min():
    table = encoded(NUMBER | {"special_values": [7]}, [None, 7])
    assert (table.codes.tolist(), table.numbers.tolist()) == ([[0], [1]], [[-10], [7]])


def test_the_repr_of_a_table_says_nothing_about_its_rows():
    text = repr(encoded(NUMBER, [73] * 7919))
    assert "73" not in text and "7919" not in text


def test_a_table_with_no_rows_has_the_shape_of_its_domain():
    table = encoded(WAGE, [], pa.float64())
    assert (table.codes.shape, table.numbers.shape) == ((0, 1), (0, 1))
    assert Codec(Schema(columns={"x": WAGE})).decode(table).num_rows == 0


def test_a_schema_without_numbers_or_without_categories_encodes():
    assert encoded(labels(["a"]), ["a"]).numbers.shape == (1, 0)
    assert encoded(NUMBER, [1]).codes.shape == (1, 0)


@pytest.mark.parametrize(
    ("rule", "cells", "arrow_type"),
    [
        (labels([1, 2]), [2, 1], pa.int64()),
        (labels([1, 2], nullable=True), [2, None], pa.int64()),
        (labels([True, False]), [False, True], pa.bool_()),
        (labels([1, 0.5]), [0.5, 1.0], pa.float64()),
        (labels(["a", "é"], nullable=True), ["é", None], pa.string()),
        (labels([1, "a"]), ["a", "1"], pa.string()),
        (labels([1, 2], other=True), ["OTHER", "1"], pa.string()),
        (labels([2**70, 1]), [str(2**70), "1"], pa.string()),
        (NUMBER, [1.25, -10.0], pa.float64()),
        (NUMBER | {"decimals": 2}, [1.25, 0.07], pa.float64()),
        (WAGE, [50, 0, -1, None], pa.int64()),
        (WAGE | {"special_values": [0.5]}, [50.0, 0.5, None], pa.float64()),
        (NUMBER | {"decimals": 0, "max": 1e30}, [7.0], pa.float64()),
    ],
)
def test_clean_data_comes_back_as_it_was(rule, cells, arrow_type):
    codec, table = Codec(Schema(columns={"x": rule})), pa.table({"x": pa.array(cells, arrow_type)})
    assert codec.decode(codec.encode(table)) == table


def test_decoding_settles_numbers_that_an_optimiser_left_in_between():
    table = Table(np.zeros((3, 1), np.int32), np.array([[50.4], [1e9], [math.nan]]))
    assert Codec(Schema(columns={"x": WAGE})).decode(table).column("x").to_pylist() == [50, 100, 0]


JUNK = Schema(
    columns={
        "label": labels(["a", 1, 0.5, True, ""]),
        "open": labels(["a", 2, "nan"], other=True),
        "gap": labels([0, 1], nullable=True),
        "number": NUMBER | {"decimals": 2},
        "wage": WAGE,
    },
    targets=["gap"],
)
TEXTS = st.text(max_size=6) | st.sampled_from(
    ["a", "1", "1.0", "nan", "inf", "-0", "1e308", "yes", "é", "1_0", "٣"]
)
CELLS = {
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 2**53 + 1, 2**64 - 1]),
    pa.float16(): st.floats(width=16).map(np.float16),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats() | st.sampled_from([0.0, -0.0, 1.0, 2.0, 0.5, 1e308, 5e-324]),
    pa.bool_(): st.booleans(),
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.string_view(): TEXTS,
    pa.binary(): st.binary(max_size=4) | TEXTS.map(str.encode),
    pa.binary(2): st.binary(min_size=2, max_size=2),
    pa.dictionary(pa.int8(), pa.string()): TEXTS,
    pa.dictionary(pa.int32(), pa.float64()): st.floats(),
    pa.null(): st.none(),
    pa.decimal128(12, 2): st.decimals(-(10**9), 10**9, places=2),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("ns", "Asia/Tokyo"): st.datetimes(
        datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)
    ),
    pa.time64("us"): st.times(),
    pa.duration("us"): st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999)),
    pa.list_(pa.int64()): st.lists(st.integers(0, 9), max_size=2),
    pa.struct({"a": pa.int64()}): st.fixed_dictionaries({"a": st.integers(0, 9)}),
}


@st.composite
def junk_halves(draw):
    """Two tables with the same columns of arbitrary types and arbitrary cells."""
    sizes = [draw(st.integers(0, 4)) for _ in range(2)]
    halves = [{}, {}]
    for name in JUNK.columns:
        arrow_type = draw(st.sampled_from(list(CELLS)))
        for half, size in zip(halves, sizes, strict=True):
            cells = draw(st.lists(st.none() | CELLS[arrow_type], min_size=size, max_size=size))
            half[name] = pa.array(cells, arrow_type)
    return [pa.table(half) for half in halves]


def assert_same(one, other):
    assert (
        one.codes.tobytes() == other.codes.tobytes()
        and one.numbers.tobytes() == other.numbers.tobytes()
    )
    assert one.codes.shape == other.codes.shape and one.numbers.shape == other.numbers.shape


def stacked(tables):
    return Table(
        np.concatenate([t.codes for t in tables]), np.concatenate([t.numbers for t in tables])
    )


@settings(max_examples=300, deadline=None)
@given(junk_halves())
def test_any_cells_encode_row_by_row_inside_the_domain(halves):
    codec = Codec(JUNK)
    whole = pa.concat_tables(halves)
    table = codec.encode(whole)
    assert_same(table, stacked([codec.encode(half) for half in halves]))
    assert_same(table, stacked([codec.encode(half.combine_chunks()) for half in halves]))
    assert_same(
        table, stacked([codec.encode(whole.slice(row, 1)) for row in range(len(whole))] or [table])
    )
    assert (table.codes >= 0).all() and (table.codes < codec.domain.sizes).all()
    assert (table.numbers >= [-10, 0]).all() and (table.numbers <= 100).all()


@settings(max_examples=100, deadline=None)
@given(junk_halves())
def test_encoding_what_was_decoded_changes_nothing(halves):
    codec = Codec(JUNK)
    table = codec.encode(pa.concat_tables(halves))
    assert_same(codec.encode(codec.decode(table)), table)


@pytest.mark.parametrize(
    "array",
    [
        pc.run_end_encode(pa.array(["a", "a", None])),
        pa.array([b"0" * 16], pa.uuid()),
        pa.array([2**63 - 1, -(2**63)]).view(pa.timestamp("s")),
        pa.array([2**31 - 1], pa.int32()).view(pa.date32()),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None])),
        pa.DictionaryArray.from_arrays(pa.array([0], pa.uint8()), pa.array([[1]])),
        pa.array([1, 2, 3])[1:],
    ],
)
def test_rare_arrow_types_do_not_raise(array):
    table = pa.table({name: array for name in JUNK.columns})
    assert Codec(JUNK).encode(table).rows == len(array)
