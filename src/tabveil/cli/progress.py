"""Progress of long commands on a terminal: stage, round, noisy loss, time left; nothing private."""

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tabveil.errors import Interrupted
from tabveil.fitting.rappp import Status


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[Status], None]]:
    """Yield a watcher for `fit` that draws on this console; Ctrl-C ends in a clear line."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with (
        _interruptible() as heed,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("Counting rows", total=None)

        def watch(status: Status) -> None:
            heed()
            if status.done is not None:
                bar.update(task, description=f"Reading rows, {status.done:.0%}")
                return
            bar.update(
                task,
                description=f"Fitting, noisy loss {status.objective:.2e}",
                total=status.rounds,
                completed=status.round,
            )

        try:
            yield watch
        except KeyboardInterrupt:
            raise Interrupted(
                "Stopped: no release was written.",
                "What the ledger shows as spent stays spent; the same command goes on from there.",
            ) from None


@contextmanager
def _interruptible() -> Iterator[Callable[[], None]]:
    """Yield what raises a Ctrl-C again that came where Python drops it, as while it clears up."""
    heard = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard = True
        clears_up = [getattr(callback, "__code__", None) for callback in gc.callbacks]
        if frame is None or frame.f_code not in clears_up:
            raise KeyboardInterrupt

    def heed() -> None:
        if heard:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread()
    if not ours or before is not signal.default_int_handler:  # somebody else decides about Ctrl-C
        yield heed
        return
    signal.signal(signal.SIGINT, hear)
    try:
        yield heed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stage_bar(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a watcher that hears which stage of how many begins; for commands that fit nothing."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("Reading", total=None)

        def watch(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage.capitalize(), completed=done, total=total)

        yield watch
