"""Formats of files that tables come in, one format a file; FORMATS."""

from collections.abc import Callable

from tabveil.sources.databases import duckdb_file
from tabveil.sources.formats.csv import CsvFile
from tabveil.sources.formats.excel import ExcelFile
from tabveil.sources.formats.feather import ArrowFile
from tabveil.sources.formats.json_lines import JsonLines
from tabveil.sources.formats.parquet import parquet_file
from tabveil.sources.reader import Reader

FORMATS: dict[str, Callable[..., Reader]] = {
    ".csv": CsvFile,
    ".csv.gz": CsvFile,
    ".parquet": parquet_file,
    ".feather": ArrowFile,
    ".arrow": ArrowFile,
    ".jsonl": JsonLines,
    ".duckdb": duckdb_file,
    ".xlsx": ExcelFile,
}
"""What a name ends in, and the reader of such a file: of its path, and of what may be declared."""

__all__ = ["FORMATS"]
