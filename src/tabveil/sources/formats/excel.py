"""Excel workbooks, for small tables: one sheet, whose first row holds the names."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabveil.errors import InvalidInput
from tabveil.machine.packages import required
from tabveil.sources.formats.csv import looks_like_data
from tabveil.sources.frames import cells_array
from tabveil.sources.reader import OnProgress, Reader, explained

LARGEST = 100_000_000  # bytes


class ExcelFile(Reader):
    """A sheet of a workbook, read whole; each cell is taken as it is shown to be typed."""

    advice = "Save it again as .xlsx, or as CSV."

    def __init__(self, path: Path, sheet: str = "") -> None:
        self.path, self.what = path, f"the Excel file {path.name}"
        if path.stat().st_size > LARGEST:
            raise InvalidInput(f"{path} is larger than 100 MB.", "Export it as CSV or Parquet.")
        calamine = required("python_calamine", "excel", "Reading Excel needs")
        with explained(f"{path} is not a readable Excel file.", self.advice):
            book = calamine.load_workbook(path)
            sheets = list(book.sheet_names)
        if sheet and sheet not in sheets:
            raise InvalidInput(f"{path} has no sheet {sheet}.", f"It has: {', '.join(sheets)}.")
        if not sheet and len(sheets) != 1:
            raise InvalidInput(
                f"{path} has {len(sheets)} sheets.",
                f"Name one: '{path.name}?sheet={sheets[0] if sheets else '...'}'.",
            )
        with explained(f"{path} is not a readable Excel file.", self.advice):
            header, *rows = book.get_sheet_by_name(sheet or sheets[0]).to_python() or [[]]
        self.rows: list[list[Any]] = rows
        self.names = [str(name) for name in header]
        self.in_doubt = looks_like_data(self.names)

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        places = [self.names.index(name) for name in columns]
        for start in range(0, len(self.rows), rows):
            part = self.rows[start : start + rows]
            cells = [
                cells_array([None if row[place] == "" else row[place] for row in part])
                for place in places
            ]
            yield pa.Table.from_arrays(cells, list(columns))

    def files_here(self) -> list[Path]:
        return [self.path]

    def count(self, column: str) -> int:
        return len(self.rows)
