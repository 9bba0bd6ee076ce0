"""Frames in memory: pandas, polars and Arrow."""

import datetime
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tabveil.columns.cells import Objects, plain
from tabveil.columns.dtypes import CATEGORIES, spelled_in_pandas
from tabveil.columns.moments import FARTHEST, microseconds
from tabveil.schema import key
from tabveil.sources.reader import OnProgress, Reader

if TYPE_CHECKING:
    import pandas as pd

OUT_OF_RANGE = b"out of range"  # the text of a moment that calendars do not reach
NANOSECONDS = {
    "W": 7 * 86_400 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9,
    "ms": 10**6, "us": 1_000, "ns": 1,
}  # fmt: skip


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

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        yield self.table.select([self.names.index(name) for name in columns])

    def count(self, column: str) -> int:
        return int(self.table.num_rows)

    def split(self, pieces: int) -> "list[ArrowTable]":
        return [
            ArrowTable(self.table.slice(a, b - a)) for a, b in _cut(self.table.num_rows, pieces)
        ]


class PandasFrame(Reader):
    """A pandas frame."""

    what = "a pandas frame"

    def __init__(self, frame: "pd.DataFrame") -> None:
        self.frame, self.names = frame, [str(name) for name in frame.columns]

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        places = [self.names.index(name) for name in columns]
        for start in range(0, len(self.frame), rows):
            part = self.frame.iloc[start : start + rows]
            yield pa.Table.from_arrays(
                [_from_pandas(part.iloc[:, place]) for place in places], list(columns)
            )

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

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        for start in range(0, self.frame.height, rows):
            yield polars_table(self.frame.slice(start, rows), columns)

    def count(self, column: str) -> int:
        return int(self.frame.height)

    def types(self) -> dict[str, str]:
        import polars as pl

        kinds = self.frame.schema.items()
        return {
            name: CATEGORIES[False] for name, kind in kinds if kind in (pl.Categorical, pl.Enum)
        }

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
    if pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        return cells_array(series)
    try:
        return pa.array(series, from_pandas=True)
    except Exception:
        return cells_array(series)


def polars_table(frame: Any, columns: Sequence[str]) -> pa.Table:
    """Some columns of a polars frame, each by itself."""
    return pa.Table.from_arrays(
        [_from_polars(frame.get_column(name)) for name in columns], list(columns)
    )


def _from_polars(series: Any) -> pa.Array | pa.ChunkedArray:
    import polars as pl

    if series.dtype == pl.Object:
        return cells_array(series.to_list())
    try:
        return series.to_arrow()
    except Exception:
        return cells_array(series.to_list())


def cells_array(cells: Iterable[object]) -> pa.Array:
    """Any Python objects as bytes of text, each by itself; beside it, what times are as such."""
    values = list(cells)
    if set(map(type, values)) <= {str, bytes, float, type(None)}:
        try:
            # The same as below, faster.
            return pa.array(values, pa.large_binary(), from_pandas=True)
        except Exception:  # numbers, or texts that are not valid Unicode
            pass
    texts = pa.array([_cell(value) for value in values], pa.large_binary())
    times = [_time(value) for value in values]
    if not any(times):
        return texts
    parts = [texts]
    for field in list(Objects.PARTS)[1:]:
        found = [time[1] if time and time[0] == field.name else None for time in times]
        parts.append(pa.array(found, pa.int64()).cast(field.type))
    together = pa.StructArray.from_arrays(parts, fields=list(Objects.PARTS))
    return pa.ExtensionArray.from_storage(Objects(), together)


def _cell(value: Any) -> bytes | None:
    """The text of one object; what is no text, number, truth or date is missing."""
    try:
        if isinstance(value, np.datetime64):
            return _typed_text(value)
        if isinstance(value, np.timedelta64):
            return None
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or value != value:
            return None
        if isinstance(value, str):
            return str(value).encode("utf-8", "surrogatepass")
        if isinstance(value, bytes | bytearray):
            return bytes(value)
        return (str(value) if _is_span(value) else key(value)).encode()
    except Exception:
        return OUT_OF_RANGE if isinstance(value, datetime.datetime) else None


def _typed_text(value: np.datetime64) -> bytes | None:
    """What the same cell of a typed column is as text."""
    unit, count = np.datetime_data(value.dtype)
    same = (
        value if unit in ("s", "ms", "us", "ns") and count == 1 else value.astype("datetime64[s]")
    )
    text: bytes | None = plain(pa.array(np.array([same])))[0].as_py()
    return text


def _is_span(value: object) -> bool:
    """Whether it is a period or an interval of pandas, whose columns are read as texts."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Period | pandas.Interval)


def _time(value: Any) -> tuple[str, int] | None:
    """What an object of time is (a part of `Objects`), in microseconds; None for others."""
    try:
        if not isinstance(
            value, datetime.date | datetime.timedelta | np.datetime64 | np.timedelta64
        ):
            return None
        if value != value:  # NaT
            return None
        part = "length" if isinstance(value, datetime.timedelta | np.timedelta64) else "wall"
        if getattr(value, "tzinfo", None) is not None:
            part = "instant"
        if hasattr(value, "to_numpy"):  # a Timestamp or Timedelta of pandas, of any unit
            value = value.to_numpy()
        return part, max(-FARTHEST, min(FARTHEST, _microseconds(value)))
    except Exception:
        return None


def _microseconds(value: Any) -> int:
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit, count = np.datetime_data(value.dtype)
        if unit in ("Y", "M"):
            value, unit, count = value.astype("datetime64[D]"), "D", 1
        return int(value.astype(np.int64)) * count * NANOSECONDS[unit] // 1000
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1)
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    return microseconds(value, None)
