"""What every engine promises: what is counted in each batch, summed over all, wherever they lie."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tabveil.errors import InvalidInput, TabveilError
from tabveil.sources import Source
from tabveil.sources.reader import OnProgress

Sums = list[np.ndarray]
BatchCount = Callable[[pa.Table], Sums]
"""Integer arrays for a batch of rows, the same shapes for all; can go to another process."""


class Engine(ABC):
    """Where rows are counted; only sums of whole numbers come back, the same bits on any engine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        """Let go of what was started for this fit, and of nothing else."""
        return None

    def find(self, data: Any) -> Any:
        """The table that is meant; an engine may know tables by name."""
        return data

    @abstractmethod
    def total(
        self, source: Source, count: BatchCount, on_progress: OnProgress = lambda share: None
    ) -> Sums:
        """The sum over all batches of what `count` gives for one."""


@dataclass(frozen=True)
class Trouble:
    """What a worker could not do, in words that quote no cell; sent instead of sums."""

    message: str
    hint: str = ""


def sums_of(batches: Iterable[pa.Table], count: BatchCount) -> Sums:
    """What `count` gives, summed over some batches."""
    totals: Sums = []
    for batch in batches:
        counted = count(batch)
        if totals:
            for total, more in zip(totals, counted, strict=True):
                total += more
        else:
            totals = [np.array(c, np.int64) for c in counted]
    return totals


def sums_or_trouble(batches: Iterable[pa.Table], count: BatchCount) -> Sums | Trouble:
    """Like `sums_of` on a worker, whose errors would be logged with the rows they happened on."""
    try:
        return sums_of(batches, count)
    except TabveilError as problem:
        return Trouble(problem.message, problem.hint)
    except Exception as problem:
        return unforeseen(problem)


def unforeseen(problem: Exception) -> Trouble:
    """An error that nobody thought of: its words may quote a cell, so only its type is told."""
    return Trouble(
        f"The rows could not be counted (unexpected {type(problem).__name__}).",
        "Please report it. On the engine local, TABVEIL_DEBUG=1 shows the traceback (it may "
        "quote data: "
        "for the owner's eyes).",
    )


def added(parts: Iterable[Sums | Trouble]) -> Sums | Trouble:
    """The sum of sums, some of which may be of no batch at all; trouble if there was any."""
    totals: Sums = []
    for part in parts:
        if isinstance(part, Trouble):
            return part
        if part:
            totals = [a + b for a, b in zip(totals, part, strict=True)] if totals else part
    return totals


def settled(result: Sums | Trouble) -> Sums:
    """Sums that came from elsewhere, or the error that came instead."""
    if isinstance(result, Trouble):
        raise InvalidInput(result.message, result.hint)
    return result
