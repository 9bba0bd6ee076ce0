"""The processor cores that this process may use."""

import os
from collections.abc import Iterable


def processors() -> list[int]:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def cores() -> int:
    """How many processor cores this process may use."""
    return len(processors())


def keep_to(places: Iterable[int], process: int = 0) -> None:
    """Keep a process (0 is this one) to some cores, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(process, places)
