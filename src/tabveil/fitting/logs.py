"""What a long run says of itself, by `logging`: public and noisy quantities; quiet by default."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tabveil.fitting.rappp import Status

LOG = logging.getLogger("tabveil")
LOG.addHandler(logging.NullHandler())


def logged(watch: Callable[[Status], None]) -> Callable[[Status], None]:
    """The same watcher, with a log line for each round."""

    def both(status: Status) -> None:
        if status.done is None:
            LOG.info(
                "round %d of %d: noisy loss %.3e", status.round, status.rounds, status.objective
            )
        watch(status)

    return both


@contextmanager
def log_file(path: Path | None) -> Iterator[None]:
    """Append what is logged meanwhile to a file that only its owner can read; no path, no file."""
    if path is None:
        yield
        return
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "a", encoding="utf-8") as file:
        writer, level = logging.StreamHandler(file), LOG.level
        writer.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        LOG.addHandler(writer)
        LOG.setLevel(logging.INFO)
        try:
            yield
        finally:
            LOG.removeHandler(writer)
            LOG.setLevel(level)
