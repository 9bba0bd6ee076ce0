"""Public tables beside the private one: read, named, helpful, and harmless where they mislead."""

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from noises import Fixed
from tabveil.fitting.public import Help, PublicTable, public_tables
from tabveil.fitting.ranks import leaning
from tabveil.fitting.synthesizer import fit_with_noise
from tabveil.tables.placement import Lattice
from tabveil.tables.table import Codec

COLUMNS: dict[str, Any] = {
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "town": {"type": "categorical", "values": ["a", "b", "c", "d"]},
    "job": {"type": "categorical", "values": ["none", "cook", "clerk"]},
    "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
    "wage": {"type": "numerical", "min": 0, "max": 9000, "decimals": 0, "nullable": True},
}
SCHEMA = tv.Schema.from_dict({"columns": COLUMNS, "targets": ["sex"]})


def people(rows: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    """Where one lives, what one does and what one earns hang together."""
    random = np.random.default_rng(seed)
    town = random.choice(4, rows, p=np.array([4, 3, 2, 1 + shift]) / (10 + shift))
    job = np.where(random.random(rows) < 0.7, town % 3, random.integers(0, 3, rows))
    age = np.clip(random.normal(35 + 10 * job + 5 * shift, 12, rows), 0, 99).round()
    wage = np.clip(random.gamma(3, 400 + 400 * job), 0, 9000).round()
    women = random.random(rows) < 0.2 + 0.3 * job
    return pd.DataFrame(
        {
            "sex": np.where(women, "F", "M"),
            "town": np.array(list("abcd"))[town],
            "job": np.array(["none", "cook", "clerk"])[job],
            "age": age,
            "wage": np.where(job == 0, np.nan, wage),
        }
    )


def error(sample: pd.DataFrame, real: pd.DataFrame) -> float:
    """Mean total variation of three cross-tables."""
    pairs = [("town", "job"), ("sex", "job"), ("sex", "town")]
    apart = [
        pd.crosstab(real[a], real[b], normalize="all")
        .sub(pd.crosstab(sample[a], sample[b], normalize="all"), fill_value=0)
        .abs()
        .to_numpy()
        .sum()
        for a, b in pairs
    ]
    return float(np.mean(apart)) / 2


def fitted(real: pd.DataFrame, public: Any, epsilon: float, seed: int = 0) -> tv.RAPpp:
    model = tv.RAPpp(SCHEMA, epsilon, seed=seed, public=public)
    return fit_with_noise(model, real, Fixed(seed))


def test_a_public_table_that_is_alike_helps_where_noise_drowns_everything() -> None:
    real, public = people(1500, 1), people(6000, 2, shift=0.3)
    with_it, alone = (
        np.mean([error(fitted(real, p, 0.1, s).sample(5000, seed=s), real) for s in range(2)])
        for p in (public, None)
    )
    assert with_it < 0.5 * alone


def test_a_public_table_that_misleads_is_found_out() -> None:
    real = people(6000, 1)
    wrong = people(6000, 2)
    wrong["job"] = wrong.job.map({"none": "clerk", "cook": "none", "clerk": "cook"})
    misled, alone = (error(fitted(real, p, 2.0).sample(5000, seed=0), real) for p in (wrong, None))
    assert misled < 1.5 * alone + 0.02
    assert misled < 0.5 * error(wrong, real)


def test_columns_that_a_public_table_lacks_are_learnt_from_private_rows() -> None:
    real, public = people(6000, 1), people(6000, 2).drop(columns=["job", "wage"])
    public["shoes"] = 41  # nobody asks for them
    sample = fitted(real, public, 2.0).sample(6000, seed=0)
    for column in ("job", "town"):
        shares = [frame[column].value_counts(normalize=True) for frame in (real, sample)]
        assert shares[0].sub(shares[1], fill_value=0).abs().max() < 0.05
    assert abs(sample.wage.isna().mean() - real.wage.isna().mean()) < 0.05


def test_a_value_that_no_public_row_has_is_learnt_all_the_same() -> None:
    everybody = people(20_000, 1)
    real, others = everybody[everybody.town == "a"].head(3000), everybody[everybody.town != "a"]
    for epsilon in (0.3, 2.0):
        sample = fitted(real, others, epsilon).sample(4000, seed=0)
        assert (sample.town == "a").mean() > 0.85
        shares = [frame.sex.value_counts(normalize=True) for frame in (real, sample)]
        assert shares[0].sub(shares[1], fill_value=0).abs().max() < 0.15


def test_numbers_that_no_public_row_has_are_learnt_all_the_same() -> None:
    everybody = people(20_000, 1)
    real, others = everybody.head(3000), everybody[(everybody.age >= 60) & (everybody.wage > 0)]
    for epsilon in (1.0, 3.0):
        sample = fitted(real, others, epsilon).sample(4000, seed=0)
        assert (sample.age < 60).mean() == pytest.approx((real.age < 60).mean(), abs=0.06)
        assert sample.wage.isna().mean() == pytest.approx(real.wage.isna().mean(), abs=0.06)


def test_values_that_do_not_fit_are_mapped_by_the_rules_of_the_schema() -> None:
    odd = pd.DataFrame({"sex": ["F", "??"], "age": [500.0, -3.0], "town": ["a", "z"]})
    [table] = public_tables(odd, SCHEMA, 0)
    encoded = Codec(SCHEMA).encode(table.cells)
    assert table.columns == ("sex", "town", "age")
    assert encoded.numbers[:, 0].min() == 0 and encoded.numbers[:, 0].max() == 99


def test_a_release_names_its_public_tables(tmp_path: Path) -> None:
    path = tmp_path / "last year.csv"
    people(300, 2).to_csv(path, index=False)
    model = tv.RAPpp(SCHEMA, 1.0, public=str(path)).fit(people(300, 1))
    model.save(tmp_path / "release")
    said = json.loads((tmp_path / "release" / "privacy.json").read_text())
    [table] = said["public_tables"]
    assert (table["name"], table["rows"]) == ("last year.csv", 300)
    assert table["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert set(table["columns"]) == set(COLUMNS)
    assert any("last year.csv (300 rows)" in line for line in said["assumed_public"])
    assert model.release_.privacy["private"] is True


def test_a_release_with_weights_is_loaded_as_it_was(tmp_path: Path) -> None:
    release = fitted(people(400, 1), people(3000, 2), 0.1).release_
    assert release.weights is not None
    release.save(tmp_path / "release")
    loaded = tv.Release.load(tmp_path / "release")
    pd.testing.assert_frame_equal(loaded.sample(500, seed=3), release.sample(500, seed=3))
    where = {"town": "a", "age": (20, 40)}
    some = loaded.sample(200, seed=1, where=where)
    assert (some.town == "a").all() and some.age.between(20, 40).all()
    about = json.loads((tmp_path / "release" / "release.json").read_text())
    assert about["format"] == 4


def test_without_public_tables_a_release_keeps_its_format(tmp_path: Path) -> None:
    fitted(people(400, 1), None, 1.0).save(tmp_path / "release")
    assert json.loads((tmp_path / "release" / "release.json").read_text())["format"] == 3


def test_public_tables_cost_nothing() -> None:
    spent = [
        sum(Fraction(rho) for rho in fitted(people(400, 1), public, 1.0).ledger_.rho)
        for public in (None, people(1000, 2))
    ]
    budget = tv.RAPpp(SCHEMA, 1.0).fit(people(10, 1)).release_.privacy["rho"]
    assert max(spent) <= Fraction(budget)


def test_the_order_of_public_rows_and_their_number_beyond_what_is_kept_do_not_matter() -> None:
    public = people(3000, 2)
    one, other = (
        Help.of(public_tables(frame, SCHEMA, 0), Codec(SCHEMA))
        for frame in (public, public.iloc[::-1])
    )
    assert one is not None and other is not None
    lattice = Lattice.of(SCHEMA)
    for below, again in zip(one.below(lattice), other.below(lattice), strict=True):
        np.testing.assert_allclose(below, again)


def test_a_yearly_release_gets_better_with_the_years() -> None:
    """Five years at a small ε, each with the last release as a public table; in two countries."""
    errors = np.zeros((2, 5))
    for country in range(2):
        last = None
        for year in range(5):
            seed = 10 * country + year
            real = people(1500, seed, shift=0.02 * year)
            last = fitted(real, last and last.release_, 0.15, seed)
            errors[country, year] = error(last.sample(5000, seed=0), real)
    assert errors[:, 3:].mean() < 0.75 * errors[:, 0].mean()


@pytest.mark.parametrize(
    ("public", "words"),
    [
        (pd.DataFrame({"shoes": [41]}), "none of the schema's columns"),
        (pd.DataFrame({"sex": []}), "no rows"),
        ("nowhere.csv", "does not exist"),
        (42, "not a table"),
    ],
)
def test_what_is_no_public_table_is_refused_before_anything_is_spent(
    public: Any, words: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger"
    with pytest.raises(tv.TabveilError, match=words):
        tv.RAPpp(SCHEMA, 1.0, public=public, ledger=ledger).fit(people(50, 1))
    assert not ledger.exists()


def test_other_presets_say_that_they_have_no_use_for_it() -> None:
    with pytest.raises(tv.TabveilError, match="no use for public tables"):
        tv.RAPpp(SCHEMA, 1.0, preset="paper", public=people(50, 2)).fit(people(50, 1))


def test_counts_lean_towards_a_forecast_unless_they_clearly_differ() -> None:
    random = np.random.default_rng(0)
    forecast = np.full(16, 100.0)
    near, kept = leaning(forecast + 10 * random.standard_normal(16), forecast, 10.0)
    assert kept < 0.5 and np.abs(near - forecast).mean() < 5
    far, kept = leaning(forecast[::-1] + np.arange(16) * 40.0, forecast, 10.0)
    assert kept > 0.95 and np.abs(far - forecast - np.arange(16) * 40).max() < 35


def test_a_long_public_table_is_kept_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabveil.fitting.public.MOST", 500)
    table = PublicTable.read(people(4000, 3), SCHEMA, 0)
    assert (table.rows, table.cells.num_rows) == (4000, 500)
    assert "4,000 rows" in repr(table)
