"""Ledger: what this table has paid, what is left, and a limit to set before the first payment."""

from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response
from starlette.routing import Route

from tabveil.discovery import DELTA as SEARCH_DELTA
from tabveil.errors import InvalidInput, TabveilError
from tabveil.privacy import Budget, Ledger, Relation, epsilon_of
from tabveil.privacy.balance import balance, epsilons_so_far, purpose, room_for, stated_delta
from tabveil.studio.projects import State
from tabveil.studio.steps import ledger_step, limit_step
from tabveil.studio.visit import Visit, answered


@dataclass(frozen=True)
class Account:
    """A ledger as the screens show it."""

    words: str
    spent: float  # ε, at the δ below
    delta: float
    limit: float | None
    room: float | None  # ε of one more fit, where there is a limit
    charges: list[tuple[str, str, str, float]]  # when, for what, what, ε so far
    parts: list[tuple[str, float, int]]  # label, ε that it added, how many charges

    @property
    def whole(self) -> float:
        """What the picture is as wide as."""
        return max(self.limit or 0.0, self.spent, 1e-9)


def account_of(state: State) -> Account | None:
    """What the ledger of a table says; none if it has paid nothing and no limit is set."""
    if not Path(state.ledger).exists():
        return None
    ledger = Ledger.read(state.ledger)
    delta = stated_delta(ledger)
    so_far = epsilons_so_far(ledger, delta)
    charges = [
        (c.when[:16].replace("T", " "), str(c.details.get("for", "")), purpose(c.what), epsilon)
        for c, epsilon in zip(ledger.charges, so_far, strict=True)
    ]
    return Account(
        words=balance(ledger, delta),
        spent=epsilon_of(ledger.spent, ledger.delta_left(delta)),
        delta=delta,
        limit=ledger.limit.epsilon if ledger.limit else None,
        room=room_for(ledger, delta),
        charges=charges,
        parts=_parts(charges),
    )


def _parts(charges: list[tuple[str, str, str, float]]) -> list[tuple[str, float, int]]:
    """Charges of one purpose that follow each other, with the ε that they added together."""
    parts: list[tuple[str, float, int]] = []
    before = 0.0
    for _, label, _, so_far in charges:
        added, before = so_far - before, so_far
        if parts and parts[-1][0] == label:
            parts[-1] = (label, parts[-1][1] + added, parts[-1][2] + 1)
        else:
            parts.append((label, added, 1))
    return parts


def after(state: State, search: float = 0.0) -> float:
    """The ε that the table will have paid in all, once the planned fit and a search are done."""
    rho, delta = Budget(state.epsilon, state.delta).rho, state.delta
    rho += Budget(search, SEARCH_DELTA / 2).rho if search else 0
    if Path(state.ledger).exists():
        ledger = Ledger.read(state.ledger)
        delta = ledger.delta_left(stated_delta(ledger))
        rho += ledger.spent
    return epsilon_of(rho, delta)


def show(visit: Visit) -> Response:
    """The whole screen; a ledger that cannot be read says so."""
    state = visit.project.state()
    account = None
    try:
        account = account_of(state)
    except TabveilError as problem:
        visit.problem = visit.problem or problem
    steps = [ledger_step(state)]
    if account is None and visit.problem is None:
        steps = [limit_step(state, 3.0)]
    return visit.screen("ledger", state, steps, account=account)


def set_limit(visit: Visit) -> Response:
    """Begin the ledger with the most that all fits together may spend."""
    epsilon = visit.form.number("limit", "The limit")
    with visit.project.change(visit.form.version) as state:
        if Path(state.ledger).exists():
            raise InvalidInput(
                "This table has a ledger already; a limit is set when one is begun.",
                "Keep the sum below what you decided, or move the ledger away and begin anew.",
            )
        Ledger.open(state.ledger, Relation.ADD_REMOVE, Budget(epsilon, state.delta)).close()
        state.limit, state.limit_delta = epsilon, state.delta
    return visit.go("ledger")


ROUTES = [
    Route("/{table}/ledger", answered(show)),
    Route("/{table}/ledger", answered(set_limit, show), methods=["POST"]),
]
