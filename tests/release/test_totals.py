"""Published totals: understood before anything is spent, and kept by every sample."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tabveil as tv
from tabveil.fitting.forecast import forecast
from tabveil.release.totals import Held, holding
from tabveil.schema.totals import Total
from tabveil.sources import read_totals

COLUMNS: dict[str, Any] = {
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "town": {"type": "categorical", "values": ["a", "b", "c"], "nullable": True},
    "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
}


def schema_with(*totals: Any) -> tv.Schema:
    return tv.Schema.from_dict({"columns": COLUMNS, "totals": list(totals)})


def margins(codes: np.ndarray, axes: list[int], sizes: list[int]) -> np.ndarray:
    found = np.zeros([sizes[axis] for axis in axes])
    np.add.at(found, tuple(codes[:, axis] for axis in axes), 1)
    return found / len(codes)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000), rows=st.integers(50, 400))
def test_rows_are_changed_until_all_totals_are_met_to_the_rounding(seed: int, rows: int) -> None:
    random = np.random.default_rng(seed)
    sizes = [2, 4, 3, 5]
    real = np.stack([random.integers(0, n, 3000) for n in sizes], 1)
    real[:, 2] = np.where(random.random(3000) < 0.5, real[:, 1] % 3, real[:, 2])
    names = ["a", "b", "c", "d"]
    asked = [[0], [1], [3], [1, 2], [0, 3]]
    totals = [Total(tuple(names[a] for a in axes), margins(real, axes, sizes)) for axes in asked]
    drawn = np.stack([random.integers(0, n, rows) for n in sizes], 1).astype(np.int32)
    kept = holding(drawn, totals, names, random)
    for axes, total in zip(asked, totals, strict=True):
        off = np.abs(margins(kept, axes, sizes) - total.shares) * rows
        assert off.max() < 1


def test_sixty_totals_at_once_are_met() -> None:
    random = np.random.default_rng(3)
    sizes = random.integers(2, 8, 20).tolist()
    real = np.stack([random.integers(0, n, 20_000) for n in sizes], 1)
    for column in range(1, 20):
        copied = random.random(20_000) < 0.4
        real[copied, column] = real[copied, column - 1] % sizes[column]
    names = [f"c{place}" for place in range(20)]
    asked = [[c] for c in range(20)] + [[c, (c + k) % 20] for k in (1, 3) for c in range(20)]
    totals = [Total(tuple(names[a] for a in axes), margins(real, axes, sizes)) for axes in asked]
    assert len(totals) == 60
    drawn = real[random.integers(0, 20_000, 2000)].astype(np.int32)
    kept = holding(drawn, totals, names, random)
    held = [Held.of(total, names, kept) for total in totals]
    assert sum(h.off(np.arange(len(h.counts)), 0).sum() for h in held) == 0
    assert (kept != drawn).mean() < 0.1  # few cells were touched


def test_totals_come_back_in_every_sample_of_a_fit() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sex": random.choice(["F", "M"], 400, p=[0.3, 0.7]),
            "town": random.choice(["a", "b", None], 400),
            "age": random.integers(0, 100, 400),
        }
    )
    schema = schema_with(
        {"columns": ["sex"], "counts": frame.sex.value_counts().to_dict()},
        {"columns": ["town"], "counts_elsewhere": {"a": 10, "b": 30, "missing": 20}},
    )
    model = tv.RAPpp(schema, epsilon=0.5).fit(frame)
    assert not any("row count" in str(what) for what in model.ledger_.what)  # it is published
    assert "published totals of sex" in model.release_.privacy["assumed_public"]
    assert "the number of rows" in model.release_.privacy["assumed_public"]
    for seed in range(3):
        sample = model.sample(1200, seed=seed)
        women = (frame.sex == "F").mean() * 1200
        assert abs((sample.sex == "F").sum() - women) < 1
        assert sample.town.value_counts().to_dict() == {"a": 200, "b": 600}
        assert sample.town.isna().sum() == 400


def test_columns_with_totals_are_not_paid_for_again() -> None:
    plain, told = schema_with(), schema_with({"columns": ["sex"], "shares": {"F": 0.5, "M": 0.5}})
    frame = pd.DataFrame({"sex": ["F", "M"] * 50, "town": ["a", "b"] * 50, "age": [1, 50] * 50})
    alone = [
        {m.query for m in tv.RAPpp(s, 1.0).fit(frame).release_.measurements} & {"sex", "town"}
        for s in (plain, told)
    ]
    assert alone == [{"sex", "town"}, {"town"}]


def test_a_plan_knows_what_totals_save() -> None:
    told = schema_with(
        {"columns": ["sex", "town"], "shares": {"F": {"a": 0.5}, "M": {"b": 0.3, "missing": 0.2}}}
    )
    plain, saved = (forecast(schema, 0.5, rows=2000) for schema in (schema_with(), told))
    assert plain.expected and saved.expected
    errors = [{c.name: c.error for c in p.expected.columns} for p in (plain, saved) if p.expected]
    assert errors[1]["sex"] < 0.3 * errors[0]["sex"] and errors[1]["town"] < errors[0]["town"]
    assert saved.error < plain.error


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        ([{"columns": ["sex"], "shares": {"F": 0.2, "M": 0.2}}], "add up to 0.4"),
        ([{"columns": ["age"], "shares": {"F": 1}}], "categorical"),
        ([{"columns": ["sex"], "counts": {"X": 1}}], "not a declared value"),
        ([{"columns": ["sex"]}], "not understood"),
        ([{"columns": ["sex"], "counts": 3}], "no numbers"),
        ([{"columns": ["sex"], "counts": {"F": -1, "M": 2}}], "holds -1"),
        ([{"columns": ["sex", "sex"], "counts": {"F": {"F": 1}}}], "twice"),
        (
            [
                {"columns": ["sex"], "shares": {"F": 0.5, "M": 0.5}},
                {"columns": ["sex", "town"], "shares": {"F": {"a": 0.7}, "M": {"b": 0.3}}},
            ],
            "contradict each other: sex = M is 0.5 of all rows in one and 0.3",
        ),
        (
            [
                {"columns": ["sex"], "counts": {"F": 5, "M": 5}},
                {"columns": ["town"], "counts": {"a": 50}},
            ],
            "10 rows",
        ),
    ],
)
def test_a_total_that_cannot_be_is_named(totals: list[Any], words: str) -> None:
    with pytest.raises(tv.TabveilError, match=words):
        schema_with(*totals)


def test_a_schema_with_totals_is_written_and_read_as_it_was(tmp_path: Any) -> None:
    schema = schema_with({"columns": ["town"], "counts": {"a": 1, None: 2}})
    for name in ("schema.yaml", "schema.json"):
        schema.save(tmp_path / name)
        [total] = tv.Schema.load(tmp_path / name).parsed_totals
        np.testing.assert_allclose(total.shares, [1 / 3, 0, 0, 2 / 3])


def test_a_table_of_totals_is_read_from_a_file(tmp_path: Any) -> None:
    path = tmp_path / "totals.csv"
    path.write_text("sex,town,count_elsewhere\nF,a,1\nF,,2\nM,b,3\n")
    total = read_totals(str(path), schema_with())
    assert total["counts_elsewhere"] == {"F": {"a": 1.0, "missing": 2.0}, "M": {"b": 3.0}}
    assert schema_with().with_totals([total]).parsed_totals[0].rows is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sex,share,count\nF,1,1\n", "does not say how many"),
        ("gender,share\nF,1\n", "has the column gender"),
        ("sex,share\nF,many\n", "no number"),
    ],
)
def test_a_file_that_holds_no_totals_is_refused(tmp_path: Any, text: str, words: str) -> None:
    path = tmp_path / "totals.csv"
    path.write_text(text)
    with pytest.raises(tv.TabveilError, match=words):
        read_totals(str(path), schema_with())
