"""Compare synthesizers on real tables."""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.consoles import err, out
from tabveil.errors import InvalidInput


def bench(
    config: Annotated[
        Path | None, typer.Argument(help="A TOML file that describes an experiment.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("-o", "--out", help="Where results are kept, cell by cell.")
    ] = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option("--data-dir", help="Where the real tables lie. [default: $TABVEIL_DATA]"),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many cells to run at once.")] = 1,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this synthesizer of the experiment; repeat for more."),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="Seconds after which a cell is given up.")
    ] = None,
    sdnist: Annotated[
        Path | None,
        typer.Option(
            help="A copy of github.com/usnistgov/SDNist, for experiments that it scores. "
            "[default: $TABVEIL_SDNIST]"
        ),
    ] = None,
    plot: Annotated[
        bool,
        typer.Option("--plot", help="Draw figures and tables from what is finished; run nothing."),
    ] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Where figures and tables go. [default: OUT/figures]")
    ] = None,
    shipped: Annotated[bool, typer.Option("--list", help="Show experiments and systems.")] = False,
    install: Annotated[
        str | None,
        typer.Option(help="Make the environment of a system that needs its own: dpctgan."),
    ] = None,
) -> None:
    """Compare synthesizers on real tables. NOT private: for researchers and the owner's eyes.

    Example: `tabveil bench benchmarks/quick.toml --data-dir tables -o results`

    Example: `tabveil bench benchmarks/quick.toml -o results --plot`
    """
    from tabveil.benchmark import command

    if shipped or install:
        command.show(out) if shipped else command.install(install or "", out)
        return
    if config is None:
        raise InvalidInput(
            "No experiment is named.", "tabveil bench --list shows those that are shipped."
        )
    if plot:
        command.plot(config, folder, figures or folder / "figures", out)
    else:
        command.run(config, folder, data, jobs, only or [], limit, sdnist, out, err)
