"""What a ledger has paid and what it leaves, in ε and in words, for whoever decides on a fit."""

import math
import re
from fractions import Fraction

from tabveil.privacy.budget import DELTA, epsilon_of, rounded_up
from tabveil.privacy.ledger import Ledger


def stated_delta(ledger: Ledger) -> float:
    """The δ at which a ledger states ε unless another is asked for: that of its limit, if any."""
    return ledger.limit.delta if ledger.limit else DELTA + float(ledger.delta_spent)


def spent(ledger: Ledger) -> str:
    """All that a ledger has paid, in one sentence."""
    delta = stated_delta(ledger)
    spent = rounded_up(Fraction(epsilon_of(ledger.spent, ledger.delta_left(delta))))
    return f"In all, ε = {spent:g} at δ = {delta:.4g} was spent on this table."


def purpose(what: str) -> str:
    """What a charge was for, as people say it.

    >>> purpose("selecting 1 of cross-tables")
    'choosing 1 of all cross-tables'
    """
    return re.sub(r"^selecting (\d+) of ", r"choosing \1 of all ", what)


def epsilons_so_far(ledger: Ledger, delta: float) -> list[float]:
    """The ε of all charges up to each one."""
    rest, running, found = ledger.delta_left(delta), Fraction(0), []
    for charge in ledger.charges:
        running += charge.rho
        found.append(epsilon_of(running, rest))
    return found


def room_for(ledger: Ledger, delta: float) -> float | None:
    """The ε that one more fit may have at this δ; none where no limit is set.

    In hundredths and rounded down, so that a fit with this ε is not refused.
    """
    if ledger.left is None:
        return None
    return math.floor(epsilon_of(ledger.left, ledger.delta_left(delta)) * 100) / 100


def balance(ledger: Ledger, delta: float) -> str:
    """What was spent and what is left, in one sentence."""
    rest = ledger.delta_left(delta)
    spent = (
        f"ρ = {float(ledger.spent):.4g}, that is ε = {epsilon_of(ledger.spent, rest):.4g} at δ = "
        f"{delta:g}"
    )
    left = "no limit is set"
    if ledger.limit and ledger.left is not None:
        room = room_for(ledger, delta)
        left = f"ρ = {float(ledger.left):.4g} is left of ε = {ledger.limit.epsilon:g}"
        left += f", enough for one more fit with ε = {room:g} at this δ" if room else ""
    return f"Spent so far: {spent}; neighbours {ledger.relation.value}; {left}."
