"""Progress of long commands on a terminal: stage, round, noisy loss, time left; nothing private."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("Counting rows", total=None)

        def watch(status: Status) -> None:
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
