"""What the ledger of a table has paid already, in words: fits add up."""

from fractions import Fraction
from pathlib import Path

from tabveil.cli.consoles import say
from tabveil.errors import TabveilError
from tabveil.privacy import DELTA, Ledger, epsilon_of, rounded_up
from tabveil.sources.address import Address


def ledger_beside(data: str) -> Path:
    """The ledger of a table unless another is named: beside it, where the next fit finds it."""
    path = Address.of(data).local
    # A table in a cluster or in a cloud has no place on this machine:
    # its ledger lies where one works.
    return path.with_name(path.name + ".ledger") if path.exists() else Path(path.name + ".ledger")


def say_spent_before(ledger: Path) -> None:
    """Tell the owner what this table has paid already: fits add up."""
    try:
        account = Ledger.read(ledger)
    except TabveilError:
        return  # there is none yet, or none that can be read: whoever opens it to spend says which
    if account.charges:
        say(f"{ledger}: {spent(account)} This run comes on top.")


def spent(ledger: Ledger) -> str:
    """All that a ledger has paid, in one sentence."""
    delta = ledger.limit.delta if ledger.limit else DELTA + float(ledger.delta_spent)
    spent = rounded_up(Fraction(epsilon_of(ledger.spent, ledger.delta_left(delta))))
    return f"In all, ε = {spent:g} at δ = {delta:.4g} was spent on this table."
