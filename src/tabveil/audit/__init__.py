"""Attempts to break the privacy claim, and what they measured."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

from tabveil.audit import fits, mechanisms
from tabveil.audit.finding import DELTA, FULL, QUICK, Finding, Job, Size

AUDITS: tuple[Callable[[Size], list[Job]], ...] = (mechanisms.jobs, fits.jobs)
"""Each turns a size into jobs."""


def audit(size: Size) -> Iterator[tuple[int, Finding]]:
    """Run every job on all processors; yields findings, with their place in the plan, as they come."""
    # Started afresh and not forked: JAX and its threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as workers:
        waiting = {workers.submit(job): number for number, job in enumerate(plan(size))}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def plan(size: Size) -> list[Job]:
    """All jobs of all audits."""
    return [job for jobs in AUDITS for job in jobs(size)]


__all__ = ["AUDITS", "DELTA", "FULL", "QUICK", "Finding", "Job", "Size", "audit", "plan"]
