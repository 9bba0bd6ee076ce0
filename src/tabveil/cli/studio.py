"""The whole job in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.consoles import say
from tabveil.cli.options import READABLE
from tabveil.errors import InvalidInput
from tabveil.machine.packages import required


def studio(
    data: Annotated[
        str | None, typer.Argument(help=f"{READABLE}; it can be chosen later, too.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="Begin with this schema file, YAML or JSON.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("-o", "--out", help="Where drafts and releases are kept.")
    ] = Path("tabveil-studio"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="A fixed port. [default: any free one]")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the link in a browser.")
    ] = True,
) -> None:
    """Do the whole job in a browser, on this machine alone: from a table to a release.

    Example: `tabveil studio people.csv`

    Example: `tabveil studio people.csv --schema schema.yaml`
    """
    if schema is not None and data is None:
        raise InvalidInput("A schema needs its table.", "tabveil studio DATA --schema SCHEMA")
    for module in ("starlette", "uvicorn", "jinja2"):
        required(module, "studio", "The studio needs")
    from tabveil.studio.projects import Workplace
    from tabveil.studio.server import serve

    serve(Workplace(folder.absolute()), data, schema, port=port, browser=browser, say=say)
