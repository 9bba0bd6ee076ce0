"""The default preset spends what it is given and no more, takes any table, and learns what is
there."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tabveil as tv
from noises import Wild
from samples import SMALL, curator_of, random_table
from tabveil.audit.attacks.density import EVERY_TABLE
from tabveil.curator import TableCount
from tabveil.fitting.presets import Default, Effort, Task
from tabveil.fitting.presets.default import Share, bins_for, soft_rows
from tabveil.fitting.projection import Annealing, Measured, Progress, misfit, project
from tabveil.fitting.public import Help, public_tables
from tabveil.fitting.rappp import Status
from tabveil.fitting.relaxed import Mixture
from tabveil.privacy import Ledger, Relation
from tabveil.queries import GRID, Hard, Pairs
from tabveil.queries.cross_tables import CrossTables
from tabveil.tables.table import Codec, Domain, Table

FAST = Annealing(8.0, stages=2, steps=3, tolerance=0.0)
TINY = Default(rounds=2, effort=Effort(rows=50, between_rounds=FAST, at_the_end=FAST))


@pytest.fixture
def frame(codec: Codec) -> pd.DataFrame:
    return codec.decode(random_table(codec.domain, 400, seed=0)).to_pandas()


@pytest.fixture
def no_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A projection that only looks at its objective: shapes and budgets are the same, nothing is
    compiled."""

    def look(table: Mixture, measured: Measured, annealing: Annealing) -> tuple[Mixture, Progress]:
        found = misfit(table, measured, Hard())
        assert np.isfinite(found)
        return table, Progress(found, jnp.zeros((), int))

    for place in ("tabveil.fitting.rappp.project", "tabveil.fitting.presets.default.project"):
        monkeypatch.setattr(place, look)


def spent(model: tv.RAPpp) -> Fraction:
    return sum((Fraction(rho) for rho in model.ledger_["rho"]), Fraction(0))


def numerical(low: float = 0, high: float = 100, **more: object) -> dict:
    return {"type": "numerical", "min": low, "max": high, **more}


def categorical(values: int, **more: object) -> dict:
    return {"type": "categorical", "values": list(range(values)), **more}


# -- the budget ------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", Relation)
def test_a_default_fit_spends_exactly_its_budget(
    schema: tv.Schema, frame: pd.DataFrame, relation: Relation
) -> None:
    model = tv.RAPpp(schema, 1.0, delta=1e-6, preset=TINY, neighbours=relation.value).fit(frame)
    assert spent(model) == tv.Budget(1.0, 1e-6).rho
    counted = [what for what in model.ledger_["what"] if what == "row count"]
    assert len(counted) == (relation is Relation.ADD_REMOVE)  # else the number of rows is public


def test_levels_of_rank_space_that_are_not_needed_pay_for_cross_tables(
    schema: tv.Schema, frame: pd.DataFrame, only_the_books: None
) -> None:
    weak = tv.RAPpp(schema, 0.01, preset=TINY).fit(
        frame
    )  # no run stands above this noise: one level
    ledger = weak.ledger_
    levels = ledger["what"].str.contains("distributions")
    assert levels.sum() == 1
    rho = tv.Budget(0.01, 1e-9).rho
    assert sum(map(Fraction, ledger["rho"][levels])) < rho * TINY.ranks_share.most
    assert spent(weak) == rho


@given(
    rho=st.fractions(min_value=Fraction(1, 10**9), max_value=100),
    columns=st.integers(0, 300),
    total=st.integers(1, 10**10),
)
def test_single_columns_get_more_where_noise_is_strong_within_limits(
    rho: Fraction, columns: int, total: int
) -> None:
    share = Share(Fraction(1, 10), Fraction(3, 10), noise=0.01)
    task = Task(tv.Schema.from_dict({"columns": {"c": categorical(2)}}), rho)
    cost = share.of(task, columns, total)
    assert cost == 0 if columns == 0 else rho / 10 <= cost <= rho * 3 / 10
    assert share.of(task, columns, 2 * total) <= cost


@given(rho=st.fractions(min_value=Fraction(1, 10**9), max_value=100), total=st.integers(1, 10**10))
@pytest.mark.parametrize("preset", [Default(), EVERY_TABLE], ids=["default", "density attack"])
@pytest.mark.parametrize("targets", [[], ["y"]], ids=["no target", "a target"])
def test_the_rounds_have_something_to_spend_whatever_number_of_rows_is_counted(
    preset: Default, targets: list[str], rho: Fraction, total: int
) -> None:
    columns = SHAPES["one column of each kind"]["columns"] | {"y": categorical(2)}
    task = Task(tv.Schema.from_dict({"columns": columns, "targets": targets}), rho)
    measured = (
        preset.count_cost(task)
        + preset.ranks_cost(task, total)
        + rho * preset.alone_share
        + (
            preset.targets_share.of(task, 2, total)
            if targets
            else rho * preset.targets_share.least / 2
        )
    )
    assert measured < rho


def test_with_no_target_single_columns_get_what_tables_with_targets_would() -> None:
    columns = SHAPES["one column of each kind"]["columns"] | {"y": categorical(2)}
    rho, preset = Fraction(1, 10), Default()

    def costs(targets: list[str]) -> dict[str, Fraction]:
        task = Task(tv.Schema.from_dict({"columns": columns, "targets": targets}), rho)
        bought = preset.spending(task, 10**6).purchases
        return {purchase.purpose: purchase.rho for purchase in bought}

    named, unnamed = costs(["y"]), costs([])
    least = rho * preset.targets_share.least
    assert unnamed["columns"] - named["columns"] == least / 2
    assert unnamed["distributions"] - named["distributions"] == least / 4
    assert named["tables with targets"] == least
    assert unnamed.get("tables with targets", 0) == 0


@pytest.mark.parametrize(
    ("rows", "alone", "beside_public"), [(300, 0, 0), (3_000, 3, 0), (10**6, 3, 3)]
)
def test_tables_with_a_target_are_measured_together_though_noisy_unless_a_public_table_tells_them(
    rows: int, alone: int, beside_public: int
) -> None:
    columns = {name: categorical(8) for name in "abc"} | {"y": categorical(4)}
    schema = tv.Schema.from_dict({"columns": columns, "targets": ["y"]})
    public = Codec(schema).decode(random_table(Codec(schema).domain, 100, seed=0)).to_pandas()

    def together(task: Task) -> int:
        pairs = Pairs.over(task.domain, [], 2**14)
        return len(Default().outline(task, pairs, rows).with_targets)

    task = Task(schema, tv.Budget(0.1, 1e-9).rho)
    assert together(task) == alone
    known = Help.of(public_tables(public, schema, 0), Codec(schema))
    assert together(replace(task, public=known)) == beside_public


def test_tables_with_a_target_get_more_of_the_budget_where_noise_is_strong() -> None:
    columns = {name: categorical(4) for name in "abc"} | {"y": categorical(2)}
    schema = tv.Schema.from_dict({"columns": columns, "targets": ["y"]})
    rho = tv.Budget(0.1, 1e-9).rho
    pairs = Pairs.over(Codec(schema).domain, [], 2**14)

    def share(rows: int, task: Task) -> Fraction:
        return Default().outline(task, pairs, rows).together / rho

    share_of = Default().targets_share
    assert share(3_000, Task(schema, rho)) == share_of.most > share_of.least
    assert share(10**7, Task(schema, rho)) == share_of.least
    public = Codec(schema).decode(random_table(Codec(schema).domain, 100, seed=0)).to_pandas()
    known = Help.of(public_tables(public, schema, 0), Codec(schema))
    assert share(3_000, Task(schema, rho, public=known)) <= share_of.least


def test_numbers_have_finer_bins_where_few_targets_share_the_budget() -> None:
    columns = {f"x{i}": numerical() for i in range(2)} | {f"y{i}": categorical(2) for i in range(6)}

    def bins(targets: int) -> int:
        names = [f"y{i}" for i in range(targets)]
        document = {"columns": columns, "targets": names}
        return bins_for(1_000.0, Codec(tv.Schema.from_dict(document)).domain)

    assert bins(1) > bins(3) > bins(5) >= bins(6)
    assert bins(0) == bins(5)


def test_shares_that_leave_nothing_for_the_rounds_are_refused() -> None:
    with pytest.raises(tv.InvalidInput, match=r"come to 1\.04 of the budget"):
        Default(targets_share=Share(Fraction(20, 100), Fraction(65, 100), noise=0.01))


def test_nothing_is_spent_when_nothing_is_left_to_ask(only_the_books: None) -> None:
    codec = Codec(tv.Schema.from_dict({"columns": {"x": numerical(decimals=0)}}))
    model = tv.RAPpp(codec.schema, 1.0, preset=TINY).fit(
        codec.decode(random_table(codec.domain, 300, 0))
    )
    rho = tv.Budget(1.0, 1e-9).rho
    assert spent(model) <= rho * (
        TINY.count_share + TINY.ranks_share.most
    )  # a single column has no cross-table


def test_a_watcher_sees_every_round_and_the_last_projection(
    schema: tv.Schema, frame: pd.DataFrame, only_the_books: None
) -> None:
    seen: list[Status] = []
    tv.RAPpp(schema, 1.0, preset=TINY).fit(frame, watch=seen.append)
    assert [(status.round, status.rounds) for status in seen] == [(1, 3), (2, 3), (3, 3)]


def test_where_noise_is_weak_the_optimiser_works_harder_and_plans_know_it() -> None:
    effort = Effort()
    assert effort.at(effort.more_from * 0.99) is effort
    harder = effort.at(effort.more_from)
    assert harder.rows == 3 * effort.rows and harder.steps(10) == 2 * effort.steps(10)
    task = Task(tv.Schema.from_dict(SMALL), Fraction(1, 10))
    always, never = (
        Default(effort=replace(effort, more_from=strength)).spending(task, 10_000).outlook
        for strength in (0.0, np.inf)
    )
    assert always is not None and never is not None
    assert always.multiplications == 6 * never.multiplications


def test_the_projection_is_compiled_once_per_fit() -> None:
    codec = Codec(tv.Schema.from_dict(SHAPES["one column of each kind"]))
    few, more = (Annealing(8.0, stages=stages, steps=2, tolerance=0.0) for stages in (1, 2))
    preset = Default(rounds=2, effort=Effort(rows=40, between_rounds=few, at_the_end=more))
    before = project._cache_size()
    tv.RAPpp(codec.schema, 1.0, preset=preset).fit(
        codec.decode(random_table(codec.domain, 300, seed=0))
    )
    assert project._cache_size() == before + 1


@settings(max_examples=200, deadline=None)
@given(
    epsilon=st.floats(0.001, 50),
    delta=st.floats(1e-12, 0.1),
    candidates=st.integers(0, 400),
    rounds=st.integers(1, 30),
    strength=st.floats(0, 1e7),
)
def test_a_plan_costs_exactly_what_it_may_and_never_runs_out_of_tables(
    epsilon: float, delta: float, candidates: int, rounds: int, strength: float
) -> None:
    rho = tv.Budget(epsilon, delta).rho
    domain = Domain((), ("x", "y"), ())
    pairs = Pairs.over(domain, [np.array([9])] * 2, 100)
    plan = Default(rounds=rounds)._plan(pairs, candidates, rho, strength, np.zeros(0, int))
    assert plan.cost == (rho if candidates else 0)
    assert plan.room(pairs) <= candidates and len(plan.rounds) <= rounds
    assert all(
        ask.picks > 0 and ask.select > 0 and ask.measure > 0 for asks in plan.rounds for ask in asks
    )


class FewRows:
    """A table in one batch."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def total(self, count: TableCount, columns: Sequence[str] | None = None) -> list[np.ndarray]:
        return count(self.table)

    def count(self) -> int:
        return self.table.rows


@pytest.fixture
def only_the_books(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but the curator's accounting left out: no rows are counted and no table is
    fitted."""

    monkeypatch.setattr(
        "tabveil.curator.count", lambda workload, _: [f.tally.nothing() for f in workload.families]
    )
    monkeypatch.setattr("tabveil.fitting.rappp._rows", lambda table: None)
    monkeypatch.setattr(CrossTables, "of", lambda self, rows, step=None: self.nothing())
    for place in ("tabveil.fitting.rappp.project", "tabveil.fitting.presets.default.project"):
        monkeypatch.setattr(place, lambda table, *_: (table, Progress(0.0, 0)))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    epsilon=st.floats(0.001, 50),
    delta=st.floats(1e-12, 0.1),
    relation=st.sampled_from(list(Relation)),
    rows=st.integers(1, 200),
    numbers=st.integers(0, 4),
    categories=st.lists(st.integers(1, 9), max_size=5),
    targets=st.integers(0, 3),
    rounds=st.integers(1, 6),
    most_cells=st.sampled_from([1, 20, 2**14]),
    seed=st.integers(0, 1000),
)
def test_no_configuration_spends_more_than_its_budget(
    only_the_books: None, epsilon: float, delta: float, relation: Relation, rows: int, numbers: int,
    categories: list[int], targets: int, rounds: int, most_cells: int, seed: int,
) -> None:  # fmt: skip
    columns = {f"x{i}": numerical(decimals=i) for i in range(numbers)}
    columns |= {f"c{i}": categorical(size) for i, size in enumerate(categories)}
    if not columns:
        return
    chosen = [name for name in columns if name.startswith("c")][:targets]
    codec = Codec(tv.Schema.from_dict({"columns": columns, "targets": chosen}))
    rho = tv.Budget(epsilon, delta).rho
    allowance = Ledger.in_memory(relation).allowance(rho, "test")
    curator = curator_of(
        FewRows(random_table(codec.domain, rows, seed)), allowance, relation, Wild(seed)
    )
    preset = Default(rounds=rounds, most_cells=most_cells, effort=Effort(rows=20))
    result = preset(curator, Task(codec.schema, rho, relation), lambda status: None)
    assert allowance.spent <= rho
    place_of = result.workload.place_of
    picked = [(place_of(a.family), pick) for a in result.answers for pick in a.picks.tolist()]
    assert len(picked) == len(set(picked))  # nothing is asked twice
    if sum(family == 0 for family, _ in picked) < len(result.workload.families[0]):
        assert allowance.spent == rho  # a remainder is left only when nothing else can be asked


# -- tables of any shape ---------------------------------------------------------------------------

SHAPES: dict[str, dict] = {
    "only numbers": {
        "columns": {"x": numerical(decimals=0), "y": numerical(), "z": numerical(-5, 500)}
    },
    "only categories": {"columns": {"a": categorical(2), "b": categorical(3), "c": categorical(4)}},
    "no targets": {**SMALL, "targets": []},
    "a target of seven classes": {
        "columns": {"y": categorical(7), "a": categorical(3), "x": numerical()},
        "targets": ["y"],
    },
    "one column of each kind": {"columns": {"a": categorical(3), "x": numerical()}},
    "a target and a number": {"columns": {"a": categorical(3), "x": numerical()}, "targets": ["a"]},
    "one category": {"columns": {"a": categorical(3)}},
    "one category, as target": {"columns": {"a": categorical(3)}, "targets": ["a"]},
    "one number": {"columns": {"x": numerical()}},
    "a category of one value": {
        "columns": {"a": categorical(1), "b": categorical(1), "x": numerical()}
    },
    "three hundred values": {
        "columns": {
            "a": categorical(300),
            "b": categorical(299),
            "y": categorical(2),
            "x": numerical(),
        },
        "targets": ["y"],
    },
    "missing and special numbers": {
        "columns": {
            "x": numerical(decimals=0, nullable=True),
            "y": numerical(decimals=2, special_values=[-1, 999], nullable=True),
            "a": categorical(2, nullable=True, other=True),
        },
        "targets": ["a"],
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("relation", Relation)
def test_tables_of_any_shape_are_fitted_within_their_budget(
    no_steps: None, shape: str, relation: Relation
) -> None:
    codec = Codec(tv.Schema.from_dict(SHAPES[shape]))
    table = codec.decode(random_table(codec.domain, 300, seed=0))
    model = tv.RAPpp(codec.schema, 1.0, preset=TINY, neighbours=relation.value).fit(table)
    synthetic = model.sample(40, seed=0)
    assert synthetic.num_rows == 40 and synthetic.schema.equals(table.schema)
    rho = tv.Budget(1.0, 1e-9).rho
    assert spent(model) <= rho
    if shape not in (
        "a target and a number",
        "one category",
        "one category, as target",
        "one number",
    ):
        assert spent(model) == rho  # in those, everything that can be asked has been


@pytest.mark.parametrize(
    "shape", ["only numbers", "only categories", "missing and special numbers"]
)
def test_the_projection_works_on_tables_of_any_shape(shape: str) -> None:
    codec = Codec(tv.Schema.from_dict(SHAPES[shape]))
    table = codec.decode(random_table(codec.domain, 300, seed=0))
    release = tv.RAPpp(codec.schema, 1.0, preset=TINY).fit(table).release_
    for array in (release.probabilities, *release.numbers.to_arrays().values()):
        assert np.isfinite(array).all() and (array >= 0).all() and (array <= 1.0001).all()


@pytest.mark.parametrize(
    ("rows", "relation"),
    [
        (0, Relation.ADD_REMOVE),
        (1, Relation.ADD_REMOVE),
        (1, Relation.SUBSTITUTE),
        (2, Relation.SUBSTITUTE),
    ],
)
def test_hardly_any_rows_are_no_obstacle(
    schema: tv.Schema, frame: pd.DataFrame, no_steps: None, rows: int, relation: Relation
) -> None:
    model = tv.RAPpp(schema, 1.0, preset=TINY, neighbours=relation.value).fit(frame[:rows])
    assert spent(model) == tv.Budget(1.0, 1e-9).rho
    assert len(model.sample(30)) == 30


def test_no_rows_are_refused_where_their_number_is_public(
    schema: tv.Schema, frame: pd.DataFrame
) -> None:
    with pytest.raises(tv.InvalidInput, match="no rows"):
        tv.RAPpp(schema, 1.0, preset=TINY, neighbours="substitute").fit(frame[:0])


def test_cells_beyond_the_declared_values_and_bounds_are_no_obstacle(only_the_books: None) -> None:
    schema = tv.Schema.from_dict(SHAPES["missing and special numbers"])
    odd = [None, float("nan"), float("inf"), -1e300, 999, -1, "text", "", 50.123456]
    frame = pd.DataFrame({"x": odd, "y": odd[::-1], "a": odd}, dtype=object)
    synthetic = tv.RAPpp(schema, 1.0, preset=TINY).fit(frame).sample(60, seed=0)
    assert synthetic["x"].dropna().between(0, 100).all()
    y = synthetic["y"].dropna()
    assert (y.between(0, 100) | y.isin([-1, 999])).all()


# -- what leaves it --------------------------------------------------------------------------------


def test_a_default_release_survives_a_round_trip(
    schema: tv.Schema, frame: pd.DataFrame, tmp_path, only_the_books: None
) -> None:
    model = tv.RAPpp(schema, 1.0, preset=TINY).fit(frame)
    model.save(tmp_path / "release")
    again = tv.load(tmp_path / "release")
    pd.testing.assert_frame_equal(again.sample(333, seed=5), model.sample(333, seed=5))
    pd.testing.assert_frame_equal(again.measured(), model.measurements_)


def test_the_first_table_has_categories_as_measured_and_even_numbers(domain: Domain) -> None:
    counts = {axis: 1000 * 3 ** np.arange(size) for axis, size in enumerate(domain.sizes)}
    edges = [np.array([GRID // 4]), np.array([GRID // 2, GRID - 1])]
    table = soft_rows(Pairs.over(domain, edges, 1000), domain, counts, 4000, seed=0)
    shares = np.asarray(table.probabilities).mean(axis=1)
    city = shares[domain.offsets[1] : domain.offsets[1] + 3]
    assert (np.diff(city) > 0.05).all() and city.sum() == pytest.approx(1, abs=1e-4)
    quarter, rest, low, high, end = np.asarray(table.chances).mean(axis=1)[:5]
    assert quarter < rest and low == pytest.approx(high, abs=0.02) and end < 0.01
    assert quarter + rest == pytest.approx(1) and low + high + end == pytest.approx(1)


# -- it learns -------------------------------------------------------------------------------------


def test_a_strong_signal_is_learnt() -> None:
    random = np.random.default_rng(0)
    x, copied = (
        random.gamma(2.0, 20.0, 5000).round(1).clip(0, 400),
        random.choice(5, 5000, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
    )
    above = x > np.median(x)
    frame = pd.DataFrame({"x": x, "c1": copied, "c2": copied, "y": above.astype(int)})
    schema = tv.Schema.from_dict(
        {
            "columns": {
                "x": numerical(0, 400, decimals=1), "c1": categorical(5), "c2": categorical(5),
                "y": categorical(2),
            },
            "targets": ["y"],
        }
    )  # fmt: skip
    steps = Annealing(8.0, stages=4, steps=80, tolerance=0.0, learning_rate=0.05)
    moderate = Default(rounds=3, effort=Effort(rows=400, between_rounds=steps, at_the_end=steps))
    synthetic = tv.RAPpp(schema, 10.0, preset=moderate).fit(frame).sample(5000, seed=0)
    assert (synthetic["c1"] == synthetic["c2"]).mean() > 0.9
    assert ((synthetic["x"] > np.median(x)) == (synthetic["y"] == 1)).mean() > 0.9
    for name in ("c1", "c2", "y"):
        shares = [f[name].value_counts(normalize=True).sort_index() for f in (frame, synthetic)]
        assert np.abs(shares[0] - shares[1]).max() < 0.03
    assert abs(np.median(synthetic["x"]) - np.median(x)) < 5


def test_a_schema_too_large_for_memory_is_refused_before_anything_is_spent() -> None:
    columns = {f"c{i}": {"type": "categorical", "values": list(range(9000))} for i in range(2)}
    schema = tv.Schema.from_dict({"columns": columns})
    with Ledger.in_memory(Relation.ADD_REMOVE) as ledger:
        allowance = ledger.allowance(Fraction(1), "test")
        curator = curator_of(None, allowance, Relation.ADD_REMOVE)  # type: ignore[arg-type]
        with pytest.raises(tv.InvalidInput, match="GB"):
            Default()(curator, Task(schema, Fraction(1)), lambda status: None)
        assert allowance.spent == 0
