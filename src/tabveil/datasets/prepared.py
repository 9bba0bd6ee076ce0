"""What is made of a real table for benchmarks: rows to fit, rows to test on, and what is public."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tabveil.errors import InvalidInput
from tabveil.schema import Schema


@dataclass(frozen=True, repr=False)
class Prepared:
    """Rows to fit and rows that nobody fits, with one public schema."""

    train: pd.DataFrame
    test: pd.DataFrame
    schema: Schema


def split(frame: pd.DataFrame, schema: Schema, rows: int | None = None) -> Prepared:
    """Shuffled once and for all, perhaps cut to so many rows; 80 % to train, the rest to test."""
    order = np.random.default_rng(0).permutation(len(frame))[:rows]
    cut = int(0.8 * len(order))
    frame = frame[list(schema.columns)]
    return Prepared(frame.iloc[order[:cut]], frame.iloc[order[cut:]], schema)


def folder_of_tables(folder: str | Path | None) -> Path:
    """Where real tables lie: the folder given, or what TABVEIL_DATA names."""
    found = folder or os.environ.get("TABVEIL_DATA")
    if found is None:
        raise InvalidInput(
            "Real tables are not part of this package.",
            "Name their folder: --data-dir DIR, or TABVEIL_DATA.",
        )
    return Path(found)


def file_in(folder: Path, name: str) -> Path:
    """A file of this folder."""
    if not (folder / name).is_file():
        raise InvalidInput(
            f"{folder} has no file {name}.", "docs/benchmark.md says which files are needed."
        )
    return folder / name


def table_in(folder: Path, name: str) -> pd.DataFrame:
    """A Parquet file of this folder."""
    return pd.read_parquet(file_in(folder, name))
