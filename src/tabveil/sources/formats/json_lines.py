"""JSON lines: one object a line, its keys the names of the columns."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabveil.sources.frames import cells_array
from tabveil.sources.reader import OnProgress, Reader, explained


class JsonLines(Reader):
    """Cells as the values of keys, each by itself; lines that hold no object are skipped.

    The first line names the columns. A key that another line lacks is a missing cell there.
    """

    advice = "Check that every line is one JSON object."

    def __init__(self, path: Path) -> None:
        self.path, self.what = path, f"the JSON lines file {path.name}"
        with explained(f"{path} does not begin with a JSON object.", self.advice):
            self.names = list(next(self._objects()))

    def _objects(self) -> Iterator[dict[str, Any]]:
        with self.path.open(encoding="utf-8-sig", errors="replace") as lines:
            for line in lines:
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(found, dict):
                    yield found

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        objects = self._objects()
        while part := list(islice(objects, max(1, rows))):
            cells = [cells_array([found.get(name) for found in part]) for name in columns]
            yield pa.Table.from_arrays(cells, list(columns))

    def files_here(self) -> list[Path]:
        return [self.path]

    def count(self, column: str) -> int:
        return sum(1 for _ in self._objects())
