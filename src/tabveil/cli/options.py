"""Arguments and options that several commands share; choices follow the lists."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tabveil.engines import ENGINES
from tabveil.errors import either
from tabveil.fitting.presets import PRESETS
from tabveil.schema.importers import IMPORTERS
from tabveil.sources.formats import FORMATS

PresetName = StrEnum("PresetName", {name: name for name in PRESETS})  # type: ignore[misc]
ToolName = StrEnum("ToolName", {name: name for name in IMPORTERS})  # type: ignore[misc]
EngineName = StrEnum("EngineName", {name: name for name in ENGINES})  # type: ignore[misc]
DEFAULT = PresetName("default")
Preset = Annotated[PresetName, typer.Option(help="How to spend the budget.")]
Delta = Annotated[
    float | None,
    typer.Option(help="The privacy budget δ. [default: 1e-9; 1/n² for paper with substitute]"),
]
READABLE = f"A {either(FORMATS)} file"
PLACES = "a folder of Parquet files (also s3://...), a database's address"
Data = Annotated[str, typer.Argument(help=f"{READABLE}, or {PLACES}.")]
Table = Annotated[
    str,
    typer.Argument(help=f"{READABLE}, {PLACES}, or a Spark table."),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger", help="Where costs are written down. [default: DATA.ledger, beside the data]"
    ),
]
SchemaFile = Annotated[Path, typer.Option("--schema", help="The schema file, YAML or JSON.")]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target", help="A column to predict, instead of the schema's targets; repeat for more."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
