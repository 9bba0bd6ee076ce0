"""Tables as people bring them: files, pandas, polars and Arrow, read in batches and written back."""

import codecs
import csv
import gzip
import io
import math
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from tabveil.errors import InvalidInput, TabveilError
from tabveil.files import atomic_write
from tabveil.schema import TODO, Categorical, Numerical, Schema, closest, key, short, shown
from tabveil.table import Labels, is_missing, number_in, numbers_in, plain, rounded, spread

if TYPE_CHECKING:
    import pandas as pd

ROWS = 65_536  # in one batch
LONGEST_CSV_ROW = 32 * 2**20  # bytes
READABLE = "Use a .csv, .csv.gz or .parquet file, or a folder of .parquet files."
MOST_VALUES = 100  # a text column with more distinct values is not drafted as a list
MOST_WHOLE_NUMBERS = 20  # a column with more distinct whole numbers is drafted as numerical
MOST_DRAFTED_DECIMALS = 6


@dataclass(frozen=True, repr=False)
class Source:
    """A private table that can be read again and again, in batches of the schema's columns."""

    reader: "_Reader"
    columns: tuple[str, ...]

    @classmethod
    def of(cls, data: object, schema: Schema) -> "Source":
        """Open a path or a frame, and check its header (and nothing else) against the schema."""
        reader = _open(data)
        _check_header(reader, list(schema.columns))
        return cls(reader, tuple(schema.columns))

    @property
    def kind(self) -> str:
        """What kind of frame to hand back: pandas, polars or arrow."""
        return self.reader.kind

    def batches(self, rows: int = ROWS) -> Iterator[pa.Table]:
        """The schema's columns in schema order, at most `rows` rows at a time; at least one batch."""
        empty = True
        with _explained(f"{self.reader.what} could not be read to its end.", self.reader.advice):
            for table in self.reader.batches(self.columns, rows):
                for start in range(0, table.num_rows, rows):
                    empty = False
                    yield table.slice(start, rows).select(self.columns)
        if empty:
            yield pa.table({name: pa.nulls(0) for name in self.columns})

    def count(self) -> int:
        """How many rows there are; under add-remove this number is private."""
        with _explained(f"{self.reader.what} could not be read to its end.", self.reader.advice):
            return self.reader.count(self.columns[0])

    def describe(self) -> str:
        """What the table is, in words that say nothing about its rows."""
        return f"{self.reader.what}, {len(self.columns)} columns"

    def __repr__(self) -> str:
        return f"Source({self.describe()})"


class _Reader(ABC):
    """One way to bring a table; `names` is its header."""

    kind = "pandas"
    advice = "Write the file again, or try another format."
    what: str
    names: list[str]

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Tables with these columns; of any number of rows, about `rows` where that can be chosen."""

    @abstractmethod
    def count(self, column: str) -> int:
        """How many rows there are; `column` is one that is there."""


class _CsvFile(_Reader):
    """Comma-separated text: every cell is bytes, and rows with too few or too many cells are skipped."""

    advice = "Check that every quote is closed and that no row is longer than 32 MB."

    def __init__(self, path: Path) -> None:
        self.path, self.what = path, f"the CSV file {path.name}"
        self.names, self.has_rows = self._header()

    def _header(self) -> tuple[list[str], bool]:
        with _explained(
            f"{self.path} has no readable header line.", "Write the column names in the first line."
        ):
            text = io.TextIOWrapper(self._bytes(), encoding="utf-8-sig", errors="replace", newline="")
            with text:
                names = next(row for row in csv.reader(text) if row)
                return names, text.read(1) != ""

    def _bytes(self) -> BinaryIO:
        if self.path.suffix.lower() == ".gz":
            return gzip.open(self.path)  # type: ignore[return-value]
        return self.path.open("rb")

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        if not self.has_rows:
            return
        with self._bytes() as file, io.BufferedReader(_ValidText(file)) as stream:
            reader = pa.csv.open_csv(
                stream,
                read_options=pa.csv.ReadOptions(block_size=LONGEST_CSV_ROW),
                parse_options=pa.csv.ParseOptions(
                    newlines_in_values=True, invalid_row_handler=lambda _: "skip"
                ),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=list(columns),
                    column_types={name: pa.large_binary() for name in columns},
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
            for batch in reader:
                yield pa.Table.from_batches([batch])

    def count(self, column: str) -> int:
        return sum(table.num_rows for table in self.batches([column], ROWS))


class _ValidText(io.RawIOBase):
    """The bytes of a file with invalid UTF-8 replaced, because pyarrow cannot skip a row that holds any."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.ready = file, b""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        more = True
        while more and not self.ready:
            chunk = self.file.read(2**20)
            more = bool(chunk)
            self.ready = self.decoder.decode(chunk, final=not more).encode()
        size = min(len(buffer), len(self.ready))
        buffer[:size], self.ready = self.ready[:size], self.ready[size:]
        return size


class _ParquetFiles(_Reader):
    """One Parquet file, or the Parquet files of a folder in the order of their names."""

    def __init__(self, paths: list[Path], what: str) -> None:
        self.paths, self.what = paths, what
        self.names = self._header(paths[0])

    @staticmethod
    def _header(path: Path) -> list[str]:
        _require_content(path)
        with _explained(f"{path} is not a readable Parquet file.", "Write the file again."):
            return list(pa.parquet.read_schema(path).names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        for path in self.paths:
            with pa.parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=rows, columns=list(columns)):
                    yield pa.Table.from_batches([batch])

    def count(self, column: str) -> int:
        return sum(pa.parquet.read_metadata(path).num_rows for path in self.paths)


class _ArrowTable(_Reader):
    kind, what = "arrow", "an Arrow table"

    def __init__(self, table: pa.Table) -> None:
        self.table, self.names = table, list(table.column_names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        yield self.table.select([self.names.index(name) for name in columns])

    def count(self, column: str) -> int:
        return int(self.table.num_rows)


class _PandasFrame(_Reader):
    what = "a pandas frame"

    def __init__(self, frame: "pd.DataFrame") -> None:
        self.frame, self.names = frame, [str(name) for name in frame.columns]

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        places = [self.names.index(name) for name in columns]
        for start in range(0, len(self.frame), rows):
            part = self.frame.iloc[start : start + rows]
            yield pa.Table.from_arrays([_from_pandas(part.iloc[:, place]) for place in places], list(columns))

    def count(self, column: str) -> int:
        return len(self.frame)


class _PolarsFrame(_Reader):
    kind, what = "polars", "a polars frame"

    def __init__(self, frame: Any) -> None:
        self.frame, self.names = frame, list(frame.columns)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        for start in range(0, self.frame.height, rows):
            part = self.frame.slice(start, rows)
            yield pa.Table.from_arrays(
                [_from_polars(part.get_column(name)) for name in columns], list(columns)
            )

    def count(self, column: str) -> int:
        return int(self.frame.height)


def _open(data: object) -> _Reader:
    if isinstance(data, str | Path):
        return _open_path(Path(data))
    if isinstance(data, pa.Table):
        return _ArrowTable(data)
    if _is_frame_of("pandas", data):
        return _PandasFrame(data)  # type: ignore[arg-type]
    if _is_frame_of("polars", data):
        return _PolarsFrame(data)
    raise InvalidInput(
        f"A {type(data).__name__} is not a table that can be read.",
        "Pass a path, or a pandas, polars or Arrow table (a polars LazyFrame needs .collect()).",
    )


def _is_frame_of(library: str, data: object) -> bool:
    """Whether data is this library's DataFrame; a library that is not imported has none."""
    module = sys.modules.get(library)
    return module is not None and isinstance(data, module.DataFrame)


def _open_path(path: Path) -> _Reader:
    if path.is_dir():
        return _open_folder(path)
    name = path.name.lower()
    if not name.endswith((".csv", ".csv.gz", ".parquet")):
        raise InvalidInput(f"{path} has an unknown extension.", READABLE)
    if not path.is_file():
        raise InvalidInput(f"The file {path} does not exist.", "Check the name and the folder.")
    _require_content(path)
    return (
        _ParquetFiles([path], f"the Parquet file {path.name}")
        if name.endswith(".parquet")
        else _CsvFile(path)
    )


def _open_folder(path: Path) -> _Reader:
    files = sorted(file for file in path.iterdir() if file.suffix.lower() == ".parquet" and file.is_file())
    if not files:
        raise InvalidInput(f"The folder {path} holds no .parquet files.", READABLE)
    return _ParquetFiles(files, f"the Parquet folder {path.name}")


def _require_content(path: Path) -> None:
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path} is an empty file.", "Export the table again.")


def _check_header(reader: _Reader, columns: list[str]) -> None:
    headers = [reader.names]
    if isinstance(reader, _ParquetFiles):
        headers += [reader._header(path) for path in reader.paths[1:]]
    for names in headers:
        _check_names(reader.what, names, columns)


def _check_names(what: str, names: list[str], columns: list[str]) -> None:
    absent = [name for name in columns if name not in set(names)]
    if absent:
        many = "columns" if len(absent) > 1 else "column"
        listed = ", ".join(map(shown, absent[:10])) + (", ..." if len(absent) > 10 else "")
        raise InvalidInput(f"{_sentence(what)} lacks the {many} {listed}.", _header_hint(names, absent))
    counts = Counter(names)
    for name in columns:
        if counts[name] > 1:
            raise InvalidInput(
                f"{_sentence(what)} has the column {shown(name)} twice.", "Rename one of them."
            )


def _header_hint(names: list[str], absent: list[str]) -> str:
    # A file without a header line shows its first row as names, so only near matches may be repeated.
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        return "Cells must be separated by commas."
    close = [(name, closest(name, names)) for name in absent[:3]]
    near = [f"{shown(found)} for {shown(name)}" for name, found in close if found is not None]
    if near:
        return f"The data has {', '.join(near)}; names must be the same."
    return "Every column of the schema must be in the data, under the same name."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@contextmanager
def _explained(message: str, hint: str) -> Iterator[None]:
    """Replace whatever a library says, which may quote cells, by one clear line."""
    try:
        yield
    except TabveilError:
        raise
    except Exception:
        raise InvalidInput(_sentence(message), hint) from None


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


def as_kind(table: pa.Table, kind: str, schema: Schema) -> Any:
    """The table as a pandas, polars or Arrow frame; its dtypes depend on the schema only."""
    if kind == "arrow":
        return table
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    if kind == "pandas":
        return _to_pandas(table, schema)
    raise InvalidInput(f"{shown(kind)} is not a kind of frame.", "Choose pandas, polars or arrow.")


def _to_pandas(table: pa.Table, schema: Schema) -> "pd.DataFrame":
    import pandas as pd

    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}

    def series(name: str) -> Any:
        mapper = nullable.get if schema.columns[name].nullable else None
        return table.column(name).to_pandas(types_mapper=mapper)

    return pd.DataFrame({name: series(name) for name in table.column_names})


def write(table: pa.Table, path: str | Path) -> None:
    """Write a .csv or .parquet file, whole or not at all."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        atomic_write(path, lambda file: pa.parquet.write_table(table, file))
    elif suffix == ".csv":
        atomic_write(path, lambda file: pa.csv.write_csv(table, file))
    else:
        raise InvalidInput(f"{path} has an unknown extension.", "Use a name that ends in .csv or .parquet.")


def check(data: object, schema: Schema) -> list[str]:
    """For the owner's eyes: which columns break which rule, without values or counts."""
    found: dict[str, set[str]] = {name: set() for name in schema.columns}
    for table in Source.of(data, schema).batches():
        for name, rule in schema.columns.items():
            column = table.column(name)
            if isinstance(rule, Categorical):
                found[name] |= _broken_labels(column, rule)
            else:
                found[name] |= _broken_figures(column, rule)
    return [f"Column {shown(name)}: {text}." for name, texts in found.items() for text in sorted(texts)]


def _broken_labels(column: pa.ChunkedArray, rule: Categorical) -> set[str]:
    labels = Labels(rule)
    blank = spread(column, _blank, True)
    undeclared = spread(
        column, lambda values: np.array([labels.declared(v) is None for v in values.to_pylist()], bool), True
    )
    absent = "OTHER" if rule.other else "the first declared value"
    became = "missing" if rule.nullable else "the first declared value"
    rules = {
        f"some cells are missing, and it is not nullable (they are read as {absent})": not rule.nullable
        and bool((blank & undeclared).any()),
        f"some values are not declared (they are read as {became})": not rule.other
        and bool((undeclared & ~blank).any()),
    }
    return {text for text, broken in rules.items() if broken}


def _broken_figures(column: pa.ChunkedArray, rule: Numerical) -> set[str]:
    numbers, blank = numbers_in(column), spread(column, _blank_number, True)
    absent = np.isnan(numbers)
    stated = numbers[~absent & ~np.isin(numbers, rule.special_values)]
    became = "missing" if rule.nullable else "min"
    rules = {
        "some cells are missing, and it is not nullable (they are read as min)": not rule.nullable
        and blank.any(),
        f"some cells are not numbers (they are read as {became})": (absent & ~blank).any(),
        f"some numbers are below min {short(rule.min)} (they are read as min)": (stated < rule.min).any(),
        f"some numbers are above max {short(rule.max)} (they are read as max)": (stated > rule.max).any(),
        "some numbers have more decimals than declared (they are rounded)": (
            rounded(stated, rule.decimals) != stated
        ).any(),
    }
    return {text for text, broken in rules.items() if broken}


def _blank(values: pa.Array) -> NDArray[np.bool_]:
    return np.array([is_missing(value) for value in values.to_pylist()], bool)


def _blank_number(values: pa.Array) -> NDArray[np.bool_]:
    """Like `_blank`, where the text "nan" is missing too."""
    blank = [
        is_missing(v) or (isinstance(v, bytes) and v.strip().lower() == b"nan") for v in values.to_pylist()
    ]
    return np.array(blank, bool)


def draft_schema(data: object, *, public: bool) -> dict[str, Any]:
    """A schema to fill in: names and types, or also the data's own values and bounds if those are public."""
    reader = _open(data)
    _check_header(reader, reader.names)
    seen = {name: _Seen() for name in reader.names}
    for table in Source(reader, tuple(reader.names)).batches():
        for name, column in seen.items():
            column.look(table.column(name), any_text=isinstance(reader, _CsvFile))
    return {"columns": {name: column.draft(public) for name, column in seen.items()}}


@dataclass
class _Seen:
    """What a pass over one column has met so far."""

    missing: bool = False
    texts: set[str] = field(default_factory=set)
    numbers: set[float] = field(default_factory=set)
    low: float = math.inf
    high: float = -math.inf
    decimals: int = 0

    def look(self, column: pa.ChunkedArray, *, any_text: bool) -> None:
        """Take in a batch; with `any_text` (CSV), texts that spell numbers are numbers."""
        self.missing |= bool(spread(column, _blank_number, True).any())
        for chunk in column.chunks:
            for value in plain(chunk).unique().to_pylist():
                if is_missing(value):
                    continue
                text = key(value)
                number = number_in(text) if any_text or not isinstance(value, bytes) else math.nan
                if math.isfinite(number) and text.lower() not in ("true", "false"):
                    self._number(number)
                elif len(self.texts) <= MOST_VALUES:
                    self.texts.add(text)

    def _number(self, number: float) -> None:
        self.low, self.high = min(self.low, number), max(self.high, number)
        while self.decimals <= MOST_DRAFTED_DECIMALS and round(number, self.decimals) != number:
            self.decimals += 1
        if len(self.numbers) <= MOST_WHOLE_NUMBERS:
            self.numbers.add(number)

    def draft(self, public: bool) -> dict[str, Any]:
        """The rule for the schema file."""
        nullable = {"nullable": True} if public and self.missing else {}
        if self.texts and {text.lower() for text in self.texts} <= {"true", "false"} and not self.numbers:
            return {"type": "categorical", "values": [False, True]} | nullable
        if self.texts or not self.numbers:
            return {"type": "categorical", "values": self._listed() if public else TODO} | nullable
        few = self.decimals == 0 and len(self.numbers) <= MOST_WHOLE_NUMBERS
        if public and (few or self.low == self.high):
            return {
                "type": "categorical",
                "values": [short(number) for number in sorted(self.numbers)],
            } | nullable
        low, high = (short(self.low), short(self.high)) if public else (TODO, TODO)
        known = self.decimals == 0 or (public and self.decimals <= MOST_DRAFTED_DECIMALS)
        decimals = {"decimals": self.decimals} if known else {}
        return {"type": "numerical", "min": low, "max": high} | decimals | nullable

    def _listed(self) -> list[str] | str:
        texts = self.texts | {key(number) for number in self.numbers}
        return sorted(texts) if 0 < len(texts) <= MOST_VALUES else TODO
