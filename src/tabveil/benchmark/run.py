"""Cells that are not finished yet, each in a process of its own; what ends well is kept at once."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tabveil.benchmark.experiment import Cell, Experiment
from tabveil.errors import Interrupted, TabveilError
from tabveil.machine.files import atomic_write
from tabveil.machine.processors import keep_to, processors

PAUSE = 0.2  # seconds between two looks at what is running


@dataclass
class Running:
    """A cell in its process."""

    cell: Cell
    process: subprocess.Popen
    log: Path  # what it says
    slot: int
    began: float

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


@dataclass(frozen=True)
class Outcome:
    """How a run went."""

    finished: int
    failed: tuple[str, ...]  # a cell and its last words, each


def run(
    experiment: Experiment,
    out: Path,
    *,
    data: Path | None = None,
    jobs: int = 1,
    limit: float | None = None,
    console: Console,
) -> Outcome:
    """Run what is missing of an experiment; stopping it loses only the cells under way."""
    cells = list(experiment.cells())
    for name in ("cells", "answers", "logs"):
        (out / name).mkdir(parents=True, exist_ok=True)
    limit = limit or experiment.limit
    waiting = [cell for cell in cells if not finished(out, cell, limit)]
    running: list[Running] = []
    failed: list[str] = []
    with progress(console, experiment.title, len(cells), len(cells) - len(waiting)) as advance:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    free = min(set(range(jobs)) - {one.slot for one in running})
                    running.append(started(waiting.pop(0), out, data, free, jobs))
                time.sleep(PAUSE)
                for one in list(running):
                    if one.process.poll() is not None:
                        running.remove(one)
                        if one.process.returncode:
                            failed.append(f"{one.cell.name}: {last_words(one)}")
                        advance(one.cell.name)
                    elif limit and one.seconds > limit:
                        stop([one])
                        running.remove(one)
                        give_up(out, one)
                        advance(one.cell.name)
        except KeyboardInterrupt:
            stop(running)
            done = sum(finished(out, cell, limit) for cell in cells)
            raise Interrupted(
                f"Stopped: {done} of {len(cells)} cells are finished and kept in {out}.",
                "The same command goes on from there.",
            ) from None
        except BaseException:
            stop(running)
            raise
    return Outcome(sum(finished(out, cell, limit) for cell in cells), tuple(failed))


def started(cell: Cell, out: Path, data: Path | None, slot: int, jobs: int) -> Running:
    """A process that measures one cell, on a share of the cores that no other cell uses."""
    asked = {
        "cell": cell.to_dict(),
        "folder": None if data is None else str(data),
        "out": str(out),
        "file": str(result_file(out, cell)),
        "command": shlex.join(["tabveil", *sys.argv[1:]]),
    }
    log = out / "logs" / f"{cell.name}.log"
    with log.open("wb") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "tabveil.benchmark.cell"],
            stdin=subprocess.PIPE,
            stdout=words,
            stderr=words,
            start_new_session=True,  # Ctrl-C reaches us alone, and we end our cells
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
    if jobs > 1:
        # Thread pools are as wide as the cores that a process may use when it starts.
        keep_to(processors()[slot::jobs] or processors(), process.pid)
    assert process.stdin is not None
    process.stdin.write(json.dumps(asked).encode())
    process.stdin.close()
    return Running(cell, process, log, slot, time.monotonic())


def stop(running: Sequence[Running]) -> None:
    """End these processes and wait until they are gone."""
    for one in running:
        one.process.terminate()
    for one in running:
        try:
            one.process.wait(5)
        except subprocess.TimeoutExpired:
            one.process.kill()
            one.process.wait()


def give_up(out: Path, one: Running) -> None:
    """Write down that a cell was not finished within its time."""
    result = {
        "cell": one.cell.to_dict(),
        "status": "unfinished",
        "seconds": {"fit": round(one.seconds, 1)},
    }
    atomic_write(result_file(out, one.cell), json.dumps(result, indent=1).encode())


def last_words(one: Running) -> str:
    """The last line that a process wrote before it failed."""
    lines = one.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    told = [line for line in lines if line.startswith(("tabveil.errors", "Hint:"))]
    return " ".join(told[-2:]) if told else (lines[-1] if lines else "ended without a word")


def finished(out: Path, cell: Cell, limit: float | None) -> bool:
    """Whether a cell needs no more run: it is done, or was given as much time as now before."""
    file = result_file(out, cell)
    if not file.is_file():
        return False
    result: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return result["status"] == "done" or (limit is not None and result["seconds"]["fit"] >= limit)


def result_file(out: Path, cell: Cell) -> Path:
    """Where the result of a cell is kept."""
    return out / "cells" / f"{cell.name}.json"


@contextmanager
def progress(console: Console, title: str, total: int, done: int) -> Iterator[Any]:
    """A bar over all cells on a terminal, and a line for each cell where there is none."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(title, total=total, completed=done)

        def advance(name: str) -> None:
            bar.advance(task)
            bar.update(task, description=f"{title}: {name}"[:80])
            if not console.is_terminal:
                console.print(f"{int(bar.tasks[0].completed)} of {total}: {name}", highlight=False)

        yield advance


def refuse_failures(outcome: Outcome) -> None:
    """One line for all cells that failed, after the others are done."""
    if outcome.failed:
        more = f" ({len(outcome.failed)} cells failed)" if len(outcome.failed) > 1 else ""
        raise TabveilError(
            f"{outcome.failed[0]}{more}", "All other cells are kept; run the command again."
        )
