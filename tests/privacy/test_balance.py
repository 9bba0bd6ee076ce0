"""What a ledger says of itself is what its charges add up to."""

from fractions import Fraction

import pytest

from tabveil.privacy import DELTA, Budget, Ledger, Relation
from tabveil.privacy.balance import balance, epsilons_so_far, room_for, spent, stated_delta

LIMIT = Budget(3.0, 1e-6)


def ledger(limit: Budget | None = None) -> Ledger:
    found = Ledger.in_memory(Relation.ADD_REMOVE, limit)
    for _ in range(2):
        found.charge("a look", Budget(1.0, 1e-9).rho, "gaussian")
    return found


def test_epsilons_grow_from_charge_to_charge_more_slowly_than_they_add_up() -> None:
    first, second = epsilons_so_far(ledger(), 1e-9)
    assert first == pytest.approx(1.0, rel=1e-9)
    assert first < second < 2 * first


def test_without_a_limit_any_fit_has_room() -> None:
    assert room_for(ledger(), 1e-9) is None
    assert "no limit is set" in balance(ledger(), 1e-9)
    assert stated_delta(ledger()) == DELTA


def test_the_room_that_is_left_is_granted() -> None:
    limited = ledger(LIMIT)
    room = room_for(limited, stated_delta(limited))
    assert room and f"one more fit with ε = {room:g}" in balance(limited, LIMIT.delta)
    limited.charge("a fit", Budget(room, LIMIT.delta).rho, "gaussian")


def test_a_ledger_without_room_promises_none() -> None:
    full = Ledger.in_memory(Relation.ADD_REMOVE, LIMIT)
    full.charge("all of it", LIMIT.rho, "gaussian")
    assert room_for(full, LIMIT.delta) == 0
    assert "enough for" not in balance(full, LIMIT.delta)


def test_what_was_spent_is_rounded_up() -> None:
    assert "ε = 1.4" in spent(ledger()) and ledger().spent == 2 * Fraction(Budget(1.0, 1e-9).rho)
