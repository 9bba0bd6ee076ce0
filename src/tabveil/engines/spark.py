"""Sums over rows on Spark: `mapInArrow` counts where partitions lie, whole numbers come back."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tabveil.engines.engine import (
    BatchCount,
    Engine,
    OnProgress,
    Sums,
    Trouble,
    added,
    settled,
    sums_or_trouble,
)
from tabveil.errors import InvalidInput
from tabveil.machine.packages import required
from tabveil.machine.processors import cores
from tabveil.sources import Source
from tabveil.sources.clusters import SparkFrame
from tabveil.sources.files import opener_of

PIECES = 4  # per core
FAN = 8  # lines of sums that reach the driver
LINE = "sums binary, message string, hint string"
FIELDS = pa.schema([("sums", pa.binary()), ("message", pa.string()), ("hint", pa.string())])

Batches = Iterable[pa.RecordBatch]


class Spark(Engine):
    """The session at hand; else one at the given master; else one on this machine.

    Spark runs a task that failed again (`spark.task.maxFailures`), as it does for every job.
    """

    def __init__(self, scheduler: str | None = None) -> None:
        self.scheduler = scheduler
        self._session: Any = None
        self._started = False

    def __enter__(self) -> Self:
        SparkSession = required("pyspark.sql", "spark", "The spark engine needs").SparkSession
        self._session = SparkSession.getActiveSession()
        if self._session is None:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run what runs here
            master = self.scheduler or f"local[{cores()},4]"
            builder = SparkSession.builder.master(master).appName("tabveil")
            self._session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
            self._started = True
        return self

    def __exit__(self, *problem: object) -> None:
        if self._started:
            self._session.stop()
        self._session, self._started = None, False

    def find(self, data: Any) -> Any:
        """A Spark table by name, unless there is a file of that name or it looks like one."""
        if not isinstance(data, str | Path) or Path(data).exists():
            return data
        name = str(data)
        if "/" in name or opener_of(name):
            return data
        if not self._session.catalog.tableExists(name):
            raise InvalidInput(
                f"Spark knows no table {name}.", "Give the name of a table, or a path."
            )
        return self._session.table(name)

    def total(
        self, source: Source, count: BatchCount, on_progress: OnProgress = lambda share: None
    ) -> Sums:
        nothing = settled(sums_or_trouble([source.nothing()], count))
        try:
            lines = self._counted(source, count)
            few = lines.repartition(FAN).mapInArrow(_adding(nothing), LINE)
            found = [
                _unpacked(row["sums"], row["message"], row["hint"], nothing)
                for row in few.collect()
            ]
        except Exception as problem:
            raise InvalidInput(
                f"Spark could not finish ({type(problem).__name__}).",
                "See what its driver and executors have logged; what was charged stays charged.",
            ) from None
        finally:
            on_progress(1.0)
        return settled(added([nothing, *found]))

    def _counted(self, source: Source, count: BatchCount) -> Any:
        """One line of sums for every partition of the frame, or for every piece of the files."""
        if isinstance(source.reader, SparkFrame):
            frame = source.reader.frame.select(*(f"`{_escaped(name)}`" for name in source.columns))
            return frame.mapInArrow(_counting(source.columns, count), LINE)
        pieces = source.split(PIECES * self._session.sparkContext.defaultParallelism)
        numbers = self._session.range(0, len(pieces), 1, len(pieces))
        return numbers.mapInArrow(_counting_pieces(pieces, count), LINE)


def _escaped(name: str) -> str:
    return name.replace("`", "``")


# What runs on a worker is made here, because Spark sends functions of batches and nothing else.


def _counting(
    columns: tuple[str, ...], count: BatchCount
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        tables = (pa.Table.from_batches([batch]).rename_columns(list(columns)) for batch in batches)
        yield _line(sums_or_trouble(tables, count))

    return run


def _counting_pieces(
    pieces: list[Source], count: BatchCount
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _line(sums_or_trouble(pieces[number].batches(), count))

    return run


def _adding(nothing: Sums) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        lines = (line for batch in batches for line in batch.to_pylist())
        yield _line(added(_unpacked(**line, nothing=nothing) for line in lines))

    return run


def _line(result: Sums | Trouble) -> pa.RecordBatch:
    """Sums as one line of bytes; shapes are not sent, both sides know them."""
    trouble = result if isinstance(result, Trouble) else Trouble("")
    sums = (
        b""
        if isinstance(result, Trouble)
        else b"".join(np.asarray(s, "<i8").tobytes() for s in result)
    )
    return pa.RecordBatch.from_pylist(
        [{"sums": sums, "message": trouble.message, "hint": trouble.hint}], schema=FIELDS
    )


def _unpacked(sums: bytes, message: str, hint: str, nothing: Sums) -> Sums | Trouble:
    if message:
        return Trouble(message, hint)
    if not sums:  # a partition without a batch
        return nothing
    ends = np.cumsum([array.size for array in nothing])[:-1]
    flat = np.frombuffer(sums, "<i8").astype(np.int64)
    return [part.reshape(n.shape) for part, n in zip(np.split(flat, ends), nothing, strict=True)]
