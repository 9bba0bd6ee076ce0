"""What the screens do beside the main way: many columns, other tools, purchases, crashes."""

import html
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

import tabveil as tv
from studio.conftest import Running, Start, write_people
from tabveil.columns import RULES
from tabveil.fitting.forecast import ROWS as ASSUMED
from tabveil.privacy import Budget, Ledger
from tabveil.schema import column_rule
from tabveil.sources import Source
from tabveil.studio.fields import fields_of, in_one_line, rule_from
from tabveil.studio.screens.plan import USES

SDV = {
    "columns": {
        "sex": {"sdtype": "categorical"},
        "age": {"sdtype": "numerical", "computer_representation": "Int64"},
    },
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
}


@pytest.fixture(scope="module")
def studio(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("screens")
    running = start(write_people(folder / "people.csv"), folder=folder)
    running.enter()
    yield running
    running.end()


def state(studio: Running, name: str = "people") -> dict[str, Any]:
    """What a table's folder says."""
    file = studio.folder / "tabveil-studio" / name / "studio.json"
    return json.loads(file.read_text(encoding="utf-8"))


def send(studio: Running, path: str, **fields: str) -> str:
    """Send a form that belongs to the newest version of the table, which must be taken."""
    answer, text = studio.post(path, version=str(state(studio)["version"]), **fields)
    assert answer.status == 303, text
    return answer.headers["location"]


@pytest.mark.parametrize("kind", RULES)
def test_every_type_of_column_has_a_form_that_spells_its_rule(kind: str) -> None:
    rule = column_rule("a", {"type": kind, **RULES[kind].example.rule})
    filled = {field.name: field.text for field in fields_of(rule.spelled())}
    assert column_rule("a", rule_from(kind, filled)) == rule
    assert isinstance(in_one_line(rule.spelled()), str)


def test_signs_for_missing_cells_and_pasted_code_books_are_read_as_people_write_them() -> None:
    filled = {"values": "1 = male, 2 = female", "missing": "N, -9"}
    assert rule_from("categorical", filled) == {
        "type": "categorical",
        "values": [1, 2],
        "missing": ["N", "-9"],
    }
    assert rule_from("numerical", {"min": "0", "max": "9", "missing": "-9"})["missing"] == [-9]
    assert rule_from("numerical", {"min": "-0,5", "max": "9"})["min"] == -0.5
    assert rule_from("id", {"style": "sequence", "start": "1"}) == {"type": "id"}  # as is usual
    pattern = {"type": "id", "style": "pattern", "pattern": "M#####"}
    assert rule_from("id", {"style": "sequence", "pattern": "M#####"}) == pattern


def test_a_list_of_one_value_is_asked_about(studio: Running) -> None:
    send(studio, "/people/columns/3", type="categorical", values="Bern Oslo Rome")
    assert "one value only: is that all?" in studio.get("/people/columns")[1]
    send(studio, "/people/columns/3", type="")


def test_a_plan_that_is_kept_while_it_moves_leaves_the_other_forms_valid(studio: Running) -> None:
    before = state(studio)["version"]
    fields = {"epsilon": "2", "rows": "800", "delta": "1e-6", "version": str(before)}
    moving = {"Cookie": studio.cookie, "Origin": studio.address, "X-Fragment": "1"}
    answer, _ = studio.ask("POST", "/people/plan", urlencode(fields).encode(), **moving)
    assert answer.status == 200 and state(studio)["epsilon"] == 2
    assert state(studio)["version"] == before


def test_ids_and_dates_are_known_by_their_names(studio: Running) -> None:
    assert state(studio)["draft"]["columns"]["person_id"] == {"type": "id"}
    assert "person_id" in studio.get("/people/columns")[1]


def test_another_tools_schema_fills_what_is_open(studio: Running) -> None:
    send(studio, "/people/columns/import", tool="sdv", document=json.dumps(SDV))
    now = state(studio)
    assert now["draft"]["columns"]["age"]["type"] == "numerical"
    assert now["origins"]["age"] == "imported from sdv"


def test_a_schema_of_our_own_is_taken_over_whole(start: Start, tmp_path: Path) -> None:
    people = write_people(tmp_path / "people.csv", 20)
    rules = {"age": {"type": "numerical", "min": 16, "max": 99}, "sex": {"type": "drop"}}
    file = tmp_path / "known.yaml"
    tv.Schema.from_dict({"columns": rules}).save(file)
    studio = start(people, "--schema", file, folder=tmp_path)
    studio.enter()
    assert state(studio)["draft"]["columns"]["age"] == rules["age"]
    assert state(studio)["origins"] == dict.fromkeys(rules, "from known.yaml")
    changed = file.read_text().replace("99", "89")
    send(studio, "/people/columns/import", tool="tabveil", document=changed)
    assert state(studio)["draft"]["columns"]["age"]["max"] == 89
    studio.end()


def test_a_file_that_is_no_schema_is_refused_in_words(studio: Running) -> None:
    for document in ("[1, 2]", "{", "columns: {a: [}", "just words"):
        answer, text = studio.post("/people/columns/import", tool="sdv", document=document)
        assert answer.status == 422 and 'role="alert"' in text


def test_types_are_guessed_only_after_the_owner_said_so(studio: Running) -> None:
    answer, text = studio.post("/people/columns/guess")
    assert answer.status == 422 and "Tick the box" in text
    send(studio, "/people/columns/guess", owner="yes")
    assert (
        state(studio)["draft"]["columns"]["wage"]["type"] == "numerical"
    )  # in spite of its mistakes
    assert state(studio)["origins"]["city"] == "guessed"


def test_what_nobody_knows_is_bought_once_the_unit_is_known(studio: Running) -> None:
    _, text = studio.get("/people/columns")
    assert "Search, and pay" not in text
    send(studio, "/people/columns/people", people="many", unit="person_id", max_rows="2")
    _, text = studio.get("/people/columns")
    assert "Search, and pay" in text
    send(studio, "/people/columns/buy", epsilon="2")
    now = state(studio)
    bought = set(now["draft"]["found"]["columns"])
    assert {"sex", "city"} <= bought and "age" in bought
    ledger = Ledger.read(studio.folder / "people.csv.ledger")
    assert ledger.shows(now["draft"]["found"]["charges"])
    _, text = studio.get("/people/columns")
    assert "bought" in text and "Search, and pay" not in text
    assert "were bought for ε = 2" in studio.get("/people/run")[1]
    send(studio, "/people/columns/people", people="one")


def test_rules_between_columns_are_checked_before_they_are_kept(studio: Running) -> None:
    answer, text = studio.post("/people/columns/constraints", constraints="agee < 3")
    assert answer.status == 422 and "agee &lt; 3</textarea>" in text  # still there to be mended
    send(studio, "/people/columns/constraints", constraints="if sex == F then age >= 16")
    assert state(studio)["draft"]["constraints"] == ["if sex == F then age >= 16"]
    send(studio, "/people/columns/constraints", constraints="")
    assert "constraints" not in state(studio)["draft"]


def test_tables_of_combinations_come_back_as_they_were(studio: Running) -> None:
    rule = {"columns": ["sex", "city"], "never": [["F", "Rome"]]}
    send(studio, "/people/columns/2", type="categorical", values="F, M")
    send(studio, "/people/columns/3", type="categorical", values="Bern, Oslo, Rome")
    send(studio, "/people/columns/constraints", constraints=json.dumps(rule))
    assert state(studio)["draft"]["constraints"] == [rule]
    _, text = studio.get("/people/columns")
    assert json.dumps(rule) in html.unescape(text)
    send(studio, "/people/columns/constraints", constraints="")


def test_what_was_typed_outlives_a_change_of_type_and_a_refusal(studio: Running) -> None:
    typed = {"values": "Bern\nOslo", "min": "0", "nullable": "yes", "targets": "yes"}
    answer, text = studio.post("/people/columns/3/as", type="numerical", **typed)
    assert answer.status == 200 and 'value="0"' in text and 'role="alert"' not in text
    assert '<input type="hidden" name="values" value="Bern\nOslo">' in text
    answer, text = studio.post("/people/columns/3/as", type="categorical", **typed)
    assert (
        "Bern\nOslo</textarea>" in text
        and 'id="f-targets" name="targets" value="yes" checked' in text
    )
    answer, text = studio.post("/people/columns/3", type="categorical", groups="no colon", **typed)
    assert (
        answer.status == 422 and "no colon</textarea>" in text and "Bern\nOslo</textarea>" in text
    )


def test_a_type_that_was_just_chosen_is_no_mistake_yet(studio: Running) -> None:
    _, text = studio.get("/people/columns/3?type=numerical")
    assert "f-min" in text and "grave" not in text


def test_a_column_that_follows_from_another_is_described_in_its_form(studio: Running) -> None:
    send(studio, "/people/columns/3", type="categorical", values="Bern, Oslo, Rome")
    asked = {"type": "follows", "of": "city"}
    answer, text = studio.post("/people/columns/4/as", **asked)
    assert "Bern: \nOslo: \nRome: \n</textarea>" in text  # begun with the values of the other
    answer, text = studio.post("/people/columns/4", map="Bern: 1\nOslo: 2", **asked)
    assert answer.status == 422 and "says nothing of Rome" in text
    send(studio, "/people/columns/4", map="Bern: 1\nOslo: 2\nRome: 3", **asked)
    kept = state(studio)["draft"]["columns"]["wage"]
    assert kept == {**asked, "map": {"Bern": 1, "Oslo": 2, "Rome": 3}}
    send(studio, "/people/columns/3", type="categorical", values="Bern, Oslo, Rome, Wien")
    assert "says nothing of Wien" in studio.get("/people/columns")[1]
    send(studio, "/people/columns/3", type="categorical", values="")
    assert "waits for city" in studio.get("/people/columns")[1]
    assert studio.get("/people/plan")[0].status == 200  # without the two
    send(studio, "/people/columns/3", type="categorical", values="Bern, Oslo, Rome")
    send(studio, "/people/columns/4", type="drop")


def test_what_follows_from_what_can_be_left_to_the_fit(studio: Running) -> None:
    send(studio, "/people/columns/3", type="categorical", values="Bern, Oslo, Rome")
    asked = {"type": "follows", "of": "city", "values": "1.5, 2.5", "missing": "unknown"}
    begun = "Bern: \nOslo: \nRome: \n"  # as the form begins it
    send(studio, "/people/columns/4", map=begun, **asked)
    kept = state(studio)["draft"]["columns"]["wage"]
    assert kept == {**asked, "values": [1.5, 2.5], "missing": ["unknown"]}
    assert "the fit buys which follows from city" in studio.get("/people/columns")[1]
    _, text = studio.get("/people/plan")
    assert "what follows from what: city to wage" in text and '<td class="n">2.0 %</td>' in text
    answer, text = studio.post("/people/columns/4", map="Bern: 1", type="follows", of="city")
    assert answer.status == 422 and "says nothing of Oslo" in text
    send(studio, "/people/columns/4", type="drop")


def test_groups_that_will_be_compared_are_named_strata(studio: Running) -> None:
    send(studio, "/people/columns/3", type="categorical", values="Bern, Oslo, Rome", strata="yes")
    assert state(studio)["draft"]["strata"] == ["city"]
    assert '<span class="tag">stratum</span>' in studio.get("/people/columns")[1]
    send(studio, "/people/columns/many", column="3", type="drop")
    assert "strata" not in state(studio)["draft"]  # what is left out cannot be compared
    send(studio, "/people/columns/3", type="categorical", values="Bern, Oslo, Rome")
    send(studio, "/people/columns/many", column="3", strata="yes")
    assert state(studio)["draft"]["strata"] == ["city"]
    assert "strata: [city]" in studio.get("/people/schema.yaml")[1]
    send(studio, "/people/columns/many", column="3", strata="no")


def test_the_draft_can_be_taken_away_at_any_time(studio: Running) -> None:
    answer, text = studio.get("/people/schema.yaml")
    assert answer.headers["content-disposition"].endswith('"schema.yaml"')
    assert yaml.safe_load(text)["columns"].keys() == state(studio)["draft"]["columns"].keys()


def test_a_plan_that_cannot_be_is_refused_in_words(studio: Running) -> None:
    for fields in ({"epsilon": "0"}, {"epsilon": "lots"}, {"rows": "0.5"}, {"delta": "2"}):
        answer, text = studio.post("/people/plan", **fields)
        assert answer.status == 422 and 'role="alert"' in text, fields
    answer, text = studio.get("/people/plan?by=error&wanted=0.0001")
    assert answer.status == 422 and "out of reach" in text and 'id="plan"' in text


def test_an_epsilon_that_follows_from_a_wish_is_proposed_and_not_kept(studio: Running) -> None:
    before = state(studio)
    answer, text = studio.get("/people/plan?by=risk&wanted=60")
    assert (
        answer.status == 200 and "It is a proposal" in text and 'name="wanted" value="60"' in text
    )
    assert state(studio) == before
    _, text = studio.get("/people/plan")
    assert f"--epsilon {before['epsilon']:g} " in re.sub("<.*?>", "", text)


def test_a_delta_that_is_no_promise_for_so_few_rows_is_warned_of(studio: Running) -> None:
    _, text = studio.get("/people/plan/picture?epsilon=1&rows=800&delta=0.1")
    assert "δ = 0.1 is not far below one in 800 rows" in text
    _, text = studio.get("/people/plan/picture?epsilon=1&rows=800&delta=1e-9")
    assert "far below" not in text


def test_rows_that_nobody_named_are_called_assumed(studio: Running) -> None:
    _, text = studio.get(f"/people/plan/picture?epsilon=1&rows={ASSUMED}")
    assert "rows are assumed until you say otherwise" in text
    _, text = studio.get("/people/plan/picture?epsilon=1&rows=800")
    assert "assumed" not in text and "about 800 rows" in text


def test_a_limit_comes_too_late_once_something_was_paid(studio: Running) -> None:
    answer, text = studio.post("/people/ledger", limit="3")
    assert answer.status == 422 and "has a ledger already" in text


DESCRIBED = {
    1: {"type": "numerical", "min": "16", "max": "99", "decimals": "0"},
    2: {"type": "categorical", "values": "F\nM", "nullable": "yes"},
    3: {"type": "categorical", "values": "Bern\nOslo\nRome", "other": "yes"},
    4: {"type": "drop"},
}


def describe_all(studio: Running) -> None:
    for place, fields in DESCRIBED.items():
        send(studio, f"/people/columns/{place}", **fields)
    send(studio, "/people/columns/people", people="one")


def test_a_fit_outlives_its_server_and_goes_on_after_a_crash(start: Start, tmp_path: Path) -> None:
    people = write_people(tmp_path / "people.csv")
    first = start(people, folder=tmp_path)
    first.enter()
    describe_all(first)
    answer, text = first.post("/people/run")
    assert answer.status == 422 and "nothing was spent" in text
    send(first, "/people/run", sure="yes")
    wait_until(lambda: has_paid(tmp_path, 2))  # so the first answer is on disk
    first.end()
    os.kill(int(lock(tmp_path).read_text()), signal.SIGSTOP)  # as slow as a large table

    second = start(people, folder=tmp_path)
    second.enter()
    assert 'class="tag running"' in second.get("/people/run")[1]
    answer, text = second.post("/people/run", sure="yes")
    assert answer.status == 422 and "A fit is running" in text
    os.kill(int(lock(tmp_path).read_text()), signal.SIGKILL)
    wait_until(lambda: 'class="tag stopped"' in second.get("/people/run")[1])
    assert "without a word" in second.get("/people/run")[1]
    answer, _ = second.post("/people/run/release-1/go-on")
    assert answer.status == 303
    wait_until(lambda: 'class="tag done"' in second.get("/people/run")[1])
    assert "answers were not paid for again" in second.get("/people/run")[1]
    made = tv.load(tmp_path / "tabveil-studio" / "people" / "release-1")
    assert made.privacy["epsilon"] == 1 and "wage" not in made.schema.learnt

    _, text = second.get("/people/release/release-1/rows?rows=5&format=.parquet")
    assert text.startswith("PAR1")
    answer, text = second.get("/people/release/release-1/report")
    assert "sandbox" in answer.headers["content-security-policy"] and "NOT PRIVATE" not in text
    answer, text = second.post("/people/release/release-1/owner")
    assert answer.status == 422 and "to their owner only" in text
    second.end()


def test_a_limit_holds_at_the_delta_of_the_plan_and_nothing_begins_beyond_it(
    start: Start, tmp_path: Path
) -> None:
    studio = start(write_people(tmp_path / "people.csv", 50), folder=tmp_path)
    studio.enter()
    describe_all(studio)
    send(studio, "/people/plan", epsilon="0.5", delta="1e-6")
    send(studio, "/people/ledger", limit="0.5")
    assert Ledger.read(tmp_path / "people.csv.ledger").limit == Budget(0.5, 1e-6)
    assert "--epsilon 0.5 --delta 1e-06" in studio.get("/people/session.sh")[1]
    _, text = studio.get("/people/run")
    [use] = [words for _, words in USES if words in text]  # said once more before spending
    assert "Spend, and make" in text and use in studio.get("/people/plan")[1]
    send(studio, "/people/plan", epsilon="0.6")
    _, text = studio.get("/people/run")
    assert "This fit would be refused" in text and "Spend, and make" not in text
    answer, text = studio.post("/people/run", sure="yes", version=str(state(studio)["version"]))
    assert answer.status == 422 and "This fit asks for" in text
    assert not list((tmp_path / "tabveil-studio" / "people").glob("release-*"))
    (tmp_path / "people.csv").unlink()
    send(studio, "/people/plan", epsilon="0.5")
    assert "does not exist" in studio.get("/people/run")[1]
    studio.end()


def has_paid(folder: Path, times: int) -> bool:
    file = folder / "people.csv.ledger"
    return file.exists() and len(file.read_text().splitlines()) > times


def lock(folder: Path) -> Path:
    return folder / "tabveil-studio" / "people" / "release-1.lock"


def wait_until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_two_hundred_columns_are_described_together(
    browser: Any, start: Start, tmp_path: Path
) -> None:
    names = [f"q{number}" for number in range(200)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 200) + "\n")
    studio = start(tmp_path / "wide.csv", folder=tmp_path)
    context = browser.new_context()
    page = context.new_page()
    page.goto(studio.link)
    page.wait_for_selector("h1")
    page.goto(f"{studio.address}/wide/columns")
    page.fill("#filter", "q1")
    assert page.locator("#list tbody tr:visible").count() == 111
    page.fill("#filter", "")
    page.check("[data-all=list]")
    page.click("#together summary")
    page.select_option("#many-type", "numerical")
    page.fill("#many-min", "1")
    page.fill("#many-max", "5")
    page.get_by_role("button", name="Change the ticked").click()
    page.wait_for_load_state()
    assert "200 columns, all described" in page.inner_text(".summary")
    page.goto(f"{studio.address}/wide/plan")
    assert re.search(r"of [\d,]+ are measured", page.inner_text("#picture"))
    assert page.locator("svg.map rect:has(title)").count() == 24 * 23
    context.close()
    studio.end()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1,2,3\n4,5,6\n", "looks like data"),
        ("a;b;c\n1;2;3\n", "not separated by commas"),
        ("a,b,a\n1,2,3\n", "looks like data"),
        ("", "empty file"),
    ],
)
def test_a_header_that_cannot_be_used_is_asked_about(
    studio: Running, tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "odd.csv").write_text(content)
    answer, text = studio.post("/open", path=str(tmp_path / "odd.csv"))
    assert answer.status == 422 and said in text
    assert "1,2,3" not in text


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_how_a_file_is_written_is_asked_and_declared(
    studio: Running, tmp_path: Path, mark: str
) -> None:
    file, name = tmp_path / f"marks{ord(mark)}.csv", "tab" if mark == "\t" else mark
    file.write_text(f'a{mark}b\n"1{mark}x"{mark}"2,5"\n')
    answer, text = studio.post("/open", path=str(file))
    assert (
        answer.status == 422 and f'value="{name}" selected' in text and 'role="alert"' not in text
    )
    answer, _ = studio.post("/open", path=str(file), separator=name, decimal=",")
    assert answer.status == 303
    kept = state(studio, file.stem)
    assert list(kept["draft"]["columns"]) == ["a", "b"]
    assert kept["ledger"] == f"{file}.ledger"
    [table] = Source.whole(kept["data"]).batches()
    assert table.to_pylist() == [{"a": f"1{mark}x".encode(), "b": b"2.5"}]
    answer, text = studio.post(f"/{file.stem}/look", owner="yes")
    assert answer.status == 200 and "2.5" in text


def test_how_a_file_is_written_can_be_mended_later(studio: Running, tmp_path: Path) -> None:
    file = tmp_path / "later.csv"
    file.write_text("age;wage\n40;2,5\n")
    studio.post("/open", path=str(file), separator=";")
    sent = {"type": "numerical", "min": "0", "max": "9"}
    studio.post("/later/columns/0", version="0", **sent)
    answer, _ = studio.post("/later/written", version="1", separator=";", decimal=",")
    assert answer.status == 303
    kept = state(studio, "later")
    assert kept["data"].endswith("later.csv?separator=;&decimal=,")
    assert kept["draft"]["columns"]["age"]["max"] == 9 and "wage" in kept["draft"]["columns"]
    assert '<details class="card" id="rewritten">' in studio.get("/later/table")[1]
    assert 'id="rewritten" open>' in studio.get("/later/table?written=yes")[1]
    answer, text = studio.post("/later/written", version="2", encoding="klingon")
    assert answer.status == 422 and "no text encoding" in text


def test_a_file_of_one_column_is_taken_when_its_owner_says_so(
    studio: Running, tmp_path: Path
) -> None:
    (tmp_path / "one.csv").write_text("a;b\n1\n")
    answer, _ = studio.post("/open", path=str(tmp_path / "one.csv"), separator=",")
    assert answer.status == 303 and list(state(studio, "one")["draft"]["columns"]) == ["a;b"]


def test_a_table_in_a_database_is_opened_by_its_address(studio: Running, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(tmp_path / "city.db") as base:
        base.execute("CREATE TABLE people AS SELECT 1 AS age, 'F' AS sex")
    answer, text = studio.post("/open", path=f"duckdb:///{tmp_path}/city.db?table=people")
    assert answer.status == 303, text
    assert list(state(studio, "city")["draft"]["columns"]) == ["age", "sex"]
    assert studio.get("/city/table")[0].status == 200


def test_a_damaged_file_of_the_studio_locks_nobody_out(start: Start, tmp_path: Path) -> None:
    people = write_people(tmp_path / "people.csv", 20)
    studio = start(people, folder=tmp_path)
    studio.enter()
    (tmp_path / "tabveil-studio" / "people" / "studio.json").write_text('{"version": 3}')
    answer, text = studio.get("/people/columns")
    assert answer.status == 422 and "is damaged, or was written by another version" in text
    answer, _ = studio.get("/")
    assert answer.status == 200
    answer, _ = studio.post("/open", path=str(people))
    assert answer.headers["location"] == "/people-2/table"
    studio.end()


def test_an_odd_header_is_taken_once_its_owner_says_so(studio: Running, tmp_path: Path) -> None:
    (tmp_path / "years.csv").write_text("2019,2020\n1,2\n")
    answer, _ = studio.post("/open", path=str(tmp_path / "years.csv"), header="yes")
    assert answer.status == 303
    assert list(state(studio, "years")["draft"]["columns"]) == ["2019", "2020"]
    answer, _ = studio.post("/open", path=str(tmp_path / "years.csv"))
    assert answer.headers["location"] == "/years/table"  # it is known by now
