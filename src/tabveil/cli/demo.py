"""Try everything on simulated people."""

import itertools
import os
from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.consoles import out


def demo(
    folder: Annotated[Path, typer.Option("-o", "--out", help="Where to put the files.")] = Path(
        "tabveil-demo"
    ),
    epsilon: Annotated[float, typer.Option(help="The privacy budget ε.")] = 1.0,
    rows: Annotated[int, typer.Option(min=1000, help="How many people to simulate.")] = 50_000,
) -> None:
    """Try everything on a simulated census: fit, sample, compare.

    Example: `tabveil demo -o demo`
    """
    from tabveil.cli.demonstration import run_demo

    run_demo(_free(folder), epsilon, rows, out)


def _free(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, ... that is free: nothing is overwritten."""
    names = itertools.chain(
        [folder], (folder.with_name(f"{folder.name}-{i}") for i in itertools.count(2))
    )
    return next(name for name in names if not os.path.lexists(name))
