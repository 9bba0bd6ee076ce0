"""Formats of files that tables come in, one format a file; FORMATS."""

from collections.abc import Callable
from pathlib import Path

from tabveil.sources.formats.csv import CsvFile
from tabveil.sources.formats.feather import ArrowFile
from tabveil.sources.formats.parquet import parquet_file
from tabveil.sources.reader import Reader

FORMATS: dict[str, Callable[[Path], Reader]] = {
    ".csv": CsvFile,
    ".csv.gz": CsvFile,
    ".parquet": parquet_file,
    ".feather": ArrowFile,
    ".arrow": ArrowFile,
}
"""What a name ends in, and the reader of such a file."""

__all__ = ["FORMATS"]
