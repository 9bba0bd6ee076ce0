"""Comma-separated text."""

from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from tabveil.release.formats.format import Format
from tabveil.release.spreadsheets import plain_cells


def write(table: pa.Table, file: BinaryIO, raw: bool) -> None:
    """Every cell as text, harmless to spreadsheets unless `raw`."""
    pa.csv.write_csv(plain_cells(table, raw), file)


FORMAT = Format((".csv",), write, in_spreadsheets=True)
