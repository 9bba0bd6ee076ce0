"""DuckDB: a database in one file, with one table, `synthetic`."""

import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from tabveil.machine.packages import required
from tabveil.release.formats.format import Format
from tabveil.release.formats.simple import simple_cells

TABLE = "synthetic"


def write(table: pa.Table, file: BinaryIO, raw: bool) -> None:
    """Every cell in a type that SQL knows; lengths of time as text."""
    duckdb = required("duckdb", "duckdb", "Writing a DuckDB file needs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.duckdb"
        with duckdb.connect(str(path)) as database:
            database.register("given", simple_cells(table, moments=True))
            database.execute(f"CREATE TABLE {TABLE} AS SELECT * FROM given")
        with path.open("rb") as made:
            shutil.copyfileobj(made, file)


FORMAT = Format((".duckdb",), write)
