"""Write a page about a release."""

from pathlib import Path
from typing import Annotated

import typer

import tabveil as tv
from tabveil.cli.consoles import err, out, warn_not_private
from tabveil.cli.progress import stage_bar
from tabveil.errors import InvalidInput
from tabveil.machine.files import require_new


def report(
    release: Annotated[Path, typer.Argument(help="A folder written by `tabveil fit`.")],
    file: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="[default: report.html, or internal-NOT-PRIVATE.html]"),
    ] = None,
    internal: Annotated[
        bool,
        typer.Option(
            "--internal", help="Compare with real rows: NOT private, for the owner's eyes."
        ),
    ] = False,
    real: Annotated[
        Path | None, typer.Option(help="The real training rows, for the internal page.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Real rows kept aside, for models and privacy checks.")
    ] = None,
    replicates: Annotated[
        int, typer.Option(help="Also bands from so many replicates, such as 20; takes longer.")
    ] = 0,
) -> None:
    """Write an offline page about a release, from noisy answers and synthetic rows alone.

    Example: `tabveil report release -o report.html`
    """
    from tabveil.report import internal_page, page

    if internal != (real is not None):
        raise InvalidInput(
            "The internal page needs real rows, and only the internal page may show them.",
            "Write --internal --real TRAIN together, or neither.",
        )
    if replicates and (internal or replicates < 2):
        raise InvalidInput(
            "Bands from replicates are for the page that may be passed on, and take two or more.",
            "Write e.g. --replicates 20, without --internal.",
        )
    file = file or Path("internal-NOT-PRIVATE.html" if internal else "report.html")
    require_new(file)
    loaded = tv.load(release)
    with stage_bar(err) as watch:
        made = (
            internal_page(loaded, real, test, watch)
            if internal
            else page(loaded, watch, replicates=replicates)
        )
        made.save(file)
    if internal:
        warn_not_private()
    out.print(f"Wrote {file}. Open it in any browser; it needs no network.", markup=False)
