"""Schemas found in the data: paid for before a look, right where many rows agree, silent about the
few."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import tabveil as tv
from noises import Loud, Spy
from tabveil.audit.attacks import Silence
from tabveil.cli import app
from tabveil.discovery import DECIMALS, Scout, found_document, infer_schema, threshold, whole
from tabveil.errors import BudgetExceeded, InvalidInput
from tabveil.privacy import (
    Budget,
    Door,
    Ledger,
    OpenDPNoise,
    Promise,
    Protection,
    Relation,
    gaussian_scale,
)
from tabveil.sources import Source


def people(rows: int = 20_000) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "city": random.choice(["Bern", "Oslo", "Rome"], rows),
            "age": random.integers(17, 90, rows),
            "price": np.round(random.uniform(-3, 100, rows), 2),
            "vip": random.random(rows) < 0.3,
            "day": pd.Timestamp("2013-03-01") + pd.to_timedelta(random.integers(0, 300, rows), "D"),
            "job": np.where(random.random(rows) < 0.4, None, random.choice(["x", "y"], rows)),
        }
    ).astype({"city": "string", "job": "string"})


def test_what_many_rows_hold_is_found() -> None:
    rules = found_document(people(), epsilon=1, noise=Silence())["columns"]
    assert rules["city"] == {
        "type": "categorical",
        "values": ["Bern", "Oslo", "Rome"],
        "other": True,
    }
    assert rules["job"] == {
        "type": "categorical",
        "values": ["x", "y"],
        "other": True,
        "nullable": True,
    }
    assert rules["age"] == {"type": "numerical", "min": 16, "max": 128, "decimals": 0}
    assert (
        rules["price"]["decimals"] == 2
        and -4 <= rules["price"]["min"] <= 0
        and rules["price"]["max"] == 128
    )
    assert rules["vip"] == {"type": "boolean"}
    assert rules["day"] == {"type": "date", "min": "2013-01-01", "max": "2014-01-01"}


def test_days_are_moments_where_some_rows_clearly_tell_the_time() -> None:
    frame = people()
    frame["day"] += pd.to_timedelta(np.where(np.arange(len(frame)) % 50 == 0, 7, 0), "h")
    rule = found_document(frame, epsilon=1, noise=Silence())["columns"]["day"]
    assert rule == {"type": "datetime", "min": "2013-01-01", "max": "2014-01-01"}


@pytest.mark.parametrize("odd", ["?", None, 2**63, "2013-13-13"])
def test_no_row_changes_a_type_that_a_reader_guessed_and_nobody_paid_for(
    odd: object, tmp_path
) -> None:
    def searched(frame: pd.DataFrame) -> dict:
        return found_document(frame, epsilon=1, noise=Silence())["columns"]

    frame = people(2000)
    cells = {
        name: pd.Series([*frame[name].tolist(), odd]) for name in frame
    }  # as pandas guesses them
    assert [c.dtype for c in cells.values()] != frame.dtypes.tolist()
    assert searched(pd.DataFrame(cells)) == searched(frame)


def test_only_the_columns_that_are_named_are_searched_with_all_of_the_budget() -> None:
    some, whole_table = Spy(), Spy()
    found = found_document(people(), epsilon=1, columns=["age", "city"], noise=some)
    found_document(people(), epsilon=1, noise=whole_table)
    assert set(found["columns"]) == {"city", "age"} == set(found["found"]["columns"])
    assert all(a < b for a, b in zip(some.scales, whole_table.scales, strict=True))
    with pytest.raises(InvalidInput, match="no column agee"):
        found_document(people(), epsilon=1, columns=["agee"], noise=Silence())


def test_real_noise_finds_it_too() -> None:
    schema = infer_schema(
        people(), epsilon=1, targets=["city"]
    )  # each city stands 400 deviations clear
    assert schema.categories["city"].labels[:-1] == ("Bern", "Oslo", "Rome")
    assert schema.found is not None and schema.found.epsilon == 1 and schema.targets == ("city",)


def test_texts_in_a_file_are_recognised_as_numbers_and_truths(tmp_path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    rules = found_document(tmp_path / "people.csv", epsilon=2, noise=Silence())["columns"]
    assert [rules[name]["type"] for name in ("city", "age", "price", "vip")] == [
        "categorical", "numerical", "numerical", "boolean",
    ]  # fmt: skip
    assert rules["price"]["decimals"] == 2 and rules["job"]["nullable"] is True


def test_moments_may_come_as_categories() -> None:
    moments = pd.Series(pd.date_range("2013-01-01", "2013-12-31", 500)).astype("category")
    rule = found_document(pd.DataFrame({"when": moments}), epsilon=1, noise=Silence())["columns"][
        "when"
    ]
    assert rule == {"type": "datetime", "min": "2013-01-01", "max": "2014-01-01"}


def test_what_cannot_be_found_is_left_to_the_owner() -> None:
    frame = pd.DataFrame({"name": [f"person {i}" for i in range(500)], "sex": ["F"] * 500})
    document = found_document(frame, epsilon=1)
    assert document["columns"]["name"]["values"] == "TODO"
    assert infer_schema(frame, epsilon=1).columns["name"].type == "drop"


def test_everything_is_in_the_ledger_and_within_the_budget(tmp_path) -> None:
    infer_schema(people(5000), epsilon=0.5, delta=1e-6, ledger=tmp_path / "ledger")
    ledger = Ledger.read(tmp_path / "ledger")
    assert ledger.charges[0].what == "what 6 columns look like"
    assert {charge.what.split(" of ")[0] for charge in ledger.charges[1:]} == {"ranges", "values"}
    assert ledger.spent <= Budget(0.5, 5e-7).rho
    assert ledger.delta_spent == Fraction(5e-7)
    assert ledger.delta_left(1e-6) <= 5e-7
    with pytest.raises(InvalidInput, match="no more than what was used up"):
        ledger.delta_left(1e-7)


def test_nothing_is_looked_at_before_it_is_paid(tmp_path) -> None:
    Ledger.open(tmp_path / "ledger", "add-remove", limit=Budget(0.1, 1e-6)).close()
    with pytest.raises(BudgetExceeded):
        infer_schema(people(100), epsilon=1, ledger=tmp_path / "ledger")
    assert Ledger.read(tmp_path / "ledger").charges == ()

    class Watched:
        def __init__(self) -> None:
            self.spent_at_look: list[Fraction] = []

    watched = Watched()
    promise = Promise(Budget(1, 1e-6), Protection())
    allowance = Ledger.in_memory(Relation.ADD_REMOVE).allowance(whole(promise), "test")
    source = Source.whole(people(100))
    reader = source.reader
    batches = reader.batches

    def looked(*asked):
        watched.spent_at_look.append(allowance.spent)
        return batches(*asked)

    reader.batches = looked
    Scout(source, Door(allowance, promise.protection), promise).columns()
    assert watched.spent_at_look and watched.spent_at_look[0] > 0
    assert watched.spent_at_look == sorted(watched.spent_at_look)
    assert (
        allowance.spent == pytest.approx(float(allowance.total))
        and allowance.spent <= allowance.total
    )


def test_a_limit_counts_the_delta_that_mechanisms_use_up() -> None:
    ledger = Ledger.in_memory("add-remove", limit=Budget(1, 1e-6))
    whole = ledger.left
    ledger.charge("values", Fraction(1, 10**6), "threshold", delta=9e-7)
    assert ledger.left < Budget(1, 1.001e-7).rho < whole
    with pytest.raises(BudgetExceeded):
        ledger.charge("values", Fraction(1, 10**6), "threshold", delta=2e-7)
    for wrong in (-1e-9, 1.0, "x"):
        with pytest.raises(InvalidInput, match="The δ of a charge"):
            ledger.charge("values", Fraction(1, 10**6), "threshold", delta=wrong)


@pytest.mark.parametrize("relation", Relation)
def test_a_lone_category_is_released_only_if_noise_goes_beyond_its_delta(relation) -> None:
    frame = pd.DataFrame({"c": ["a"] * 5000 + ["lone"]})
    for deviations, seen in (
        (4.9, False),
        (6, True),
    ):  # δ/2 = 5e-7 lies 4.89 standard deviations out
        found = found_document(frame, epsilon=1, neighbours=relation.value, noise=Loud(deviations))
        assert ("lone" in found["columns"]["c"]["values"]) is seen


def test_a_lone_category_is_never_released() -> None:
    counts = np.array([1], np.int64)
    scale = gaussian_scale(Budget(0.1, 5e-7).rho, 1)
    least = threshold(scale, 1e-12)
    noisy = OpenDPNoise().gaussian(np.repeat(counts, 20_000), scale)
    assert (noisy < least).all()  # chance of a false alarm: 20,000 · 1e-12


def everything(rows: int = 40) -> pd.DataFrame:
    """Every kind of column; no neighbour takes a value of a text away, or changes how a column
    looks."""
    place = np.arange(rows)
    return pd.DataFrame(
        {
            "who": place // 4,
            "word": np.array(["a", "b", None], object)[place % 3],
            "unsure": np.array(["1", "true", "x", None, "y"], object)[place % 5],
            "number": np.array([0.5, -3.25, np.nan, 1e9])[place % 4],
            "whole": place % 5,
            "vip": place % 2 == 0,
            "day": pd.Timestamp("2013-03-01") + pd.to_timedelta(300 * (place % 4), "D"),
        }
    ).astype({"word": "string", "unsure": object})


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("unit", [None, {"unit": "who", "max_rows": 3}], ids=["rows", "people"])
def test_what_a_search_counts_moves_no_further_than_it_pays_for(relation, unit, tmp_path) -> None:
    def searched(frame: pd.DataFrame, name: str) -> tuple[Spy, list]:
        spy, ledger = Spy(), tmp_path / name
        found_document(
            frame, epsilon=1, ledger=ledger, neighbours=relation.value, privacy=unit, noise=spy
        )
        return spy, [charge.rho for charge in Ledger.read(ledger).charges]

    frame = everything()
    here, paid = searched(frame, "here")
    farthest = Fraction(0)
    for number, row in enumerate(range(0, 40, 4)):
        gone = slice(row, row + 4) if unit else slice(row, row + 1)
        neighbour = frame.drop(frame.index[gone])
        if relation is Relation.SUBSTITUTE:  # by rows that are alike, wherever they can be
            other = frame.iloc[[(row + 7) % 40] * (gone.stop - gone.start)].assign(who=99)
            neighbour = pd.concat([frame.iloc[: gone.start], other, frame.iloc[gone.stop :]])
        there, _ = searched(neighbour, f"there {number}")
        assert there.scales == here.scales
        spent = sum(
            Fraction(int(((a.exact - b.exact) ** 2).sum())) / (2 * Fraction(a.scale) ** 2)
            for a, b in zip(here.draws, there.draws, strict=True)
        )
        assert spent <= sum(paid)
        farthest = max(farthest, spent)
    assert farthest > sum(paid) / 4  # the neighbours are not far too tame


def test_the_threshold_bounds_the_tail_of_the_noise() -> None:
    for scale, delta, each in ((3.0, 1e-3, 1), (40.0, 1e-2, 1), (10.0, 1e-3, 4)):
        least = threshold(scale, delta, each)
        support = np.arange(-int(40 * scale), int(40 * scale) + 1)
        law = np.exp(-(support.astype(float) ** 2) / (2 * scale**2))
        law /= law.sum()
        tail = law[support >= least - each].sum()
        assert each * tail <= delta
        assert (
            each * law[support >= least - each - 3 - scale].sum() > delta
        )  # and is not far too careful


def test_people_bound_what_each_can_add() -> None:
    frame = pd.DataFrame(
        {"who": np.repeat(np.arange(300), 10), "c": np.tile(list("ababababab"), 300)}
    )
    schema = infer_schema(frame, epsilon=2, privacy={"unit": "who", "max_rows": 4})
    assert schema.privacy is not None and schema.privacy.max_rows == 4
    assert "who" not in schema.columns and schema.categories["c"].labels[:-1] == ("a", "b")


def test_decimals_beyond_what_is_counted_are_left_open() -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(0).random(20_000)})
    rule = found_document(frame, epsilon=1, noise=Silence())["columns"]["x"]
    assert "decimals" not in rule and DECIMALS == 7 and rule["max"] == 1


def test_the_command_writes_a_schema_with_its_provenance(tmp_path) -> None:
    people().to_parquet(tmp_path / "people.parquet")
    run = CliRunner().invoke(
        app,
        [
            "schema",
            "init",
            str(tmp_path / "people.parquet"),
            "--epsilon",
            "1",
            "-o",
            str(tmp_path / "s.yaml"),
        ],
    )
    assert run.exit_code == 0, run.output
    document = yaml.safe_load((tmp_path / "s.yaml").read_text())
    assert document["found"]["epsilon"] == 1 and (tmp_path / "people.parquet.ledger").exists()
    cities = tv.Schema.load(tmp_path / "s.yaml").categories["city"].labels
    assert cities == ("Bern", "Oslo", "Rome", "OTHER")
    shown = CliRunner().invoke(
        app, ["ledger", "show", str(tmp_path / "people.parquet.ledger"), "--json"]
    )
    assert shown.exit_code == 0 and "values of 2 columns" in shown.output
