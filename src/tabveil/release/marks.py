"""Synthetic rows say that they are synthetic: in the file, beside it, or in a column."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabveil.errors import InvalidInput
from tabveil.machine.files import atomic_write, require_new
from tabveil.release.output import format_of, write
from tabveil.release.release import STRUCTURE_ONLY, Release

KEY = b"synthetic"  # of the metadata of Arrow and Parquet files
COLUMN = "synthetic"


def mark_of(release: Release) -> dict[str, Any]:
    """What a file of synthetic rows says of itself."""
    said = release.privacy
    return {
        "synthetic": True,
        "about": "No row is a person. Drawn from noisy statistics of a real table.",
        "promise": said["promise"],
        "epsilon": said["epsilon"],
        "delta": said["delta"],
        "made_by": f"tabveil {said.get('versions', {}).get('tabveil', '')}".strip(),
        **({"structure_only": STRUCTURE_ONLY} if release.independent else {}),
    }


def write_marked(
    release: Release, table: pa.Table, path: Path, *, raw: bool = False, column: bool = False
) -> None:
    """Write synthetic rows that say so: inside the file, or beside it where that cannot be."""
    mark, keeps = mark_of(release), format_of(path).keeps_metadata
    if column:
        table = with_column(table)
    if keeps:
        write(marked(table, mark), path, raw=raw)
        return
    text = json.dumps(mark, indent=1, ensure_ascii=False)
    require_new(beside(path))
    atomic_write(beside(path), f"{text}\n".encode())
    try:
        write(table, path, raw=raw)
    except BaseException:
        beside(path).unlink(missing_ok=True)
        raise


def marked(table: pa.Table, mark: dict[str, Any]) -> pa.Table:
    """The table with the mark among its metadata, which Parquet and Arrow files keep."""
    text = json.dumps(mark, ensure_ascii=False).encode()
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: text})


def with_column(table: pa.Table) -> pa.Table:
    """The table with one more column that is true in every row."""
    if COLUMN in table.column_names:
        raise InvalidInput(
            f"There is a column {COLUMN} already.",
            "Leave out --mark-column; the file is marked anyway.",
        )
    return table.append_column(COLUMN, pa.array([True] * table.num_rows))


def beside(path: Path) -> Path:
    """Where the mark of a file lies that cannot hold one itself."""
    return path.with_name(f"{path.name}.synthetic.json")
