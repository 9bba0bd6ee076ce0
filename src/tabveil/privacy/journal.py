"""Noisy answers of an unfinished fit: a killed run goes on without paying for them again."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil import disk
from tabveil.errors import InvalidInput, TabveilError
from tabveil.privacy.ledger_file import (
    Charge,
    charge_from_json,
    charge_to_json,
    digest,
    line_of,
    open_own,
    record_in,
)

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Bought:
    """An answer, what was charged for it, and the hash of what exactly was asked."""

    charge: Charge
    asked: str
    answer: Integers


class Journal:
    """A file beside the ledger with every answer that one fit has bought so far, in order.

    An answer is on disk before anyone uses it. The ledger's lock keeps other processes out of it
    too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bought = self._read()
        self._next = 0

    def recall(self, charge: Charge, asked: str) -> Bought | None:
        """The answer to the next question if it was bought before; None if all were given out."""
        if self._next == len(self.bought):
            return None
        found = self.bought[self._next]
        if found.asked != asked or _price(found.charge) != _price(charge):
            raise InvalidInput(
                f"The journal {self.path} holds answers to other questions than this fit asks.",
                f"Remove it to start anew, which pays anew: {START_ANEW}",
            )
        self._next += 1
        return found

    def keep(self, bought: Bought) -> None:
        """Add an answer, on disk before this returns."""
        try:
            handle = open_own(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, "journal")
            try:
                disk.write_all(handle, line_of(_to_json(bought)))
                disk.sync(handle)
            finally:
                os.close(handle)
            if not self.bought:
                disk.sync_folder(self.path.parent)
        except OSError as error:
            raise TabveilError(
                f"An answer could not be written to the journal {self.path} ({error.strerror}).",
                "Make room, then run the same fit again: it goes on from the answers that are "
                "there.",
            ) from None
        self.bought.append(bought)
        self._next = len(self.bought)

    def remove(self) -> None:
        """The fit is over: forget its answers."""
        self.path.unlink(missing_ok=True)
        disk.sync_folder(self.path.parent)

    def _read(self) -> list[Bought]:
        if not os.path.lexists(self.path):
            return []
        handle = open_own(self.path, os.O_RDWR, "journal")
        try:
            content = disk.read_all(handle)
            lines = content.split(b"\n")
            # A killed run leaves a last line without its end; its answer was not used by anyone.
            torn = lines.pop()
            if torn:
                os.ftruncate(handle, len(content) - len(torn))
                disk.sync(handle)
        finally:
            os.close(handle)
        return [self._parsed(line, number) for number, line in enumerate(lines, start=1)]

    def _parsed(self, line: bytes, number: int) -> Bought:
        try:
            record = record_in(line) or {}
            charge = dict(record["charge"])
            charge.pop("kind")
            answer = np.array(record["answer"], np.int64).reshape(record["shape"])
            return Bought(charge_from_json(charge), record["asked"], answer)
        except Exception:
            raise InvalidInput(
                f"Line {number} of the journal {self.path} is damaged.",
                f"Remove it to start anew, which pays anew: {START_ANEW}",
            ) from None


START_ANEW = "what was spent stays spent."


def hash_of(asked: Sequence[NDArray[Any]]) -> str:
    """A hash of arrays: their shapes and whole numbers."""
    return digest(
        repr([(a.shape, a.astype(np.int64).tobytes()) for a in map(np.asarray, asked)]).encode()
    )


def _price(charge: Charge) -> tuple[Any, ...]:
    return charge.what, charge.rho, charge.mechanism, dict(charge.details)


def _to_json(bought: Bought) -> dict[str, Any]:
    return {
        "charge": charge_to_json(bought.charge),
        "asked": bought.asked,
        "shape": bought.answer.shape,
        "answer": bought.answer.ravel().tolist(),
    }
