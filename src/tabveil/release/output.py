"""Tables handed back as people know them: frames of any kind, and files of any format."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabveil.columns.dtypes import as_type
from tabveil.errors import InvalidInput, either
from tabveil.machine.files import atomic_write
from tabveil.release.formats import SUFFIXES, Format
from tabveil.release.kinds import KINDS
from tabveil.schema import Schema, shown


def as_kind(
    table: pa.Table, kind: str, schema: Schema, types: Mapping[str, str] | None = None
) -> Any:
    """The table as a frame of one of the KINDS; dtypes follow from the schema and the given types.

    `types` are those that columns had when they came in (`Source.types`).
    """
    if kind not in KINDS:
        raise InvalidInput(f"{shown(kind)} is not a kind of frame.", f"Choose {either(KINDS)}.")
    types = types or {}
    names = table.column_names
    columns = {n: as_type(schema.columns[n], table.column(n), types.get(n, "")) for n in names}
    return KINDS[kind](pa.table(columns), schema, types)


def format_of(path: Path) -> Format:
    """The format that a name ends in, or one line that says which there are."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInput(
            f"{path} has an unknown extension.", f"Use a name that ends in {either(SUFFIXES)}."
        )
    return SUFFIXES[suffix]


def write(table: pa.Table, path: str | Path, *, raw: bool = False) -> None:
    """Write a file in the format that its name ends in, whole or not at all.

    Where spreadsheets open the format, texts that they would run as formulas get an apostrophe in
    front, unless `raw`.
    """
    path = Path(path)
    found = format_of(path)
    atomic_write(path, lambda file: found.write(table, file, raw))
