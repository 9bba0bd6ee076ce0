"""Frames that lie on a cluster, Dask and Spark: rows are counted there and never come here."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from tabveil.errors import InvalidInput
from tabveil.sources.frames import is_frame_of
from tabveil.sources.reader import OnProgress, Reader, sentence


def open_cluster_frame(data: object) -> Reader | None:
    """The reader of a Dask or Spark frame; None for anything else."""
    if is_frame_of("dask.dataframe", data):
        return DaskFrame(data)
    return SparkFrame(data) if is_frame_of("pyspark.sql", data) else None


class ClusterFrame(Reader):
    """A frame in partitions that only its own engine can read."""

    engine: str
    advice = "See what the cluster says about its failed tasks."

    def __init__(self, frame: Any) -> None:
        self.frame, self.names = frame, [str(name) for name in frame.columns]

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        raise InvalidInput(
            f"{sentence(self.what)} is not read row by row here.",
            f"Fit it with engine='{self.engine}' (its default), or pass its files.",
        )


class DaskFrame(ClusterFrame):
    """A Dask DataFrame."""

    engine, what = "dask", "a Dask frame"

    def count(self, column: str) -> int:
        return int(self.frame[[column]].map_partitions(len, meta=(None, int)).sum().compute())


class SparkFrame(ClusterFrame):
    """A Spark DataFrame."""

    engine, what = "spark", "a Spark frame"

    def count(self, column: str) -> int:
        return int(self.frame.count())


def engine_of(data: object) -> str:
    """The name of the engine that a table lies on."""
    reader = open_cluster_frame(data)
    return reader.engine if isinstance(reader, ClusterFrame) else "local"
