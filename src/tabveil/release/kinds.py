"""Frames as people know them, made from an Arrow table; one function a kind, KINDS."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tabveil.columns.dtypes import as_series
from tabveil.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(table: pa.Table, schema: Schema, types: Mapping[str, str]) -> "pd.DataFrame":
    """A pandas frame whose dtypes follow from the schema and the types that came in."""
    import pandas as pd

    names = table.column_names
    series = {n: as_series(schema.columns[n], table.column(n), types.get(n, "")) for n in names}
    return pd.DataFrame(series)


def to_polars(table: pa.Table, schema: Schema, types: Mapping[str, str]) -> Any:
    """A polars frame."""
    import polars as pl

    return pl.from_arrow(table)


def to_arrow(table: pa.Table, schema: Schema, types: Mapping[str, str]) -> pa.Table:
    """The table itself."""
    return table


KINDS: dict[str, Callable[[pa.Table, Schema, Mapping[str, str]], Any]] = {
    "pandas": to_pandas,
    "polars": to_polars,
    "arrow": to_arrow,
}
