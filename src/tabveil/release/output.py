"""Tables handed back as people know them: frames of any kind, and files."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tabveil.columns.cells import texts_in
from tabveil.columns.dtypes import as_series, as_type
from tabveil.columns.moments import spelled_durations
from tabveil.errors import InvalidInput
from tabveil.files import atomic_write
from tabveil.release.spreadsheets import harmless
from tabveil.schema import Schema, shown

if TYPE_CHECKING:
    import pandas as pd


def as_kind(
    table: pa.Table, kind: str, schema: Schema, types: Mapping[str, str] | None = None
) -> Any:
    """The table as a pandas, polars or Arrow frame; its dtypes follow from the schema and the given
    types.

    `types` are those that columns had when they came in (`Source.types`).
    """
    types = types or {}
    names = table.column_names
    columns = {n: as_type(schema.columns[n], table.column(n), types.get(n, "")) for n in names}
    arrow = pa.table(columns)
    if kind == "arrow":
        return arrow
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(arrow)
    if kind == "pandas":
        return _to_pandas(arrow, schema, types)
    raise InvalidInput(f"{shown(kind)} is not a kind of frame.", "Choose pandas, polars or arrow.")


def _to_pandas(table: pa.Table, schema: Schema, types: Mapping[str, str]) -> "pd.DataFrame":
    import pandas as pd

    names = table.column_names
    series = {n: as_series(schema.columns[n], table.column(n), types.get(n, "")) for n in names}
    return pd.DataFrame(series)


def write(table: pa.Table, path: str | Path, *, raw: bool = False) -> None:
    """Write a .csv or .parquet file, whole or not at all.

    In a CSV file, texts that a spreadsheet would run as formulas get an apostrophe in front, unless
    `raw`."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        atomic_write(path, lambda file: pa.parquet.write_table(table, file))
    elif suffix == ".csv":
        cells = _spelled(table) if raw else harmless(_spelled(table))
        atomic_write(path, lambda file: pa.csv.write_csv(cells, file))
    else:
        raise InvalidInput(
            f"{path} has an unknown extension.", "Use a name that ends in .csv or .parquet."
        )


def _spelled(table: pa.Table) -> pa.Table:
    """The table with durations and texts of any type as plain texts; Arrow does not write all to
    CSV."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        is_length = pa.types.is_duration(column.type)
        texts = spelled_durations(column) if is_length else texts_in(column)
        if texts is not None:
            table = table.set_column(place, name, texts)
    return table
