"""Attempts to break the privacy claim, and what they measured."""

import itertools
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.queues import SimpleQueue

from tabveil.audit import discovery, fits, ledgers, mechanisms
from tabveil.audit.finding import DELTA, FULL, QUICK, Finding, Job, Size
from tabveil.machine.processors import cores, keep_to, processors

AUDITS: tuple[Callable[[Size], list[Job]], ...] = (
    mechanisms.jobs,
    ledgers.jobs,
    discovery.jobs,
    fits.jobs,
)
"""Each turns a size into jobs."""


def audit(size: Size, processes: int | None = None) -> Iterator[tuple[int, Finding]]:
    """Run every job; yields findings, with their place in the plan, as they come."""
    # Started afresh and not forked: JAX and its threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    processes = processes or cores()
    places = context.SimpleQueue()
    for place in itertools.islice(itertools.cycle(processors()), processes):
        places.put(place)
    with ProcessPoolExecutor(processes, context, settle, (places,)) as workers:
        waiting = {workers.submit(job): number for number, job in enumerate(plan(size))}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def settle(places: "SimpleQueue[int]") -> None:
    """Keep a process to one processor: its threads would only be in the way of other processes."""
    keep_to({places.get()})


def plan(size: Size) -> list[Job]:
    """All jobs of all audits."""
    return [job for jobs in AUDITS for job in jobs(size)]


__all__ = [
    "AUDITS",
    "DELTA",
    "FULL",
    "QUICK",
    "Finding",
    "Job",
    "Size",
    "audit",
    "plan",
]
