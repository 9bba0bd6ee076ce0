"""Spend the budget once and write a release."""

from pathlib import Path
from typing import Annotated

import typer

import tabveil as tv
from tabveil.cli.consoles import err, out, say
from tabveil.cli.options import (
    DEFAULT,
    Delta,
    EngineName,
    LedgerFile,
    Preset,
    SchemaFile,
    Table,
    Targets,
)
from tabveil.cli.progress import progress_bar
from tabveil.cli.spending import say_spent_before
from tabveil.engines import engine_named
from tabveil.fitting.logs import log_file
from tabveil.machine.files import require_new
from tabveil.privacy import Ledger, Relation
from tabveil.privacy.balance import spent
from tabveil.sources import read_totals
from tabveil.sources.address import ledger_beside

HERE = EngineName("local")


def fit(
    data: Table,
    schema: SchemaFile,
    release: Annotated[Path, typer.Option("-o", "--out", help="The release folder to write.")],
    epsilon: Annotated[float, typer.Option(help="The privacy budget ε.")],
    delta: Delta = None,
    targets: Targets = None,
    preset: Preset = DEFAULT,
    neighbours: Annotated[
        Relation,
        typer.Option(help="What is protected: one row added or removed, or one row replaced."),
    ] = Relation.ADD_REMOVE,
    seed: Annotated[
        int,
        typer.Option(
            help="Drives public choices such as the start of the optimiser; never the noise."
        ),
    ] = 0,
    ledger: LedgerFile = None,
    engine: Annotated[EngineName, typer.Option(help="Where rows are counted.")] = HERE,
    scheduler: Annotated[
        str | None, typer.Option(help="The cluster: a Dask scheduler's address or a Spark master.")
    ] = None,
    public: Annotated[
        list[str] | None,
        typer.Option(
            help="A table like the private one that everybody may see, or an earlier release; "
            "again for more. Nothing in it is protected."
        ),
    ] = None,
    totals: Annotated[
        list[str] | None,
        typer.Option(
            help="A table of published totals: columns of the schema, and count, share or "
            "count_elsewhere; again for more. They come back in every sample."
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log-file", help="Append the course of the fit to this file; nothing private."
        ),
    ] = None,
) -> None:
    """Spend the budget once and write a release that anyone may sample from.

    Example: `tabveil fit people.csv --schema schema.yaml --epsilon 1 --target income -o release`
    """
    require_new(release)
    ledger = ledger or ledger_beside(data)
    declared = tv.Schema.load(schema)
    declared = declared.with_totals([read_totals(path, declared) for path in totals or ()])
    model = tv.RAPpp(
        declared,
        epsilon,
        delta=delta,
        targets=targets or None,
        preset=preset.value,
        neighbours=neighbours.value,
        seed=seed,
        ledger=ledger,
        engine=engine_named(engine.value, scheduler),
        public=public,
    )
    say_spent_before(ledger)
    with log_file(log), progress_bar(err) as watch:
        model.fit(data, watch=watch, save=release)
    if model.recalled_:
        out.print(
            f"Went on where an earlier run stopped: {model.recalled_} answers were not paid for "
            "again.",
            markup=False,
        )
    out.print(f"Wrote {release}. {model.release_.privacy['promise']}", markup=False)
    say(f"The cost is in {ledger}. {spent(Ledger.read(ledger))}")
    out.print(
        f"Next: tabveil sample {release} -n 1000 -o synthetic.csv, "
        f"or tabveil report {release} -o report.html",
        markup=False,
        soft_wrap=True,
    )
