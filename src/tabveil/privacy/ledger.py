"""What was spent on a data set, written before anyone looks, so that nothing is ever forgotten."""

import math
import threading
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from tabveil import disk
from tabveil.errors import BudgetExceeded, InvalidInput, LedgerDamaged, TabveilError
from tabveil.privacy.budget import Budget, Relation, rho_of
from tabveil.privacy.journal import Bought, Integers, Journal, hash_of
from tabveil.privacy.ledger_file import (
    Account,
    Charge,
    LedgerFile,
    charge_to_json,
    cost,
    digest,
    explained,
    now,
    parse,
    public,
    readable,
    text,
)
from tabveil.privacy.promise import ONE_ROW, relation_named

LEDGER_HINT = "The limit covers every release of this data and does not grow; choose a smaller ε."
ALLOWANCE_HINT = "Plan fewer rounds, or start a new release with a larger ε."

# Checking what is left and writing the charge must be one step, also when threads share a ledger.
# One lock serves all ledgers, so that they can be copied; a charge takes milliseconds, so nobody
# waits long.
_one_at_a_time = threading.RLock()


class Place(NamedTuple):
    """A point in the life of a ledger file: hashes of its first and last line, and their number."""

    first: str
    lines: int
    last: str


class Ledger:
    """An append-only account of ρ, refusing to overspend; a copy can be read but cannot spend."""

    def __init__(self, account: "Account", file: "LedgerFile | None", closed: str = "") -> None:
        self._account, self._file = account, file
        self._closed = closed  # why this ledger accepts no charge, or ""

    @classmethod
    def in_memory(cls, relation: Relation | str, limit: Budget | None = None) -> "Ledger":
        """A ledger that lasts as long as the program."""
        return cls(Account(relation_named(relation), limit), None)

    @classmethod
    def open(
        cls, path: str | Path, relation: Relation | str, limit: Budget | None = None
    ) -> "Ledger":
        """Start or continue the ledger at `path`, keeping other processes out until it closes."""
        relation = relation_named(relation)
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
            account, _ = parse(disk.read_all(handle), Path(path))
        if account is None:
            raise LedgerDamaged(
                f"{path} is empty: it holds no ledger yet.", "Was this the right file?"
            )
        return cls(account, None, closed="was opened for reading only")

    def charge(
        self, what: str, rho: Fraction, mechanism: str, **details: str | int | float | bool
    ) -> Charge:
        """Write down a cost, durably, and only then return; refuse first if it does not fit."""
        charge = Charge(text(what), cost(rho), text(mechanism), public(details), now())
        with _one_at_a_time:
            if self._closed:
                raise TabveilError(
                    f"This ledger {self._closed}: nothing can be charged to it.", "Open it again."
                )
            self._require_left(f"{what} costs", charge.rho, charge.delta)
            if self._file:
                self._file.append(charge_to_json(charge), what)
            self._account.add(charge)
        return charge

    def allowance(
        self, rho: Fraction, label: str, *, request: str | None = None, **details: str
    ) -> "Allowance":
        """Room for one release to spend up to ρ here; refused at once if the ledger has less left.

        `request` says all that the release will be made from. On disk, answers are then kept in a
        journal, and the same request goes on from those of a run that did not end.
        """
        self._require_one_unit(details.get("unit", ONE_ROW))
        journal = None
        if self._file and request is not None:
            journal = Journal(
                self._file.path.with_name(f"{self._file.path.name}.{_short(request)}.journal")
            )
            self._require_paid(journal)
        paid = (
            sum((bought.charge.rho for bought in journal.bought), Fraction(0))
            if journal
            else Fraction(0)
        )
        self._require_left(f"{label} asks for", cost(rho) - paid)
        return Allowance(self, text(label), cost(rho), details, journal)

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
    def place(self) -> "Place | None":
        """Where its file stands now; None for a ledger in memory, or an empty one."""
        lines = self._account.lines
        return Place(lines[0], len(lines), lines[-1]) if lines else None

    def trouble_with(self, place: "Place") -> str:
        """Why this cannot be the ledger that once stood at `place`, in words; empty if it can."""
        lines = self._account.lines
        if not lines or lines[0] != place.first:
            return "is another ledger: it began otherwise"
        if len(lines) < place.lines:
            return f"was cut short: it had {place.lines} lines and has {len(lines)}"
        if lines[place.lines - 1] != place.last:
            return f"went another way: its line {place.lines} is not the one that was written then"
        return ""

    def shows(self, marks: Sequence[str]) -> bool:
        """Whether all these charges, and at least one, were made here."""
        return bool(marks) and set(marks) <= {charge.mark for charge in self._account.charges}

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened to the file itself, such as a repair after a crash."""
        return tuple(self._account.notes)

    @property
    def spent(self) -> Fraction:
        return self._account.spent

    @property
    def delta_spent(self) -> Fraction:
        """The δ that mechanisms have used up themselves, apart from the conversion from ρ."""
        return sum((charge.delta for charge in self._account.charges), Fraction(0))

    @property
    def left(self) -> Fraction | None:
        """What may still be spent, or None without a limit."""
        return None if self.limit is None else self._left_beside(self.limit, Fraction(0))

    def delta_left(self, delta: float) -> float:
        """What mechanisms have left of this δ, for the conversion from ρ."""
        rest = below(delta, self.delta_spent)
        if rest <= 0:
            raise InvalidInput(
                f"δ = {delta:g} is no more than what was used up ({float(self.delta_spent):g}).",
                "Ask at a larger δ.",
            )
        return rest

    def _left_beside(self, limit: Budget, delta: Fraction) -> Fraction:
        """What the limit leaves once mechanisms use up δ more; the rest of δ is for conversion."""
        rest = below(limit.delta, self.delta_spent + delta)
        if rest <= 0:
            return Fraction(0)
        return max(Fraction(0), rho_of(limit.epsilon, rest) - self.spent)

    def _require_left(self, asks: str, rho: Fraction, delta: Fraction = Fraction(0)) -> None:
        if self.limit and rho > (left := self._left_beside(self.limit, delta)):
            raise _too_expensive(asks, rho, left, self.limit.rho, " in this ledger", LEDGER_HINT)

    def _require_one_unit(self, unit: str) -> None:
        """Costs add up only where all of them protect the same unit."""
        for other in {charge.details.get("unit", ONE_ROW) for charge in self._account.charges} - {
            unit
        }:
            raise InvalidInput(
                f"This ledger protects {other}, but this run would protect {unit}.",
                "Keep another ledger for it, or use the same privacy unit.",
            )

    def _require_paid(self, journal: Journal) -> None:
        """Answers may be used again only where this very ledger shows that they were paid for."""
        bought = [answer.charge for answer in journal.bought]
        if any(self._account.charges.count(charge) < bought.count(charge) for charge in bought):
            raise LedgerDamaged(
                f"The journal {journal.path} holds answers that this ledger does not show as paid.",
                "Restore the ledger from a backup, or remove the journal to start anew.",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        of = f" of {float(self.limit.rho):.4g}" if self.limit else ""
        spent = float(self.spent)
        return f"Ledger({self.relation}, {len(self.charges)} charges, ρ = {spent:.4g}{of} spent)"

    def __getstate__(self) -> dict[str, Any]:
        # Two objects that both think they know what is left could each spend it.
        return {"_account": self._account, "_file": None, "_closed": self._closed or "is a copy"}


class Allowance:
    """One release's own cap inside a ledger."""

    def __init__(
        self,
        ledger: Ledger,
        label: str,
        total: Fraction,
        details: dict[str, str],
        journal: Journal | None = None,
    ) -> None:
        self.ledger, self.label, self.total = ledger, label, total
        self._details = details  # written into every charge
        self._journal = journal
        self._charges: list[Charge] = []
        self.recalled = 0  # how many answers came from a run that did not end

    def charge(
        self, what: str, rho: Fraction, mechanism: str, **details: str | int | float | bool
    ) -> Charge:
        """Charge the ledger, the label under `for`; refuse beyond the cap or the ledger's limit."""
        with _one_at_a_time:
            self._require_left(what, rho)
            charge = self.ledger.charge(what, rho, mechanism, **self._all(details))
            self._charges.append(charge)
        return charge

    def buy(
        self,
        what: str,
        rho: Fraction,
        mechanism: str,
        draw: Callable[[], Integers],
        *,
        asked: Sequence[np.ndarray] = (),
        **details: str | int | float | bool,
    ) -> Integers:
        """Charge, then draw an answer and write it down; what was bought before is not drawn again.

        `asked` are public arrays that, with `what` and `details`, tell one question from another.
        """
        question = hash_of(asked)
        if self._journal:
            charge = Charge(what, rho, mechanism, self._all(details), when="")
            bought = self._journal.recall(charge, question)
            if bought:
                self._require_left(what, rho)
                self._charges.append(bought.charge)
                self.recalled += 1
                return bought.answer.copy()
        charge = self.charge(what, rho, mechanism, **details)
        answer = draw()
        if self._journal:
            self._journal.keep(Bought(charge, question, answer))
        return answer

    def finish(self) -> None:
        """The release is made: a next one like it is another one, and pays for itself."""
        if self._journal:
            self._journal.remove()

    def _all(
        self, details: dict[str, str | int | float | bool]
    ) -> dict[str, str | int | float | bool]:
        return {**details, **self._details, "for": self.label}

    def _require_left(self, what: str, rho: Fraction) -> None:
        if cost(rho) > self.left:
            raise _too_expensive(f"{what} costs", rho, self.left, self.total, "", ALLOWANCE_HINT)

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
        spent, total = float(self.spent), float(self.total)
        return f"Allowance({self.label!r}, ρ = {spent:.4g} of {total:.4g} spent)"


def below(delta: float, used: Fraction) -> float:
    """What is left of δ, rounded down."""
    rest = float(Fraction(delta) - used)
    return rest if Fraction(rest) <= Fraction(delta) - used else math.nextafter(rest, -math.inf)


def _too_expensive(
    asks: str, rho: Fraction, left: Fraction, total: Fraction, where: str, hint: str
) -> BudgetExceeded:
    digits = 3
    while digits < 17 and f"{float(rho):.{digits}g}" == f"{float(left):.{digits}g}":
        digits += 1
    cost, rest, whole = (f"{float(number):.{digits}g}" for number in (rho, left, total))
    message = f"{asks} ρ = {cost}, but only {rest} of {whole} is left{where}."
    return BudgetExceeded(message, hint, asked=rho, left=left)


def _require_same(
    account: Account, relation: Relation, limit: Budget | None, path: str | Path
) -> None:
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


def _short(request: str) -> str:
    return digest(request.encode())[:16]


def _in_words(limit: Budget | None) -> str:
    return "no limit" if limit is None else f"a limit of ε = {limit.epsilon:g}, δ = {limit.delta:g}"
