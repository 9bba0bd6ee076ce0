"""JSON lines: one object a line."""

import json
from typing import BinaryIO

import pyarrow as pa

from tabveil.release.formats.format import Format
from tabveil.release.formats.simple import simple_cells


def write(table: pa.Table, file: BinaryIO, raw: bool) -> None:
    """Numbers and truths as such, everything else as text; missing cells are null."""
    for batch in simple_cells(table, moments=False).to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


FORMAT = Format((".jsonl",), write)
