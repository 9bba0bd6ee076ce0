"""What every way to bring a table promises, and how its failures are put into words."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pyarrow as pa

from tabveil.errors import InvalidInput, TabveilError

OnProgress = Callable[[float], None]
"""Is told which share of a file's bytes was read, in whole percents: progress, no count of rows."""


class Reader(ABC):
    """One way to bring a table; `names` is its header."""

    kind = "pandas"
    advice = "Write the file again, or try another format."
    is_text = False  # whether every cell is text, also those that spell numbers
    in_doubt = False  # whether the names may be cells, so that none of them may be shown
    what: str
    names: list[str]

    @abstractmethod
    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        """Tables with these columns, of any number of rows; about `rows` where one can choose."""

    @abstractmethod
    def count(self, column: str) -> int:
        """How many rows there are; `column` is one that is there."""

    def headers(self) -> list[tuple[str, list[str]]]:
        """Every header there is, and whose it is."""
        return [(self.what, self.names)]

    def types(self) -> dict[str, str]:
        """What is kept of the types of columns, in words: nothing that cells could have decided."""
        return {}

    def files_here(self) -> list[Path]:
        """The files on this machine that are read, if any."""
        return []

    def identity(self) -> list[tuple[str, int, int]]:
        """Of files only what the file system says: where they lie, their sizes and times."""
        files = self.files_here()
        return [(str(f.resolve()), f.stat().st_size, f.stat().st_mtime_ns) for f in files]

    def split(self, pieces: int) -> list[Self]:
        """About so many readers that together read every row once, each able to do so elsewhere."""
        return [self]


def sentence(text: str) -> str:
    """The text with a capital letter."""
    return text[:1].upper() + text[1:]


@contextmanager
def explained(message: str, hint: str) -> Iterator[None]:
    """Replace whatever a library says, which may quote cells, by one clear line."""
    try:
        yield
    except TabveilError:
        raise
    except Exception:
        raise InvalidInput(sentence(message), hint) from None
