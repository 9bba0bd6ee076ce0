"""Formats in which synthetic rows are written, one format a file; FORMATS."""

from tabveil.release.formats import csv, duckdb, feather, json_lines, parquet
from tabveil.release.formats.format import Format

FORMATS: tuple[Format, ...] = (
    csv.FORMAT,
    parquet.FORMAT,
    feather.FORMAT,
    json_lines.FORMAT,
    duckdb.FORMAT,
)
SUFFIXES: dict[str, Format] = {suffix: each for each in FORMATS for suffix in each.suffixes}

__all__ = ["FORMATS", "SUFFIXES", "Format"]
