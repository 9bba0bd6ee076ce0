"""The types that columns had when they came in, as far as synthetic columns may have the same.

Readers guess most types from cells: one odd cell turns whole numbers into texts, one missing cell turns them
into floats, one late date changes a unit. So only types that someone must have asked for are kept; everywhere
else the type follows from the schema alone, and so does whether a column can take a type.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabveil.columns import Categorical, Column, Id, Labels, Numerical

AS_READ = "as read"  # a dtype of a pandas frame that cells may have decided; which one is not kept
CATEGORIES = ("category", "ordered category")
ASKED_FOR = {
    str(kind): kind
    for kind in (pa.int8(), pa.int16(), pa.uint8(), pa.uint16(), pa.uint32(), pa.float16(), pa.float32())
}
"""Types that no reader gives unasked: not CSV, JSON or spreadsheet readers of pandas, polars, Arrow, Spark,
DuckDB or R, and not the constructors of frames from Python objects."""


def spelled(kind: pa.DataType) -> str:
    """A type as text for a JSON file; empty if a reader might have guessed it."""
    return str(kind) if str(kind) in ASKED_FOR else ""


def spelled_in_pandas(dtype: Any) -> str:
    """A pandas dtype likewise; that it is a category is kept, of what is not."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        return CATEGORIES[bool(dtype.ordered)]
    if isinstance(dtype, pd.ArrowDtype):
        return spelled(dtype.pyarrow_dtype) or AS_READ
    kept = isinstance(dtype, np.dtype) and dtype.kind in "iuf" and spelled(pa.from_numpy_dtype(dtype))
    return kept or AS_READ


def holds(rule: Column, text: str) -> bool:
    """Whether every value that the rule allows can be written in the type of this name."""
    if text in CATEGORIES:
        return isinstance(rule, Categorical)
    kind = ASKED_FOR.get(text)
    if kind is None:
        return False
    if isinstance(rule, Id):
        return rule.style == "sequence" and kind == pa.uint32()
    if isinstance(rule, Categorical):
        if rule.other or not all(Labels(rule).is_number):
            return False
        stated: list[float] = [value for value in rule.values if not isinstance(value, str)]
        whole = all(float(value).is_integer() for value in stated)
    elif isinstance(rule, Numerical):
        stated = [rule.min, rule.max, *rule.special_values]
        whole = rule.decimals == 0 and all(float(value).is_integer() for value in stated)
    else:
        return False
    if pa.types.is_floating(kind):
        return max(map(abs, stated)) <= np.finfo(kind.to_pandas_dtype()).max
    limits = np.iinfo(kind.to_pandas_dtype())
    return whole and limits.min <= min(stated) and max(stated) <= limits.max


def as_type(rule: Column, column: pa.ChunkedArray, text: str) -> pa.ChunkedArray:
    """The column in the type of this name, where that holds it; else as it is."""
    if not holds(rule, text):
        return column
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if text not in CATEGORIES:
        return plain.cast(ASKED_FOR[text], safe=False)
    assert isinstance(rule, Categorical)
    declared = Labels(rule).decode(np.arange(len(rule.values) + rule.other, dtype=np.int32))
    if pa.types.is_dictionary(declared.type):
        declared = declared.dictionary_decode()
    codes = pc.index_in(plain.combine_chunks(), value_set=declared)
    ordered = rule.ordered or text == CATEGORIES[True]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, declared, ordered=ordered)])


def as_series(rule: Column, column: pa.ChunkedArray, text: str) -> Any:
    """A column as a pandas series, of a dtype that does not depend on whether one of its cells is missing."""
    import pandas as pd

    if text and rule.nullable and not pa.types.is_dictionary(column.type):
        # What pandas itself makes of such a column once a cell is missing.
        series = column.to_pandas()
        kinds = {"b": "object", "i": "float64", "u": "float64"}
        return series.astype(kinds[series.dtype.kind]) if series.dtype.kind in kinds else series
    mapper = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get if rule.nullable else None
    return column.to_pandas(types_mapper=mapper)
