"""One door: charged before a look, noised once, and every price held against OpenDP's own account
of it."""

import subprocess
import sys
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tabveil.privacy.door
from noises import Spy
from tabveil.errors import InvalidInput, Mispriced
from tabveil.privacy import (
    Budget,
    Door,
    Ledger,
    Promise,
    Protection,
    Relation,
    gaussian_scale,
    selection_scale,
)
from tabveil.privacy import noise as noise_module
from tabveil.privacy.noise import TESTED, gaussian_cost, top_cost

RHO = Fraction(1, 8)
GROUPS = [(np.arange(3), 2), (np.arange(3, 5), 1)]
costs = st.fractions(Fraction(1, 10**9), 10).filter(lambda rho: rho > 0)


def opened(protection: Protection | None = None) -> tuple[Door, Spy]:
    noise = Spy()
    allowance = Ledger.in_memory("add-remove").allowance(Fraction(2), "test")
    return Door(allowance, protection or Protection(), noise), noise


def ask_everything(door: Door) -> None:
    door.counts("counts", RHO, lambda: np.arange(4), squared=3)
    door.top("picks", RHO, lambda: np.arange(5), groups=GROUPS, sensitivity=2)
    door.frequent(
        "names", RHO, lambda: [{"a": 9, "b": 1}], squared=1, least=lambda scale: 5, delta=1e-9
    )


@given(costs, st.integers(1, 500))
@settings(deadline=None)
def test_opendp_agrees_with_the_price_of_gaussian_noise(rho: Fraction, squared: int) -> None:
    mapped = Fraction(gaussian_cost(gaussian_scale(rho, squared), squared))
    assert rho * (1 - Fraction(1, 10**12)) <= mapped <= rho * (1 + tabveil.privacy.door.ROUNDING)


@given(costs, st.integers(1, 40), st.integers(1, 12))
@settings(deadline=None)
def test_opendp_agrees_with_the_price_of_picks(rho: Fraction, picks: int, sensitivity: int) -> None:
    mapped = Fraction(top_cost(selection_scale(rho, picks, sensitivity), picks, sensitivity))
    assert rho * (1 - Fraction(1, 10**12)) <= mapped <= rho * (1 + tabveil.privacy.door.ROUNDING)


@pytest.mark.parametrize("name", ["gaussian_scale", "selection_scale"])
def test_a_price_that_opendp_disputes_ends_the_fit_before_anything_is_charged_or_drawn(
    name, monkeypatch
):
    right = getattr(tabveil.privacy.door, name)
    monkeypatch.setattr(tabveil.privacy.door, name, lambda *asked: right(*asked) * 0.99999)
    door, noise = opened()
    with pytest.raises(Mispriced, match="by OpenDP's account"):
        ask_everything(door) if name == "gaussian_scale" else door.top(
            "picks", RHO, lambda: pytest.fail("looked"), groups=GROUPS, sensitivity=2
        )
    assert door.allowance.charges == () and noise.draws == []


def test_a_door_shows_nothing_but_whom_it_protects() -> None:
    assert repr(opened(Protection(Relation.SUBSTITUTE))[0]) == "Door(substitute)"


def test_each_look_is_one_charge_and_its_noise_is_drawn_once() -> None:
    door, noise = opened()
    ask_everything(door)
    assert [charge.mechanism for charge in door.allowance.charges] == [
        "discrete Gaussian", "noisy top-K", "discrete Gaussian with threshold",
    ]  # fmt: skip
    assert len(noise.draws) == 1 + len(GROUPS) + 1
    assert door.allowance.spent == 3 * RHO and not door.private


def test_names_are_given_out_only_from_the_least_count_on() -> None:
    door, _ = opened()
    tallies = [{"many": 7, "few": 4}, {}, {"é": 5}]
    found = door.frequent("n", RHO, lambda: tallies, squared=3, least=lambda scale: 5, delta=1e-9)
    assert found == [["many"], [], ["é"]]
    assert door.allowance.charges[0].delta == Fraction(1e-9)


@pytest.mark.parametrize("relation", Relation)
def test_sensitivities_grow_with_rows_and_people(relation: Relation) -> None:
    moved = 1 if relation is Relation.ADD_REMOVE else 2
    assert Protection(relation).squared(5) == 5 * moved
    assert Protection(relation, "who", 3).squared(5) == 45 * moved
    assert Protection(relation).squared(5, if_replaced=1) == 5
    assert Protection(relation).cells_moved() == moved
    assert Protection(relation).noise_of(5, RHO) == gaussian_scale(RHO, 5 * moved)


def test_whom_a_promise_protects_in_words() -> None:
    swapped, person = Relation.SUBSTITUTE, Person("who", 3)
    assert Protection().change == "one row added or removed"
    assert Protection(swapped).change == "one row replaced by another"
    assert (
        Protection.of("substitute", person).change
        == "all rows of one who replaced by as many others"
    )
    assert str(Promise(Budget(1, 1e-9), Protection.of("add-remove", person))) == (
        "(1, 1e-09)-differential privacy for all rows of one who added or removed."
    )
    assert Protection.of("add-remove", person).rows_per_person == 3
    with pytest.raises(InvalidInput, match="There is no relation friends"):
        Protection.of("friends")


class Person(NamedTuple):
    """What a schema says about people."""

    unit: str
    max_rows: int


@pytest.mark.parametrize("version", ["0.14.0", "0.14.1", "0.13.0", "99.0"])
def test_an_opendp_whose_law_was_not_tested_is_refused_in_one_line(
    version: str, monkeypatch
) -> None:
    monkeypatch.setattr(noise_module, "version", lambda name: version)
    noise_module._opendp.cache_clear()
    try:
        with pytest.raises(InvalidInput, match=rf"OpenDP {version} is installed") as refused:
            noise_module.OpenDPNoise().gaussian(np.zeros(3, np.int64), 2.5)
    finally:
        noise_module._opendp.cache_clear()
    assert "\n" not in refused.value.message and TESTED[-1] in refused.value.hint
    assert version not in TESTED


def test_a_fit_with_such_an_opendp_ends_before_anything_is_charged(tmp_path) -> None:
    program = f"""
import numpy as np, pandas as pd, pathlib
import tabveil as tv
from tabveil.privacy import noise
noise.version = lambda name: "0.14.1"
schema = tv.Schema.from_dict({{"columns": {{"a": {{"type": "categorical", "values": [0, 1]}}}}}})
try:
    tv.RAPpp(schema, ledger={str(tmp_path / "ledger")!r}).fit(pd.DataFrame({{"a": [0, 1]}}))
except tv.errors.InvalidInput as problem:
    print(problem.message)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "OpenDP 0.14.1 is installed" in run.stdout
    assert Ledger.read(tmp_path / "ledger").charges == ()
