"""Nothing spent is forgotten, nothing is overspent, and no damage goes unnoticed."""

import copy
import errno
import gc
import hashlib
import json
import math
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tabveil
from tabveil import disk
from tabveil.errors import BudgetExceeded, InvalidInput, LedgerDamaged, TabveilError
from tabveil.privacy import Budget, Ledger, Place, Relation, rho_of
from tabveil.privacy.ledger import below

LIMIT = Budget(1.0, 1e-9)
COST = Fraction(1, 1000)
patient = settings(deadline=None, max_examples=40)  # a busy machine is no failure
costs = st.fractions(Fraction(1, 10**6), Fraction(1, 100), max_denominator=10**12)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def used(path: Path) -> Path:
    """A ledger with three charges, closed."""
    with Ledger.open(path, Relation.ADD_REMOVE, LIMIT) as ledger:
        for number in range(3):
            ledger.charge(
                f"measuring marginal {number}", COST, "discrete gaussian", scale=1.5, cells=number
            )
    return path


def reopened(path: Path) -> Ledger:
    return Ledger.open(path, Relation.ADD_REMOVE)


def rechained(path: Path, change) -> None:
    """Rewrite a ledger with valid hashes after `change` has had its way with the list of
    records."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(records)
    previous, lines = None, []
    for record in records:
        record.pop("check", None)
        if previous is not None:
            record["previous"] = previous
        body = json.dumps(record, separators=(",", ":"))
        check = hashlib.sha256(body.encode()).hexdigest()
        lines.append(json.dumps({**record, "check": check}, separators=(",", ":")))
        previous = hashlib.sha256(lines[-1].encode()).hexdigest()
    path.write_text("".join(line + "\n" for line in lines))


def failing(*numbers: int):
    """A stand-in for a system call that fails on its calls of these numbers, counted from 1."""

    def around(real):
        calls = iter(range(1, 10**6))

        def call(*arguments):
            if next(calls) in numbers:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments)

        return call

    return around


# Spending.


def test_a_charge_is_what_was_asked_for():
    charge = Ledger.in_memory("add-remove").charge(
        "counting rows", COST, "discrete gaussian", scale=2.5
    )
    assert (charge.what, charge.rho, charge.mechanism) == (
        "counting rows",
        COST,
        "discrete gaussian",
    )
    assert charge.details == {"scale": 2.5} and charge.when.endswith("+00:00")


def test_a_ledger_adds_up_exactly():
    ledger = Ledger.in_memory(Relation.SUBSTITUTE, LIMIT)
    for _ in range(10):
        ledger.charge("measuring", Fraction(1, 10_000), "discrete gaussian")
    assert ledger.spent == Fraction(1, 1000) and ledger.left == LIMIT.rho - Fraction(1, 1000)
    assert len(ledger.charges) == 10 and ledger.relation == "substitute" and ledger.limit == LIMIT


def test_without_a_limit_nothing_is_refused_and_nothing_is_left_to_count():
    ledger = Ledger.in_memory("add-remove")
    ledger.charge("measuring", Fraction(100), "discrete gaussian")
    assert ledger.left is None


def test_the_very_last_of_the_budget_can_be_spent_and_not_a_grain_more():
    ledger = Ledger.in_memory("add-remove", LIMIT)
    ledger.charge("measuring", LIMIT.rho, "discrete gaussian")
    assert ledger.left == 0
    with pytest.raises(BudgetExceeded):
        ledger.charge("measuring", Fraction(1, 2**80), "discrete gaussian")


def test_overspending_is_refused_with_cost_and_rest_before_anything_is_written(path):
    with Ledger.open(path, "add-remove", LIMIT) as ledger:
        before = path.read_bytes()
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.charge("measuring 10 linear thresholds", Fraction(2, 100), "discrete gaussian")
        assert path.read_bytes() == before and ledger.spent == 0
    assert refusal.value.message == (
        "measuring 10 linear thresholds costs ρ = 0.02, but only 0.015 of 0.015 is left in this "
        "ledger."
    )
    assert refusal.value.hint and refusal.value.exit_code == 3


def test_a_refusal_shows_enough_digits_to_tell_cost_from_rest():
    ledger = Ledger.in_memory("add-remove", LIMIT)
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge("measuring", LIMIT.rho + Fraction(1, 10**9), "discrete gaussian")
    assert "ρ = 0.014973059, but only 0.014973058 of" in str(refusal.value)


def test_a_refusal_carries_what_was_asked_and_what_was_left_exactly():
    allowance = Ledger.in_memory("add-remove").allowance(Fraction(1, 3), "a fit")
    with pytest.raises(BudgetExceeded) as refusal:
        allowance.charge("measuring", Fraction(2, 3), "any")
    for told in (refusal.value, pickle.loads(pickle.dumps(refusal.value))):
        assert (told.asked, told.left) == (Fraction(2, 3), Fraction(1, 3))
        assert told.message == refusal.value.message and told.hint == refusal.value.hint


def test_a_refusal_shows_all_digits_of_a_float_and_no_more():
    allowance = Ledger.in_memory("add-remove").allowance(Fraction(1), "a fit")
    with pytest.raises(BudgetExceeded, match=r"ρ = 1\.0000000000000002, but only 1 of 1 is left"):
        allowance.charge("measuring", Fraction(math.nextafter(1, 2)), "any")
    allowance.charge("measuring", Fraction(9, 10), "any")
    rest = Fraction(1, 10)
    with pytest.raises(
        BudgetExceeded, match=r"ρ = 0\.10000000000000001, but only 0\.10000000000000001 of 1 is"
    ):
        allowance.charge("measuring", rest + Fraction(1, 10**30), "any")
    allowance.charge("measuring", rest, "any")


@patient
@given(st.lists(costs, max_size=40))
def test_random_charges_never_exceed_the_limit(requests):
    ledger, kept = Ledger.in_memory("add-remove", LIMIT), Fraction(0)
    for rho in requests:
        if kept + rho <= LIMIT.rho:
            ledger.charge("measuring", rho, "discrete gaussian")
            kept += rho
        else:
            with pytest.raises(BudgetExceeded):
                ledger.charge("measuring", rho, "discrete gaussian")
    assert ledger.spent == kept == sum(charge.rho for charge in ledger.charges) <= LIMIT.rho


@pytest.mark.parametrize("rho", [0, Fraction(-1, 2), 0.001, float("nan")])
def test_a_cost_that_is_not_an_exact_positive_fraction_is_refused(rho):
    with pytest.raises(InvalidInput, match="exact fraction"):
        Ledger.in_memory("add-remove").charge("measuring", rho, "discrete gaussian")


@pytest.mark.parametrize(
    "value", [None, [1], {"a": 1}, float("nan"), float("inf"), Fraction(1, 2), b"x"]
)
def test_details_are_plain_values_only(value):
    with pytest.raises(InvalidInput, match="'scale'"):
        Ledger.in_memory("add-remove").charge("measuring", COST, "discrete gaussian", scale=value)


def test_a_charge_for_something_that_is_not_a_text_is_refused():
    with pytest.raises(InvalidInput, match="texts"):
        Ledger.in_memory("add-remove").charge(7, COST, "discrete gaussian")


def test_an_unknown_relation_is_refused():
    with pytest.raises(InvalidInput, match="add-remove, substitute"):
        Ledger.in_memory("friends")


def test_threads_that_share_a_ledger_cannot_overspend_it():
    ledger = Ledger.in_memory("add-remove", LIMIT)

    def spend() -> None:
        for _ in range(20):
            try:
                ledger.charge("measuring", COST, "discrete gaussian")
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent == 14 * COST <= LIMIT.rho


def test_representations_show_what_was_spent():
    ledger = Ledger.in_memory("add-remove", LIMIT)
    ledger.charge("measuring", COST, "discrete gaussian")
    assert repr(ledger) == "Ledger(add-remove, 1 charges, ρ = 0.001 of 0.01497 spent)"
    assert repr(Ledger.in_memory("substitute")) == "Ledger(substitute, 0 charges, ρ = 0 spent)"
    assert repr(ledger.allowance(COST, "spring")) == "Allowance('spring', ρ = 0 of 0.001 spent)"


# Allowances.


def test_an_allowance_stops_at_its_own_cap():
    allowance = Ledger.in_memory("add-remove").allowance(2 * COST, "spring release")
    allowance.charge("selecting", COST, "exponential", picks=3)
    with pytest.raises(BudgetExceeded) as refusal:
        allowance.charge("measuring", Fraction(3, 2000), "discrete gaussian")
    assert str(refusal.value).startswith(
        "measuring costs ρ = 0.0015, but only 0.001 of 0.002 is left.\nHint: "
    )
    assert (allowance.spent, allowance.left, allowance.total) == (COST, COST, 2 * COST)


def test_charges_of_an_allowance_are_in_the_ledger_under_its_label():
    ledger = Ledger.in_memory("add-remove")
    charge = ledger.allowance(COST, "spring release").charge(
        "measuring", COST, "discrete gaussian", scale=3.0
    )
    assert ledger.charges == (charge,) and charge.details == {"scale": 3.0, "for": "spring release"}


def test_an_allowance_larger_than_the_rest_is_refused_at_once():
    ledger = Ledger.in_memory("add-remove", LIMIT)
    ledger.charge("measuring", LIMIT.rho / 2, "discrete gaussian")
    with pytest.raises(
        BudgetExceeded, match=r"spring release asks for ρ = 0\.015, but only 0\.00749 of 0\.015"
    ):
        ledger.allowance(LIMIT.rho, "spring release")


def test_two_allowances_together_stay_under_the_limit():
    ledger = Ledger.in_memory("add-remove", LIMIT)
    one, other = ledger.allowance(LIMIT.rho, "one"), ledger.allowance(LIMIT.rho, "other")
    one.charge("measuring", LIMIT.rho * 2 / 3, "discrete gaussian")
    with pytest.raises(BudgetExceeded, match="in this ledger"):
        other.charge("measuring", LIMIT.rho * 2 / 3, "discrete gaussian")
    assert other.charges == () and other.spent == 0


@patient
@given(st.lists(costs, max_size=30), costs)
def test_random_charges_never_exceed_an_allowance(requests, cap):
    allowance = Ledger.in_memory("add-remove", LIMIT).allowance(cap, "release")
    for rho in requests:
        try:
            allowance.charge("measuring", rho, "discrete gaussian")
        except BudgetExceeded:
            assert rho > allowance.left
    assert allowance.spent <= cap and allowance.left == cap - allowance.spent >= 0


# Files.


@settings(deadline=None, max_examples=30)
@given(
    requests=st.lists(
        st.tuples(st.text(max_size=20), costs, st.floats(allow_nan=False, allow_infinity=False))
    )
)
def test_a_file_read_again_equals_the_ledger_that_wrote_it(tmp_path_factory, requests):
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    with Ledger.open(path, "substitute") as ledger:
        for what, rho, scale in requests:
            ledger.charge(
                what, rho, "discrete gaussian", scale=scale, note=what, cells=3, exact=True
            )
    again = Ledger.read(path)
    assert again.charges == ledger.charges and again.spent == ledger.spent
    assert again.relation == ledger.relation and again.limit is ledger.limit is None


def test_a_ledger_goes_on_where_it_stopped(used):
    with reopened(used) as ledger:
        assert ledger.spent == 3 * COST and ledger.limit == LIMIT and ledger.notes == ()
        ledger.charge("measuring", COST, "discrete gaussian")
    assert Ledger.read(used).spent == 4 * COST


def test_the_limit_holds_over_several_runs(used):
    with reopened(used) as ledger, pytest.raises(BudgetExceeded):
        ledger.charge("measuring", LIMIT.rho - 2 * COST, "discrete gaussian")


def test_a_charge_is_on_disk_when_it_returns(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    with Ledger.open(path, "add-remove") as ledger:
        ledger.charge("measuring", COST, "discrete gaussian")
        assert synced[-1] == path.stat().st_size
        assert Ledger.read(path).charges == ledger.charges


def test_only_the_owner_can_read_a_ledger(used):
    assert stat.S_IMODE(used.stat().st_mode) == 0o600


def test_an_empty_file_becomes_a_ledger_of_the_owner(path):
    path.touch(mode=0o666)
    Ledger.open(path, "add-remove").close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and Ledger.read(path).charges == ()


def test_a_file_names_its_relation_and_no_other_is_accepted(used):
    with pytest.raises(InvalidInput, match="add-remove, but this run asks for substitute"):
        Ledger.open(used, "substitute")


def test_the_limit_of_a_file_cannot_be_changed(used, tmp_path):
    with pytest.raises(
        InvalidInput, match="a limit of ε = 1, δ = 1e-09, but this run asks for a limit of ε = 2"
    ):
        Ledger.open(used, "add-remove", Budget(2.0, 1e-9))
    Ledger.open(tmp_path / "unlimited", "add-remove").close()
    with pytest.raises(InvalidInput, match="has no limit"):
        Ledger.open(tmp_path / "unlimited", "add-remove", LIMIT)
    Ledger.open(used, "add-remove", LIMIT).close()


def test_a_closed_ledger_can_be_read_but_not_charged(used):
    ledger = reopened(used)
    ledger.close()
    ledger.close()
    assert ledger.spent == 3 * COST
    with pytest.raises(TabveilError, match="is closed"):
        ledger.charge("measuring", COST, "discrete gaussian")


def test_reading_changes_nothing_and_allows_no_charge(used):
    before = used.read_bytes()
    with pytest.raises(TabveilError, match="for reading only"):
        Ledger.read(used).charge("measuring", COST, "discrete gaussian")
    assert used.read_bytes() == before


def test_a_ledger_can_be_read_while_it_is_in_use(used):
    with reopened(used) as ledger:
        ledger.charge("measuring", COST, "discrete gaussian")
        assert Ledger.read(used).spent == 4 * COST


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda ledger: pickle.loads(pickle.dumps(ledger))]
)
def test_a_copy_knows_what_was_spent_but_cannot_spend(used, copied):
    with reopened(used) as ledger:
        twin = copied(ledger)
        assert twin.charges == ledger.charges
        with pytest.raises(TabveilError, match="is a copy"):
            twin.charge("measuring", COST, "discrete gaussian")
        twin.close()
        ledger.charge("measuring", COST, "discrete gaussian")


# Places where no ledger can be.


def test_a_symbolic_link_is_refused(used, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(used)
    for attempt in (lambda: reopened(link), lambda: Ledger.read(link)):
        with pytest.raises(InvalidInput, match="symbolic link"):
            attempt()


def test_a_dangling_link_is_refused_and_creates_nothing(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(InvalidInput, match="symbolic link"):
        reopened(tmp_path / "link")
    assert not (tmp_path / "target").exists()


def test_a_folder_a_pipe_and_a_missing_folder_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="cannot be opened"):
        reopened(tmp_path)
    with pytest.raises(InvalidInput, match="ordinary file"):
        reopened(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="cannot be opened"):
        reopened(tmp_path / "nowhere" / "ledger.jsonl")
    with pytest.raises(InvalidInput, match="cannot be opened"):
        Ledger.read(tmp_path / "nothing")


@pytest.mark.parametrize(
    "content", [b"age,sex\n1,F\n", b"age,sex", b"{}\n", b"\n", b"\0", b"[1]\n", b"[" * 10**5]
)
def test_another_file_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    for attempt in (lambda: reopened(path), lambda: Ledger.read(path)):
        with pytest.raises(LedgerDamaged, match="does not begin like"):
            attempt()
    assert path.read_bytes() == content


def test_an_empty_file_cannot_be_shown(path):
    path.touch()
    with pytest.raises(LedgerDamaged, match="is empty"):
        Ledger.read(path)


# Damage.


def test_a_flipped_bit_is_noticed_wherever_it_is(used):
    good = used.read_bytes()
    for position in range(len(good)):
        flipped = good[position] ^ (1 << random.randrange(8))
        used.write_bytes(good[:position] + bytes([flipped]) + good[position + 1 :])
        with pytest.raises(LedgerDamaged):
            Ledger.read(used)
    used.write_bytes(good.replace(b"1/1000", b"1/1001", 1))
    with pytest.raises(LedgerDamaged, match=r"Line 2 .* is damaged or was changed"):
        reopened(used)


def test_a_missing_doubled_or_moved_line_is_noticed(used):
    header, one, two, three = used.read_bytes().splitlines(keepends=True)
    for lines in (
        [header, two, three],
        [header, one, one, two],
        [header, two, one, three],
        [one, two],
        [header, header],
    ):
        used.write_bytes(b"".join(lines))
        with pytest.raises(LedgerDamaged):
            reopened(used)


@pytest.mark.parametrize(
    "change",
    [
        lambda records: records[1].update(rho="-1/1000"),
        lambda records: records[1].update(rho="0/1"),
        lambda records: records[1].update(rho="1/0"),
        lambda records: records[1].update(rho="0.001"),
        lambda records: records[1].update(rho=0.001),
        lambda records: records[1].update(rho="9" * 5000 + "/1"),
        lambda records: records[1].update(details={"rows": [1]}),
        lambda records: records[1].update(details=None),
        lambda records: records[1].update(what=3),
        lambda records: records[1].update(surprise="text"),
        lambda records: records[1].update(kind="refund"),
        lambda records: records[1].pop("kind"),
        lambda records: records[1].pop("when"),
        lambda records: records[0].update(relation="friends"),
        lambda records: records[0].update(limit={"epsilon": -1, "delta": 0.1}),
        lambda records: records[0].update(limit=5),
        lambda records: records[0].pop("limit"),
        lambda records: records[0].update(version=2),
    ],
)
def test_a_record_that_we_would_not_write_is_refused_even_with_valid_hashes(used, change):
    rechained(used, change)
    with pytest.raises(LedgerDamaged):
        reopened(used)


def test_a_newer_version_is_named_as_the_reason(used):
    rechained(used, lambda records: records[0].update(version=2))
    with pytest.raises(LedgerDamaged, match="another version"):
        reopened(used)


def test_a_torn_last_line_is_removed_noted_and_costs_nothing(used):
    good = used.read_bytes()
    start_of_last = good[:-1].rindex(b"\n") + 1
    for length in range(start_of_last + 1, len(good) - 1, 17):
        used.write_bytes(good[:length])
        assert Ledger.read(used).spent == 2 * COST
        with reopened(used) as ledger:
            assert ledger.spent == 2 * COST and "was removed" in ledger.notes[0]
            ledger.charge("measuring", COST, "discrete gaussian")
        again = Ledger.read(used)
        assert again.spent == 3 * COST and again.notes == ledger.notes


def test_a_last_line_that_lacks_only_its_line_break_stays_spent(used):
    used.write_bytes(used.read_bytes()[:-1])
    assert Ledger.read(used).spent == 3 * COST
    with reopened(used) as ledger:
        assert ledger.spent == 3 * COST and "line break" in ledger.notes[0]
        ledger.charge("measuring", COST, "discrete gaussian")
    assert Ledger.read(used).spent == 4 * COST


def test_a_torn_first_line_starts_anew(used):
    header = used.read_bytes().splitlines()[0]
    for length in range(0, len(header), 11):
        used.write_bytes(header[:length])
        Ledger.open(used, "substitute").close()
        assert Ledger.read(used).relation == "substitute"
    used.write_bytes(header)
    with reopened(used) as ledger:
        assert ledger.limit == LIMIT and "line break" in ledger.notes[0]


@pytest.mark.parametrize("tail", [b"\0\0\0", b"garbage", b'{"previous":"0"', b"{}"])
def test_a_tail_that_no_killed_write_leaves_is_refused(used, tail):
    used.write_bytes(used.read_bytes() + tail)
    for _ in range(2):
        with pytest.raises(LedgerDamaged, match="Line 5 of the ledger"):
            reopened(used)


@pytest.mark.parametrize("more", [b"\xff", b',"a":' + b"[" * 100_000, b"}}", b',"a":1} and more'])
def test_a_torn_line_that_no_killed_write_leaves_is_refused(used, more):
    lines = used.read_bytes().splitlines()
    start = b'{"previous":"' + hashlib.sha256(lines[-1]).hexdigest().encode() + b'"'
    used.write_bytes(used.read_bytes() + start + more)
    with pytest.raises(LedgerDamaged):
        reopened(used)


# Crashes and full disks.


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_refuses_the_charge_and_leaves_the_ledger_as_it_was(used, monkeypatch, call):
    with reopened(used) as ledger:
        before = used.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing(1)(getattr(os, call)))
            with pytest.raises(
                TabveilError, match=r"measuring could not be charged: .*No space left"
            ) as refusal:
                ledger.charge("measuring", COST, "discrete gaussian")
        assert "as it was before" in refusal.value.hint
        assert used.read_bytes() == before and ledger.spent == 3 * COST
        ledger.charge("measuring", COST, "discrete gaussian")
    assert Ledger.read(used).spent == 4 * COST


def test_a_disk_that_fills_up_within_a_line_leaves_no_half_line(used, monkeypatch):
    real = os.write
    with reopened(used) as ledger:
        before = used.read_bytes()
        with monkeypatch.context() as patch:
            halves = failing(2)(lambda handle, line: real(handle, line[: len(line) // 2]))
            patch.setattr(os, "write", halves)
            with pytest.raises(TabveilError, match="No space left"):
                ledger.charge("measuring", COST, "discrete gaussian")
        assert used.read_bytes() == before


def test_a_slow_disk_that_takes_a_few_bytes_at_a_time_still_gets_whole_lines(used, monkeypatch):
    real = os.write
    with reopened(used) as ledger, monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, line: real(handle, line[:7]))
        ledger.charge("measuring", COST, "discrete gaussian")
    assert Ledger.read(used).spent == 4 * COST


def test_a_failed_write_that_cannot_be_undone_ends_all_charging(used, monkeypatch):
    with reopened(used) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing(1)(os.fsync))
            patch.setattr(os, "ftruncate", failing(1)(os.ftruncate))
            with pytest.raises(TabveilError, match="could not be charged") as refusal:
                ledger.charge("measuring", COST, "discrete gaussian")
        assert "nothing more" in refusal.value.hint
        with pytest.raises(TabveilError, match="cannot charge anything more"):
            ledger.charge("measuring", COST, "discrete gaussian")
    assert Ledger.read(used).spent == 4 * COST  # the line did get there, so it counts as spent


def test_an_interrupted_write_ends_all_charging(used, monkeypatch):
    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    with reopened(used) as ledger:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "fsync", interrupted)
            ledger.charge("measuring", COST, "discrete gaussian")
        with pytest.raises(TabveilError, match="cannot charge anything more"):
            ledger.charge("measuring", COST, "discrete gaussian")


def test_a_full_disk_while_starting_leaves_nothing_in_the_way(path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(TabveilError, match="No space left"):
        patch.setattr(os, "write", failing(1)(os.write))
        Ledger.open(path, "add-remove")
    Ledger.open(path, "add-remove").close()


def test_a_full_disk_while_repairing_is_explained(used, monkeypatch):
    used.write_bytes(used.read_bytes()[:-5])
    with (
        monkeypatch.context() as patch,
        pytest.raises(TabveilError, match=r"A repair .*No space left"),
    ):
        patch.setattr(os, "ftruncate", failing(1)(os.ftruncate))
        reopened(used)
    with reopened(used) as ledger:
        assert ledger.spent == 2 * COST


def test_a_disk_that_cannot_be_read_is_explained(used, monkeypatch):
    monkeypatch.setattr(os, "read", failing(1, 2)(os.read))
    for attempt in (lambda: reopened(used), lambda: Ledger.read(used)):
        with pytest.raises(TabveilError, match="cannot be used"):
            attempt()


def test_a_file_system_without_locks_is_refused(used, monkeypatch):
    monkeypatch.setattr("tabveil.disk._lock", failing(1)(lambda handle: None))
    with pytest.raises(TabveilError, match="cannot be locked"):
        reopened(used)


def linked(path: Path) -> None:
    """Move a file away and leave a link to it in its place."""
    path.symlink_to(path.rename(path.parent / "z"))


@pytest.mark.parametrize(
    "disturb",
    [lambda p: p.unlink(), lambda p: p.write_text("x"), lambda p: p.rename(p.parent / "y"), linked],
)
def test_a_file_disturbed_during_a_run_takes_no_charge(used, disturb):
    with reopened(used) as ledger:
        disturb(used)
        with pytest.raises(TabveilError, match="moved, replaced or changed"):
            ledger.charge("measuring", COST, "discrete gaussian")
        assert ledger.spent == 3 * COST


def test_a_file_replaced_during_a_run_takes_no_charge(used):
    with reopened(used) as ledger:
        content = used.read_bytes()
        used.rename(used.parent / "old")
        used.write_bytes(content)
        with pytest.raises(TabveilError, match="replaced"):
            ledger.charge("measuring", COST, "discrete gaussian")


# Several processes.

CHARGE_FOREVER = """
import sys
from fractions import Fraction
from tabveil.privacy import Ledger
ledger = Ledger.open(sys.argv[1], "add-remove")
for number in range(10**6):
    charge = ledger.charge(f"measuring {sys.argv[2]} {number}", Fraction(1, 10**9),
    "discrete gaussian")
    print(charge.what, flush=True)
"""


def start_charging(path: Path, cycle: int) -> subprocess.Popen:
    source = str(Path(tabveil.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-c", CHARGE_FOREVER, str(path), str(cycle)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )


def test_no_acknowledged_charge_is_lost_when_a_run_is_killed(path):
    acknowledged: set[str] = set()
    for cycle in range(5):
        with start_charging(path, cycle) as child:
            acknowledged.add(child.stdout.readline().rstrip("\n"))
            time.sleep(random.random() / 20)
            child.send_signal(signal.SIGKILL)
            acknowledged |= {line.rstrip("\n") for line in child.stdout if line.endswith("\n")}
    written = [charge.what for charge in Ledger.read(path).charges]
    assert (
        acknowledged <= set(written)
        and len(written) == len(set(written))
        and len(acknowledged) >= 5
    )
    reopened(path).close()


def test_a_second_process_is_refused_while_the_first_is_at_work(path):
    with start_charging(path, 0) as child:
        assert child.stdout.readline()
        with pytest.raises(TabveilError, match="in use by another run") as refusal:
            reopened(path)
        assert refusal.value.hint
        child.kill()
    reopened(path).close()


def test_two_ledgers_on_one_file_are_refused_within_a_process_too(used):
    with reopened(used), pytest.raises(TabveilError, match="in use"):
        reopened(used)
    reopened(used).close()


def test_a_ledger_that_was_dropped_without_closing_does_not_block_the_next(used):
    ledger = reopened(used)
    del ledger
    gc.collect()
    reopened(used).close()


def test_a_process_that_did_not_open_the_ledger_cannot_charge_it(used, monkeypatch):
    before, ledger = used.read_bytes(), reopened(used)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(TabveilError, match="forked"):
        ledger.charge("measuring", COST, "discrete gaussian")
    ledger.close()
    assert used.read_bytes() == before


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")  # forks
def test_a_forked_child_cannot_charge_and_cannot_unlock(used):
    with reopened(used) as ledger:
        child = os.fork()
        if child == 0:
            try:
                ledger.charge("measuring", COST, "discrete gaussian")
            except TabveilError:
                ledger.close()
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        with pytest.raises(TabveilError, match="in use"):
            reopened(used)
        ledger.charge("measuring", COST, "discrete gaussian")
    assert Ledger.read(used).spent == 4 * COST


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_forked_child_that_lives_on_does_not_keep_the_ledger_locked(used):
    ledger = reopened(used)
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,), daemon=True)
    child.start()
    try:
        ledger.close()
        reopened(used).close()
    finally:
        child.kill()
        child.join()
        child.close()


# What mechanisms use up of δ themselves.


def test_what_mechanisms_use_of_delta_is_taken_off(path):
    with Ledger.open(path, "add-remove", limit=Budget(1.0, 1e-6)) as ledger:
        assert ledger.delta_left(1e-6) == 1e-6
        ledger.charge("names", Fraction(1, 1000), "threshold", delta=4e-7)
        assert ledger.delta_spent == Fraction(4e-7)
        assert Fraction(ledger.delta_left(1e-6)) <= Fraction(1e-6) - Fraction(4e-7)
        assert ledger.delta_left(1e-6) == pytest.approx(6e-7)
        assert ledger.left == rho_of(1.0, ledger.delta_left(1e-6)) - Fraction(1, 1000)
        with pytest.raises(InvalidInput, match="no more than what was used up"):
            ledger.delta_left(4e-7)
        ledger_left = ledger.left
    assert Ledger.read(path).left == ledger_left


def test_a_mechanism_that_uses_all_of_delta_leaves_nothing():
    ledger = Ledger.in_memory("add-remove", limit=Budget(1.0, 1e-6))
    with pytest.raises(BudgetExceeded):
        ledger.charge("names", Fraction(1, 1000), "threshold", delta=1e-6)
    assert ledger.spent == 0 and ledger.left == Budget(1.0, 1e-6).rho


@pytest.mark.parametrize("delta", [9.999e-7, 1e-6, 0.5])
def test_a_delta_that_would_unpay_what_was_spent_leaves_nothing(delta):
    ledger = Ledger.in_memory("add-remove", limit=Budget(1.0, 1e-6))
    ledger.charge("measuring", Fraction(2, 100), "discrete gaussian")
    with pytest.raises(BudgetExceeded, match="but only 0 of"):
        ledger.charge("names", Fraction(1, 10**6), "threshold", delta=delta)


def test_what_is_left_of_delta_is_rounded_down():
    assert below(0.5, Fraction(1, 4)) == 0.25 and below(1e-9, Fraction(0)) == 1e-9
    assert below(1.0, Fraction(1, 2**60)) == math.nextafter(1, 0)  # the nearest float would be 1
    assert below(1e-9, Fraction(1e-9)) == 0


@pytest.mark.parametrize("delta", [-1e-9, 1.0, "1e-9"])
def test_an_impossible_delta_of_a_charge_is_refused(delta):
    ledger = Ledger.in_memory("add-remove")
    with pytest.raises(InvalidInput, match="δ of a charge"):
        ledger.charge("names", Fraction(1, 1000), "threshold", delta=delta)


def test_one_ledger_protects_one_unit():
    ledger = Ledger.in_memory("add-remove")
    ledger.allowance(Fraction(1), "first", unit="all rows of one person").charge(
        "a", Fraction(1, 8), "b"
    )
    with pytest.raises(InvalidInput, match="protects all rows of one person"):
        ledger.allowance(Fraction(1), "second", unit="one row")
    ledger.allowance(Fraction(1), "third", unit="all rows of one person")


# Answers that were bought.


def bought(allowance, value, **more):
    return allowance.buy("a", Fraction(1, 8), "b", lambda: np.array([value]), **more).tolist()


def test_without_a_file_or_a_request_nothing_is_kept(path):
    memory = Ledger.in_memory("add-remove").allowance(Fraction(1), "one", request="r")
    assert bought(memory, 3) == [3] and bought(memory, 4) == [4]
    memory.finish()
    with Ledger.open(path, "add-remove") as ledger:
        assert bought(ledger.allowance(Fraction(1), "one"), 3) == [3]
    assert list(path.parent.iterdir()) == [path]


def test_an_answer_is_bought_once_and_counts_against_the_cap(path):
    with Ledger.open(path, "add-remove") as ledger:
        first = ledger.allowance(Fraction(1, 8), "one", request="r")
        assert bought(first, 3, asked=[np.arange(3)], scale=1.5) == [3]
    short = hashlib.sha256(b"r").hexdigest()[:16]
    assert {file.name for file in path.parent.iterdir()} == {
        path.name,
        f"{path.name}.{short}.journal",
    }
    with Ledger.open(path, "add-remove") as ledger:
        again = ledger.allowance(Fraction(1, 8), "one", request="r")
        assert bought(again, 99, asked=[np.arange(3)], scale=1.5) == [3]
        assert again.recalled == 1 and again.left == 0 and again.charges == ledger.charges
        assert ledger.spent == Fraction(1, 8)
        with pytest.raises(BudgetExceeded):
            bought(again, 5)
        again.finish()
    assert list(path.parent.iterdir()) == [path]


def test_stored_answers_do_not_lift_the_cap(path):
    with Ledger.open(path, "add-remove") as ledger:
        bought(ledger.allowance(Fraction(1), "one", request="r"), 3)
        smaller = ledger.allowance(Fraction(1, 16), "one", request="r")
        with pytest.raises(BudgetExceeded):
            bought(smaller, 3)


@pytest.mark.parametrize(
    "other", [{"asked": [np.arange(4)]}, {"scale": 2.5}, {"asked": [np.arange(3).reshape(1, 3)]}]
)
def test_an_answer_belongs_to_its_question(path, other):
    with Ledger.open(path, "add-remove") as ledger:
        bought(
            ledger.allowance(Fraction(1), "one", request="r"),
            3,
            **{"asked": [np.arange(3)], "scale": 1.5},
        )
        again = ledger.allowance(Fraction(1), "one", request="r")
        with pytest.raises(InvalidInput, match="other questions"):
            bought(again, 4, **{"asked": [np.arange(3)], "scale": 1.5} | other)
        assert bought(ledger.allowance(Fraction(1), "one", request="another"), 5) == [5]


def test_a_torn_answer_is_bought_again_and_the_journal_goes_on(path):
    with Ledger.open(path, "add-remove") as ledger:
        first = ledger.allowance(Fraction(1), "one", request="r")
        assert [bought(first, 3), bought(first, 4)] == [[3], [4]]
        [journal] = path.parent.glob("*.journal")
        journal.write_bytes(journal.read_bytes()[:-5])
        second = ledger.allowance(Fraction(1), "one", request="r")
        assert [bought(second, 5), bought(second, 6)] == [[3], [6]] and second.recalled == 1
        third = ledger.allowance(Fraction(1), "one", request="r")
        assert [bought(third, 7), bought(third, 8)] == [[3], [6]] and third.recalled == 2
        assert third.spent == Fraction(1, 4) and ledger.spent == Fraction(3, 8)


def test_a_damaged_answer_is_refused_by_its_line(path):
    with Ledger.open(path, "add-remove") as ledger:
        first = ledger.allowance(Fraction(1), "one", request="r")
        assert [bought(first, 3), bought(first, 4)] == [[3], [4]]
        [journal] = path.parent.glob("*.journal")
        whole = journal.read_bytes()
        for number, damaged in (
            (1, whole.replace(b"[3]", b"[5]")),
            (2, whole.replace(b"[4]", b"[5]")),
        ):
            journal.write_bytes(damaged)
            with pytest.raises(InvalidInput, match=f"Line {number} of the journal .* is damaged"):
                ledger.allowance(Fraction(1), "one", request="r")


def test_answers_paid_elsewhere_are_refused(path):
    with Ledger.open(path, "add-remove") as ledger:
        bought(ledger.allowance(Fraction(1), "one", request="r"), 3)
    path.unlink()
    with (
        Ledger.open(path, "add-remove") as ledger,
        pytest.raises(LedgerDamaged, match="not show as paid"),
    ):
        ledger.allowance(Fraction(1), "one", request="r")


def test_what_was_bought_leaves_room_for_the_rest_under_a_limit(path):
    with Ledger.open(path, "add-remove", limit=LIMIT) as ledger:
        first = ledger.allowance(LIMIT.rho, "one", request="r")
        first.buy("a", COST, "b", lambda: np.array([3]))
        again = ledger.allowance(LIMIT.rho, "one", request="r")
        again.buy("a", COST, "b", lambda: np.array([4]))
        again.buy("c", again.left, "d", lambda: np.array([5]))
        assert again.left == ledger.left == 0
        with pytest.raises(BudgetExceeded):
            ledger.allowance(COST, "two", request="another")


def test_a_damaged_header_is_named_as_line_1(used):
    used.write_bytes(
        used.read_bytes().replace(b'"relation":"add-remove"', b'"relation":"add-romove"', 1)
    )
    with pytest.raises(LedgerDamaged, match="Line 1 of"):
        reopened(used)
    rechained(used, lambda records: records[0].update(relation="friends"))
    with pytest.raises(LedgerDamaged, match="Line 1 of"):
        reopened(used)


def test_what_does_not_belong_behind_the_last_line_is_named_by_its_line(used):
    used.write_bytes(used.read_bytes() + b'{"previous":"of another ledger"')
    with pytest.raises(LedgerDamaged, match="Line 5 of"):  # after a header and three charges
        reopened(used)


def test_the_first_line_says_which_format_it_is(used):
    header = json.loads(used.read_text().splitlines()[0])
    assert (header["format"], header["version"]) == ("tabveil-ledger", 1)


def test_a_release_that_asked_nothing_can_be_finished(path):
    with Ledger.open(path, "add-remove") as ledger:
        ledger.allowance(Fraction(1), "one", request="r").finish()


def test_a_changed_answer_does_not_change_what_is_stored(path):
    with Ledger.open(path, "add-remove") as ledger:
        bought(ledger.allowance(Fraction(1), "one", request="r"), 3)
        again = ledger.allowance(Fraction(1), "one", request="r")
        answer = again.buy("a", Fraction(1, 8), "b", lambda: np.array([4]))
        answer[:] = 7
        assert bought(ledger.allowance(Fraction(1), "one", request="r"), 4) == [3]


def test_a_full_disk_for_the_journal_is_explained(path, monkeypatch):
    with Ledger.open(path, "add-remove") as ledger, monkeypatch.context() as patch:
        allowance = ledger.allowance(Fraction(1), "one", request="r")
        patch.setattr("tabveil.disk.write_all", failing(2)(disk.write_all))
        with pytest.raises(
            TabveilError, match=r"could not be written to the journal .*No space left"
        ):
            bought(allowance, 3)
        assert ledger.spent == Fraction(1, 8)


def test_a_journal_is_on_disk_before_an_answer_is_used(path, monkeypatch):
    synced = []
    with Ledger.open(path, "add-remove") as ledger:
        allowance = ledger.allowance(Fraction(1), "one", request="r")
        fsync = os.fsync
        monkeypatch.setattr(
            os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_ino), fsync(handle))
        )
        bought(allowance, 3)
        [journal] = path.parent.glob("*.journal")
        assert synced == [path.stat().st_ino, journal.stat().st_ino, path.parent.stat().st_ino]
        synced.clear()
        bought(allowance, 3)
        assert synced == [path.stat().st_ino, journal.stat().st_ino]
        allowance.finish()
        assert synced[-1] == path.parent.stat().st_ino and not journal.exists()


# -- where a ledger stands, for releases that were charged to it -----------------------------------


def charged(path, *whats: str) -> list[Place]:
    places = []
    for what in whats:
        with Ledger.open(path, "add-remove") as ledger:
            ledger.charge(what, Fraction(1, 9), "noise")
            places.append(ledger.place)
    return places


def test_a_place_is_the_first_and_the_last_line_and_their_number(tmp_path):
    first, second = charged(tmp_path / "a", "one", "two")
    assert (first.lines, second.lines) == (
        2,
        3,
    ) and first.first == second.first != first.last != second.last
    lines = [
        hashlib.sha256(line).hexdigest() for line in (tmp_path / "a").read_bytes().splitlines()
    ]
    assert second == Place(lines[0], 3, lines[2]) == Ledger.read(tmp_path / "a").place
    assert Ledger.in_memory("add-remove").place is None


def test_a_ledger_tells_whether_it_once_stood_at_a_place(tmp_path):
    path, copy = tmp_path / "a", tmp_path / "copy"
    charged(path, "one")
    shutil.copy(path, copy)
    [second] = charged(path, "two")
    charged(path, "three")
    ledger = Ledger.read(path)
    assert ledger.trouble_with(second) == ""
    assert Ledger.read(copy).trouble_with(second) == "was cut short: it had 3 lines and has 2"
    charged(copy, "two")  # the same charge, and yet another line
    assert "its line 3 is not the one" in Ledger.read(copy).trouble_with(second)
    charged(tmp_path / "other", "one", "two", "three")
    assert "began otherwise" in Ledger.read(tmp_path / "other").trouble_with(second)
    assert "began otherwise" in Ledger.in_memory("add-remove").trouble_with(second)
    assert "began otherwise" in ledger.trouble_with(second._replace(first=ledger.place.last))


def test_a_ledger_shows_charges_by_their_marks(tmp_path):
    charged(tmp_path / "a", "one", "two")
    ledger = Ledger.read(tmp_path / "a")
    marks = [charge.mark for charge in ledger.charges]
    assert len(set(marks)) == 2 and all(len(mark) == 16 for mark in marks)
    assert ledger.shows(marks) and ledger.shows(marks[:1])
    assert not ledger.shows([]) and not ledger.shows([*marks, "0" * 16])
