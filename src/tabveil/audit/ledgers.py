"""Audits of the ledger: whoever cuts, forks or replaces it is found out by releases it paid for."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tabveil.audit.finding import Finding, Job, Size
from tabveil.privacy import Ledger, Mechanism, Place, Relation

COST = Fraction(1, 1000)


def jobs(size: Size) -> list[Job]:
    """Every way to tamper with a file that we can think of."""
    return [Tampered(name) for name in TAMPERING]


@dataclass(frozen=True)
class Tampered:
    """A ledger pays for a release, someone tampers with it, and the release is held against it."""

    how: str

    def __call__(self) -> Finding:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger"
            copy = Path(folder) / "copy"
            _charge(path, "an earlier release")
            shutil.copy(path, copy)
            place = _charge(path, "this release")
            TAMPERING[self.how](path, copy)
            trouble = Ledger.read(path).trouble_with(place)
        noticed = bool(trouble) == (self.how != "left alone")
        return Finding("ledger", self.how, 1, noticed, note=trouble or "nothing to notice")


def _charge(path: Path, what: str) -> Place:
    with Ledger.open(path, Relation.ADD_REMOVE) as ledger:
        ledger.charge(what, COST, Mechanism.GAUSSIAN)
        place = ledger.place
    assert place is not None
    return place


def _leave(path: Path, copy: Path) -> None:
    """Later releases come on top; nothing is wrong with that."""
    _charge(path, "a later release")


def _cut(path: Path, copy: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))


def _fork(path: Path, copy: Path) -> None:
    _charge(copy, "another release, charged to a copy")
    _charge(copy, "and one more")
    shutil.copy(copy, path)


def _replace(path: Path, copy: Path) -> None:
    path.unlink()
    for what in ("a new beginning", "and so on"):
        _charge(path, what)


TAMPERING: dict[str, Callable[[Path, Path], None]] = {
    "left alone": _leave,
    "cut at the end": _cut,
    "forked": _fork,
    "replaced": _replace,
}
