"""Feather, that is Arrow's own file format: the table as it lies in memory, quick to open."""

from typing import BinaryIO

import pyarrow as pa
import pyarrow.feather

from tabveil.release.formats.format import Format


def write(table: pa.Table, file: BinaryIO, raw: bool) -> None:
    """Every cell as it is."""
    pa.feather.write_feather(table, file)


FORMAT = Format((".feather", ".arrow"), write, keeps_metadata=True)
