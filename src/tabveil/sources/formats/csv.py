"""Comma-separated text, packed or not."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv

from tabveil.sources.reader import OnProgress, Reader, explained

LONGEST_CSV_ROW = 32 * 2**20  # bytes
# What is a cell and hardly a name: nothing, numbers,
# dates, times, truths, and what stands for missing.
CELL = re.compile(
    r"[-+$€£(]*[\d.,][\d\s.,:;/+()%$€£TZtzeE-]*|true|false|nan|n/?a|null|none|\?|-|", re.IGNORECASE
)
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
OTHER_MARKS = (";", "\t", "|")
PERSONAL = re.compile(r"@|\d{5}")  # addresses, and numbers of people and things


class CsvFile(Reader):
    """Comma-separated text: cells are bytes; rows with too few or too many cells are skipped."""

    advice = "Check that every quote is closed and that no row is longer than 32 MB."
    is_text = True

    def __init__(self, path: Path) -> None:
        self.path, self.what = path, f"the CSV file {path.name}"
        self.names, self.blank, self.has_rows = self._header()
        self.in_doubt = looks_like_data(self.names)

    def _header(self) -> tuple[list[str], int, bool]:
        """The names, how many blank lines stand before them, and whether anything follows."""
        with (
            explained(
                f"{self.path} has no readable header line.",
                "Write the column names in the first line.",
            ),
            self.path.open("rb") as file,
        ):
            text = io.TextIOWrapper(
                self._unpacked(file), encoding="utf-8-sig", errors="replace", newline=""
            )
            blank, names = next((number, row) for number, row in enumerate(csv.reader(text)) if row)
            return names, blank, text.read(1) != ""

    def _unpacked(self, file: BinaryIO) -> BinaryIO:
        return gzip.open(file) if self.path.suffix.lower() == ".gz" else file  # type: ignore[return-value]

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        if not self.has_rows:
            return
        # Where rows have one cell, a blank line is a row whose cell is missing.
        single = len(self.names) == 1
        size = self.path.stat().st_size
        with (
            self.path.open("rb") as file,
            io.BufferedReader(_ValidText(self._unpacked(file))) as stream,
        ):
            reader = pa.csv.open_csv(
                stream,
                read_options=pa.csv.ReadOptions(
                    block_size=LONGEST_CSV_ROW, skip_rows=self.blank if single else 0
                ),
                parse_options=pa.csv.ParseOptions(
                    newlines_in_values=True,
                    ignore_empty_lines=not single,
                    invalid_row_handler=lambda _: "skip",
                ),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=list(columns),
                    column_types={name: pa.large_binary() for name in columns},
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
            for batch in reader:
                yield pa.Table.from_batches([batch])
                on_progress(round(min(1.0, file.tell() / size), 2))

    @property
    def other_mark(self) -> str:
        """What seems to separate cells instead of commas, by the header alone; empty if nothing."""
        alone = self.names[0] if len(self.names) == 1 else ""
        return next((mark for mark in OTHER_MARKS if mark in alone), "")

    def copy_with_commas(self, copy: BinaryIO) -> None:
        """Write the same rows with commas between cells, and points in numbers such as 3,5."""
        with (
            explained(f"{self.path} could not be copied.", self.advice),
            self.path.open("rb") as file,
        ):
            text = io.TextIOWrapper(
                self._unpacked(file), encoding="utf-8-sig", errors="replace", newline=""
            )
            written = io.TextIOWrapper(copy, encoding="utf-8", newline="")
            rows = csv.reader(text, delimiter=self.other_mark)
            csv.writer(written).writerows([_with_point(cell) for cell in row] for row in rows)
            written.detach()  # flushed; whoever opened the file closes it

    def files_here(self) -> list[Path]:
        return [self.path]

    def count(self, column: str) -> int:
        return sum(table.num_rows for table in self.batches([column], 0, lambda share: None))


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell.strip()) else cell


def looks_like_data(names: Sequence[str]) -> bool:
    """Whether a first line looks like cells rather than names; asked of that line alone."""
    return len(set(names)) < len(names) or any(
        CELL.fullmatch(n.strip()) or PERSONAL.search(n) for n in names
    )


class _ValidText(io.RawIOBase):
    """A file's bytes with invalid UTF-8 replaced: pyarrow cannot skip a row that holds any."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.ready = file, b""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        more = True
        while more and not self.ready:
            chunk = self.file.read(2**20)
            more = bool(chunk)
            self.ready = self.decoder.decode(chunk, final=not more).encode()
        size = min(len(buffer), len(self.ready))
        buffer[:size], self.ready = self.ready[:size], self.ready[size:]
        return size
