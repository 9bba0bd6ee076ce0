"""A private table: opened once, checked by its header alone, read as often as needed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tabveil.columns.tokens import Tokens
from tabveil.errors import InvalidInput
from tabveil.schema import Privacy, Schema, closest, shown
from tabveil.sources.clusters import open_cluster_frame
from tabveil.sources.contributions import NO_SIGNS, Contributions
from tabveil.sources.files import open_path
from tabveil.sources.frames import open_frame
from tabveil.sources.reader import OnProgress, Reader, explained, sentence
from tabveil.sources.streams import open_stream

NAMELESS = (
    "Write the column names in the first line. If they are there: tabveil schema init --header."
)
ROWS = 65_536  # in one batch; of a few columns up to four times as many


@dataclass(frozen=True, repr=False)
class Source:
    """A private table that can be read again and again, in batches of the schema's columns."""

    reader: Reader
    columns: tuple[str, ...]
    bound: Privacy | None = None  # how many rows of each person are kept, if not all
    signs: Tokens = NO_SIGNS  # for a missing cell, in the column that says whose row it is

    @classmethod
    def of(cls, data: object, schema: Schema) -> "Source":
        """Open a path or a frame, and check its header (and nothing else) against the schema."""
        reader = opened(data)
        unit = [schema.privacy.unit] if schema.privacy else []
        _check_headers(reader, [*schema.learnt, *schema.maps_to_buy, *unit])
        return cls(reader, schema.learnt, schema.privacy, Tokens(schema.missing))

    @classmethod
    def whole(cls, data: object) -> "Source":
        """Open a path or a frame with all the columns of its own header."""
        reader = opened(data)
        if reader.in_doubt:
            raise InvalidInput(
                f"The first line of {reader.what} looks like data, not like column names.", NAMELESS
            )
        _check_headers(reader, reader.names)
        return cls(reader, tuple(reader.names))

    @property
    def is_text(self) -> bool:
        """Whether every cell is text, also those that spell numbers."""
        return self.reader.is_text

    @property
    def kind(self) -> str:
        """What kind of frame to hand back: pandas, polars or arrow."""
        return self.reader.kind

    def types(self, schema: Schema) -> dict[str, str]:
        """The types of the schema's columns as they came in, ids included."""
        return {
            name: kind
            for name, kind in self.reader.types().items()
            if kind and name in schema.columns
        }

    def only(self, columns: Sequence[str]) -> "Source":
        """The same rows with fewer columns."""
        return replace(self, columns=tuple(columns))

    def split(self, pieces: int) -> "list[Source]":
        """About so many sources that together hold every row once, each readable elsewhere."""
        if self.bound and pieces > 1:
            raise InvalidInput(
                "Rows of one person are counted in one stream, so the table cannot be split.",
                "Use engine='local', or keep few rows of each person yourself and leave out "
                "privacy.",
            )
        return [replace(self, reader=reader) for reader in self.reader.split(pieces)]

    def batches(
        self, rows: int | None = None, on_progress: OnProgress = lambda share: None
    ) -> Iterator[pa.Table]:
        """The schema's columns in schema order, at most `rows` rows a batch; at least one batch."""
        rows = rows or ROWS * min(4, max(1, 16 // max(1, len(self.columns))))
        empty = True
        with explained(f"{self.reader.what} could not be read to its end.", self.reader.advice):
            for table in self._kept(rows, on_progress):
                for start in range(0, table.num_rows, rows):
                    empty = False
                    yield table.slice(start, rows).select(self.columns)
        if empty:
            yield self.nothing()

    def _kept(self, rows: int, on_progress: OnProgress) -> Iterator[pa.Table]:
        """Tables as they are read, of each person no more rows than the bound says."""
        if self.bound is None:
            yield from self.reader.batches(self.columns, rows, on_progress)
            return
        kept = Contributions(self.bound.max_rows, self.signs)
        unit = [self.bound.unit] if self.bound.unit not in self.columns else []
        for table in self.reader.batches([*self.columns, *unit], rows, on_progress):
            yield table.filter(pa.array(kept.keep(table.column(self.bound.unit))))

    def nothing(self) -> pa.Table:
        """A batch without rows."""
        return pa.table({name: pa.nulls(0) for name in self.columns})

    def count(self) -> int:
        """How many rows there are; under add-remove this number is private."""
        with explained(f"{self.reader.what} could not be read to its end.", self.reader.advice):
            if self.bound is not None:
                return sum(
                    table.num_rows for table in self.only(())._kept(ROWS, lambda share: None)
                )
            return self.reader.count(self.columns[0])

    def fingerprint(self) -> list[tuple[str, int, int]]:
        """What lets an unfinished run know its table again, without a look at it.

        Answers about two versions of a file should not be mixed: that would be as private, but no
        table at all. Frames in memory cannot be told apart without a look.
        """
        return self.reader.identity()

    def describe(self) -> str:
        """What the table is, in words that say nothing about its rows."""
        return f"{self.reader.what}, {len(self.columns)} columns"

    def __repr__(self) -> str:
        return f"Source({self.describe()})"


def opened(data: object) -> Reader:
    """The reader of a path or a frame; only a header is read."""
    reader = (
        data
        if isinstance(data, Reader)
        else open_path(data) or open_frame(data) or open_cluster_frame(data) or open_stream(data)
    )
    if reader is None:
        raise InvalidInput(
            f"A {type(data).__name__} is not a table that can be read.",
            "Pass a path, a database's address, or a pandas, polars, Arrow, DuckDB, Ibis, Dask or "
            "Spark table.",
        )
    return reader


def _check_headers(reader: Reader, columns: list[str]) -> None:
    for what, names in reader.headers():
        _check_names(what, names, columns, NAMELESS if reader.in_doubt else "")


def _check_names(what: str, names: list[str], columns: list[str], hint: str) -> None:
    absent = [name for name in columns if name not in set(names)]
    if absent:
        many = "columns" if len(absent) > 1 else "column"
        listed = ", ".join(map(shown, absent[:10])) + (", ..." if len(absent) > 10 else "")
        raise InvalidInput(
            f"{sentence(what)} lacks the {many} {listed}.", hint or _header_hint(names, absent)
        )
    counts = Counter(names)
    for name in columns:
        if counts[name] > 1:
            raise InvalidInput(
                f"{sentence(what)} has the column {shown(name)} twice.", "Rename one of them."
            )


def _header_hint(names: list[str], absent: list[str]) -> str:
    # A file without a header line shows its first row as names,
    # so only near matches may be repeated.
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        return "Cells must be separated by commas, or say by what: 'people.csv?separator=;'."
    close = [(name, closest(name, names)) for name in absent[:3]]
    near = [f"{shown(found)} for {shown(name)}" for name, found in close if found is not None]
    if near:
        return f"The data has {', '.join(near)}; names must be the same."
    return "Every column of the schema must be in the data, under the same name."
