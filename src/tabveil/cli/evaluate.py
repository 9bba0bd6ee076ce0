"""Compare synthetic with real rows."""

from pathlib import Path
from typing import Annotated

import typer

import tabveil as tv
from tabveil.cli.consoles import err, out, warn_not_private
from tabveil.cli.options import AsJson, SchemaFile, Targets
from tabveil.cli.progress import stage_bar


def evaluate(
    real: Annotated[Path, typer.Option(help="The real training rows.")],
    synthetic: Annotated[Path, typer.Option(help="Synthetic rows.")],
    schema: SchemaFile,
    test: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Real rows kept aside; without them there are no model scores and no reference "
                "values."
            )
        ),
    ] = None,
    targets: Targets = None,
    as_json: AsJson = False,
) -> None:
    """Compare synthetic with real rows. NOT private: for the owner's eyes.

    Example: `tabveil evaluate --real train.csv --test test.csv --synthetic s.csv --schema
    schema.yaml`
    """
    with stage_bar(err) as watch:
        scores = tv.evaluate(
            real=real,
            test=test,
            synthetic=synthetic,
            schema=tv.Schema.load(schema),
            targets=targets or None,
            watch=watch,
        )
    warn_not_private()
    if as_json:
        # Whoever is handed the lines alone must see it, too.
        print(scores.assign(private=False).to_json(orient="records"))
        return
    from tabveil.metrics import summary_table

    out.print(summary_table(scores))
