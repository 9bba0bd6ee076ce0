"""What a release states is all that it cost: a schema that was bought is part of every number."""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tabveil as tv
from tabveil.audit.attacks import Silence
from tabveil.cli import app
from tabveil.discovery import found_document
from tabveil.errors import InvalidInput
from tabveil.fitting.presets import PRESETS, Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.privacy import Ledger, Relation, epsilon_of, rho_of, rounded_up
from tabveil.release.statement import assumed_public
from tabveil.report.evidence import Evidence
from tabveil.report.guarantee import Risk, section
from tabveil.schema import rule_mark
from tabveil.sources.address import ledger_beside

ONE_STEP = Annealing(8.0, stages=1, steps=1, tolerance=0.0)
HASTY = Default(rounds=1, effort=Effort(rows=20, between_rounds=ONE_STEP, at_the_end=ONE_STEP))


def people(rows: int = 4000) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {"city": random.choice(["Bern", "Rome"], rows), "age": random.integers(17, 90, rows)}
    )


def bought(**terms: object) -> tv.Schema:
    return tv.Schema.infer(people(), **{"epsilon": 5, "delta": 1e-3} | terms)


def fitted(schema: tv.Schema, **settings: object) -> tv.Release:
    settings = {"preset": HASTY, "epsilon": 0.5} | settings
    return tv.RAPpp(schema, **settings).fit(people()).release_


@pytest.mark.parametrize("relation", Relation)
def test_a_bought_schema_is_part_of_the_promise(relation: Relation) -> None:
    schema = bought(neighbours=relation.value)
    said = fitted(schema, neighbours=relation.value).privacy
    rho = rho_of(5, 5e-4) + rho_of(0.5, 1e-9)
    assert Fraction(said["rho"]) == rho and Fraction(said["rho_spent"]) == rho
    assert said["delta"] >= Fraction(1e-9) + Fraction(5e-4) and said["delta_used"] == 5e-4
    assert said["epsilon"] >= epsilon_of(rho, 1e-9) > 5
    assert said["promise"].startswith(f"({said['epsilon']:g}, {said['delta']:g})")
    assert said["fit"]["epsilon"] == 0.5 and said["schema"]["epsilon"] == 5
    assert said["bought"] == ["city", "age"]


def test_what_was_bought_is_not_called_public() -> None:
    schema = bought()
    said = fitted(schema).privacy
    assert not [
        line for line in said["assumed_public"] if "category lists" in line or "bounds" in line
    ]
    mine = schema.replaced(
        columns=dict(schema.columns) | {"age": {"type": "numerical", "min": 0, "max": 99}}
    )
    said = fitted(mine).privacy
    assert said["bought"] == ["city"]
    assert [line for line in said["assumed_public"] if "category lists" in line] == [
        "types, category lists, bounds, decimals and nullability of age (from the schema)"
    ]


@pytest.mark.parametrize("relation", Relation)
def test_a_declared_schema_costs_nothing(relation: Relation) -> None:
    declared = tv.Schema.from_dict({"columns": {"age": {"type": "numerical", "min": 0, "max": 99}}})
    said = fitted(declared, neighbours=relation.value).privacy
    assert Fraction(said["rho"]) == rho_of(0.5, 1e-9) >= Fraction(said["rho_spent"])
    assert (said["epsilon"], said["delta"], said["delta_used"]) == (0.5, 1e-9, 0)
    assert said["schema"] is None and said["bought"] == [] and said["ledger"] is None
    assert set(said["mechanisms"]) <= {"discrete Gaussian", "noisy top-K"}
    public = "the number of rows" in said["assumed_public"]
    assert public == (relation is Relation.SUBSTITUTE)
    assert "column names, types, category lists" in said["assumed_public"][0]


@pytest.mark.parametrize(
    ("declared", "shown"), [(20, "c18, c19 (from"), (21, "c18, c19, ... (from")]
)
def test_of_many_declared_columns_twenty_are_named(declared: int, shown: str) -> None:
    rule = {"type": "categorical", "values": [0, 1]}
    names = {f"c{i}": rule for i in range(declared)} | {"found": rule}
    marks = {"found": rule_mark(rule)}
    found = {"epsilon": 1, "delta": 1e-6, "rho": "1/9", "columns": marks}
    schema = tv.Schema.from_dict({"columns": names, "found": found})
    assert shown in assumed_public(schema, Relation.ADD_REMOVE)[1]


def test_the_charges_of_a_release_add_up_to_what_it_states() -> None:
    release = fitted(bought())
    assert sum(Fraction(charge["rho"]) for charge in release.charges) == Fraction(
        release.privacy["rho_spent"]
    )
    assert release.charges[0]["what"] == "finding the schema in the data"


def test_the_page_and_its_risk_curve_hold_for_everything(tmp_path) -> None:
    pytest.importorskip("altair")
    release = fitted(bought())
    fit_alone = fitted(tv.Schema.from_dict(bought().to_dict() | {"found": None}))
    page = str(section(Evidence(release)).blocks)
    assert "were spent on the schema" in page and "city, age" in page
    assert "were spent on the schema" not in str(section(Evidence(fit_alone)).blocks)

    def curve(made: tv.Release) -> Risk:
        said = made.privacy
        spent = Fraction(said["rho_spent"])
        return Risk.of_spending(spent, said["epsilon"], said["delta"], said["delta_used"])

    assert curve(release).caught(0.01) > 3 * curve(fit_alone).caught(0.01)
    assert curve(release).guess > curve(fit_alone).guess + 0.2


def test_a_ledger_that_does_not_show_the_search_is_refused_with_what_to_do(tmp_path) -> None:
    schema = bought(ledger=tmp_path / "table.ledger")
    with pytest.raises(InvalidInput, match="does not show that it was paid for") as refused:
        fitted(schema, ledger=tmp_path / "other.ledger")
    assert "Name the ledger" in refused.value.hint and not (tmp_path / "other.ledger").exists()
    release = fitted(schema, ledger=tmp_path / "table.ledger")
    assert Ledger.read(tmp_path / "table.ledger").spent == Fraction(release.privacy["rho_spent"])
    forged = schema.replaced(found=schema.found.model_copy(update={"charges": ()}))
    with pytest.raises(InvalidInput, match="does not show"):
        fitted(forged, ledger=tmp_path / "table.ledger")


def test_costs_that_protect_others_are_not_added_up() -> None:
    with pytest.raises(
        InvalidInput, match=r"protected one row \(add-remove\), but this fit would protect"
    ):
        fitted(bought(), neighbours="substitute")
    schema = bought()
    for_people = schema.replaced(privacy={"unit": "who", "max_rows": 2})
    frame = people().assign(who=np.arange(4000) // 2)
    with pytest.raises(InvalidInput, match="all rows of one who"):
        tv.RAPpp(for_people, 0.5, preset=HASTY).fit(frame)
    elsewhere = schema.replaced(found=None)  # for another table the schema is public
    assert fitted(elsewhere, neighbours="substitute").privacy["epsilon"] == 0.5


def test_a_promise_never_shrinks_as_it_is_printed() -> None:
    for number in (
        Fraction(1, 3),
        Fraction(10**9 + 1, 10**9),
        Fraction(5, 10**7) + Fraction(1, 10**17),
    ):
        assert number <= Fraction(rounded_up(number)) <= number * Fraction(1002, 1000)
        assert Fraction(f"{rounded_up(number):g}") >= number
    for tenths in range(
        1, 300
    ):  # of which half are a little more than the float that is written like them
        assert Fraction(rounded_up(Fraction(tenths, 10**8))) >= Fraction(tenths, 10**8)
    for number in (0.0, 1e-9, 0.1, 3.0):  # what has few digits stays what it is
        assert rounded_up(Fraction(number)) == number


def test_a_search_with_seeded_noise_says_so_and_so_does_every_release_of_it() -> None:
    document = found_document(people(), epsilon=1, noise=Silence())
    assert document["found"]["private"] is False
    release = fitted(tv.Schema.from_dict(document))
    assert release.privacy["private"] is False and release.privacy["promise"].startswith(
        "NOT PRIVATE"
    )


def test_a_search_that_was_cut_short_goes_on_without_paying_again(tmp_path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)

    class Dies(Silence):
        left = 2

        def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
            Dies.left -= 1
            if Dies.left < 0:
                raise KeyboardInterrupt
            return super().gaussian(counts, scale)

    terms = {"epsilon": 1, "ledger": tmp_path / "ledger"}
    with pytest.raises(KeyboardInterrupt):
        found_document(tmp_path / "people.csv", noise=Dies(), save=tmp_path / "s.yaml", **terms)
    assert not (tmp_path / "s.yaml").exists()
    before = Ledger.read(tmp_path / "ledger").charges
    found = found_document(
        tmp_path / "people.csv", noise=Silence(), save=tmp_path / "s.yaml", **terms
    )
    after = Ledger.read(tmp_path / "ledger").charges
    assert after[: len(before)] == before and (tmp_path / "s.yaml").exists()
    # The answer on which it died was charged and never given out; that stays spent, and is paid
    # once more.
    assert [charge.what for charge in after].count("what 2 columns look like") == 1
    assert found["columns"]["city"]["values"] == ["Bern", "Rome"]
    assert not list(tmp_path.glob("*.journal"))


# -- the command line ------------------------------------------------------------------------------


def run(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output + repr(done.exception)
    return done.output


def test_two_fits_on_one_table_add_up_without_anyone_thinking_of_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(PRESETS, "default", HASTY)
    people().to_csv(tmp_path / "people.csv", index=False)
    data, schema = tmp_path / "people.csv", tmp_path / "s.yaml"
    run("schema", "init", data, "--epsilon", 1, "-o", schema)
    first = run("fit", data, "--schema", schema, "--epsilon", 0.5, "-o", tmp_path / "one")
    second = run("fit", data, "--schema", schema, "--epsilon", 0.5, "-o", tmp_path / "two")
    ledger = Ledger.read(tmp_path / "people.csv.ledger")
    spent = rounded_up(Fraction(epsilon_of(ledger.spent, 1e-9)))
    assert (
        f"In all, ε = {spent:g}" in second
        and "This run comes on top" in first
        and "on top" in second
    )
    assert ledger.spent == rho_of(1, 5e-7) + 2 * rho_of(0.5, 1e-9)
    assert ledger_beside(str(data)) == tmp_path / "people.csv.ledger"
    assert ledger_beside("warehouse.people") == Path("warehouse.people.ledger")


def test_people_can_be_protected_from_the_search_on_and_one_ledger_serves(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setitem(PRESETS, "default", HASTY)
    people().assign(who=np.arange(4000) // 4).to_csv(tmp_path / "visits.csv", index=False)
    data, schema = tmp_path / "visits.csv", tmp_path / "s.yaml"
    run("schema", "init", data, "--epsilon", 4, "--unit", "who", "--max-rows", 3, "-o", schema)
    said = run("fit", data, "--schema", schema, "--epsilon", 1, "-o", tmp_path / "one")
    assert "for all rows of one who added or removed" in said
    assert {c.details["unit"] for c in Ledger.read(f"{data}.ledger").charges} == {
        "all rows of one who"
    }
    alone = CliRunner().invoke(app, ["schema", "init", str(data), "--unit", "who", "-o", "x.yaml"])
    assert alone.exit_code == 1 and "go together" in str(alone.exception)
    draft = run(
        "schema", "init", data, "--unit", "who", "--max-rows", 3, "-o", tmp_path / "draft.yaml"
    )
    assert (
        "who" not in tv.schema.read_document(tmp_path / "draft.yaml")["columns"]
        and "guessed" in draft
    )


def test_a_ledger_is_held_against_the_releases_that_it_paid_for(tmp_path) -> None:
    schema = tv.Schema.from_dict({"columns": {"age": {"type": "numerical", "min": 0, "max": 99}}})
    ledger, copy = tmp_path / "ledger", tmp_path / "copy"
    for name in ("one", "two"):
        fitted(schema, ledger=ledger).save(tmp_path / name)
        shutil.copy(ledger, copy) if name == "one" else None
    releases = [tmp_path / "one", tmp_path / "two"]
    assert "still shows it" in run("ledger", "verify", ledger, *releases)

    def troubles(file: Path) -> dict[str, str]:
        done = CliRunner().invoke(
            app, ["ledger", "verify", str(file), *map(str, releases), "--json"]
        )
        assert done.exit_code == 1
        found: dict[str, str] = json.loads(done.output)["releases"]
        return found

    assert (
        troubles(copy)[str(releases[0])] == "" and "cut short" in troubles(copy)[str(releases[1])]
    )
    for _ in range(2):
        fitted(schema, ledger=copy)
    assert (
        troubles(copy)[str(releases[0])] == "" and "another way" in troubles(copy)[str(releases[1])]
    )
    with Ledger.open(tmp_path / "new", "add-remove") as book:
        book.charge("something", Fraction(1, 9), "else")
    assert all(troubles(tmp_path / "new").values())
    fitted(schema).save(tmp_path / "three")
    releases.append(tmp_path / "three")
    assert "no ledger file" in troubles(ledger)[str(releases[2])]


def test_scores_say_in_every_line_that_they_are_not_private(tmp_path) -> None:
    schema = tv.Schema.from_dict(
        {
            "columns": {
                "city": {"type": "categorical", "values": ["Bern", "Rome"]},
                "age": {"type": "drop"},
            }
        }
    )
    schema.save(tmp_path / "s.yaml")
    people(300).to_csv(tmp_path / "real.csv", index=False)
    paths = [
        "--real",
        tmp_path / "real.csv",
        "--synthetic",
        tmp_path / "real.csv",
        "--schema",
        tmp_path / "s.yaml",
    ]
    done = CliRunner().invoke(app, ["evaluate", *map(str, paths), "--json"])
    lines = json.loads(done.stdout[done.stdout.index("[") :])
    assert lines and all(line["private"] is False for line in lines)
