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
import pyarrow.compute as pc
import pyarrow.csv

from tabveil.errors import InvalidInput
from tabveil.sources.reader import OnProgress, Reader, explained

LONGEST_CSV_ROW = 32 * 2**20  # bytes
# What is a cell and hardly a name: nothing, numbers,
# dates, times, truths, and what stands for missing.
CELL = re.compile(
    r"[-+$€£(]*[\d.,][\d\s.,:;/+()%$€£TZtzeE-]*|true|false|nan|n/?a|null|none|\?|-|", re.IGNORECASE
)
OTHER_MARKS = (";", "\t", "|")
PERSONAL = re.compile(r"@|\d{5}")  # addresses, and numbers of people and things


# A number with a decimal comma, and nothing else in its cell.
DECIMAL_COMMA = r"^(\s*[-+]?\d+),(\d+\s*)$"


class CsvFile(Reader):
    """Separated text: cells are bytes; rows with too few or too many cells are skipped.

    What separates cells, the sign before decimals and the encoding are declared, not guessed: a
    guess would follow from the rows.
    """

    advice = "Check that every quote is closed and that no row is longer than 32 MB."
    is_text = True

    def __init__(
        self, path: Path, separator: str = ",", decimal: str = ".", encoding: str = "utf-8"
    ) -> None:
        self.path, self.what = path, f"the CSV file {path.name}"
        self.separator = _separator(separator)
        self.decimal_comma = _decimal_comma(decimal, self.separator)
        self.encoding = _encoding(encoding)
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
                self._unpacked(file), encoding=self.encoding, errors="replace", newline=""
            )
            lines = csv.reader(text, delimiter=self.separator)
            blank, names = next((number, row) for number, row in enumerate(lines) if row)
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
            io.BufferedReader(_ValidText(self._unpacked(file), self.encoding)) as stream,
        ):
            reader = pa.csv.open_csv(
                stream,
                read_options=pa.csv.ReadOptions(
                    block_size=LONGEST_CSV_ROW, skip_rows=self.blank if single else 0
                ),
                parse_options=pa.csv.ParseOptions(
                    delimiter=self.separator,
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
                table = pa.Table.from_batches([batch])
                yield _with_points(table) if self.decimal_comma else table
                on_progress(round(min(1.0, file.tell() / size), 2))

    @property
    def other_mark(self) -> str:
        """What seems to separate cells instead, by the header alone; empty if nothing does."""
        alone = self.names[0] if len(self.names) == 1 else ""
        return next((mark for mark in OTHER_MARKS if mark in alone), "")

    def files_here(self) -> list[Path]:
        return [self.path]

    def count(self, column: str) -> int:
        return sum(table.num_rows for table in self.batches([column], 0, lambda share: None))


def _separator(text: str) -> str:
    sign = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(sign) != 1 or sign in '"\r\n':
        raise InvalidInput(
            f"The separator {text!r} cannot be used.", "Give one sign, such as ; or | or tab."
        )
    return sign


def _decimal_comma(text: str, separator: str) -> bool:
    if text not in (".", ",") or text == separator:
        raise InvalidInput(
            f"Decimals after {text!r} cannot be read where {separator!r} separates cells.",
            "Declare decimal=, with another separator, such as ?separator=;&decimal=,",
        )
    return text == ","


def _encoding(text: str) -> str:
    """A text encoding that Python knows; UTF-8 may begin with a byte order mark."""
    try:
        found = codecs.lookup(text).name
        "".encode(found)
    except (LookupError, UnicodeError, ValueError):
        raise InvalidInput(
            f"There is no text encoding {text!r}.", "Such as utf-8, latin-1, cp1252 or utf-16."
        ) from None
    return "utf-8-sig" if found == "utf-8" else found


def _with_points(table: pa.Table) -> pa.Table:
    """Numbers with a decimal point instead of a comma; each cell by itself."""
    columns = [
        pc.replace_substring_regex(column.cast(pa.large_string()), DECIMAL_COMMA, r"\1.\2").cast(
            pa.large_binary()
        )
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, table.column_names)


def looks_like_data(names: Sequence[str]) -> bool:
    """Whether a first line looks like cells rather than names; asked of that line alone."""
    return len(set(names)) < len(names) or any(
        CELL.fullmatch(n.strip()) or PERSONAL.search(n) for n in names
    )


class _ValidText(io.RawIOBase):
    """A file's text as UTF-8, invalid parts replaced: pyarrow cannot skip a row that has any."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self.file, self.ready = file, b""
        self.decoder = codecs.getincrementaldecoder(encoding)("replace")

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
