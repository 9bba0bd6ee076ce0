"""What tabveil says when it will not go on: one line that explains, one line that helps."""

from collections.abc import Iterable
from fractions import Fraction


class TabveilError(Exception):
    """A refusal a user can act on; `exit_code` is what the command line returns."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        self.message, self.hint = message, hint
        super().__init__(f"{message}\nHint: {hint}" if hint else message)


class InvalidInput(TabveilError):
    """A schema, file or option that cannot be used as given."""


class BudgetExceeded(TabveilError):
    """More privacy was asked for than is left; `asked` and `left` say how much, as ρ."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        asked: Fraction | None = None,
        left: Fraction | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.asked, self.left = asked, left


class LedgerDamaged(TabveilError):
    """A ledger whose history cannot be trusted; nothing runs on it."""


class Mispriced(TabveilError):
    """Two accounts of what a draw of noise costs do not agree; nothing is drawn."""


class Interrupted(TabveilError):
    """The user stopped a long run."""

    exit_code = 130


def either(choices: Iterable[str]) -> str:
    """What can be chosen, in words: "a, b or c"."""
    *rest, last = choices
    return f"{', '.join(rest)} or {last}" if rest else last
