"""Try to break the privacy claim."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.consoles import err, out
from tabveil.errors import TabveilError
from tabveil.machine.files import require_new


def audit(
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes instead of most of an hour.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option("--json", help="Also write the findings to this file.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many processes at a time.")] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Fits per world; more prove more. [default: 400, quick 200]"),
    ] = None,
) -> None:
    """Try to break the privacy claim on worst-case tables, and print how much loss was measured.

    Example: `tabveil audit --quick --json findings.json`

    Example: `tabveil audit --runs 2000 --jobs 16`
    """
    from tabveil.audit import FULL, QUICK
    from tabveil.audit.show import run_audit

    if file:
        require_new(file)
    size = QUICK if quick else FULL
    broken = run_audit(size if runs is None else replace(size, runs=runs), file, out, err, jobs)
    if broken:
        raise TabveilError(
            f"{broken} of the claims did not hold: this build must not be used.", "See SECURITY.md."
        )
