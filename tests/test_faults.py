"""Whatever cuts a fit short: no charge is lost, nothing is measured uncharged, no answer is drawn
twice."""

import errno
import itertools
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest

import killing
import tabveil as tv
from tabveil.errors import BudgetExceeded, InvalidInput, LedgerDamaged, TabveilError
from tabveil.fitting.synthesizer import DELTA
from tabveil.privacy import Budget, Ledger, OpenDPNoise, Relation


def journals(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.journal"))


def interrupted(folder: Path, after: int = 60) -> killing.Said:
    """A fit that died in the middle, and what it had said."""
    said = killing.try_here(folder, after)
    assert said and said[-1] != ["done"]
    return said


def used(said: killing.Said) -> list:
    return [answer for word, *more in said if word == "used" for answer in more]


def test_a_fit_may_die_at_any_point_and_goes_on_from_its_answers(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    doom = killing.Doom(10**9, lambda *words: None, killing.by_exception)
    with killing.doomed(doom):
        killing.fit(whole)
    events = 10**9 - doom.left
    assert events > 100
    for point in range(0, events, 3):
        folder = tmp_path / str(point)
        folder.mkdir()
        said = killing.try_here(folder, point)
        assert said[-1:] != [["done"]]
        stored = killing.require_true_files(folder, said, 0, [])
        if (folder / "release").exists():  # it died after its work was done
            continue
        before = killing.charges_in(folder)
        again = killing.try_here(folder, 10**9)
        assert again[-1] == ["done"]
        killing.require_true_files(folder, again, before, stored)
        killing.require_whole(folder)


def test_a_fit_that_goes_on_pays_for_what_is_missing_and_no_more(tmp_path: Path) -> None:
    first = interrupted(tmp_path)
    stored = used(first)
    before = killing.charges_in(tmp_path)
    model = killing.fit(tmp_path)
    assert (
        model.recalled_ == before == len(stored) or model.recalled_ == before - 1
    )  # died before storing it
    assert killing.charges_in(tmp_path) - before == len(model.ledger_) - model.recalled_


def kill(folder: Path, kills: int, seed: int) -> dict:
    """Many SIGKILLs; the program checks the files after each."""
    cache = folder / "programs"
    environment = {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    program = [
        sys.executable,
        str(Path(killing.__file__)),
        str(folder),
        str(kills),
        str(seed),
        "170",
    ]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_few_kills_lose_no_charge(tmp_path: Path) -> None:
    assert kill(tmp_path, kills=3, seed=0)["kills"] == 3


@pytest.mark.slow
def test_two_hundred_kills_lose_no_charge(tmp_path: Path) -> None:
    assert kill(tmp_path, kills=200, seed=1)["kills"] == 200


def test_a_release_that_could_not_be_saved_is_made_again_from_the_same_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tabveil.machine.files._sync_file", full)
        with pytest.raises(OSError, match="No space"):
            killing.fit(tmp_path)
    spent = killing.charges_in(tmp_path)
    assert not (tmp_path / "release").exists() and len(journals(tmp_path)) == 1
    model = killing.fit(tmp_path)
    assert model.recalled_ == spent == killing.charges_in(tmp_path)
    killing.require_whole(tmp_path)


def test_a_full_disk_in_the_middle_is_explained_and_can_be_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = os.write, []

    def filling(handle: int, content: bytes) -> int:
        calls.append(handle)
        if len(calls) > 7:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, content)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", filling)
        with pytest.raises(TabveilError, match=r"could not be (written|charged).*No space left"):
            killing.fit(tmp_path)
    assert killing.fit(tmp_path).recalled_ >= 2
    killing.require_whole(tmp_path)


@contextmanager
def bad_disk(call: str, number: int, *, for_good: bool = False) -> Iterator[list[int]]:
    """The call of this number, counted from 1, is an input/output error; for good: so are all later
    ones."""
    real, calls = getattr(os, call), [0]

    def failing(handle: int, *content: bytes) -> int:
        calls[0] += 1
        if calls[0] == number or (for_good and calls[0] > number > 0):
            for line in content:
                real(handle, line[: len(line) // 2])  # some of it got through
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(handle, *content)

    with patch.object(os, call, failing):
        yield calls


def told_fit(folder: Path) -> tuple[killing.Said, Exception | None]:
    """What a fit said, and how it failed."""
    said: killing.Said = []
    doom = killing.Doom(10**9, lambda *words: said.append(list(words)), killing.by_exception)
    try:
        with killing.doomed(doom):
            killing.fit(folder)
    except (TabveilError, OSError) as problem:
        return said, problem
    return said, None


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_an_input_output_error_loses_no_charge_and_leaves_nothing_uncharged(
    tmp_path: Path, call: str, for_good: bool
) -> None:
    with bad_disk(call, 0) as calls:
        killing.fit(tmp_path)
    assert calls[0] > 10
    for number in range(1, calls[0] + 1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        with bad_disk(call, number, for_good=for_good):
            said, problem = told_fit(folder)
        assert problem is not None and "Input/output error" in str(problem)
        stored = killing.require_true_files(folder, said, 0, [])
        if (folder / "release").exists():  # whole, though the folder above it could not be synced
            tv.load(folder / "release")
            continue
        before = killing.charges_in(folder)
        again = killing.try_here(folder, 10**9)
        assert again[-1] == ["done"]
        killing.require_true_files(folder, again, before, stored)
        killing.require_whole(folder)


@pytest.mark.parametrize("days", [(-1,), (36_500,), (400, -800), (0,)], ids=str)
def test_a_clock_that_jumps_changes_nothing_that_was_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: tuple[int, ...]
) -> None:
    class Clock:
        """Jumps whenever somebody looks at it."""

        time, jumps = datetime(2026, 11, 1, tzinfo=UTC), itertools.cycle(days)

        @classmethod
        def now(cls, zone: tzinfo) -> datetime:
            with suppress(OverflowError):  # the calendar ends
                cls.time += timedelta(next(cls.jumps))
            return cls.time.astimezone(zone)

    monkeypatch.setattr("tabveil.privacy.ledger_file.datetime", Clock)
    limit = Budget(1.0, DELTA)
    Ledger.open(tmp_path / "a.ledger", Relation.ADD_REMOVE, limit).close()
    said = interrupted(tmp_path)
    stored = killing.require_true_files(tmp_path, said, 0, [])
    paid = Ledger.read(tmp_path / "a.ledger").spent
    assert paid == sum(charge.rho for charge in Ledger.read(tmp_path / "a.ledger").charges) > 0
    again = killing.try_here(tmp_path, 10**9)
    assert again[-1] == ["done"] and used(again)[: len(stored)] == stored
    ledger = Ledger.read(tmp_path / "a.ledger")
    assert ledger.spent == limit.rho and ledger.left == 0
    with pytest.raises(BudgetExceeded):  # not even if the clock says that it was all long ago
        Ledger.open(tmp_path / "a.ledger", Relation.ADD_REMOVE).charge(
            "more", limit.rho / 10**6, "any"
        )


def test_a_fit_that_ended_is_a_new_one_when_it_is_asked_for_again(tmp_path: Path) -> None:
    """A notebook cell run twice makes two releases, and the ledger shows both."""
    frame, ledger = killing.table(), tmp_path / "a.ledger"
    model = tv.RAPpp(tv.Schema.from_dict(killing.SCHEMA), 1.0, preset=killing.PRESET, ledger=ledger)
    first = model.fit(frame).measurements_
    second = model.fit(frame).measurements_
    assert model.recalled_ == 0 and not first.equals(second)
    assert Ledger.read(ledger).spent == 2 * Budget(1.0, DELTA).rho
    assert not journals(tmp_path)


def test_a_limit_leaves_room_for_what_is_missing_only(tmp_path: Path) -> None:
    Ledger.open(tmp_path / "a.ledger", Relation.ADD_REMOVE, limit=Budget(1.0, DELTA)).close()
    said = interrupted(tmp_path)
    if [word for word, *_ in said].count("charged") == len(
        used(said)
    ):  # nothing was charged in vain
        assert killing.fit(tmp_path).recalled_ == len(used(said))
        assert Ledger.read(tmp_path / "a.ledger").left == 0


def test_an_answer_paid_in_vain_is_not_free_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger.open(tmp_path / "a.ledger", Relation.ADD_REMOVE, limit=Budget(1.0, DELTA)).close()
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(OpenDPNoise, "gaussian", lambda *_: 1 / 0)
        killing.fit(tmp_path)
    assert killing.charges_in(tmp_path) == 1 and not journals(tmp_path)
    with pytest.raises(BudgetExceeded):
        killing.fit(tmp_path)


def test_another_request_does_not_use_these_answers(tmp_path: Path) -> None:
    interrupted(tmp_path)
    for change in ({"epsilon": 2.0}, {"seed": 1}, {"delta": 1e-8}, {"targets": ["a"]}):
        settings = {
            "epsilon": 1.0,
            "preset": killing.PRESET,
            "ledger": tmp_path / "a.ledger",
        } | change
        model = tv.RAPpp(tv.Schema.from_dict(killing.SCHEMA), **settings).fit(killing.table())
        assert model.recalled_ == 0
    assert killing.fit(tmp_path).recalled_ > 0


def test_a_file_that_changed_meanwhile_is_another_request(tmp_path: Path) -> None:
    data, ledger = tmp_path / "people.csv", tmp_path / "a.ledger"
    settings = {"preset": killing.PRESET, "ledger": ledger}
    killing.table().to_csv(data, index=False)

    def stopped(status: object) -> None:
        if getattr(status, "stage", "fitting") == "fitting":
            raise KeyboardInterrupt

    schema = tv.Schema.from_dict(killing.SCHEMA)
    with pytest.raises(KeyboardInterrupt):
        tv.RAPpp(schema, 1.0, **settings).fit(data, watch=stopped)
    pd.concat([killing.table()] * 2).to_csv(data, index=False)
    assert tv.RAPpp(schema, 1.0, **settings).fit(data).recalled_ == 0


# -- the journal itself ----------------------------------------------------------------------------


def test_a_journal_is_for_its_owner_and_follows_no_link(tmp_path: Path) -> None:
    interrupted(tmp_path)
    [journal] = journals(tmp_path)
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    elsewhere = tmp_path / "elsewhere"
    journal.rename(elsewhere)
    journal.symlink_to(elsewhere)
    with pytest.raises(InvalidInput, match="symbolic link"):
        killing.fit(tmp_path)


def test_an_unfinished_last_line_is_dropped(tmp_path: Path) -> None:
    interrupted(tmp_path)
    [journal] = journals(tmp_path)
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    journal.write_bytes(whole[:-10])
    assert killing.fit(tmp_path).recalled_ == len(lines) - 1


@pytest.mark.parametrize(
    "damage", [lambda b: b.replace(b"shape", b"shqpe", 1), lambda b: b"{}\n" + b]
)
def test_a_damaged_journal_is_refused_with_a_hint(tmp_path: Path, damage) -> None:
    interrupted(tmp_path)
    [journal] = journals(tmp_path)
    journal.write_bytes(damage(journal.read_bytes()))
    with pytest.raises(
        InvalidInput, match=r"Line 1 of the journal .* is damaged\.\nHint: Remove it"
    ):
        killing.fit(tmp_path)


def test_answers_in_another_order_are_refused(tmp_path: Path) -> None:
    interrupted(tmp_path, after=100)
    [journal] = journals(tmp_path)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(reversed(lines)))
    with pytest.raises(InvalidInput, match="other questions"):
        killing.fit(tmp_path)


def test_answers_that_the_ledger_does_not_show_are_refused(tmp_path: Path) -> None:
    interrupted(tmp_path)
    (tmp_path / "a.ledger").unlink()
    with pytest.raises(LedgerDamaged, match="not show as paid"):
        killing.fit(tmp_path)
