"""The types that columns had when they came in, so that synthetic columns have the same.

A type is not a value: it says int32 or timestamp, never which. Whether a column can take a type follows from
its rule in the schema alone; where it cannot, the column keeps the type that the schema gives it.
"""

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabveil.columns import Categorical, Column, Date, Datetime, Duration, Id, Labels, Numerical

PANDAS = "pandas "  # stands before the name of a pandas dtype; other texts are Arrow types
AS_READ = "as read"
INFERRED = ("int64", "float64", "bool", "object", "str")
"""What pandas makes of cells as it reads them. One missing or odd cell turns one of these into another, so
which of them it was is not kept, and the schema decides."""
PLAIN = {
    str(kind): kind
    for kind in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.bool_()),
        *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()),
        *(pa.date32(), pa.date64(), *(pa.duration(unit) for unit in ("s", "ms", "us", "ns"))),
    )
}


def spelled(kind: pa.DataType) -> str:
    """A type as text for a JSON file; empty if it is none that comes back."""
    if pa.types.is_dictionary(kind):
        inner = spelled(kind.value_type)
        return inner and f"{'ordered ' if kind.ordered else ''}categories of {inner}"
    return str(kind) if parsed(str(kind)) == kind else ""


def parsed(text: str) -> pa.DataType | None:
    """The type that `spelled` wrote."""
    if found := re.fullmatch(r"(ordered )?categories of (.+)", text):
        inner = parsed(found[2])
        return inner and pa.dictionary(pa.int32(), inner, ordered=bool(found[1]))
    if found := re.fullmatch(r"timestamp\[(s|ms|us|ns)(?:, tz=([\w+:/-]+))?\]", text):
        return pa.timestamp(found[1], found[2])
    if found := re.fullmatch(r"decimal128\((\d+), (\d+)\)", text):
        digits, places = int(found[1]), int(found[2])
        return pa.decimal128(digits, places) if 1 <= digits <= 38 and places <= digits else None
    return PLAIN.get(text)


def holds(rule: Column, kind: pa.DataType) -> bool:
    """Whether every value that the rule allows can be written in this type."""
    t = pa.types
    if t.is_dictionary(kind):
        return isinstance(rule, Categorical) and holds(rule, kind.value_type)
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return isinstance(rule, Categorical | Id) or (isinstance(rule, Datetime) and rule.format is not None)
    if t.is_binary(kind) or t.is_large_binary(kind):
        return isinstance(rule, Categorical) and not rule.other and not any(Labels(rule).is_number)
    if t.is_timestamp(kind):
        aware = isinstance(rule, Datetime) and (rule.timezone is not None) == (kind.tz is not None)
        return aware and not isinstance(rule, Date) and rule.format is None  # type: ignore[attr-defined]
    if t.is_date(kind):
        return isinstance(rule, Date) and rule.format is None
    if t.is_duration(kind):
        return isinstance(rule, Duration)
    if t.is_boolean(kind):
        return isinstance(rule, Categorical) and all(Labels(rule).is_truth) and not rule.other
    return _holds_numbers(rule, kind)


def _holds_numbers(rule: Column, kind: pa.DataType) -> bool:
    if isinstance(rule, Id):
        return rule.style == "sequence" and kind in (pa.int64(), pa.uint64(), pa.int32(), pa.uint32())
    if isinstance(rule, Categorical):
        if rule.other or not all(Labels(rule).is_number):
            return False
        stated: list[float] = [value for value in rule.values if not isinstance(value, str)]
        decimals = 0 if all(float(value).is_integer() for value in stated) else None
    elif isinstance(rule, Numerical):
        stated, decimals = [rule.min, rule.max, *rule.special_values], rule.decimals
    else:
        return False
    if pa.types.is_integer(kind):
        limits = np.iinfo(kind.to_pandas_dtype())
        whole = decimals == 0 and all(float(value).is_integer() for value in stated)
        return whole and limits.min <= min(stated) and max(stated) <= limits.max
    if pa.types.is_floating(kind):
        return max(map(abs, stated)) <= np.finfo(kind.to_pandas_dtype()).max
    if pa.types.is_decimal(kind):
        fits = max(map(abs, stated)) < 10.0 ** (kind.precision - kind.scale)
        return decimals is not None and decimals <= kind.scale and fits
    return False


def as_type(rule: Column, column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column in a type that `holds` allows."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    if pa.types.is_dictionary(kind):
        return _categories(rule, column, kind)
    if pa.types.is_decimal(kind):
        ones = Decimal(1).scaleb(-kind.scale)
        cells = [None if cell is None else Decimal(repr(cell)).quantize(ones) for cell in column.to_pylist()]
        return pa.array(cells, kind)
    return column.cast(kind, safe=False)


def _categories(rule: Column, column: pa.Array, kind: pa.DataType) -> pa.Array:
    assert isinstance(rule, Categorical)
    labels = Labels(rule)
    declared = labels.decode(np.arange(len(rule.values) + rule.other, dtype=np.int32))
    if pa.types.is_dictionary(declared.type):
        declared = declared.dictionary_decode()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    codes = pc.index_in(column, value_set=declared)
    ordered = kind.ordered or rule.ordered
    return pa.DictionaryArray.from_arrays(codes, declared.cast(kind.value_type, safe=False), ordered=ordered)


def spelled_in_pandas(dtype: Any) -> str:
    """A pandas dtype as text; categories are left out, because they are values."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        return PANDAS + ("ordered category" if dtype.ordered else "category")
    if isinstance(dtype, pd.ArrowDtype):
        inner = spelled(dtype.pyarrow_dtype)
        return inner and f"{PANDAS}{inner}[pyarrow]"
    return PANDAS + (AS_READ if str(dtype) in INFERRED else str(dtype))


def as_series(rule: Column, column: pa.ChunkedArray, text: str) -> Any:
    """The column as a pandas series of this dtype, or of the schema's own where that cannot hold it."""
    import pandas as pd

    series = column.to_pandas(types_mapper=_nullable if rule.nullable else None)
    if not text.startswith(PANDAS):
        return series
    text = text.removeprefix(PANDAS)
    if text == AS_READ:
        return _as_read(rule, column)
    if text.endswith("category"):
        if not isinstance(rule, Categorical):
            return series
        inner = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        kind = pa.dictionary(pa.int32(), inner, ordered=text.startswith("ordered"))
        return pa.chunked_array([as_type(rule, column, kind)]).to_pandas()
    if text.endswith("[pyarrow]") and (kind := parsed(text.removesuffix("[pyarrow]"))) is not None:
        if not holds(rule, kind):
            return series
        return pd.Series(pd.array(as_type(rule, column, kind), dtype=pd.ArrowDtype(kind)))
    if text in ("string", "string[pyarrow]", "string[python]"):
        return _plain(column).to_pandas().astype(text) if holds(rule, pa.string()) else series
    return _as_numpy(rule, series, text)


def _as_read(rule: Column, column: pa.ChunkedArray) -> Any:
    """What pandas would have read; where cells may be missing, what it makes of such a column."""
    series = _plain(column).to_pandas()
    if rule.nullable and series.dtype in ("int64", "bool"):
        return series.astype("float64" if series.dtype == "int64" else "object")
    return series


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _nullable(kind: pa.DataType) -> Any:
    """A dtype that can hold missing cells, so that none of the rows decides."""
    import pandas as pd

    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if pa.types.is_integer(kind):
        name = str(np.dtype(kind.to_pandas_dtype()))
        return pd.api.types.pandas_dtype(name.replace("u", "U", 1).replace("int", "Int"))
    return None


def _as_numpy(rule: Column, series: Any, text: str) -> Any:
    import pandas as pd

    kinds = {"bool": pa.bool_(), "boolean": pa.bool_(), "float64": pa.float64(), "float32": pa.float32()}
    if found := re.fullmatch(r"datetime64\[(s|ms|us|ns)(?:, ([\w+:/-]+))?\]", text):
        kind = pa.timestamp(found[1], found[2])
    elif found := re.fullmatch(r"timedelta64\[(s|ms|us|ns)\]", text):
        kind = pa.duration(found[1])
    else:
        lower = text.lower()
        kind = kinds.get(lower) or (PLAIN.get(lower) if re.fullmatch(r"u?int\d+", lower) else None)
    if kind is None or not holds(rule, kind):
        return series
    if rule.nullable and text == "bool":
        return series
    if rule.nullable and text[0].islower() and pa.types.is_integer(kind):
        # What pandas itself makes of such a column once a cell is missing, so that the type does not tell.
        return series.astype("float64")
    if pa.types.is_dictionary(kind) or isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype)
    return series.astype(text)
