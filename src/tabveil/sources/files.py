"""Files: CSV, Parquet, and folders of Parquet on this machine or in a cloud's store."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet

from tabveil.errors import InvalidInput
from tabveil.sources.reader import OnProgress, Reader, explained

LONGEST_CSV_ROW = 32 * 2**20  # bytes
# What is a cell and hardly a name: nothing, numbers, dates, times, truths, and what stands for
# missing.
CELL = re.compile(
    r"[-+$€£(]*[\d.,][\d\s.,:;/+()%$€£TZtzeE-]*|true|false|nan|n/?a|null|none|\?|-|", re.IGNORECASE
)
PERSONAL = re.compile(r"@|\d{5}")  # addresses, and numbers of people and things
AT_ONCE = 16  # headers read at the same time
READABLE = "Use a .csv, .csv.gz or .parquet file, or a folder of .parquet files."


def open_path(data: object) -> Reader | None:
    """The reader of a path or an address such as s3://bucket/folder; None for anything else."""
    if isinstance(data, str) and "://" in data:
        return _open_address(data)
    return _open_local(Path(data)) if isinstance(data, str | Path) else None


def _open_local(path: Path) -> Reader:
    if path.is_dir():
        files = sorted(f for f in path.iterdir() if f.suffix.lower() == ".parquet" and f.is_file())
        if not files:
            raise InvalidInput(f"The folder {path} holds no .parquet files.", READABLE)
        return ParquetFiles.of([str(f) for f in files], f"the Parquet folder {path.name}")
    name = path.name.lower()
    if not name.endswith((".csv", ".csv.gz", ".parquet")):
        raise InvalidInput(f"{path} has an unknown extension.", READABLE)
    if not path.is_file():
        raise InvalidInput(f"The file {path} does not exist.", "Check the name and the folder.")
    if name.endswith(".parquet"):
        return ParquetFiles.of([str(path)], f"the Parquet file {path.name}")
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path} is an empty file.", "Export the table again.")
    return CsvFile(path)


def _open_address(address: str) -> Reader:
    """A Parquet file or folder in any store that Arrow knows (s3, gs, abfs, hdfs, file)."""
    with explained(f"{address} cannot be reached.", "Check the address and the rights to read it."):
        store, place = pa.fs.FileSystem.from_uri(address)
        is_file = store.get_file_info(place).type == pa.fs.FileType.File
        found = store.get_file_info(place if is_file else pa.fs.FileSelector(place))
    files = sorted(
        f.path for f in ([found] if is_file else found) if f.path.lower().endswith(".parquet")
    )
    if not files:
        raise InvalidInput(
            f"{address} holds no .parquet files.",
            "An address must be a .parquet file or a folder of them.",
        )
    kind = "file" if is_file else "folder"
    return ParquetFiles.of(files, f"the Parquet {kind} {PurePosixPath(place).name}", store)


class CsvFile(Reader):
    """Comma-separated text: every cell is bytes, and rows with too few or too many cells are
    skipped."""

    advice = "Check that every quote is closed and that no row is longer than 32 MB."
    is_text = True

    def __init__(self, path: Path) -> None:
        self.path, self.what = path, f"the CSV file {path.name}"
        self.names, self.blank, self.has_rows = self._header()
        self.in_doubt = looks_like_data(self.names)

    def _header(self) -> tuple[list[str], int, bool]:
        """The names, how many blank lines stand before them, and whether anything follows."""
        with (
            explained(
                f"{self.path} has no readable header line.",
                "Write the column names in the first line.",
            ),
            self.path.open("rb") as file,
        ):
            text = io.TextIOWrapper(
                self._unpacked(file), encoding="utf-8-sig", errors="replace", newline=""
            )
            blank, names = next((number, row) for number, row in enumerate(csv.reader(text)) if row)
            return names, blank, text.read(1) != ""

    def _unpacked(self, file: BinaryIO) -> BinaryIO:
        return gzip.open(file) if self.path.suffix.lower() == ".gz" else file  # type: ignore[return-value]

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        if not self.has_rows:
            return
        # Where rows have one cell, a blank line is a row whose cell is missing.
        single = len(self.names) == 1
        size = self.path.stat().st_size
        with (
            self.path.open("rb") as file,
            io.BufferedReader(_ValidText(self._unpacked(file))) as stream,
        ):
            reader = pa.csv.open_csv(
                stream,
                read_options=pa.csv.ReadOptions(
                    block_size=LONGEST_CSV_ROW, skip_rows=self.blank if single else 0
                ),
                parse_options=pa.csv.ParseOptions(
                    newlines_in_values=True,
                    ignore_empty_lines=not single,
                    invalid_row_handler=lambda _: "skip",
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
                on_progress(round(min(1.0, file.tell() / size), 2))

    def files_here(self) -> list[Path]:
        return [self.path]

    def count(self, column: str) -> int:
        return sum(table.num_rows for table in self.batches([column], 0, lambda share: None))


def looks_like_data(names: Sequence[str]) -> bool:
    """Whether a first line looks like a row of cells rather than like names; asked of that line
    alone."""
    return len(set(names)) < len(names) or any(
        CELL.fullmatch(n.strip()) or PERSONAL.search(n) for n in names
    )


class _ValidText(io.RawIOBase):
    """The bytes of a file with invalid UTF-8 replaced, because pyarrow cannot skip a row that holds
    any."""

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


@dataclass(frozen=True, repr=False)
class Groups:
    """Some row groups of one Parquet file, and what its footer says about them."""

    path: str
    names: tuple[str, ...]
    texts: tuple[str, ...]  # columns of text
    groups: tuple[int, ...]
    rows: tuple[int, ...]
    bytes: tuple[int, ...]

    @classmethod
    def of(cls, path: str, store: pa.fs.FileSystem) -> "Groups":
        """All row groups of a file."""
        if store.get_file_info(path).size == 0:
            raise InvalidInput(f"{path} is an empty file.", "Export the table again.")
        with (
            explained(f"{path} is not a readable Parquet file.", "Write the file again."),
            store.open_input_file(path) as file,
        ):
            footer = pa.parquet.read_metadata(file)
            columns = footer.schema.to_arrow_schema()
            groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
        return cls(
            path,
            tuple(columns.names),
            tuple(
                c.name
                for c in columns
                if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)
            ),
            tuple(range(len(groups))),
            tuple(group.num_rows for group in groups),
            tuple(group.total_byte_size for group in groups),
        )

    def take(self, places: Sequence[int]) -> "Groups":
        """The row groups at these places."""
        groups, rows, bytes_ = (
            tuple(line[place] for place in places) for line in (self.groups, self.rows, self.bytes)
        )
        return replace(self, groups=groups, rows=rows, bytes=bytes_)


class ParquetFiles(Reader):
    """One Parquet file, or the Parquet files of a folder in the order of their names."""

    def __init__(self, files: Sequence[Groups], what: str, store: pa.fs.FileSystem) -> None:
        self.files, self.what, self.store = files, what, store
        self.names = list(files[0].names)

    @classmethod
    def of(
        cls, paths: Sequence[str], what: str, store: pa.fs.FileSystem | None = None
    ) -> "ParquetFiles":
        """The reader of these files, in this order; their footers are read now."""
        store = store or pa.fs.LocalFileSystem()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return cls(list(pool.map(lambda path: Groups.of(path, store), paths)), what, store)

    def headers(self) -> list[tuple[str, list[str]]]:
        if len(self.files) == 1:
            return [(self.what, self.names)]
        return [(f"{Path(f.path).name} in {self.what}", list(f.names)) for f in self.files]

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        return _together(self._tables(columns, rows, on_progress), rows)

    def _tables(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        done, size = 0.0, max(1, sum(sum(file.bytes) for file in self.files))
        for file in self.files:
            # Text comes as the dictionary that Parquet keeps: several times faster than cell by
            # cell.
            texts = [name for name in file.texts if name in columns]
            per_row = sum(file.bytes) / max(1, sum(file.rows))
            with (
                explained(
                    f"{Path(file.path).name} in {self.what} could not be read to its end.",
                    self.advice,
                ),
                self.store.open_input_file(file.path) as handle,
                pa.parquet.ParquetFile(handle, read_dictionary=texts, pre_buffer=False) as reader,
            ):
                for batch in reader.iter_batches(
                    batch_size=rows,
                    row_groups=list(file.groups),
                    columns=list(columns),
                    use_threads=False,
                ):
                    yield pa.Table.from_batches([batch])
                    done += batch.num_rows * per_row
                    on_progress(round(min(1.0, done / size), 2))

    def files_here(self) -> list[Path]:
        return (
            [Path(f.path) for f in self.files]
            if isinstance(self.store, pa.fs.LocalFileSystem)
            else []
        )

    def count(self, column: str) -> int:
        return sum(sum(file.rows) for file in self.files)

    def split(self, pieces: int) -> "list[ParquetFiles]":
        places = [(file, place) for file in self.files for place in range(len(file.groups))]
        ends = np.cumsum([file.bytes[place] for file, place in places])
        piece_of = np.minimum(
            (ends - 1) * pieces // max(1, ends[-1] if len(ends) else 1), pieces - 1
        )
        found = []
        for piece in np.unique(piece_of):
            chosen = [p for p, number in zip(places, piece_of, strict=True) if number == piece]
            files = [
                f.take([p for g, p in chosen if g is f])
                for f in dict.fromkeys(f for f, _ in chosen)
            ]
            found.append(ParquetFiles(files, self.what, self.store))
        return found or [self]


def _together(tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in fewer batches where files or row groups are short; every batch costs its own
    sums."""
    held: list[pa.Table] = []
    for table in tables:
        size = sum(part.num_rows for part in held)
        if held and (size + table.num_rows > rows or table.schema != held[0].schema):
            yield pa.concat_tables(held)
            held = []
        held.append(table)
    if held:
        yield pa.concat_tables(held)
