"""What this machine offers: processors, and packages that the core does without."""

import os
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from tabveil.errors import InvalidInput


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


def required(module: str, extra: str, what_for: str = "This needs") -> Any:
    """A module of an extra, or one line that says how to get it."""
    try:
        with warnings.catch_warnings():  # some warn as they load, about nothing that is done here
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError:
        package = module.split(".")[0].replace("_", "-")
        raise InvalidInput(
            f"{what_for} the package {package}, which is not installed.",
            f"Install it with: pip install 'tabveil[{extra}]'",
        ) from None
