"""Sums over rows on a Dask cluster: workers read their own pieces and send back whole numbers."""

from typing import TYPE_CHECKING, Any, Self

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
from tabveil.errors import InvalidInput, TabveilError
from tabveil.machine.packages import required
from tabveil.machine.processors import cores
from tabveil.sources import Source
from tabveil.sources.clusters import DaskFrame
from tabveil.sources.frames import PandasFrame

if TYPE_CHECKING:
    import pandas as pd

PIECES = 4  # per worker thread, so that a slow piece or a lost worker costs little
FAN = 8  # sums added at once on their way back
PATIENCE = "20s"  # with a scheduler that does not answer


class Dask(Engine):
    """A cluster at an address; else the one this program is connected to; else one on this machine.

    A worker that dies is replaced by Dask, and what it had counted is counted again.
    """

    def __init__(self, scheduler: str | None = None) -> None:
        self.scheduler = scheduler
        self._client: Any = None
        self._started: list[Any] = []

    def __enter__(self) -> Self:
        distributed = required("distributed", "dask", "The dask engine needs")
        if self.scheduler is not None:
            self._client = self._connected(distributed.Client)
        else:
            try:
                self._client = distributed.get_client()
                return self
            except ValueError:
                # The dashboard: on any free port, and from this machine alone.
                seen_here = "127.0.0.1:0"
                cluster = distributed.LocalCluster(
                    n_workers=cores(), threads_per_worker=1, dashboard_address=seen_here
                )
                self._client = distributed.Client(cluster)
                self._started.append(cluster)
        self._started.insert(0, self._client)
        return self

    def _connected(self, client: Any) -> Any:
        try:
            return client(self.scheduler, timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError):
            raise InvalidInput(
                f"No Dask scheduler answers at {self.scheduler}.",
                "Give an address like tcp://host:8786.",
            ) from None

    def __exit__(self, *problem: object) -> None:
        for started in self._started:
            started.close()
        self._started, self._client = [], None

    def total(
        self, source: Source, count: BatchCount, on_progress: OnProgress = lambda share: None
    ) -> Sums:
        from dask import delayed

        counter = delayed(count, traverse=False, pure=False)
        columns = source.columns
        if isinstance(source.reader, DaskFrame):
            frames = source.reader.frame[list(columns)].to_delayed()
            parts = [delayed(_count_frame, pure=False)(frame, columns, counter) for frame in frames]
        else:
            threads = sum(self._client.nthreads().values()) or 1
            pieces = [
                delayed(s, traverse=False, pure=False) for s in source.split(PIECES * threads)
            ]
            parts = [delayed(_count_source, pure=False)(piece, counter) for piece in pieces]
        while len(parts) > 1:
            parts = [
                delayed(added, pure=False)(parts[i : i + FAN]) for i in range(0, len(parts), FAN)
            ]
        try:
            return settled(self._client.compute(parts[0]).result())
        except TabveilError:
            raise
        except Exception as problem:
            raise InvalidInput(
                f"The Dask cluster could not finish ({type(problem).__name__}).",
                "See what its scheduler and workers have logged; what was charged stays charged.",
            ) from None
        finally:
            on_progress(1.0)


def _count_source(source: Source, count: BatchCount) -> Sums | Trouble:
    return sums_or_trouble(source.batches(), count)


def _count_frame(
    frame: "pd.DataFrame", columns: tuple[str, ...], count: BatchCount
) -> Sums | Trouble:
    return _count_source(Source(PandasFrame(frame), columns), count)
