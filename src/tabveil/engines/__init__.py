"""Where sums over the private rows are computed; every engine gives the same bits."""

from collections.abc import Callable

from tabveil.engines.dask import Dask
from tabveil.engines.engine import BatchCount, Engine, OnProgress, Sums
from tabveil.engines.local import Local
from tabveil.engines.spark import Spark
from tabveil.errors import InvalidInput

ENGINES: dict[str, Callable[..., Engine]] = {"local": Local, "dask": Dask, "spark": Spark}


def engine_named(name: str, scheduler: str | None = None) -> Engine:
    """The engine of this name; `scheduler` is the address of a cluster, if there is one."""
    if name not in ENGINES:
        raise InvalidInput(f"There is no engine {name}.", f"Choose from: {', '.join(ENGINES)}.")
    return ENGINES[name](scheduler)


__all__ = [
    "ENGINES",
    "BatchCount",
    "Dask",
    "Engine",
    "Local",
    "OnProgress",
    "Spark",
    "Sums",
    "engine_named",
]
