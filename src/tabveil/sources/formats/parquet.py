"""Parquet, one file or the files of a folder, on this machine or in a cloud's store."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet

from tabveil.errors import InvalidInput
from tabveil.sources.reader import OnProgress, Reader, explained

AT_ONCE = 16  # headers read at the same time


def parquet_file(path: Path) -> "ParquetFiles":
    """The reader of one file on this machine."""
    return ParquetFiles.of([str(path)], f"the Parquet file {path.name}")


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
            # Text comes as the dictionary that Parquet keeps:
            # several times faster than cell by cell.
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
    """The same rows in fewer batches where files or row groups are short; each costs its sums."""
    held: list[pa.Table] = []
    for table in tables:
        size = sum(part.num_rows for part in held)
        if held and (size + table.num_rows > rows or table.schema != held[0].schema):
            yield pa.concat_tables(held)
            held = []
        held.append(table)
    if held:
        yield pa.concat_tables(held)
