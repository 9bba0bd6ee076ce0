"""What every format of a file promises: the endings of its names, and how a table gets into one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa


@dataclass(frozen=True)
class Format:
    """One format: `write` puts a table into an open file, and is told whether texts stay raw."""

    suffixes: tuple[str, ...]
    write: Callable[[pa.Table, BinaryIO, bool], None]
    keeps_metadata: bool = False  # else a mark lies beside the file
    in_spreadsheets: bool = False  # whether formulas are made harmless, unless asked to stay raw
