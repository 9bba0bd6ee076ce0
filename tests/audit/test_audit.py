"""An audit covers what it says, and says what it found to people and to programs."""

import io
import json
import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import tabveil.audit
from tabveil.audit import FULL, QUICK, Finding, Size, audit, plan, settle
from tabveil.audit.fits import AsUsed, Unpaid, WhiteBox, _fitted, require_paid
from tabveil.audit.mechanisms import EPSILONS, GaussianLaw
from tabveil.audit.show import run_audit
from tabveil.audit.transcript import Draw, Heard
from tabveil.audit.worlds import COMMON, MANY, OTHERS, WORLDS
from tabveil.columns import RULES
from tabveil.errors import TabveilError
from tabveil.fitting.presets import PRESETS
from tabveil.privacy import Mechanism, Relation

HOLDS = Finding("noise", "ε = 1", 100, True, 1.0, 0.7)
LAW = Finding("noise law", "σ = 1", 100, True, p_value=0.5)
BROKEN = Finding("fit", "ε = 4", 100, False, 4.0, 5.5, note="nobody paid")


@pytest.mark.parametrize("size", [QUICK, FULL])
def test_every_epsilon_and_relation_is_audited(size: Size) -> None:
    white = [job for job in plan(size) if isinstance(job, WhiteBox) and job.preset == "default"]
    simple = [job for job in white if job.world in WORLDS]
    assert {(job.epsilon, job.relation) for job in simple} == {
        (e, r) for e in EPSILONS for r in Relation
    }
    if size is FULL:
        assert len(simple) == len(EPSILONS) * len(Relation) * len(WORLDS)


@pytest.mark.parametrize(
    "law", [job for job in plan(QUICK) if isinstance(job, GaussianLaw)], ids=str
)
def test_a_quick_audit_has_draws_enough_for_every_law(law: GaussianLaw) -> None:
    found = law()
    assert found.p_value is not None and 1e-9 < found.p_value <= 1  # one false alarm in 10⁹


@pytest.mark.parametrize("size", [QUICK, FULL])
def test_what_users_run_is_audited(size: Size) -> None:
    fitted = [job for job in plan(size) if isinstance(job, WhiteBox | AsUsed)]
    worlds = {(job.world.name, job.relation) for job in fitted}
    assert worlds >= {(world.name, r) for world in OTHERS for r in world.relations}
    used = {(job.preset, job.relation) for job in fitted if isinstance(job, AsUsed)}
    assert used == {(preset, relation) for preset in PRESETS for relation in Relation}
    types = {rule.type for job in fitted for rule in job.world.schema.columns.values()}
    assert types == set(RULES)  # a new type of column needs a world
    assert any(isinstance(job, WhiteBox) and job.bought for job in fitted)
    rules = [rule for job in fitted for rule in job.world.schema.columns.values()]
    assert any(getattr(rule, "special_values", ()) for rule in rules)
    assert any(len(getattr(rule, "values", ())) > 128 for rule in rules)  # so many are grouped
    assert any(getattr(rule, "groups", {}) for rule in rules)


@pytest.mark.parametrize("relation", Relation)
def test_worlds_are_neighbours(relation: Relation) -> None:
    for world in (*WORLDS, *OTHERS, COMMON, MANY):
        if relation not in world.relations:
            continue
        without, present = (t.astype(str).values.tolist() for t in world.tables(relation))
        here = len(world.target)
        assert present[:here] == pd.DataFrame(world.target).astype(str).values.tolist()
        gone = 0 if relation is Relation.ADD_REMOVE else here
        assert present[here:] == without[gone:]


def test_grouped_picks_are_audited() -> None:
    rows, relation = MANY.tables(Relation.ADD_REMOVE)[0], Relation.ADD_REMOVE
    made = _fitted(Heard(), MANY.schema, rows, PRESETS["default"], 10.0, relation)
    assert any(charge.get("groups", 1) > 1 for charge in made.charges)


def test_jobs_run_in_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabveil.audit, "AUDITS", (lambda size: [GaussianLaw(3.0, size.draws)],))
    [(number, finding)] = audit(
        Size(draws=2000, picks=1, runs=1, samples=1, searches=1, fits=1, all_worlds=False), 2
    )
    assert number == 0 and finding.holds and finding.runs == 2000


def test_a_process_keeps_to_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[set[int]] = []
    monkeypatch.setattr(
        os, "sched_setaffinity", lambda _, places: kept.append(places), raising=False
    )
    places: SimpleQueue[int] = multiprocessing.get_context("spawn").SimpleQueue()
    for place in (3, 5):
        places.put(place)
    settle(places)
    settle(places)
    assert kept == [{3}, {5}]


def shown(
    findings: list[Finding], monkeypatch: pytest.MonkeyPatch, file: Path | None = None
) -> tuple[int, str]:
    def found(size: Size, processes: int) -> Iterator[tuple[int, Finding]]:
        yield from reversed(list(enumerate(findings)))  # as they come

    monkeypatch.setattr("tabveil.audit.show.audit", found)
    monkeypatch.setattr("tabveil.audit.show.plan", lambda size: findings)
    out = Console(file=io.StringIO(), width=150)
    return run_audit(QUICK, file, out, Console(file=io.StringIO())), out.file.getvalue()  # type: ignore[attr-defined]


def test_findings_are_shown_in_order_with_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, text = shown([HOLDS, LAW, BROKEN], monkeypatch)
    assert broken == 1 and "1 broken claims" in text
    assert text.index("ε ≥ 0.7") < text.index("p = 0.5") < text.index("BROKEN nobody paid")
    broken, text = shown([HOLDS, LAW], monkeypatch)
    assert broken == 0 and "no broken claims" in text and "BROKEN" not in text


def test_a_claim_about_delta_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _, text = shown(
        [Finding("search", "lone", 9, True, 0.05, 0.04, of="δ", note="named once")], monkeypatch
    )
    assert "δ = 0.05" in text and "δ ≥ 0.04" in text and "holds named once" in text


def test_findings_are_written_as_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown([HOLDS, BROKEN], monkeypatch, tmp_path / "findings.json")
    written = json.loads((tmp_path / "findings.json").read_text())
    assert [f["holds"] for f in written["findings"]] == [True, False]
    assert written["delta"] == 1e-5 and written["findings"][0]["claimed"] == 1.0
    assert (tmp_path / "findings.json").stat().st_mode & 0o777 == 0o600


def test_a_broken_claim_ends_the_command_with_a_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from tabveil.cli import app

    monkeypatch.setattr("tabveil.audit.show.run_audit", lambda *_: 2)
    with pytest.raises(TabveilError, match="2 of the claims did not hold"):
        app(["audit", "--quick"], standalone_mode=False)
    monkeypatch.setattr("tabveil.audit.show.run_audit", lambda *_: 0)
    app(["audit", "--quick"], standalone_mode=False)


def test_each_draw_is_held_against_its_own_charge() -> None:
    def draw(*exact: int, mechanism: Mechanism = Mechanism.GAUSSIAN) -> Draw:
        return Draw(mechanism, np.array(exact), np.array([0]), 2.0)

    def charge(rho: str, mechanism: str = "discrete Gaussian") -> dict:
        return {"what": "this", "mechanism": mechanism, "rho": rho}

    require_paid([draw(3, 4)], [draw(4, 4)], [charge("1/8")])  # 1² / (2·2²)
    with pytest.raises(Unpaid, match="this cost"):
        require_paid([draw(3, 4)], [draw(4, 5)], [charge("1/8")])
    with pytest.raises(Unpaid, match="2 draws of noise, but 1 charges"):
        require_paid([draw(1)] * 2, [draw(1)] * 2, [charge("1")])
    top = draw(5, 5, mechanism=Mechanism.TOP), draw(7, 5, mechanism=Mechanism.TOP)
    require_paid([top[0]], [top[1]], [charge("1/2", "noisy top-K")])  # 1·2² / (2·2²)
    with pytest.raises(Unpaid, match="this cost"):
        require_paid([top[0]], [top[1]], [charge("1/3", "noisy top-K")])


def test_the_likelihood_of_picks_is_that_of_the_exponential_mechanism() -> None:
    scores, scale = np.array([0, 3, 5]), 4.0
    weights = np.exp(scores / scale)
    draw = Draw(Mechanism.TOP, scores, np.array([2, 0]), scale)
    chance = weights[2] / weights.sum() * weights[0] / (weights[0] + weights[1])
    assert draw.likelihood() == pytest.approx(np.log(chance))
