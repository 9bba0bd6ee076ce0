"""An audit for people and for programs: a table of findings, and the same as JSON."""

import json
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tabveil.audit import DELTA, Finding, Size, audit, plan
from tabveil.machine.files import atomic_write
from tabveil.machine.processors import cores


def run_audit(
    size: Size, file: Path | None, out: Console, err: Console, processes: int | None = None
) -> int:
    """Run every audit, show and write what it found, and return how many claims did not hold."""
    started, jobs = time.monotonic(), len(plan(size))
    processes = processes or cores()
    findings = audit(size, processes)
    numbered = dict(track(findings, "Auditing", jobs, console=err, disable=not err.is_terminal))
    found = [numbered[number] for number in range(jobs)]
    seconds = time.monotonic() - started
    out.print(table_of(found))
    broken = sum(not finding.holds for finding in found)
    out.print(
        f"{jobs} audits at δ = {DELTA:g} in {seconds / 60:.0f} min {seconds % 60:.0f} s with "
        f"{processes} "
        f"processes: {broken or 'no'} broken claims. Measured: lower bounds, 95 % sure.",
        markup=False,
    )
    if file:
        about = {
            "version": version("tabveil"),
            "delta": DELTA,
            "seconds": round(seconds),
            "processes": processes,
            "size": asdict(size),
        }
        atomic_write(
            file, json.dumps(about | {"findings": [asdict(f) for f in found]}, indent=1).encode()
        )
    return broken


def table_of(found: list[Finding]) -> Table:
    """Findings as a table to print."""
    grid = Table("audit", "case", "runs a world", "claimed", "measured", "verdict", box=SIMPLE)
    for finding in found:
        claimed = "" if finding.claimed is None else f"{finding.of} = {finding.claimed:.3g}"
        measured = "" if finding.measured is None else f"{finding.of} ≥ {finding.measured:.3g}"
        if finding.p_value is not None:
            measured = f"p = {finding.p_value:.2g}"
        verdict = f"{'holds' if finding.holds else 'BROKEN'} {finding.note}".strip()
        grid.add_row(finding.audit, finding.case, f"{finding.runs:,}", claimed, measured, verdict)
    return grid
