"""Frames in memory: pandas, polars and Arrow."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tabveil.dtypes import CATEGORIES, spelled, spelled_in_pandas
from tabveil.schema import key
from tabveil.sources.reader import Reader, Told

if TYPE_CHECKING:
    import pandas as pd


def open_frame(data: object) -> Reader | None:
    """The reader of a frame in memory; None for anything else."""
    if isinstance(data, pa.Table):
        return ArrowTable(data)
    if is_frame_of("pandas", data):
        return PandasFrame(data)  # type: ignore[arg-type]
    return PolarsFrame(data) if is_frame_of("polars", data) else None


def is_frame_of(library: str, data: object) -> bool:
    """Whether data is this library's DataFrame; a library that is not imported has none."""
    module = sys.modules.get(library)
    return module is not None and isinstance(data, module.DataFrame)


class ArrowTable(Reader):
    """An Arrow table."""

    kind, what = "arrow", "an Arrow table"

    def __init__(self, table: pa.Table) -> None:
        self.table, self.names = table, list(table.column_names)

    def batches(self, columns: Sequence[str], rows: int, told: Told) -> Iterator[pa.Table]:
        yield self.table.select([self.names.index(name) for name in columns])

    def count(self, column: str) -> int:
        return int(self.table.num_rows)

    def types(self) -> dict[str, str]:
        return {field.name: spelled(field.type) for field in self.table.schema}

    def split(self, pieces: int) -> "list[ArrowTable]":
        return [ArrowTable(self.table.slice(a, b - a)) for a, b in _cut(self.table.num_rows, pieces)]


class PandasFrame(Reader):
    """A pandas frame."""

    what = "a pandas frame"

    def __init__(self, frame: "pd.DataFrame") -> None:
        self.frame, self.names = frame, [str(name) for name in frame.columns]

    def batches(self, columns: Sequence[str], rows: int, told: Told) -> Iterator[pa.Table]:
        places = [self.names.index(name) for name in columns]
        for start in range(0, len(self.frame), rows):
            part = self.frame.iloc[start : start + rows]
            yield pa.Table.from_arrays([_from_pandas(part.iloc[:, place]) for place in places], list(columns))

    def count(self, column: str) -> int:
        return len(self.frame)

    def types(self) -> dict[str, str]:
        kinds = self.frame.dtypes.tolist()
        return {name: spelled_in_pandas(kind) for name, kind in zip(self.names, kinds, strict=True)}

    def split(self, pieces: int) -> "list[PandasFrame]":
        return [PandasFrame(self.frame.iloc[a:b]) for a, b in _cut(len(self.frame), pieces)]


class PolarsFrame(Reader):
    """A polars frame."""

    kind, what = "polars", "a polars frame"

    def __init__(self, frame: Any) -> None:
        self.frame, self.names = frame, list(frame.columns)

    def batches(self, columns: Sequence[str], rows: int, told: Told) -> Iterator[pa.Table]:
        for start in range(0, self.frame.height, rows):
            part = self.frame.slice(start, rows)
            yield pa.Table.from_arrays(
                [_from_polars(part.get_column(name)) for name in columns], list(columns)
            )

    def count(self, column: str) -> int:
        return int(self.frame.height)

    def types(self) -> dict[str, str]:
        import polars as pl

        categories = {name for name, kind in self.frame.schema.items() if kind in (pl.Categorical, pl.Enum)}
        kinds = {name: _from_polars(self.frame.get_column(name).clear()).type for name in self.names}
        return {n: CATEGORIES[False] if n in categories else spelled(kind) for n, kind in kinds.items()}

    def split(self, pieces: int) -> "list[PolarsFrame]":
        return [PolarsFrame(self.frame.slice(a, b - a)) for a, b in _cut(self.frame.height, pieces)]


def _cut(rows: int, pieces: int) -> list[tuple[int, int]]:
    """Where to cut so many rows into pieces of nearly equal length."""
    ends = np.linspace(0, rows, min(pieces, max(rows, 1)) + 1).round().astype(int).tolist()
    return list(pairwise(ends))


def _from_pandas(series: "pd.Series") -> pa.Array | pa.ChunkedArray:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        levels = _from_pandas(dtype.categories.to_series())
        levels = levels.combine_chunks() if isinstance(levels, pa.ChunkedArray) else levels
        codes = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), levels)
    if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        return _from_cells(series.astype(object).map(str, na_action="ignore"))
    if pd.api.types.is_object_dtype(dtype):
        return _from_cells(series)
    try:
        return pa.array(series, from_pandas=True)
    except Exception:
        return _from_cells(series)


def _from_polars(series: Any) -> pa.Array | pa.ChunkedArray:
    import polars as pl

    if series.dtype == pl.Object:
        return _from_cells(series.to_list())
    try:
        return series.to_arrow()
    except Exception:
        return _from_cells(series.to_list())


def _from_cells(cells: Iterable[object]) -> pa.Array:
    """Any Python objects as bytes of text, each by itself."""
    values = list(cells)
    if set(map(type, values)) <= {str, bytes, float, type(None)}:
        try:
            return pa.array(values, pa.large_binary(), from_pandas=True)  # the same as below, faster
        except Exception:  # numbers, or texts that are not valid Unicode
            pass
    return pa.array([_cell(value) for value in values], pa.large_binary())


def _cell(value: Any) -> bytes | None:
    """The text of one object; what is no text, number, truth or date is missing."""
    try:
        if isinstance(value, np.datetime64 | np.timedelta64):  # their items may be bare integers
            return None
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or value != value:
            return None
        if isinstance(value, str):
            return str(value).encode("utf-8", "surrogatepass")
        return bytes(value) if isinstance(value, bytes | bytearray) else key(value).encode()
    except Exception:
        return None
