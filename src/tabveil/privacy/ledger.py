"""What was spent on a data set, written down before anyone looks, so that nothing spent is ever forgotten."""

import threading
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tabveil.errors import BudgetExceeded, InvalidInput, LedgerDamaged, TabveilError
from tabveil.privacy.budget import Budget, Relation
from tabveil.privacy.ledger_file import (
    Account,
    Charge,
    LedgerFile,
    charge_to_json,
    cost,
    explained,
    now,
    parse,
    public,
    read_all,
    readable,
    text,
)

LEDGER_HINT = "The limit covers every release of this data and does not grow; choose a smaller ε."
ALLOWANCE_HINT = "Plan fewer rounds, or start a new release with a larger ε."

# Checking what is left and writing the charge must be one step, also when threads share a ledger. One lock
# serves all ledgers, so that they can be copied; a charge takes milliseconds, so nobody waits long.
_one_at_a_time = threading.RLock()


class Ledger:
    """An append-only account of ρ that refuses to overspend; a copy of it can be read but cannot spend."""

    def __init__(self, account: "Account", file: "LedgerFile | None", closed: str = "") -> None:
        self._account, self._file = account, file
        self._closed = closed  # why this ledger accepts no charge, or ""

    @classmethod
    def in_memory(cls, relation: Relation | str, limit: Budget | None = None) -> "Ledger":
        """A ledger that lasts as long as the program."""
        return cls(Account(_relation(relation), limit), None)

    @classmethod
    def open(cls, path: str | Path, relation: Relation | str, limit: Budget | None = None) -> "Ledger":
        """Start or continue the ledger at `path`, and keep every other process out until it is closed."""
        relation = _relation(relation)
        file = LedgerFile(Path(path))
        try:
            with explained(path):
                account = file.continue_account() or file.start_account(Account(relation, limit))
            _require_same(account, relation, limit, path)
        except BaseException:
            file.close()
            raise
        return cls(account, file)

    @classmethod
    def read(cls, path: str | Path) -> "Ledger":
        """What the ledger at `path` says now; takes no lock, writes nothing, accepts no charge."""
        with explained(path), readable(Path(path)) as handle:
            account, _, _ = parse(read_all(handle), Path(path))
        if account is None:
            raise LedgerDamaged(f"{path} is empty: it holds no ledger yet.", "Was this the right file?")
        return cls(account, None, closed="was opened for reading only")

    def charge(self, what: str, rho: Fraction, mechanism: str, **details: str | int | float | bool) -> Charge:
        """Write down a cost, durably, and only then return; refuse first if it does not fit."""
        charge = Charge(text(what), cost(rho), text(mechanism), public(details), now())
        with _one_at_a_time:
            if self._closed:
                raise TabveilError(
                    f"This ledger {self._closed}: nothing can be charged to it.", "Open it again."
                )
            self._require_left(f"{what} costs", charge.rho)
            if self._file:
                self._file.append(charge_to_json(charge), what)
            self._account.add(charge)
        return charge

    def allowance(self, rho: Fraction, label: str) -> "Allowance":
        """Room for one release to spend up to ρ here; refused at once if the ledger has less left."""
        self._require_left(f"{label} asks for", cost(rho))
        return Allowance(self, text(label), cost(rho))

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
            if cost(rho) > self.left:
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


def _too_expensive(
    asks: str, rho: Fraction, left: Fraction, total: Fraction, where: str, hint: str
) -> BudgetExceeded:
    digits = 3
    while digits < 17 and f"{float(rho):.{digits}g}" == f"{float(left):.{digits}g}":
        digits += 1
    cost, rest, whole = (f"{float(number):.{digits}g}" for number in (rho, left, total))
    return BudgetExceeded(f"{asks} ρ = {cost}, but only {rest} of {whole} is left{where}.", hint)


def _require_same(account: Account, relation: Relation, limit: Budget | None, path: str | Path) -> None:
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
