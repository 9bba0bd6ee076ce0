"""Batch after batch in one thread: the slowest engine, and the easiest to follow in a debugger."""

from dataclasses import dataclass

from tabveil.engines.engine import BatchCount, Engine, OnProgress, Sums, sums_of
from tabveil.sources import Source


@dataclass(frozen=True)
class OneThread(Engine):
    """Reads a batch, counts it, adds it up, and reads the next."""

    scheduler: str | None = None

    def total(
        self, source: Source, count: BatchCount, on_progress: OnProgress = lambda share: None
    ) -> Sums:
        return sums_of(source.batches(on_progress=on_progress), count)
