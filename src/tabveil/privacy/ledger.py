"""What was spent on a data set, written down before anyone looks, so that nothing spent is ever forgotten."""

import errno
import fcntl
import hashlib
import json
import math
import os
import re
import stat
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tabveil.errors import BudgetExceeded, InvalidInput, LedgerDamaged, TabveilError
from tabveil.privacy.budget import Budget, Relation

FORMAT, VERSION = "tabveil-ledger", 1
HEADER_START = json.dumps({"format": FORMAT}, separators=(",", ":"))[:-1].encode()

# Checking what is left and writing the charge must be one step, also when threads share a ledger. One lock
# serves all ledgers, so that they can be copied; a charge takes milliseconds, so nobody waits long.
_one_at_a_time = threading.RLock()


@dataclass(frozen=True)
class Charge:
    """One thing that was paid for; `details` holds public settings, never anything computed from rows."""

    what: str
    rho: Fraction
    mechanism: str
    details: Mapping[str, Any]
    when: str


class Ledger:
    """An append-only account of ρ that refuses to overspend; a copy of it can be read but cannot spend."""

    def __init__(self, account: "_Account", file: "_File | None", closed: str = "") -> None:
        self._account, self._file = account, file
        self._closed = closed  # why this ledger accepts no charge, or ""

    @classmethod
    def in_memory(cls, relation: Relation | str, limit: Budget | None = None) -> "Ledger":
        """A ledger that lasts as long as the program."""
        return cls(_Account(_relation(relation), limit), None)

    @classmethod
    def open(cls, path: str | Path, relation: Relation | str, limit: Budget | None = None) -> "Ledger":
        """Start or continue the ledger at `path`, and keep every other process out until it is closed."""
        relation = _relation(relation)
        file = _File(Path(path))
        try:
            with _explained(path):
                account = file.continue_account() or file.start_account(_Account(relation, limit))
            _require_same(account, relation, limit, path)
        except BaseException:
            file.close()
            raise
        return cls(account, file)

    @classmethod
    def read(cls, path: str | Path) -> "Ledger":
        """What the ledger at `path` says now; takes no lock, writes nothing, accepts no charge."""
        with _explained(path), _readable(Path(path)) as handle:
            account, _, _ = _parse(_read_all(handle), Path(path))
        if account is None:
            raise LedgerDamaged(f"{path} is empty: it holds no ledger yet.", "Was this the right file?")
        return cls(account, None, closed="was opened for reading only")

    def charge(self, what: str, rho: Fraction, mechanism: str, **details: str | int | float | bool) -> Charge:
        """Write down a cost, durably, and only then return; refuse first if it does not fit."""
        charge = Charge(_text(what), _cost(rho), _text(mechanism), _public(details), _now())
        with _one_at_a_time:
            if self._closed:
                raise TabveilError(
                    f"This ledger {self._closed}: nothing can be charged to it.", "Open it again."
                )
            self._require_left(f"{what} costs", charge.rho)
            if self._file:
                self._file.append(_charge_to_json(charge), what)
            self._account.add(charge)
        return charge

    def allowance(self, rho: Fraction, label: str) -> "Allowance":
        """Room for one release to spend up to ρ here; refused at once if the ledger has less left."""
        self._require_left(f"{label} asks for", _cost(rho))
        return Allowance(self, _text(label), _cost(rho))

    def close(self) -> None:
        """Let other processes in; what was spent can still be read."""
        self._closed = self._closed or "is closed"
        if self._file:
            self._file.close()

    @property
    def relation(self) -> Relation:
        return self._account.relation

    @property
    def limit(self) -> Budget | None:
        """The most that may ever be spent here, or None."""
        return self._account.limit

    @property
    def charges(self) -> tuple[Charge, ...]:
        return tuple(self._account.charges)

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened to the file itself, such as a repair after a crash."""
        return tuple(self._account.notes)

    @property
    def spent(self) -> Fraction:
        return self._account.spent

    @property
    def left(self) -> Fraction | None:
        """What may still be spent, or None without a limit."""
        return None if self.limit is None else max(Fraction(0), self.limit.rho - self.spent)

    def _require_left(self, asks: str, rho: Fraction) -> None:
        if self.limit and self.left is not None and rho > self.left:
            raise _too_expensive(asks, rho, self.left, self.limit.rho, " in this ledger", LEDGER_HINT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        of = f" of {float(self.limit.rho):.4g}" if self.limit else ""
        return f"Ledger({self.relation}, {len(self.charges)} charges, ρ = {float(self.spent):.4g}{of} spent)"

    def __getstate__(self) -> dict[str, Any]:
        # Two objects that both think they know what is left could each spend it.
        return {"_account": self._account, "_file": None, "_closed": self._closed or "is a copy"}


class Allowance:
    """One release's own cap inside a ledger."""

    def __init__(self, ledger: Ledger, label: str, total: Fraction) -> None:
        self.ledger, self.label, self.total = ledger, label, total
        self._charges: list[Charge] = []

    def charge(self, what: str, rho: Fraction, mechanism: str, **details: str | int | float | bool) -> Charge:
        """Charge the ledger, the label under `for`; refuse beyond the cap or beyond the ledger's limit."""
        with _one_at_a_time:
            if _cost(rho) > self.left:
                raise _too_expensive(f"{what} costs", rho, self.left, self.total, "", ALLOWANCE_HINT)
            charge = self.ledger.charge(what, rho, mechanism, **{**details, "for": self.label})
            self._charges.append(charge)
        return charge

    @property
    def charges(self) -> tuple[Charge, ...]:
        return tuple(self._charges)

    @property
    def spent(self) -> Fraction:
        return sum((charge.rho for charge in self._charges), Fraction(0))

    @property
    def left(self) -> Fraction:
        return self.total - self.spent

    def __repr__(self) -> str:
        return f"Allowance({self.label!r}, ρ = {float(self.spent):.4g} of {float(self.total):.4g} spent)"


@dataclass
class _Account:
    """The contents of a ledger, wherever they are kept."""

    relation: Relation
    limit: Budget | None
    charges: list[Charge] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    spent: Fraction = Fraction(0)

    def add(self, charge: Charge) -> None:
        self.charges.append(charge)
        self.spent += charge.rho


class _File:
    """A locked JSON-lines file whose every line carries the hash of the one before and a check of itself.

    Lines taken off the end whole cannot be noticed from the file alone: keep it where only its owner writes.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.owner = path, os.getpid()
        self.length, self.last, self.usable = 0, "", True
        self.handle = _open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        # A ledger that is dropped without close() must not keep its lock until the program ends.
        self._release = weakref.finalize(self, _unlock, self.handle, self.owner)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            if error.errno in (errno.EAGAIN, errno.EACCES):
                problem, hint = "is in use by another run", "Wait for that run to end, then try again."
            else:
                problem, hint = f"cannot be locked ({error.strerror})", "Keep it on a local disk."
            raise TabveilError(f"The ledger {path} {problem}.", hint) from None

    def start_account(self, account: _Account) -> _Account:
        """Begin an empty file."""
        os.fchmod(self.handle, 0o600)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "relation": account.relation,
            "limit": account.limit and asdict(account.limit),
            "when": _now(),
        }
        self._append(_line(header), "The first line")
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the file's name must survive a power cut too
        finally:
            os.close(folder)
        return account

    def continue_account(self) -> _Account | None:
        """What an existing file holds, its torn last line repaired; None if there is nothing yet."""
        content = _read_all(self.handle)
        account, self.last, good = _parse(content, self.path)
        self.length = len(content)
        # A run that was killed while writing leaves a last line without its end. `charge` returns after the
        # whole line is on disk, so nobody measured anything on a torn one: dropping it forgets no spending,
        # and refusing it would lock the owner out for no gain. A last line that lacks nothing but its line
        # break is kept as spent. Anything else that looks wrong was not left by a crash: `_parse` refuses it.
        if good < len(content):
            try:
                os.ftruncate(self.handle, good)
                os.fsync(self.handle)
            except OSError as error:
                raise self._unwritable("A repair of the last line", error, "It may still need it.") from None
            self.length = good
            if account:
                self._note(account, "an unfinished last line, on which nothing was measured, was removed")
        elif account and not content.endswith(b"\n"):
            self._append(b"\n", "A repair of the last line")
            self._note(account, "the missing line break of the last line was added")
        return account

    def append(self, record: dict[str, Any], what: str) -> None:
        """Chain a record to the last line, on disk before this returns."""
        if not self.usable or os.getpid() != self.owner:
            raise TabveilError(
                f"This process cannot charge anything more to {self.path}: a write failed, or it was forked.",
                "Start a new run; what was spent stays spent.",
            )
        self._append(_line({"previous": self.last, **record}), what)

    def close(self) -> None:
        self._release()

    def _note(self, account: _Account, text: str) -> None:
        self.append({"kind": "note", "text": text, "when": _now()}, "A note on the repair")
        account.notes.append(text)

    def _append(self, line: bytes, what: str) -> None:
        self._require_in_place()
        self.usable = False  # and so it stays if anything below is cut short in a way that we cannot undo
        try:
            _write_all(self.handle, line)
            os.fsync(self.handle)
        except OSError as error:
            try:
                os.ftruncate(self.handle, self.length)
                os.fsync(self.handle)
            except OSError:
                raise self._unwritable(what, error, "This run will charge nothing more.") from error
            self.usable = True
            raise self._unwritable(what, error, "The ledger is as it was before.") from error
        self.length += len(line)
        if line != b"\n":
            self.last = _digest(line.rstrip(b"\n"))
        self.usable = True

    def _require_in_place(self) -> None:
        try:
            there = os.stat(self.path, follow_symlinks=False)
        except OSError:
            there = None
        here = os.fstat(self.handle)
        if there is None or not os.path.samestat(there, here) or here.st_size != self.length:
            raise TabveilError(
                f"{self.path} was moved, replaced or changed while it was in use, so nothing was charged.",
                "Leave the ledger where it is while a run is going on, and start a new run.",
            )

    def _unwritable(self, what: str, error: OSError, state: str) -> TabveilError:
        return TabveilError(
            f"{what} could not be charged: writing to the ledger {self.path} failed ({error.strerror}).",
            f"{state} Check the disk it is on, then start a new run.",
        )


# Reading a file: a total function from bytes to an account or a refusal.


def _parse(content: bytes, path: Path) -> tuple[_Account | None, str, int]:
    """The account, the hash of its last line, and how many bytes of the file are good."""
    lines = content.split(b"\n")
    tail = lines.pop()
    if not lines and not _is_record(tail):
        if HEADER_START.startswith(tail) or tail.startswith(HEADER_START):
            _require_torn(tail, path)
            return None, "", 0  # the run that started it was killed before anything was charged
        raise _not_a_ledger(path)
    keep_tail = _is_record(tail)
    if keep_tail:
        lines.append(tail)
    account, last = _header(lines[0], path), _digest(lines[0])
    for number, line in enumerate(lines[1:], start=2):
        _add_record(account, line, last, path, number)
        last = _digest(line)
    if tail and not keep_tail:
        start = f'{{"previous":"{last}"'.encode()
        if not (start.startswith(tail) or tail.startswith(start)):
            raise _damaged(path, len(lines) + 1)
        _require_torn(tail, path)
        return account, last, len(content) - len(tail)
    return account, last, len(content)


def _header(line: bytes, path: Path) -> _Account:
    if not line.startswith(HEADER_START):
        raise _not_a_ledger(path)
    if not line.startswith(HEADER_START + f',"version":{VERSION},'.encode()):
        raise LedgerDamaged(
            f"{path} is a ledger of another version; this program knows version {VERSION}.",
            "Use the version of tabveil that wrote it, or a newer one.",
        )
    header = _record(line)
    if header is None:
        raise _damaged(path, 1)
    try:
        limit = header["limit"]
        return _Account(Relation(header["relation"]), None if limit is None else Budget(**limit))
    except (AttributeError, KeyError, TypeError, ValueError, InvalidInput):
        raise _damaged(path, 1) from None


def _add_record(account: _Account, line: bytes, previous: str, path: Path, number: int) -> None:
    record = _record(line)
    if record is None or record.pop("previous", None) != previous:
        raise _damaged(path, number)
    try:
        match record.pop("kind"):
            case "charge":
                account.add(_charge_from_json(record))
            case "note":
                account.notes.append(_text(record["text"]))
            case _:
                raise ValueError("not a kind of record that we write")
    except (AttributeError, KeyError, TypeError, ValueError, InvalidInput):
        raise _damaged(path, number) from None


def _charge_to_json(charge: Charge) -> dict[str, Any]:
    return {
        "kind": "charge",
        "what": charge.what,
        "rho": f"{charge.rho.numerator}/{charge.rho.denominator}",
        "mechanism": charge.mechanism,
        "details": charge.details,
        "when": charge.when,
    }


def _charge_from_json(record: dict[str, Any]) -> Charge:
    if not re.fullmatch(r"[0-9]+/[0-9]*[1-9][0-9]*", record["rho"]):
        raise ValueError("not a positive fraction")
    rho = _cost(Fraction(record.pop("rho")))
    details = _public(record.pop("details"))
    return Charge(rho=rho, details=details, **{name: _text(value) for name, value in record.items()})


def _line(record: dict[str, Any]) -> bytes:
    """The record as one line of JSON that ends in the hash of the rest of it."""
    return _canonical({**record, "check": _digest(_canonical(record))}) + b"\n"


def _record(line: bytes) -> dict[str, Any] | None:
    """The record in a line, or None if not every byte is as it was written."""
    try:
        record = json.loads(line)
        check = record.pop("check")
        intact = check == _digest(_canonical(record)) and line == _canonical({**record, "check": check})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return record if intact else None


def _is_record(line: bytes) -> bool:
    return _record(line) is not None


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


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


# The file system, in the few calls that matter.


def _open(path: Path, flags: int) -> int:
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            problem, hint = "must not be a symbolic link", "Name the file that it points to."
        else:
            problem, hint = f"cannot be opened ({error.strerror})", "Check the folder and its permissions."
        raise InvalidInput(f"The ledger {path} {problem}.", hint) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InvalidInput(f"The ledger {path} must be an ordinary file.", "Choose another path.")
    return handle


@contextmanager
def _readable(path: Path) -> Iterator[int]:
    handle = _open(path, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TabveilError(
            f"The ledger {path} cannot be used ({error.strerror}).", "Check the disk it is on."
        ) from error


def _unlock(handle: int, owner: int) -> None:
    # A forked child shares its parent's lock: it must not end it, and must not keep it after the parent did.
    if os.getpid() == owner:
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def _read_all(handle: int) -> bytes:
    chunks, offset = [], 0
    while chunk := os.pread(handle, 1 << 20, offset):
        chunks.append(chunk)
        offset += len(chunk)
    return b"".join(chunks)


def _write_all(handle: int, line: bytes) -> None:
    while line:
        line = line[os.write(handle, line) :]


# What may be charged, and how a refusal reads.

LEDGER_HINT = "The limit covers every release of this data and does not grow; choose a smaller ε."
ALLOWANCE_HINT = "Plan fewer rounds, or start a new release with a larger ε."
DAMAGE_HINT = "Restore it from a backup; without its history nobody can say what is left to spend."


def _too_expensive(
    asks: str, rho: Fraction, left: Fraction, total: Fraction, where: str, hint: str
) -> BudgetExceeded:
    digits = 3
    while digits < 17 and f"{float(rho):.{digits}g}" == f"{float(left):.{digits}g}":
        digits += 1
    cost, rest, whole = (f"{float(number):.{digits}g}" for number in (rho, left, total))
    return BudgetExceeded(f"{asks} ρ = {cost}, but only {rest} of {whole} is left{where}.", hint)


def _damaged(path: Path, number: int) -> LedgerDamaged:
    return LedgerDamaged(f"Line {number} of the ledger {path} is damaged or was changed.", DAMAGE_HINT)


def _not_a_ledger(path: Path) -> LedgerDamaged:
    return LedgerDamaged(f"{path} does not begin like a tabveil ledger.", "Was this the right file?")


def _require_same(account: _Account, relation: Relation, limit: Budget | None, path: str | Path) -> None:
    if account.relation != relation:
        raise InvalidInput(
            f"{path} counts neighbours by {account.relation}, but this run asks for {relation}.",
            f"Run with {account.relation}, or keep a second ledger and add both up yourself.",
        )
    if limit is not None and account.limit != limit:
        raise InvalidInput(
            f"{path} has {_in_words(account.limit)}, but this run asks for {_in_words(limit)}.",
            "The limit of a ledger is set when it is started; leave it out to go on with that one.",
        )


def _in_words(limit: Budget | None) -> str:
    return "no limit" if limit is None else f"a limit of ε = {limit.epsilon:g}, δ = {limit.delta:g}"


def _relation(relation: Relation | str) -> Relation:
    try:
        return Relation(relation)
    except ValueError:
        allowed = " or ".join(Relation)
        raise InvalidInput(f"Neighbours by {relation!r} are not known.", f"Use {allowed}.") from None


def _cost(rho: Fraction) -> Fraction:
    if isinstance(rho, float) or not rho > 0:
        raise InvalidInput(f"A charge of ρ = {rho} was asked for, but it must be an exact fraction above 0.")
    return Fraction(rho)


def _public(details: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in details.items():
        if not (isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))):
            raise InvalidInput(f"The detail {name!r} must be a text, a finite number, true or false.")
    return dict(details)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput("What a charge is for, and its mechanism, must be texts.")
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
