"""A ledger on disk: locked, chained lines that survive kills, full disks and curious editors."""

import errno
import hashlib
import json
import math
import os
import re
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from tabveil import disk
from tabveil.errors import InvalidInput, LedgerDamaged, TabveilError
from tabveil.privacy.budget import Budget, Relation

FORMAT, VERSION = "tabveil-ledger", 1
HEADER_START = json.dumps({"format": FORMAT}, separators=(",", ":"))[:-1].encode()


@dataclass(frozen=True)
class Charge:
    """One thing that was paid for; `details` holds public settings, nothing computed from rows."""

    what: str
    rho: Fraction
    mechanism: str
    details: Mapping[str, Any]
    when: str

    @property
    def delta(self) -> Fraction:
        """The δ that the mechanism itself uses up, as by naming values that were not public."""
        return Fraction(self.details.get("delta", 0))

    @property
    def mark(self) -> str:
        """A short text that no other charge has, by which a schema or a release can point to it."""
        return digest(_canonical(charge_to_json(self)))[:16]


@dataclass
class Account:
    """The contents of a ledger, wherever they are kept."""

    relation: Relation
    limit: Budget | None
    charges: list[Charge] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  # the hash of each line of its file
    notes: list[str] = field(default_factory=list)
    spent: Fraction = Fraction(0)

    def add(self, charge: Charge) -> None:
        self.charges.append(charge)
        self.spent += charge.rho


class LedgerFile:
    """A locked JSON-lines file; each line carries the hash of the one before and a check of itself.

    Salt makes each line another, also where the same is charged to two copies in the same second.
    Lines taken off the end whole cannot be noticed from the file alone: keep it where only its
    owner writes.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.owner = path, os.getpid()
        self.length, self.usable = 0, True
        self.lines: list[str] = []  # hashes; shared with the account
        self.handle = _locked(path)
        # A ledger that is dropped without close() must not keep its lock until the program ends.
        self._release = weakref.finalize(self, _unlock, self.handle, self.owner)

    def start_account(self, account: Account) -> Account:
        """Begin an empty file."""
        self.lines = account.lines
        disk.keep_to_owner(self.handle)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "relation": account.relation,
            "limit": account.limit and asdict(account.limit),
            "when": now(),
        }
        self._append(line_of(header | {"salt": _salt()}), "The first line")
        disk.sync_folder(self.path.parent)
        return account

    def continue_account(self) -> Account | None:
        """What an existing file holds, its torn last line repaired; None if there is nothing."""
        content = disk.read_all(self.handle)
        account, good = parse(content, self.path)
        self.lines = account.lines if account else []
        self.length = len(content)
        # A run that was killed while writing leaves a last line without its end. `charge` returns
        # after the whole line is on disk, so nobody measured anything on a torn one: dropping it
        # forgets no spending, and refusing it would lock the owner out for no gain. A last line
        # that lacks nothing but its line break is kept as spent. Anything else that looks wrong was
        # not left by a crash: `parse` refuses it.
        if good < len(content):
            try:
                os.ftruncate(self.handle, good)
                disk.sync(self.handle)
            except OSError as error:
                raise self._unwritable(
                    "A repair of the last line", error, "It may still need it."
                ) from None
            self.length = good
            if account:
                self._note(
                    account, "an unfinished last line, on which nothing was measured, was removed"
                )
        elif account and not content.endswith(b"\n"):
            self._append(b"\n", "A repair of the last line")
            self._note(account, "the missing line break of the last line was added")
        return account

    def append(self, record: dict[str, Any], what: str) -> None:
        """Chain a record to the last line, on disk before this returns."""
        if not self.usable or os.getpid() != self.owner:
            raise TabveilError(
                f"This process cannot charge anything more to {self.path}: a write failed, or it "
                "was forked.",
                "Start a new run; what was spent stays spent.",
            )
        self._append(line_of({"previous": self.lines[-1], **record, "salt": _salt()}), what)

    def close(self) -> None:
        self._release()

    def _note(self, account: Account, text: str) -> None:
        self.append({"kind": "note", "text": text, "when": now()}, "A note on the repair")
        account.notes.append(text)

    def _append(self, line: bytes, what: str) -> None:
        self._require_in_place()
        # It stays so if anything below is cut short in a way that we cannot undo.
        self.usable = False
        try:
            disk.write_all(self.handle, line)
            disk.sync(self.handle)
        except OSError as error:
            try:
                os.ftruncate(self.handle, self.length)
                disk.sync(self.handle)
            except OSError:
                raise self._unwritable(what, error, "This run will charge nothing more.") from error
            self.usable = True
            raise self._unwritable(what, error, "The ledger is as it was before.") from error
        self.length += len(line)
        if line != b"\n":
            self.lines.append(digest(line.rstrip(b"\n")))
        self.usable = True

    def _require_in_place(self) -> None:
        try:
            there = os.stat(self.path, follow_symlinks=False)
        except OSError:
            there = None
        here = os.fstat(self.handle)
        if there is None or not os.path.samestat(there, here) or here.st_size != self.length:
            raise TabveilError(
                f"{self.path} was moved, replaced or changed while it was in use, so nothing was "
                "charged.",
                "Leave the ledger where it is while a run is going on, and start a new run.",
            )

    def _unwritable(self, what: str, error: OSError, state: str) -> TabveilError:
        return TabveilError(
            f"{what} could not be charged: writing to the ledger {self.path} failed "
            f"({error.strerror}).",
            f"{state} Check the disk it is on, then start a new run.",
        )


# Reading a file: a total function from bytes to an account or a refusal.


def parse(content: bytes, path: Path) -> tuple[Account | None, int]:
    """The account, and how many bytes of the file are good."""
    lines = content.split(b"\n")
    tail = lines.pop()
    if not lines and not _is_record(tail):
        if HEADER_START.startswith(tail) or tail.startswith(HEADER_START):
            _require_torn(tail, path)
            return None, 0  # the run that started it was killed before anything was charged
        raise _not_a_ledger(path)
    keep_tail = _is_record(tail)
    if keep_tail:
        lines.append(tail)
    account = _header(lines[0], path)
    account.lines.append(digest(lines[0]))
    for number, line in enumerate(lines[1:], start=2):
        _add_record(account, line, path, number)
    if tail and not keep_tail:
        start = f'{{"previous":"{account.lines[-1]}"'.encode()
        if not (start.startswith(tail) or tail.startswith(start)):
            raise _damaged(path, len(lines) + 1)
        _require_torn(tail, path)
        return account, len(content) - len(tail)
    return account, len(content)


def _header(line: bytes, path: Path) -> Account:
    if not line.startswith(HEADER_START):
        raise _not_a_ledger(path)
    if not line.startswith(HEADER_START + f',"version":{VERSION},'.encode()):
        raise LedgerDamaged(
            f"{path} is a ledger of another version; this program knows version {VERSION}.",
            "Use the version of tabveil that wrote it, or a newer one.",
        )
    header = record_in(line)
    if header is None:
        raise _damaged(path, 1)
    try:
        limit = header["limit"]
        return Account(Relation(header["relation"]), None if limit is None else Budget(**limit))
    except (AttributeError, KeyError, TypeError, ValueError, InvalidInput):
        raise _damaged(path, 1) from None


def _add_record(account: Account, line: bytes, path: Path, number: int) -> None:
    record = record_in(line)
    if record is None or record.pop("previous", None) != account.lines[-1]:
        raise _damaged(path, number)
    record.pop("salt", None)
    try:
        match record.pop("kind"):
            case "charge":
                account.add(charge_from_json(record))
            case "note":
                account.notes.append(text(record["text"]))
            case _:
                raise ValueError("not a kind of record that we write")
    except (AttributeError, KeyError, TypeError, ValueError, InvalidInput):
        raise _damaged(path, number) from None
    account.lines.append(digest(line))


def charge_to_json(charge: Charge) -> dict[str, Any]:
    return {
        "kind": "charge",
        "what": charge.what,
        "rho": f"{charge.rho.numerator}/{charge.rho.denominator}",
        "mechanism": charge.mechanism,
        "details": charge.details,
        "when": charge.when,
    }


def charge_from_json(record: dict[str, Any]) -> Charge:
    if not re.fullmatch(r"[0-9]+/[0-9]*[1-9][0-9]*", record["rho"]):
        raise ValueError("not a positive fraction")
    rho = cost(Fraction(record.pop("rho")))
    details = public(record.pop("details"))
    return Charge(rho=rho, details=details, **{name: text(value) for name, value in record.items()})


def line_of(record: dict[str, Any]) -> bytes:
    """The record as one line of JSON that ends in the hash of the rest of it."""
    return _canonical({**record, "check": digest(_canonical(record))}) + b"\n"


def record_in(line: bytes) -> dict[str, Any] | None:
    """The record in a line, or None if not every byte is as it was written."""
    try:
        record = json.loads(line)
        check = record.pop("check")
        intact = check == digest(_canonical(record)) and line == _canonical(
            {**record, "check": check}
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return record if intact else None


def _is_record(line: bytes) -> bool:
    return record_in(line) is not None


def _require_torn(tail: bytes, path: Path) -> None:
    """Refuse a last line that goes on after its end, which no killed write leaves behind."""
    try:
        json.JSONDecoder().raw_decode(tail.decode("ascii"))
    except json.JSONDecodeError:
        return
    except (ValueError, RecursionError):
        pass
    raise LedgerDamaged(f"The last line of {path} is damaged.", DAMAGE_HINT)


def _canonical(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()


def digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


# Opening and closing, in words that people can use.


def open_own(path: Path, flags: int, what: str = "ledger") -> int:
    """A handle on an ordinary file of the owner's; no link is followed."""
    try:
        return disk.opened(path, flags)
    except disk.NotOrdinary:
        problem, hint = "must be an ordinary file", "Choose another path."
    except OSError as error:
        if error.errno == errno.ELOOP:
            problem, hint = "must not be a symbolic link", "Name the file that it points to."
        else:
            problem, hint = (
                f"cannot be opened ({error.strerror})",
                "Check the folder and its permissions, or name another place with --ledger.",
            )
    raise InvalidInput(f"The {what} {path} {problem}.", hint)


def _locked(path: Path) -> int:
    handle = open_own(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        if disk.lock(handle):
            return handle
        problem, hint = "is in use by another run", "Wait for that run to end, then try again."
    except OSError as error:
        problem, hint = f"cannot be locked ({error.strerror})", "Keep it on a local disk."
    os.close(handle)
    raise TabveilError(f"The ledger {path} {problem}.", hint)


@contextmanager
def readable(path: Path) -> Iterator[int]:
    handle = open_own(path, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TabveilError(
            f"The ledger {path} cannot be used ({error.strerror}).", "Check the disk it is on."
        ) from error


def _unlock(handle: int, owner: int) -> None:
    # A forked child shares its parent's lock: it must not end it,
    # and must not keep it after the parent did.
    if os.getpid() == owner:
        disk.unlock(handle)
    os.close(handle)


# How a refusal reads, and what may be written down.

DAMAGE_HINT = "Restore it from a backup; without its history nobody can say what is left to spend."


def _damaged(path: Path, number: int) -> LedgerDamaged:
    return LedgerDamaged(
        f"Line {number} of the ledger {path} is damaged or was changed.", DAMAGE_HINT
    )


def _not_a_ledger(path: Path) -> LedgerDamaged:
    return LedgerDamaged(
        f"{path} does not begin like a tabveil ledger.", "Was this the right file?"
    )


def _salt() -> str:
    """A text that comes once: no two processes, and no two moments of one, have it in common."""
    return f"{time.time_ns():x}-{time.monotonic_ns():x}-{os.getpid():x}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def cost(rho: Fraction) -> Fraction:
    if isinstance(rho, float) or not rho > 0:
        raise InvalidInput(
            f"A charge of ρ = {rho} was asked for, but it must be an exact fraction above 0."
        )
    return Fraction(rho)


def public(details: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in details.items():
        if not (
            isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
        ):
            raise InvalidInput(
                f"The detail {name!r} must be a text, a finite number, true or false."
            )
    if not (isinstance(delta := details.get("delta", 0), int | float) and 0 <= delta < 1):
        raise InvalidInput("The δ of a charge must be a number from 0 to below 1.")
    return dict(details)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput("What a charge is for, and its mechanism, must be texts.")
    return str(value)  # of a mechanism, its text alone
