"""What the ledger of a table has paid already, said before it pays more: fits add up."""

from pathlib import Path

from tabveil.cli.consoles import say
from tabveil.errors import TabveilError
from tabveil.privacy import Ledger
from tabveil.privacy.balance import spent


def say_spent_before(ledger: Path) -> None:
    """Tell the owner what this table has paid already: fits add up."""
    try:
        account = Ledger.read(ledger)
    except TabveilError:
        return  # there is none yet, or none that can be read: whoever opens it to spend says which
    if account.charges:
        say(f"{ledger}: {spent(account)} This run comes on top.")
