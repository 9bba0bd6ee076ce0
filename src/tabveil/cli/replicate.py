"""Draw several tables that differ as much as the noise of a release leaves open."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import tabveil as tv
from tabveil.cli.consoles import err, out
from tabveil.cli.progress import stage_bar
from tabveil.machine.files import require_new
from tabveil.release.formats import SUFFIXES

ENDINGS = [suffix.removeprefix(".") for suffix in SUFFIXES]
Ending = StrEnum("Ending", {name: name for name in ENDINGS})  # type: ignore[misc]
CSV = Ending("csv")


def replicate(
    release: Annotated[Path, typer.Argument(help="A folder written by `tabveil fit`.")],
    count: Annotated[int, typer.Option("-m", "--count", help="How many tables.")] = 20,
    folder: Annotated[Path, typer.Option("-o", "--out", help="A new folder.")] = Path("replicates"),
    ending: Annotated[Ending, typer.Option("--format", help="What files are written.")] = CSV,
    seed: Annotated[
        int | None, typer.Option(help="Draw the same tables again. [default: others each time]")
    ] = None,
) -> None:
    """Draw tables that differ as much as noise leaves open, for intervals that hold; free.

    Compute from each of them what you want to know and combine the results as with multiple
    imputation; README.txt in the folder says how, `tabveil.inference` does it.

    Example: `tabveil replicate release -m 20 -o replicates`
    """
    from tabveil.inference.replicates import draw

    require_new(folder)
    loaded = tv.load(release)
    with stage_bar(err) as watch:
        drawn = draw(loaded, count, seed=seed, watch=watch)
        drawn.save(folder, f".{ending.value}")
    rows = drawn.tables[0].num_rows
    out.print(f"Wrote {count} tables of {rows:,} rows each to {folder}.", markup=False)
    out.print("One of them alone gives intervals that are too narrow: combine all.", markup=False)
