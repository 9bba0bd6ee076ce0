"""What is kept of the types that columns came in: that they are categories, and nothing else.

Readers guess types from cells, or change them by cells: one odd cell turns whole numbers into
texts, one missing cell turns small integers into floats, one late date changes a unit. So types of
synthetic columns follow from the schema alone. Only categories must have been asked for.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tabveil.columns.rule import Column

AS_READ = "as read"  # of a pandas frame: as pandas reads such a column, whichever rows there are
CATEGORIES = ("category", "ordered category")


def spelled_in_pandas(dtype: Any) -> str:
    """What is kept of a pandas dtype; of what it is a category is not."""
    import pandas as pd

    return CATEGORIES[bool(dtype.ordered)] if isinstance(dtype, pd.CategoricalDtype) else AS_READ


def as_type(rule: Column, column: pa.ChunkedArray, text: str) -> pa.ChunkedArray:
    """The column as categories, where it came so and the schema lists its values; else as it is."""
    codec = rule.codec
    if text not in CATEGORIES or codec is None or codec.levels is None:
        return column
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    levels = rule.signed(
        pa.concat_arrays([codec.levels, pa.nulls(1, codec.levels.type)])
    ).drop_null()
    codes = pc.index_in(plain.combine_chunks(), value_set=levels)
    ordered = codec.ordered or text == CATEGORIES[True]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, levels, ordered=ordered)])


def as_series(rule: Column, column: pa.ChunkedArray, text: str) -> Any:
    """A column as a pandas series; its dtype does not depend on whether one cell is missing."""
    import pandas as pd

    blanks = rule.nullable and rule.tokens.written is None
    if text and blanks and not pa.types.is_dictionary(column.type):
        # What pandas itself makes of such a column once a cell is missing.
        series = column.to_pandas()
        kinds = {"b": "object", "i": "float64"}
        return series.astype(kinds[series.dtype.kind]) if series.dtype.kind in kinds else series
    mapper = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get if blanks else None
    return column.to_pandas(types_mapper=mapper)
