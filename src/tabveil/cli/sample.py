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
from tabveil.release.marks import write_marked
from tabveil.release.release import STRUCTURE_ONLY
from tabveil.release.shares import spelled_shares


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
    shares: Annotated[
        list[str] | None,
        typer.Option(
            help="Other shares than the table had: sex=F:0.6 or city=Bern:0.2,Oslo:0.3; repeat."
        ),
    ] = None,
    at_least: Annotated[
        int,
        typer.Option(min=1, help="With --on: how often every combination of its columns comes."),
    ] = 1,
    on: Annotated[str, typer.Option(help="The columns of --at-least, such as age,sex,city.")] = "",
    mark_column: Annotated[
        bool, typer.Option("--mark-column", help="Also add a column `synthetic` that is true.")
    ] = False,
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

    Example: `tabveil sample release -n 1000 --shares sex=F:0.6 --at-least 3 --on sex,city`
    """
    require_new(file)
    loaded = tv.load(release)
    wanted = spelled_conditions(where or (), loaded.schema)
    with err.status("Drawing rows ..."):
        drawn = loaded.sample(
            rows,
            seed=seed,
            where=wanted,
            shares=spelled_shares(shares or (), loaded.schema),
            at_least=at_least,
            on=[name.strip() for name in on.split(",")] if on else (),
            kind="arrow",
        )
        write_marked(loaded, drawn, file, raw=raw, column=mark_column)
    out.print(f"Wrote {rows:,} synthetic rows to {file}.", markup=False)
    if loaded.independent:
        out.print(STRUCTURE_ONLY, markup=False)
    if wanted:
        left, of = loaded.effective_rows(wanted), loaded.probabilities.shape[1]
        out.print(
            f"They rest on about {left:,.0f} of the release's {of:,} relaxed rows.", markup=False
        )
