"""Rules of every type of column, and cells of every type that Arrow and pandas know, for tests of
both."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tabveil.columns import RULES
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.tables.table import Codec

MOMENTS = {"min": "2019-01-01", "max": "2021-01-01"}
WORDS = ["a", "2020-01-01", 1, "1.5", "12:00:00", "2020-06-01 10:00:00", "0.0000001"]
# More rules than the one that every type of column brings along.
MORE: dict[str, list[dict[str, Any]]] = {
    "categorical": [
        {"values": WORDS, "other": True, "nullable": True},
        {"values": [*WORDS, "true", "0", "2020-06-01 08:00:00"], "nullable": True},
        {"values": ["a", "b", True]},
        {"values": [-1, 0.5, 3], "ordered": True, "nullable": True},
    ],
    "boolean": [{"nullable": True}, {}],
    "numerical": [
        {"min": -10, "max": 1e6, "decimals": 2, "special_values": [-1, 1], "nullable": True},
        {"min": -1e300, "max": 1e300, "nullable": True},
        {"min": 0, "max": 9, "decimals": 0},
    ],
    "datetime": [
        {**MOMENTS, "nullable": True},
        {**MOMENTS, "timezone": "Europe/Berlin", "unit": "microsecond", "nullable": True},
        {**MOMENTS, "format": "%d.%m.%Y %H:%M:%S", "nullable": True},
        {
            **MOMENTS,
            "format": "%d.%m.%Y %H:%M:%S",
            "timezone": "America/New_York",
            "nullable": True,
        },
        {**MOMENTS, "unit": "day"},
    ],
    "date": [{**MOMENTS, "nullable": True}, {**MOMENTS, "format": "%Y%m%d", "nullable": True}],
    "duration": [
        {"min": -5, "max": 5000, "unit": "minute", "nullable": True},
        {"min": -5, "max": 1e12, "unit": "microsecond", "nullable": True},
        {"min": 0, "max": 9},
    ],
    "point": [
        {"latitude": [-20, -10], "longitude": [177, -178], "grid": [5, 4], "nullable": True},
        {"latitude": [0, 90], "longitude": [-180, 180], "grid": [1, 100], "decimals": 12},
        {"latitude": [-34.5, -33.0], "longitude": [150, 152], "grid": [2, 3]},
        {"latitude": [0, 8], "longitude": [0.5, 8.5], "grid": [4, 4], "decimals": 0},
    ],
}


def rules_of(name: str) -> list[dict[str, Any]]:
    """More rules of a type, its example, and the example with cells that may be missing."""
    example = RULES[name].example.rule
    nullable = {**example, "nullable": True}
    signs = [nullable, nullable | {"missing": ["N/A", -9]}, nullable | {"missing": [-9]}]
    learnt = RULES[name](**example).codec is not None
    return [*MORE.get(name, []), example, *signs * learnt]


RULES_TO_TRY = {
    f"{name} {number}": {"type": name, **rule}
    for name in RULES
    for number, rule in enumerate(rules_of(name))
}
LEARNT = {
    name: rule
    for name, rule in RULES_TO_TRY.items()
    if RULES[rule["type"]](**rule).codec is not None
}


def encoded(data: object, schema: Schema, rows: int | None = None) -> np.ndarray:
    """Codes and numbers side by side, read in batches of so many rows."""
    codec = Codec(schema)
    parts = [codec.encode(batch) for batch in Source.of(data, schema).batches(rows)]
    sides = [np.concatenate([p.codes for p in parts]), np.concatenate([p.numbers for p in parts])]
    return np.concatenate(sides, axis=1)


NEW_YEAR = 1577836800  # 2020, in seconds
LIMITS = [-(2**63), -1, 0, 1, 2**63 - 1, *(NEW_YEAR * 1000**power for power in range(4))]
DIGITS = "9" * 310
TEXTS = [
    "a", "1", "1.5", "", "nan", "inf", "1e5", DIGITS, "9" * 5000, f"{DIGITS}:00:00",
    f"{'9' * 5000}:00:00",
    f"-{'9' * 5000} days 00:00:00", "1 day 00:00:00", "-1 days +23:59:59", "12:00:00", "2020-01-01",
    "2020-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1_000", "٣",
    "true",
    "\x00", "2020-W01-1", "01.02.2020 00:00:00", "20200101", " 5 ", "12:00:00.123456789",
]  # fmt: skip


def _raw(kind: pa.DataType, numbers: list[int]) -> pa.Array:
    """Any integers as the cells of a type, also those that Arrow would not make itself."""
    width = np.int32 if kind.bit_width == 32 else np.int64
    return pa.Array.from_buffers(
        kind, len(numbers), [None, pa.py_buffer(np.array(numbers, width).tobytes())]
    )


def _leaves() -> dict[str, pa.Array]:
    small = [-(2**31), -1, 0, 43_200, 86_400, 2**31 - 1]
    found = {}
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Berlin", "+05:30", "Nowhere/Else"):
            found[f"timestamp {unit} {zone}"] = _raw(pa.timestamp(unit, zone), LIMITS)
        found[f"duration {unit}"] = _raw(pa.duration(unit), LIMITS)
    for kind in (pa.date32(), pa.time32("s"), pa.time32("ms")):
        found[str(kind)] = _raw(kind, small)
    for kind in (pa.date64(), pa.time64("us"), pa.time64("ns")):
        found[str(kind)] = _raw(kind, [*LIMITS, NEW_YEAR * 1000 + 1])
    for width in (8, 16, 32, 64):
        for name in (f"int{width}", f"uint{width}"):
            limits = np.iinfo(name)
            found[name] = pa.array(np.array([limits.min, 0, 1, limits.max], name))
    for name in ("float16", "float32", "float64"):
        cells = [np.nan, np.inf, -np.inf, -0.0, 1, 1.5, np.finfo(name).max, np.finfo(name).tiny]
        found[name] = pa.array(np.array(cells, name))
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        found[str(kind)] = pa.array([*TEXTS, None], kind)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        found[str(kind)] = pa.array(
            [*(t.encode() for t in TEXTS), b"\xff\xfe", b"\xed\xa0\x80", None], kind
        )
    offsets = pa.py_buffer(np.array([0, 2, 3], np.int32).tobytes())
    found["invalid UTF-8"] = pa.Array.from_buffers(
        pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfea")]
    )
    found["bool"] = pa.array([True, False, None])
    found["null"] = pa.nulls(3)
    found["fixed binary"] = pa.array([b"\xff\xfe", b"a ", None], pa.binary(2))
    for kind, cells in {
        pa.decimal128(38, 0): ["9" * 38, "-1"],
        pa.decimal128(38, 30): ["1.5", "0", "1E-7"],
        pa.decimal128(5, -5): ["15E5", "0"],
        pa.decimal256(70, 0): ["9" * 70, "1"],
        pa.decimal256(76, 70): ["1." + "9" * 69, "0"],
        pa.decimal256(5, -70): ["9E70", "0"],
    }.items():
        found[str(kind)] = pa.array([*map(Decimal, cells), None], kind)
    for kind in (
        pa.list_(pa.int8()),
        pa.large_list(pa.int8()),
        pa.list_(pa.int8(), 1),
        pa.list_view(pa.int8()),
    ):
        found[str(kind)] = pa.array([[1], None], kind)
    found["struct"] = pa.array([{"a": 1}, None])
    found["map"] = pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8()))
    found["interval"] = pa.array([(1, 2, 3), None], pa.month_day_nano_interval())
    codes, either = pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]
    found["sparse union"] = pa.UnionArray.from_sparse(codes, either)
    found["dense union"] = pa.UnionArray.from_dense(codes, pa.array([0, 1], pa.int32()), either)
    return found


def arrow_arrays() -> dict[str, pa.Array]:
    """Arrays of every Arrow type with the oddest cells they can hold, also shared by several
    rows."""
    leaves = _leaves()
    found = dict(leaves)
    for name, cells in leaves.items():
        indices = pa.array([0, None, len(cells) - 1, 0], pa.int8())
        found[f"dictionary of {name}"] = pa.DictionaryArray.from_arrays(indices, cells)
        try:
            ends = pa.array([2, 5], pa.int16())
            found[f"runs of {name}"] = pa.RunEndEncodedArray.from_arrays(ends, cells.slice(0, 2))
        except pa.ArrowInvalid:  # cells that Arrow checks, and does not take
            pass
    texts = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None], pa.uint64()), pa.array(["a", None])
    )
    found["null in a dictionary"] = texts
    found["dictionary of a dictionary"] = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None]), texts
    )
    found["runs of a dictionary"] = pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 4, 5], pa.int32()), texts
    )
    for kind, cells in {
        pa.uuid(): pa.array([b"0" * 16, None], pa.binary(16)),
        **({pa.json_(): pa.array(["1", None])} if hasattr(pa, "json_") else {}),  # since pyarrow 19
        pa.bool8(): pa.array([1, 0, None], pa.int8()),
        pa.opaque(pa.timestamp("ns"), "x", "y"): leaves["timestamp ns None"],
        pa.fixed_shape_tensor(pa.int8(), [1]): pa.array([[1], None], pa.list_(pa.int8(), 1)),
    }.items():
        found[str(kind)] = pa.ExtensionArray.from_storage(kind, cells)
    return found


def pandas_columns() -> dict[str, pd.Series]:
    """Typed columns, each of which one odd row would turn into objects."""
    moments = pd.Series(
        pd.to_datetime(
            [
                "2020-06-01 10:00:00",
                "2020-01-01",
                None,
                "1700-01-01",
                "2200-12-31 23:59:59.999999999",
            ],
            format="ISO8601",
        )
    ).astype("datetime64[ns]")
    lengths = pd.Series(pd.to_timedelta(["1h", "-1s", None, "90min", "1ns", "-1ns", "3 days"]))
    texts = pd.Series(
        [
            "a",
            "1",
            "true",
            "2020-01-01",
            "01.06.2020 10:00:00",
            "20200101",
            "1:00:00",
            "",
            "nan",
            None,
        ],
        dtype="str",
    )
    found = {
        "moments": moments,
        "seconds": moments.astype("datetime64[s]"),
        "far moments": pd.Series(
            np.array([2**55, -(2**55), 253402300799, 253402300800, -62135596800], "datetime64[s]")
        ),
        "instants": moments.dt.tz_localize("UTC"),
        "local instants": moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Kathmandu"),
        "far instants": pd.Series(
            np.array([253402300799 * 10**6, -62135596800 * 10**6], "datetime64[us]")
        )
        .dt.tz_localize("UTC")
        .dt.tz_convert("Asia/Kathmandu"),
        "lengths": lengths,
        "lengths in microseconds": lengths.astype("timedelta64[us]"),
        "far lengths": pd.Series(np.array([2**60, -(2**60), 5], "timedelta64[s]")),
        "truths": pd.Series([True, False]),
        "nullable truths": pd.Series([True, None], dtype="boolean"),
        "integers": pd.Series([1, 0, 20200101, 2020, -1, 2**63 - 1, 2**53 + 1]),
        "large integers": pd.Series([2**64 - 1, 1], dtype="uint64"),
        "nullable integers": pd.Series([1, None, 20200101], dtype="Int64"),
        "floats": pd.Series(
            [1.0, np.nan, np.inf, -np.inf, -0.0, 0.1, 1e22, 1e-7, 20200101.0, 1e300, 5e-324]
        ),
        "small floats": pd.Series([0.1, 1, np.nan, 3e38], dtype="float32"),
        "texts": texts,
        "nullable texts": texts.astype("string"),
        "categories": texts.astype("category"),
        "categories of moments": moments.astype("category"),
        "categories of instants": moments.dt.tz_localize("UTC").astype("category"),
        "categories of lengths": lengths.astype("category"),
        "periods": pd.Series(pd.period_range("2020-01-01", periods=3, freq="D")),
        "intervals": pd.Series(pd.interval_range(0, 3)),
    }
    for name, cells in {
        "decimals": pa.array(
            [Decimal("1.50"), None, Decimal("0.00"), Decimal("-3.10")], pa.decimal128(10, 2)
        ),
        "large decimals": pa.array([Decimal("15E5"), Decimal(0)], pa.decimal128(5, -5)),
        "small decimals": pa.array(
            [Decimal("1E-7"), Decimal(0), Decimal("1.5")], pa.decimal128(38, 30)
        ),
        "long decimals": pa.array([Decimal("1." + "9" * 60), Decimal(1)], pa.decimal256(76, 70)),
        "dates": pa.array(
            [datetime.date(2020, 1, 1), None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
            pa.date32(),
        ),
        "times": pa.array(
            [datetime.time(12), datetime.time(12, 0, 0, 500_000), None], pa.time64("us")
        ),
        "bytes": pa.array([b"a", b"\xff", b"1"], pa.binary()),
        "lists": pa.array([[1], None]),
    }.items():
        found[name] = pd.Series(pd.array(cells, dtype=pd.ArrowDtype(cells.type)))
    return found


def as_objects(series: pd.Series) -> pd.Series:
    """The same cells as Python objects."""
    cells = np.empty(len(series), object)
    for place, cell in enumerate(series.astype(object)):
        cells[place] = cell
    return pd.Series(cells, dtype=object)
