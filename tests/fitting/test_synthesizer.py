"""A fit spends exactly its budget, gives back the kind of table it got, and keeps every secret."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tabveil as tv
from samples import SMALL, random_table
from tabveil.fitting.presets import PRESETS, Default, Effort, Paper, PaperEffort, Preset, Structure
from tabveil.fitting.projection import Annealing
from tabveil.privacy import Ledger, Relation
from tabveil.tables.table import Codec

FAST = Annealing(stages=1, steps=3)
TINY: dict[str, Preset] = {
    "paper": Paper(
        thresholds=200, threshold_epochs=2, picks=3, effort=PaperEffort(rows=50, annealing=FAST)
    ),
    "default": Default(rounds=2, effort=Effort(rows=50, between_rounds=FAST, at_the_end=FAST)),
    "structure": Structure(),
}


@pytest.fixture(autouse=True, params=PRESETS)
def tiny_preset(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each preset in turn takes the place of the default, with so few steps that a fit takes a
    second."""
    monkeypatch.setitem(PRESETS, "default", TINY[request.param])
    return str(request.param)


@pytest.fixture
def frame(codec: Codec) -> pd.DataFrame:
    return codec.decode(random_table(codec.domain, 400, seed=0)).to_pandas()


@pytest.mark.parametrize("relation", Relation)
def test_a_fit_spends_exactly_its_budget(
    schema: tv.Schema, frame: pd.DataFrame, relation: Relation
) -> None:
    model = tv.RAPpp(schema, epsilon=1.0, neighbours=relation.value, delta=1e-6).fit(frame)
    spent = sum(Fraction(rho) for rho in model.ledger_["rho"])
    assert spent == tv.Budget(1.0, 1e-6).rho
    assert model.release_.privacy["epsilon_spent"] <= 1.0 + 1e-9


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    epsilon=st.floats(0.001, 50),
    delta=st.floats(1e-12, 0.1),
    relation=st.sampled_from(list(Relation)),
    thresholds=st.integers(12, 100),
    epochs=st.integers(1, 60),
    picks=st.integers(1, 12),
    numbers=st.integers(0, 3),
    categories=st.lists(st.integers(1, 5), max_size=4),
    targets=st.integers(0, 2),
)
def test_no_configuration_plans_more_than_its_budget(
    epsilon: float, delta: float, relation: Relation, thresholds: int, epochs: int, picks: int,
    numbers: int,
    categories: list[int], targets: int,
) -> None:  # fmt: skip
    columns: dict = {f"x{i}": {"type": "numerical", "min": 0, "max": 1} for i in range(numbers)}
    columns |= {
        f"c{i}": {"type": "categorical", "values": list(range(k))} for i, k in enumerate(categories)
    }
    if not columns:
        return
    chosen = [c for c in columns if c.startswith("c")][:targets]
    codec = Codec(tv.Schema.from_dict({"columns": columns, "targets": chosen}))
    preset = Paper(
        thresholds=thresholds, threshold_epochs=epochs, picks=min(picks, thresholds // epochs or 1)
    )
    random = np.random.default_rng(0)
    workload = preset.workload(codec.schema, codec.domain, random)
    budget = tv.Budget(epsilon, delta)
    plan = preset.plan(workload, budget.rho, relation, random)
    assert plan.cost <= budget.rho
    assert all(plan.room(family) <= len(family) for family in workload.families)


@pytest.mark.parametrize(
    ("convert", "kind"),
    [
        (lambda f: f, pd.DataFrame),
        (pl.from_pandas, pl.DataFrame),
        (lambda f: pa.Table.from_pandas(f, preserve_index=False), pa.Table),
    ],
)
def test_the_same_kind_of_table_comes_out(
    schema: tv.Schema, frame: pd.DataFrame, convert, kind
) -> None:
    synthetic = tv.RAPpp(schema, 1.0).fit(convert(frame)).sample(37, seed=1)
    assert isinstance(synthetic, kind) and len(synthetic) == 37
    names = synthetic.column_names if kind is pa.Table else list(synthetic.columns)
    assert names == list(schema.columns)


def test_synthetic_rows_obey_the_schema(schema: tv.Schema, frame: pd.DataFrame) -> None:
    synthetic = tv.RAPpp(schema, 1.0).fit(frame).sample(500, seed=1)
    assert set(synthetic["city"]) <= {"a", "b", "c"}
    assert synthetic["age"].between(0, 100).all() and synthetic["age"].dtype == "int64"
    assert (synthetic["wage"] == synthetic["wage"].round(1)).all()


def test_sampling_is_free_and_repeatable(schema: tv.Schema, frame: pd.DataFrame) -> None:
    model = tv.RAPpp(schema, 1.0).fit(frame)
    before = len(model.ledger_)
    pd.testing.assert_frame_equal(model.sample(50, seed=3), model.sample(50, seed=3))
    assert not model.sample(50, seed=3).equals(model.sample(50, seed=4))
    assert len(model.sample(1)) == 1 and len(model.sample(5000)) == 5000
    assert len(model.ledger_) == before


def test_the_same_seed_never_repeats_the_noise(schema: tv.Schema, frame: pd.DataFrame) -> None:
    first, second = (
        tv.RAPpp(schema, 0.1, seed=7).fit(frame).measurements_["count"] for _ in range(2)
    )
    assert first.tolist() != second.tolist()


def test_a_release_survives_a_round_trip(
    schema: tv.Schema, frame: pd.DataFrame, tmp_path: Path
) -> None:
    model = tv.RAPpp(schema, 1.0, targets=["income"]).fit(frame)
    model.save(tmp_path / "release")
    again = tv.load(tmp_path / "release")
    pd.testing.assert_frame_equal(again.sample(100, seed=5), model.sample(100, seed=5))
    pd.testing.assert_frame_equal(again.measured(), model.measurements_)
    assert again.schema.targets == ("income",)
    assert {p.name for p in (tmp_path / "release").iterdir()} == {
        "schema.json", "privacy.json", "ledger.json", "release.json", "measurements.json",
        "table.npz",
    }  # fmt: skip
    assert all(p.stat().st_mode & 0o077 == 0 for p in (tmp_path / "release").iterdir())


def test_a_release_says_what_it_promises(
    schema: tv.Schema, frame: pd.DataFrame, tmp_path: Path, tiny_preset: str
) -> None:
    tv.RAPpp(schema, 0.5, neighbours="substitute").fit(frame).save(tmp_path / "release")
    privacy = json.loads((tmp_path / "release" / "privacy.json").read_text())
    assert (privacy["epsilon"], privacy["relation"], privacy["private"]) == (
        0.5,
        "substitute",
        True,
    )
    chosen = ["noisy top-K"] if tiny_preset != "structure" else []
    assert privacy["mechanisms"] == ["discrete Gaussian", *chosen]
    assert "the number of rows" in privacy["assumed_public"]


def test_measurements_come_with_their_standard_errors(
    schema: tv.Schema, frame: pd.DataFrame, tiny_preset: str
) -> None:
    measured = tv.RAPpp(schema, 1.0).fit(frame).measurements_
    assert list(measured.columns) == ["family", "query", "cell", "count", "standard_error"]
    assert (measured["standard_error"] > 0).all()
    families = {
        "paper": {"marginals", "linear thresholds"},
        "default": {"distributions", "cross-tables"},
        "structure": {"distributions", "marginals"},
    }
    assert set(measured["family"]) == families[tiny_preset] | {"row count"}
    assert measured["count"].dtype == "int64"


def test_a_damaged_release_is_refused(
    schema: tv.Schema, frame: pd.DataFrame, tmp_path: Path
) -> None:
    tv.RAPpp(schema, 1.0).fit(frame).save(tmp_path / "release")
    (tmp_path / "release" / "table.npz").write_bytes(b"not an archive")
    with pytest.raises(tv.InvalidInput, match="damaged"):
        tv.load(tmp_path / "release")


def test_several_fits_share_one_ledger(
    schema: tv.Schema, frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "data.ledger"
    for _ in range(2):
        tv.RAPpp(schema, 0.5, ledger=path).fit(frame)
    assert Ledger.read(path).spent == 2 * tv.Budget(0.5, 1e-9).rho


def test_a_fit_that_does_not_fit_into_the_ledger_is_refused_before_it_starts(
    schema: tv.Schema, frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "data.ledger"
    Ledger.open(path, Relation.ADD_REMOVE, limit=tv.Budget(1.0, 1e-9)).close()
    tv.RAPpp(schema, 0.9, ledger=path).fit(frame)
    spent = Ledger.read(path).spent
    with pytest.raises(tv.BudgetExceeded):
        tv.RAPpp(schema, 0.9, ledger=path).fit(frame)
    assert Ledger.read(path).spent == spent


def test_what_was_charged_before_a_crash_stays_charged(
    schema: tv.Schema, frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "data.ledger"

    def crash(status: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tv.RAPpp(schema, 1.0, ledger=path).fit(frame, watch=crash)
    spent = Ledger.read(path).spent
    assert 0 < spent <= tv.Budget(1.0, 1e-9).rho
    again = tv.RAPpp(schema, 1.0, ledger=path).fit(frame)  # the lock is free again
    assert (
        again.recalled_ > 0 and Ledger.read(path).spent == tv.Budget(1.0, 1e-9).rho
    )  # nothing paid twice


def without(*names: str) -> dict:
    columns = {name: rule for name, rule in SMALL["columns"].items() if name not in names}  # type: ignore[union-attr]
    return {"columns": columns, "targets": [t for t in SMALL["targets"] if t not in names]}


@pytest.mark.parametrize(
    "shape",
    {
        "no numbers": without("age", "wage"),
        "no target": {**SMALL, "targets": []},
        "numbers only": without("sex", "city", "job", "income", "employed"),
        "one category": without("city", "job", "income", "employed", "age", "wage"),
        "one number": without("sex", "city", "job", "income", "employed", "age"),
        "targets only": without("sex", "city", "job", "age", "wage"),
        "one feature and a target": without("city", "job", "employed"),
    }.items(),
    ids=lambda item: item[0],
)
@pytest.mark.parametrize("rows", [0, 1, 300])
def test_tables_of_any_shape_can_be_fitted(shape: tuple[str, dict], rows: int) -> None:
    codec = Codec(tv.Schema.from_dict(shape[1]))
    frame = codec.decode(random_table(codec.domain, rows, seed=0))
    model = tv.RAPpp(codec.schema, 1.0).fit(frame)
    assert model.sample(20).num_rows == 20
    assert sum(Fraction(r) for r in model.ledger_["rho"]) <= tv.Budget(1.0, 1e-9).rho


def test_constant_and_single_valued_columns_are_no_obstacle() -> None:
    schema = tv.Schema.from_dict(
        {
            "columns": {
                "only": {"type": "categorical", "values": ["a"]},
                "kind": {"type": "categorical", "values": ["a", "b"]},
                "x": {"type": "numerical", "min": 0, "max": 5},
            },
            "targets": ["kind"],
        }
    )
    frame = pd.DataFrame({"only": ["a"] * 100, "kind": ["b"] * 100, "x": [2.0] * 100})
    assert set(tv.RAPpp(schema, 1.0).fit(frame).sample(50)["only"]) == {"a"}


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf")])
def test_a_budget_that_means_nothing_is_refused(
    schema: tv.Schema, frame: pd.DataFrame, bad: float
) -> None:
    with pytest.raises(tv.InvalidInput):
        tv.RAPpp(schema, bad).fit(frame)


@pytest.mark.parametrize(
    "params",
    [{"delta": 0.0}, {"delta": 1.0}, {"preset": "best"}, {"neighbours": "cousins"}, {"seed": -1}],
)
def test_settings_that_cannot_be_used_are_refused_with_a_hint(
    schema: tv.Schema, frame: pd.DataFrame, params: dict
) -> None:
    with pytest.raises(tv.InvalidInput) as refusal:
        tv.RAPpp(schema, 1.0, **params).fit(frame)
    assert refusal.value.hint


@pytest.mark.parametrize("rows", [0, -5])
def test_no_rows_cannot_be_sampled(schema: tv.Schema, frame: pd.DataFrame, rows: int) -> None:
    with pytest.raises(tv.InvalidInput):
        tv.RAPpp(schema, 1.0).fit(frame).sample(rows)


def test_sampling_before_fitting_says_what_to_do(schema: tv.Schema) -> None:
    with pytest.raises(tv.TabveilError, match="fit"):
        tv.RAPpp(schema).sample(10)


def test_parameters_follow_the_habits_of_scikit_learn(schema: tv.Schema) -> None:
    model = tv.RAPpp(schema, 2.0, seed=3)
    assert model.get_params()["epsilon"] == 2.0
    assert model.set_params(epsilon=0.5).epsilon == 0.5
    with pytest.raises(tv.InvalidInput):
        model.set_params(epsilom=1)


def test_few_candidates_do_not_run_out(schema: tv.Schema, frame: pd.DataFrame) -> None:
    few = Paper(
        thresholds=7, threshold_epochs=50, picks=3, effort=PaperEffort(rows=20, annealing=FAST)
    )
    assert len(tv.RAPpp(schema, 1.0, preset=few).fit(frame).sample(5)) == 5


def test_rap_is_for_categorical_columns(
    schema: tv.Schema, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRESETS, "paper", TINY["paper"])
    with pytest.raises(tv.InvalidInput, match="categorical"):
        tv.RAP(schema, 1.0).fit(frame)
    categorical = tv.Schema.from_dict(without("age", "wage"))
    model = tv.RAP(categorical, 1.0).fit(frame)
    assert set(model.measurements_["family"]) == {"row count", "marginals"}
    assert model.get_params()["preset"] == "paper"
