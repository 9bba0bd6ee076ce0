"""Draw synthetic rows from a release."""

from pathlib import Path
from typing import Annotated

import typer

import tabveil as tv
from tabveil.cli.consoles import err, out
from tabveil.errors import either
from tabveil.machine.files import require_new
from tabveil.release.conditions import spelled_conditions
from tabveil.release.formats import SUFFIXES
from tabveil.release.output import write


def sample(
    release: Annotated[Path, typer.Argument(help="A folder written by `tabveil fit`.")],
    rows: Annotated[int, typer.Option("-n", "--rows", help="How many synthetic rows.")] = 1000,
    file: Annotated[Path, typer.Option("-o", "--out", help=f"A {either(SUFFIXES)} file.")] = Path(
        "synthetic.csv"
    ),
    seed: Annotated[
        int | None, typer.Option(help="Draw the same rows again. [default: other rows each time]")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only rows with sex=F, sex=F|M, age=30..40 or wage=missing; repeat for more."
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help=(
                "Write texts to CSV as they are, also those that a spreadsheet would run as "
                "formulas."
            ),
        ),
    ] = False,
) -> None:
    """Draw synthetic rows from a release; costs no budget, as often as you like.

    Example: `tabveil sample release -n 10000 -o synthetic.csv`

    Example: `tabveil sample release -n 1000 --where sex=F --where age=30..40 -o women.csv`
    """
    require_new(file)
    loaded = tv.load(release)
    wanted = spelled_conditions(where or (), loaded.schema)
    with err.status("Drawing rows ..."):
        write(loaded.sample(rows, seed=seed, where=wanted, kind="arrow"), file, raw=raw)
    out.print(f"Wrote {rows:,} synthetic rows to {file}.", markup=False)
    if wanted:
        left, of = loaded.effective_rows(wanted), loaded.probabilities.shape[1]
        out.print(
            f"They rest on about {left:,.0f} of the release's {of:,} relaxed rows.", markup=False
        )
