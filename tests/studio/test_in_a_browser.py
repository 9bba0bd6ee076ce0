"""The whole job in a real browser: from a table with mistakes to rows that may be published."""

import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from playwright.sync_api import expect

import tabveil as tv
from studio.conftest import ROWS, SOURCE, Running, Start, write_people
from tabveil.fitting.forecast import ROWS as ASSUMED
from tabveil.fitting.forecast import forecast
from tabveil.privacy import Ledger
from tabveil.report.words import percent

SCREENS = ("table", "columns", "plan", "ledger", "run", "release")


class Guest:
    """A browser that was let in, and all that went wrong in it."""

    def __init__(self, browser: Any, studio: Running, width: int = 1280, scheme: str = "light"):
        self.studio = studio
        size = {"width": width, "height": 900}
        self.context = browser.new_context(
            viewport=size, color_scheme=scheme, accept_downloads=True
        )
        self.said: list[str] = []
        self.fetched: list[str] = []
        self.page = self.tab()
        self.page.goto(studio.link)
        self.page.wait_for_selector("h1")

    def tab(self) -> Any:
        """One more tab."""
        page = self.context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.fetched.append(request.url))
        return page

    def to(self, screen: str) -> None:
        self.page.goto(f"{self.studio.address}/people/{screen}")

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=False).first.click()
        self.page.wait_for_load_state()

    def text(self) -> str:
        return self.page.inner_text("main")


@pytest.fixture(scope="module")
def studio(start: Start, people: Path) -> Running:
    return start()


@pytest.fixture(scope="module")
def guest(browser: Any, studio: Running) -> Iterator[Guest]:
    guest = Guest(browser, studio)
    yield guest
    guest.context.close()


def describe(guest: Guest, name: str, kind: str, **fields: str) -> None:
    """Fill in one column, from the list of columns."""
    guest.to("columns")
    guest.page.get_by_role("link", name=name, exact=True).click()
    guest.page.wait_for_url(re.compile(r"columns/\d"))
    if guest.page.input_value("#type") != kind:
        guest.page.select_option("#type", kind)
    for field, text in fields.items():
        guest.page.fill(f"#f-{field}", text)
    guest.press("Save, and back")


def test_a_table_is_opened_by_its_path_and_nobody_looks_into_it(guest: Guest, people: Path) -> None:
    guest.page.fill("#path", str(people))
    guest.press("Open")
    guest.page.wait_for_url("**/people/table")
    assert "person_id" in guest.text() and str(ROWS) not in guest.page.content()


def test_bounds_the_wrong_way_round_are_refused_and_mended(guest: Guest) -> None:
    describe(guest, "age", "numerical", min="99", max="16", decimals="0")
    assert "Smallest 99 is not below Largest 16" in guest.text()  # in the words of the form
    assert guest.page.input_value("#f-min") == "99"  # what was typed is still there
    guest.page.fill("#f-min", "16")
    guest.page.fill("#f-max", "99")
    guest.press("Save, and back")
    assert "16 to 99" in guest.page.inner_text("#list")


def test_the_other_columns_are_described(guest: Guest) -> None:
    describe(guest, "sex", "categorical", values="F\tfemale\nM\tmale")
    describe(guest, "city", "categorical", values="Bern, Oslo, Rome")
    describe(guest, "wage", "numerical", min="0", max="500000", decimals="0")
    assert "all described" in guest.text()


def test_whether_people_have_several_rows_is_asked_and_never_skipped(guest: Guest) -> None:
    guest.to("run")
    assert "whether somebody can have several rows" in guest.text()
    assert guest.page.get_by_role("button", name="Spend").count() == 0
    guest.to("columns")
    guest.page.check("input[name=people][value=one]")
    guest.press("Keep this answer")
    assert guest.page.is_checked("input[name=people][value=one]")


def test_cells_that_do_not_fit_are_found_and_the_columns_mended(guest: Guest) -> None:
    guest.page.click("#check summary")
    guest.press("Check the table")
    found = guest.page.inner_text("#found")
    assert "sex" in found and "city" in found and "wage" in found
    assert "1.9 % of rows" in found  # one blank cell in 53
    for name in ("sex", "wage"):
        guest.page.check(f"[aria-label='Tick {name}']")
    guest.page.click("#together summary")
    guest.page.select_option("#many-nullable", "yes")
    guest.press("Change the ticked")
    guest.page.check("[aria-label='Tick city']")
    guest.page.click("#together summary")
    guest.page.select_option("#many-other", "yes")
    guest.press("Change the ticked")
    guest.page.click("#check summary")
    guest.press("Check the table")
    found = guest.page.inner_text("#found")
    assert "city" not in found and "sex" not in found


def test_the_plan_is_redrawn_while_the_slider_moves_and_kept(guest: Guest) -> None:
    guest.to("plan")
    before = guest.page.inner_text("#risk")
    guest.page.focus("#slider")
    for _ in range(12):
        guest.page.keyboard.press("ArrowRight")
    expect(guest.page.locator("#risk")).not_to_have_text(before)
    kept = guest.page.input_value("#epsilon")
    expect(guest.page.locator("#saved")).to_have_text(f"Kept: ε = {kept}.")
    assert float(kept) > 1
    expect(guest.page.locator("aside")).to_contain_text(f"--epsilon {kept} ")
    guest.page.reload()
    assert guest.page.input_value("#epsilon") == kept


def test_epsilon_follows_from_a_wanted_error_or_a_tolerated_risk(guest: Guest) -> None:
    guest.page.click("#other-way summary")
    guest.page.fill("#want-risk", "55")
    guest.page.locator("#want-risk").press("Enter")
    guest.page.wait_for_url("**/plan?by=risk*")
    assert guest.page.input_value("#epsilon") == "0.98"
    guest.to("plan")
    assert guest.page.input_value("#epsilon") != "0.98"  # it was only proposed
    guest.page.fill("#epsilon", "1")
    guest.press("Keep this plan")


def test_a_limit_is_set_before_the_first_payment(guest: Guest, people: Path) -> None:
    guest.to("ledger")
    guest.page.fill("#limit", "3")
    guest.press("Set this limit")
    assert Ledger.read(f"{people}.ledger").limit.epsilon == 3
    assert "ε = 3" in guest.text()


def test_a_fit_is_stopped_and_goes_on_without_paying_twice(guest: Guest, people: Path) -> None:
    guest.to("run")
    assert "(1, 10⁻⁹)-differential privacy" in guest.text()
    guest.page.check("#sure")
    guest.press("Spend, and make")
    wait_until(lambda: len(Ledger.read(f"{people}.ledger").charges) > 1)
    guest.press("Stop")
    guest.page.wait_for_selector(".tag.stopped")
    assert "Stopped: no release was written" in guest.text()
    paid = len(Ledger.read(f"{people}.ledger").charges)
    guest.press("Go on from there")
    guest.page.wait_for_selector(".tag.done", timeout=60_000)
    guest.page.click("#release-1 details summary")
    recalled = int(re.search(r"stopped: (\d+) answers", guest.page.inner_text("#release-1"))[1])
    assert recalled >= paid - 1  # the last one was paid for, and perhaps not answered yet
    made = tv.load(next(guest.studio.folder.glob("*/people/release-1")))
    assert len(Ledger.read(f"{people}.ledger").charges) <= len(made.charges) + 1


def test_rows_a_zip_and_a_report_are_taken_away(guest: Guest, tmp_path: Path) -> None:
    guest.page.get_by_role("link", name="To the release").click()
    report = guest.page.frame_locator("iframe.report").locator("h1")
    report.wait_for(timeout=30_000)
    assert report.inner_text() == "Synthetic data release"
    guest.page.fill("#rows", "500")
    guest.page.fill("#where", "sex=F")
    with guest.page.expect_download() as waiting:
        guest.press("Download rows")
    waiting.value.save_as(tmp_path / "rows.csv")
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert len(rows) == 500 and set(rows["sex"]) == {"F"}
    with guest.page.expect_download() as waiting:
        guest.page.get_by_role("link", name="The release", exact=True).click()
    waiting.value.save_as(tmp_path / "release.zip")
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path)
    assert tv.load(tmp_path / "release-1").privacy["epsilon"] == 1


def test_a_condition_that_nobody_meets_is_refused_on_the_screen(guest: Guest) -> None:
    guest.page.fill("#where", "colour=red")
    guest.press("Download rows")
    assert "names no column of the release" in guest.text()


def test_the_owners_comparison_stands_behind_its_own_door(guest: Guest) -> None:
    guest.to("release")
    guest.press("Open the comparison")
    assert len(guest.context.pages) == 1  # the box must be ticked
    guest.page.check("#compare-owner")
    with guest.context.expect_page() as waiting:
        guest.press("Open the comparison")
    page = waiting.value
    page.wait_for_selector(".banner", timeout=60_000)
    assert page.inner_text(".banner").startswith("NOT PRIVATE")
    page.close()


def test_a_second_tab_that_is_behind_overwrites_nothing(guest: Guest) -> None:
    guest.to("columns/1")
    second = guest.tab()
    second.goto(guest.page.url)
    second.fill("#f-max", "110")
    second.get_by_role("button", name="Save, and back").click()
    guest.page.fill("#f-max", "120")
    guest.press("Save, and back")
    assert "changed in another tab" in guest.text()
    guest.to("columns")
    assert "16 to 110" in guest.page.inner_text("#list")
    second.close()
    describe(guest, "age", "numerical", min="16", max="99", decimals="0")


def test_every_screen_comes_back_as_it_was_after_a_reload(guest: Guest) -> None:
    for screen in SCREENS:
        guest.to(screen)
        before = guest.text()
        guest.page.reload()
        assert guest.text() == before, screen


@pytest.mark.parametrize("width", [360, 768, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_screen_fits_and_can_be_read_by_everyone(
    guest: Guest, browser: Any, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    other = Guest(browser, guest.studio, width, scheme)
    for screen in ("", *(f"people/{name}" for name in (*SCREENS, "columns/1"))):
        other.page.goto(f"{guest.studio.address}/{screen}")
        other.page.evaluate(
            "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
        )
        assert other.page.evaluate("document.documentElement.scrollWidth") <= width, screen
        dark = other.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (dark != "rgb(255, 255, 255)") == (scheme == "dark")
        if (width, scheme) in ((360, "light"), (1920, "dark")):
            found = Axe().run(other.page, options={"iframes": False}).response["violations"]
            grave = [
                (v["id"], v["nodes"][0]["html"])
                for v in found
                if v["impact"] in ("serious", "critical")
            ]
            assert grave == [], screen
    other.context.close()


def test_a_table_is_published_without_a_mouse(
    browser: Any, studio: Running, tmp_path: Path
) -> None:
    guest = Guest(browser, studio)
    page, table = guest.page, tmp_path / "keys.csv"
    pd.DataFrame({"age": range(16, 96), "sex": ["F", "M"] * 40}).to_csv(table, index=False)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    tab_to(page, "Path of the table")
    page.keyboard.type(str(table))
    page.keyboard.press("Enter")
    page.wait_for_url("**/keys/table")
    go(page, "On to the columns", "**/columns")
    go(page, "Describe the first open one", "**/columns/0")
    tab_to(page, "What kind of column is it?")
    for _ in range(3):  # each press draws the rest of the form, and the focus stays
        page.keyboard.press("ArrowDown")
    page.wait_for_selector("#f-min")
    assert page.evaluate("document.activeElement.id") == "type"
    fill_in(page, "Smallest (needed)", "16")
    fill_in(page, "Largest (needed)", "95")
    fill_in(page, "Decimals", "0")
    go(page, "Save, and on to the next open one", "**/columns/1")
    tab_to(page, "What kind of column is it?")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#f-values")
    fill_in(page, "Values (needed)", "F, M")
    go(page, "Save, and done", "**/columns#whom")
    tab_to(page, "No: everybody has one row at most.")
    page.keyboard.press("Space")
    go(page, "Keep this answer", "**/columns#whom")
    go(page, "On to the plan", "**/plan")
    tab_to(page, "Privacy budget ε")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#saved")).to_contain_text("Kept")
    go(page, "On to the ledger", "**/ledger")
    go(page, "On to the run", "**/run")
    tab_to(page, "Yes, spend ε = 0.95 of this table's privacy. It does not come back.")
    page.keyboard.press("Space")
    go(page, "Spend, and make a release", "**/run#release-1")
    page.wait_for_selector(".tag.done", timeout=60_000)
    go(page, "To the release", "**/release?release=release-1")
    tab_to(page, "Download rows")
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    waiting.value.save_as(tmp_path / "rows.csv")
    assert set(pd.read_csv(tmp_path / "rows.csv").columns) == {"age", "sex"}
    guest.context.close()


def test_every_step_works_without_a_script(browser: Any, studio: Running, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(studio.link)
    page.wait_for_selector("h1")
    page.fill("#path", str(write_people(tmp_path / "plain.csv", 50)))
    page.get_by_role("button", name="Open").click()
    page.wait_for_url("**/plain/table")
    page.goto(f"{studio.address}/plain/columns/1")
    page.select_option("#type", "numerical")
    page.get_by_role("button", name="Use this type").click()
    page.fill("#f-min", "16")
    page.fill("#f-max", "99")
    page.get_by_role("button", name="Save, and back").click()
    page.goto(f"{studio.address}/plain/plan")
    page.fill("#epsilon", "0.5")
    page.get_by_role("button", name="Keep this plan").click()
    assert "ε = 0.5" in page.inner_text("#risk")
    context.close()


def go(page: Any, name: str, where: str) -> None:
    """Press what has this name, by the keyboard."""
    tab_to(page, name)
    with page.expect_navigation(url=where):
        page.keyboard.press("Enter")


def fill_in(page: Any, name: str, text: str) -> None:
    """Go to a field, and type."""
    tab_to(page, name)
    page.keyboard.type(text)


def tab_to(page: Any, name: str) -> None:
    """Press Tab until what has this name has the focus."""
    for _ in range(150):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "[document.activeElement.innerText, "
            "...[...(document.activeElement.labels || [])].map((l) => l.innerText)]"
        )
        if name in [text and text.strip() for text in focused]:
            return
    raise AssertionError(f"no Tab leads to {name}")


def test_a_file_can_be_dropped_in(guest: Guest, tmp_path: Path) -> None:
    guest.page.goto(guest.studio.address)
    guest.page.set_input_files("#file", write_people(tmp_path / "mine.csv", 20))
    guest.page.wait_for_url("**/mine/table")
    assert "tabveil-studio/dropped/mine.csv" in guest.text()


def test_nothing_was_fetched_elsewhere_and_nothing_went_wrong(guest: Guest) -> None:
    own = (guest.studio.address, "blob:", "data:")
    assert [url for url in guest.fetched if not url.startswith(own)] == []
    refused = "the server responded with a status of 422"
    assert [text for text in guest.said if refused not in text] == []


@pytest.mark.parametrize("language", ["sh", "py"])
def test_the_session_as_a_script_makes_the_same_release(
    guest: Guest, people: Path, tmp_path: Path, language: str
) -> None:
    with guest.page.expect_download() as waiting:
        guest.page.evaluate(f"location = '/people/session.{language}'")
    waiting.value.save_as(tmp_path / f"session.{language}")
    fresh = write_people(tmp_path / "people.csv")
    program = tmp_path / "tabveil"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tabveil "$@"\n')
    program.chmod(0o700)
    words = {"sh": ["sh", "session.sh"], "py": [sys.executable, "session.py"]}[language]
    ended = subprocess.run(
        [*words, str(fresh)],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    ours = tv.load(guest.studio.folder / "tabveil-studio" / "people" / "release-1")
    again = tv.load(tmp_path / "release")
    assert again.schema == ours.schema
    told = ("promise", "epsilon", "delta", "relation", "unit", "preset", "seed", "private")
    assert {k: again.privacy.get(k) for k in told} == {k: ours.privacy.get(k) for k in told}
    guest.to("run")
    plan = forecast(again.schema, 1.0, rows=ASSUMED)
    assert percent(plan.error) in guest.page.locator("main").text_content()
    assert (tmp_path / "synthetic.csv").exists() and (tmp_path / "report.html").exists()


def wait_until(true: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
