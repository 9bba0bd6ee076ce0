"""Sums over the rows on this machine, on all cores, with few batches in memory at a time."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa

from tabveil.engines.engine import (
    BatchCount,
    Engine,
    OnProgress,
    Sums,
    Trouble,
    added,
    settled,
    sums_of,
    unforeseen,
)
from tabveil.errors import InvalidInput, TabveilError
from tabveil.machine.processors import cores
from tabveil.sources import Source


@dataclass(frozen=True)
class Local(Engine):
    """Threads that take batch after batch; each holds one batch and its own sums."""

    scheduler: str | None = None
    threads: int | None = None  # as many as there are cores, unless told

    def __post_init__(self) -> None:
        if self.scheduler is not None:
            raise InvalidInput(
                "The local engine has no scheduler.",
                "Leave it out, or choose the engine dask or spark.",
            )

    def total(
        self, source: Source, count: BatchCount, on_progress: OnProgress = lambda share: None
    ) -> Sums:
        batches = Shared(source.batches(on_progress=on_progress))
        threads = self.threads or cores()

        def work(thread: int) -> Sums | Trouble:
            try:
                return sums_of(batches, count)
            except TabveilError:
                raise
            except Exception as problem:
                if os.environ.get("TABVEIL_DEBUG"):
                    raise
                return unforeseen(problem)
            finally:
                batches.stop()  # the pass is over, or after an error no other thread goes on

        with ThreadPoolExecutor(threads) as pool:
            try:
                return settled(added(pool.map(work, range(threads))))
            finally:
                batches.stop()  # after Ctrl-C, too


class Shared(Iterator[pa.Table]):
    """One pass over batches that several threads take from; reading is cheap next to counting."""

    def __init__(self, batches: Iterator[pa.Table]) -> None:
        self._batches, self._lock, self._stopped = batches, Lock(), False

    def __next__(self) -> pa.Table:
        with self._lock:
            if self._stopped:
                raise StopIteration
            try:
                return next(self._batches)
            except BaseException:
                self._stopped = True
                raise

    def stop(self) -> None:
        """Give out no further batch."""
        self._stopped = True
