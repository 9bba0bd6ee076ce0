"""Very many values: memory stays bounded, frequent values stay themselves, the rest come by noisy
counts."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from tabveil.errors import InvalidInput
from tabveil.fitting.grouping import (
    LARGE,
    MOST,
    expected,
    grouped,
    large_columns,
    reduced,
    widest,
)
from tabveil.fitting.presets import Default, Effort, Paper, PaperEffort
from tabveil.fitting.projection import Annealing
from tabveil.fitting.ranks import onto_simplex
from tabveil.schema import Categorical, Schema
from tabveil.tables.table import Codec

VALUES = [f"t{i:04d}" for i in range(3000)]
SCHEMA = Schema.from_dict(
    {
        "columns": {
            "tail": {"type": "categorical", "values": VALUES, "nullable": True},
            "sex": {"type": "categorical", "values": ["F", "M"]},
        }
    }
)
QUICK = Paper(
    thresholds=20,
    threshold_epochs=1,
    effort=PaperEffort(rows=100, annealing=Annealing(2.0, 3, 40, 0.0, 0.1)),
)


def frequent_first(rows: int) -> pd.DataFrame:
    """Half the rows hold one of ten values, the others one of all; women mostly the first value."""
    random = np.random.default_rng(0)
    common = random.random(rows) < 0.5
    tail = np.where(common, random.integers(0, 10, rows), random.integers(0, 3000, rows))
    sex = np.where(random.random(rows) < 0.3, "F", "M")
    tail[sex == "F"] = np.where(random.random((sex == "F").sum()) < 0.9, 0, tail[sex == "F"])
    return pd.DataFrame({"tail": np.array(VALUES, object)[tail], "sex": sex})


def test_a_long_list_is_learnt_in_bounded_memory_and_comes_back_whole(tmp_path) -> None:
    real = frequent_first(40_000)
    model = tv.RAPpp(SCHEMA, epsilon=5, preset=QUICK).fit(real)
    assert model.release_.probabilities.shape[0] <= MOST + 2 + 2
    model.save(tmp_path / "release")
    synthetic = tv.load(tmp_path / "release").sample(40_000, seed=0)
    assert set(synthetic["tail"].dropna()) <= set(VALUES) and synthetic["tail"].nunique() > 1000
    shares = [
        frame["tail"].value_counts(normalize=True).reindex(VALUES[:10], fill_value=0)
        for frame in (real, synthetic)
    ]
    assert np.abs(shares[0] - shares[1]).max() < 0.03
    women = synthetic[synthetic["sex"] == "F"]
    assert (women["tail"] == VALUES[0]).mean() > 0.7
    ledger = model.ledger_
    assert ledger["what"].iloc[0] == "measuring 1 lists of categories"
    assert sum(map(Fraction, ledger["rho"])) <= tv.Budget(5, 1e-9).rho


def test_only_values_that_stand_clear_of_the_noise_keep_their_own_code() -> None:
    rule = Categorical(values=VALUES, nullable=True)
    counts = np.zeros(3001, np.int64)
    counts[:100], counts[100:200] = 5000, 61
    grouping = grouped(rule.codec, counts, scale=10.0)
    assert len(grouping.names) == MOST + 2 and grouping.names[-1] == "missing"
    few = grouped(rule.codec, np.where(np.arange(3001) == 7, 500, 0), scale=10.0)
    assert set(few.names) == {"t0007", "rare values", "missing"}


def test_declared_groups_are_used_as_they_are() -> None:
    groups = {"north": ["a", "b"], "south": ["c"]}
    rule = Categorical(values=["a", "b", "c", "d"], groups=groups, other=True)
    grouping = grouped(rule.codec, np.array([30, 10, 5, 5, 9]), scale=1.0)
    assert grouping.names == ("north", "south", "d", "OTHER")
    drawn = grouping.drawn(np.zeros(4000, np.int32), np.random.default_rng(0))
    assert np.bincount(drawn).tolist() == pytest.approx([3000, 1000], abs=4)


def test_noisy_counts_of_many_values_come_closer_to_the_truth() -> None:
    random, scale = np.random.default_rng(0), 25.0
    true = np.rint(random.exponential(20, 300))
    noisy = true + np.rint(random.normal(0, scale, 300))
    found = expected(noisy, scale)
    assert (found >= 0).all() and found.sum() == pytest.approx(noisy.sum())
    before = onto_simplex(noisy, noisy.sum())
    assert np.abs(found - true).sum() < 0.9 * np.abs(before - true).sum()
    # Far above the noise, and without any, they stay as they are.
    assert expected(1000 * noisy.clip(10), scale) == pytest.approx(1000 * noisy.clip(10), rel=0.01)
    assert expected(true, 0.0) == pytest.approx(true)
    assert expected(np.array([-90.0, 20.0]), scale).tolist() == [0.0, 0.0]
    assert np.isfinite(expected(np.array([-4000.0, 1.0, 4001.0]), scale)).all()


def test_a_group_may_be_called_like_a_value() -> None:
    rule = Categorical(values=["a", "b", "missing"], groups={"b": ["a"]}, nullable=True)
    grouping = grouped(rule.codec, np.zeros(4, np.int64), scale=1.0)
    assert len(set(grouping.names)) == len(grouping.names) == 4
    assert reduced(Schema(columns={"v": rule}), {"v": grouping}).categorical == ("v",)


def test_the_reduced_schema_has_the_shape_of_the_grouped_table() -> None:
    grouping = grouped(SCHEMA.categories["tail"], np.zeros(3001, np.int64), scale=1.0)
    small = reduced(SCHEMA, {"tail": grouping})
    assert Codec(small).domain == Codec(SCHEMA, {"tail": grouping}).domain


def test_short_lists_cost_nothing() -> None:
    short = Schema(columns={"v": {"type": "categorical", "values": VALUES[:LARGE]}})
    assert large_columns(short) == [] and large_columns(SCHEMA) == ["tail"]


def test_the_widest_table_bounds_every_table_that_counts_can_lead_to() -> None:
    groups = {"first": VALUES[:10], "second": VALUES[10:3000]}
    for rule in (
        Categorical(values=VALUES, nullable=True),
        Categorical(values=VALUES, groups=groups),
    ):
        schema = Schema(columns={"tail": rule})
        most = Codec(widest(schema)).domain.cells
        for counts in (np.zeros(3001), np.arange(3001), np.full(3001, 10**6)):
            counts = counts[: len(VALUES) + rule.nullable].astype(np.int64)
            fitted = reduced(schema, {"tail": grouped(rule.codec, counts, 1.0)})
            assert Codec(fitted).domain.cells <= most
        assert most <= MOST + 2


def test_a_table_too_wide_for_memory_is_refused_before_anything_is_spent(tmp_path) -> None:
    model = tv.RAPpp(
        SCHEMA, preset=Default(effort=Effort(most_memory=10_000)), ledger=tmp_path / "ledger"
    )
    with pytest.raises(InvalidInput, match="GB of memory"):
        model.fit(frequent_first(10))
    assert not (tmp_path / "ledger").exists()
