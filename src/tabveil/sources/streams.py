"""Tables that others hold: anything with Arrow's stream interface, and lazy polars frames."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tabveil.errors import InvalidInput
from tabveil.sources.frames import polars_table
from tabveil.sources.reader import OnProgress, Reader, explained

AGAIN = "A table is read several times, and must be the same each time."


def open_stream(data: object) -> Reader | None:
    """The reader of a lazy polars frame, or of what gives Arrow streams; None for anything else."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(data, polars.LazyFrame):
        return LazyPolars(data)
    return ArrowStream(data) if hasattr(data, "__arrow_c_stream__") else None


class ArrowStream(Reader):
    """A DuckDB relation, an Ibis table, a cuDF frame: each pass asks for a new stream of batches.

    Where the data can change meanwhile, passes may see different rows; a database by its address is
    read from one snapshot instead.
    """

    kind, advice = "arrow", "See whether it can be turned into an Arrow table: pa.table(data)."

    def __init__(self, data: Any) -> None:
        self.data, self.what = data, f"a {type(data).__module__.split('.')[0].strip('_')} table"
        if isinstance(data, pa.RecordBatchReader):
            raise InvalidInput(
                "An Arrow stream can be read only once.", f"{AGAIN} Pass reader.read_all()."
            )
        with explained(f"a {type(data).__name__} is not a table that can be read.", self.advice):
            self.names = list(self._stream().schema.names)

    def _stream(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self.data)

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        for batch in self._stream():
            yield stored(pa.Table.from_batches([batch]).select(list(columns)))

    def count(self, column: str) -> int:
        return sum(batch.num_rows for batch in self._stream())


class LazyPolars(Reader):
    """A lazy polars frame, collected part by part in each pass."""

    kind, what = "polars", "a lazy polars frame"

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        with explained("the lazy polars frame has no columns yet.", "Collect it once yourself."):
            self.names = list(frame.collect_schema().names())

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        few = self.frame.select(list(columns))
        in_parts = hasattr(few, "collect_batches")  # polars from 1.34 on
        for part in few.collect_batches(chunk_size=rows) if in_parts else [few.collect()]:
            yield polars_table(part, columns)

    def count(self, column: str) -> int:
        return sum(part.num_rows for part in self.batches([column], 1 << 20, lambda share: None))


def stored(table: pa.Table) -> pa.Table:
    """The table with types of others, such as a database's own numbers, as they are kept."""
    for place, field in enumerate(table.schema):
        if isinstance(field.type, pa.BaseExtensionType):
            kept = table.column(place).cast(field.type.storage_type)
            table = table.set_column(place, field.name, kept)
    return table
