"""Parquet: typed and compressed, read by nearly everything but spreadsheets."""

from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet

from tabveil.release.formats.format import Format


def write(table: pa.Table, file: BinaryIO, raw: bool) -> None:
    """Every cell as it is."""
    pa.parquet.write_table(table, file)


FORMAT = Format((".parquet",), write, keeps_metadata=True)
