"""Every preset on the list keeps its word: it spends what it says, never more than it may, and
refuses before anyone pays."""

import inspect
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import jax.numpy as jnp
import pytest

import tabveil as tv
from samples import SMALL, random_table
from tabveil.audit.attacks import Silence
from tabveil.fitting.presets import (
    PRESETS,
    Default,
    Effort,
    Paper,
    PaperEffort,
    Preset,
    Structure,
    Task,
)
from tabveil.fitting.projection import Annealing, Measured, Progress
from tabveil.fitting.relaxed import Relaxed
from tabveil.fitting.synthesizer import fit_with_noise
from tabveil.privacy import DELTA, Mechanism, Relation
from tabveil.release import Release
from tabveil.tables.table import Codec

FAST = Annealing(8.0, stages=1, steps=2, tolerance=0.0)
LONGER = Annealing(8.0, stages=2, steps=9, tolerance=0.0)

# One line for each preset on the list: small ones that ask like it, and one that must refuse.
QUICK: dict[str, Preset] = {
    "default": Default(rounds=2, effort=Effort(rows=20, between_rounds=FAST, at_the_end=FAST)),
    "paper": Paper(
        thresholds=60, threshold_epochs=3, picks=2, effort=PaperEffort(rows=20, annealing=FAST)
    ),
    "structure": Structure(),
}
PATIENT: dict[str, Preset] = {
    "default": Default(
        rounds=2,
        effort=Effort(rows=70, between_rounds=LONGER, at_the_end=LONGER, most_memory=10**8),
    ),
    "paper": Paper(
        thresholds=60, threshold_epochs=3, picks=2, effort=PaperEffort(rows=70, annealing=LONGER)
    ),
    "structure": Structure(most_cells=10**5),
}
REFUSING: dict[str, Preset] = {
    "default": Default(effort=Effort(most_memory=1000)),
    "paper": Paper(most_cells=3),
    "structure": Structure(most_cells=3),
}


def without(*names: str) -> dict:
    columns = {name: rule for name, rule in SMALL["columns"].items() if name not in names}  # type: ignore[union-attr]
    return {"columns": columns, "targets": [t for t in SMALL["targets"] if t not in names]}


SHAPES = {
    "numbers, categories and targets": SMALL,
    "no numbers": without("age", "wage"),
    "no categories": without("sex", "city", "job", "income", "employed"),
    "no targets": {**SMALL, "targets": []},
    "one number": without("sex", "city", "job", "income", "employed", "age"),
    "one category": without("city", "job", "income", "employed", "age", "wage"),
}


@pytest.fixture
def no_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A projection that does nothing: what is asked for and paid is the same."""

    def look(table: Relaxed, measured: Measured, annealing: Annealing) -> tuple[Relaxed, Progress]:
        return table, Progress(jnp.zeros(()), jnp.zeros((), int))

    for place in ("tabveil.fitting.rappp.project", "tabveil.fitting.presets.default.project"):
        monkeypatch.setattr(place, look)


def rows_of(schema: tv.Schema, rows: int) -> object:
    codec = Codec(schema)
    return codec.decode(random_table(codec.domain, rows, seed=0))


def silent_release(preset: Preset, schema: tv.Schema, relation: Relation, rows: int) -> Release:
    """A release without noise, so that even the noisy number of rows is what was foreseen."""
    model = tv.RAPpp(schema, 50.0, delta=1e-6, preset=preset, neighbours=relation.value)
    return fit_with_noise(model, rows_of(schema, rows), Silence()).release_


def test_every_preset_is_tried_here() -> None:
    for tried in (QUICK, PATIENT, REFUSING):
        assert {name: type(preset) for name, preset in tried.items()} == {
            name: type(preset) for name, preset in PRESETS.items()
        }


# -- the budget ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [1, 10_000])
def test_a_preset_plans_no_more_than_its_budget(
    name: str, relation: Relation, shape: str, rows: int
) -> None:
    task = Task(tv.Schema.from_dict(SHAPES[shape]), tv.Budget(1.0, 1e-9).rho, relation)
    said = PRESETS[name].spending(task, rows)
    assert 0 < said.rho <= task.rho
    assert all(purchase.rho > 0 for purchase in said.purchases)
    assert [p.purpose for p in said.purchases if p.noise is None] == ["choosing"] * bool(
        said.rounds
    )
    counted = any(purchase.purpose == "row count" for purchase in said.purchases)
    assert counted == (relation is Relation.ADD_REMOVE)  # else the number of rows is public


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [0, 200])
def test_a_preset_spends_no_more_than_it_says_and_all_of_it_where_rounds_can_use_it(
    no_steps: None, name: str, relation: Relation, shape: str, rows: int
) -> None:
    if not rows and relation is Relation.SUBSTITUTE:
        return  # refused: their number is public
    schema, preset = tv.Schema.from_dict(SHAPES[shape]), QUICK[name]
    said = preset.spending(Task(schema, tv.Budget(1.0, 1e-9).rho, relation), max(1, rows))
    model = tv.RAPpp(schema, 1.0, delta=1e-9, preset=preset, neighbours=relation.value)
    model.fit(rows_of(schema, rows))
    spent = sum(map(Fraction, model.ledger_["rho"]), Fraction(0))
    assert spent <= said.rho
    if said.rounds:
        assert spent == said.rho


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("relation", Relation)
def test_a_preset_buys_what_it_says_for_what_it_says(
    no_steps: None, name: str, relation: Relation
) -> None:
    schema, preset, rows = tv.Schema.from_dict(SMALL), QUICK[name], 6000
    task = Task(schema, tv.Budget(50.0, 1e-6).rho, relation)
    said = [(p.noise is None, p.rho) for p in preset.spending(task, rows).purchases]
    charges = silent_release(preset, schema, relation, rows).charges
    paid = [(c["mechanism"] == Mechanism.TOP, Fraction(c["rho"])) for c in charges]
    for chosen in (True, False):  # for choosing, and for counting
        assert sum(r for c, r in paid if c == chosen) == sum(r for c, r in said if c == chosen)
    assert sum(r for _, r in paid) > 0


@pytest.mark.parametrize("name", PRESETS)
def test_effort_changes_no_charge(name: str) -> None:
    schema = tv.Schema.from_dict(SMALL)
    task = Task(schema, Fraction(1), Relation.ADD_REMOVE)
    quick, patient = (preset.spending(task, 500) for preset in (QUICK[name], PATIENT[name]))
    assert quick.purchases == patient.purchases
    # What one round measures is paid for in parts, by the sizes of what was chosen.
    looks = [
        [
            (mechanism, sum(Fraction(charge["rho"]) for charge in together))
            for mechanism, together in groupby(
                silent_release(preset, schema, Relation.ADD_REMOVE, 500).charges,
                key=lambda charge: charge["mechanism"],
            )
        ]
        for preset in (QUICK[name], PATIENT[name])
    ]
    assert looks[0] == looks[1]


# -- before the budget -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_refuses_before_a_file_is_opened_or_a_ledger_is_started(
    name: str, tmp_path: Path
) -> None:
    schema, ledger = tv.Schema.from_dict(SHAPES["no numbers"]), tmp_path / "ledger"
    domain = Codec(schema).domain
    QUICK[name].check(domain)
    with pytest.raises(tv.InvalidInput) as refusal:
        REFUSING[name].check(domain)
    model = tv.RAPpp(schema, preset=REFUSING[name], ledger=ledger)
    with pytest.raises(tv.InvalidInput, match=refusal.value.message):
        model.fit(tmp_path / "not there.csv")
    assert not ledger.exists()


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("relation", Relation)
def test_a_preset_is_the_same_by_its_name_and_as_an_object(
    no_steps: None, name: str, relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRESETS, name, QUICK[name])
    schema = tv.Schema.from_dict(SMALL)
    named, given = (
        tv.RAPpp(schema, preset=preset, neighbours=relation.value)
        .fit(rows_of(schema, 50))
        .release_.privacy
        for preset in (name, QUICK[name])
    )
    assert (named["preset"], given["preset"]) == (name, str(QUICK[name]))
    same = ("epsilon", "delta", "rho", "rho_spent", "relation", "unit", "mechanisms")
    assert {key: named[key] for key in same} == {key: given[key] for key in same}


def test_the_paper_takes_its_delta_from_a_public_number_of_rows(no_steps: None) -> None:
    schema = tv.Schema.from_dict(SMALL)
    model = tv.RAPpp(schema, preset=QUICK["paper"], neighbours="substitute")
    assert model.fit(rows_of(schema, 50)).release_.privacy["delta"] == 1 / 50**2
    assert Paper().default_delta(None) == Default().default_delta(50) == DELTA


# -- noise -----------------------------------------------------------------------------------------


def test_no_public_name_takes_a_source_of_noise() -> None:
    for function in (tv.RAPpp, tv.RAPpp.fit, tv.RAP, tv.RAP.fit):
        assert "noise" not in inspect.signature(function).parameters
    assert not [name for name in (*vars(tv.RAPpp), *tv.__all__) if "noise" in name]


def test_a_release_without_real_noise_says_so(no_steps: None) -> None:
    schema = tv.Schema.from_dict(SMALL)
    release = silent_release(QUICK["default"], schema, Relation.ADD_REMOVE, 50)
    assert not release.privacy["private"] and "NOT PRIVATE" in release.privacy["promise"]
