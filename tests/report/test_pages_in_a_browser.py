"""The pages in a real browser: everything is drawn, nothing is fetched, and everyone can read
them."""

from pathlib import Path
from typing import Any

import pytest

from tabveil.report import INTERNAL_SECTIONS, NOT_PRIVATE

pytestmark = pytest.mark.xdist_group("browser")  # one browser and one set of pages

PAGES = ("releasable", "internal", "plan")
SECTIONS = {
    "releasable": {
        "about",
        "guarantee",
        "ledger",
        "columns",
        "pairs",
        "sure",
        "tasks",
        "measured",
        "cite",
    },
    "internal": {"summary", "columns", "pairs", "queries", "models", "diversity", "attacks"},
    "plan": {"overview", "risk", "spending", "columns", "pairs"},
}
SCREENS = [(360, "light"), (360, "dark"), (1440, "light"), (1440, "dark")]


class Visit:
    """An open page, and all that went wrong on it."""

    def __init__(self, browser: Any, file: Path, width: int, scheme: str) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.fetched: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.fetched.append(request.url))
        self.page.goto(file.as_uri())

    def draw_everything(self) -> None:
        """Scroll through the page as a reader would, until every chart is there."""
        self.page.evaluate(
            "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
        )
        self.page.evaluate(
            """async () => {
                for (const place of document.querySelectorAll('.drawing')) {
                    place.scrollIntoView();
                    while (!place.dataset.drawn) await new Promise((done) => setTimeout(done, 20));
                }
            }"""
        )


@pytest.fixture(params=PAGES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_a_page_is_whole_on_every_screen(
    browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    visit = Visit(browser, pages[name], width, scheme)
    visit.draw_everything()
    page = visit.page
    sections = set(page.evaluate("[...document.querySelectorAll('section')].map((s) => s.id)"))
    assert sections == SECTIONS[name]
    # Every chart has marks: something other than axes, grid and background.
    marks = page.evaluate(
        """[...document.querySelectorAll('.drawing')].map((place) =>
            [...place.querySelectorAll('g[class*="mark-"]')].filter((g) =>
                /mark-(rect|rule|symbol|line|area)/.test(g.getAttribute('class')) &&
                !/role-(axis|legend|frame)/.test(g.getAttribute('class')))
            .reduce((total, g) => total + g.querySelectorAll('path, line').length, 0))"""
    )
    assert marks and min(marks) > 0
    assert (
        page.evaluate("document.documentElement.scrollWidth") <= width
    )  # nothing sticks out sideways
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    assert visit.said == []
    assert [url for url in visit.fetched if not url.startswith("file:")] == [] and len(
        visit.fetched
    ) == 1
    visit.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_can_be_read_by_everyone(
    browser: Any, pages: dict[str, Path], name: str, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    visit = Visit(browser, pages[name], 1440, scheme)
    visit.draw_everything()
    visit.page.evaluate("document.querySelector('meta[http-equiv]').remove()")
    found = Axe().run(visit.page).response["violations"]
    grave = [
        (v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")
    ]
    assert grave == []
    visit.context.close()


def test_the_internal_page_says_so_on_every_screen(browser: Any, pages: dict[str, Path]) -> None:
    visit = Visit(browser, pages["internal"], 360, "light")
    height = visit.page.evaluate("document.documentElement.scrollHeight")
    for place in range(0, height, 800):
        visit.page.evaluate(f"window.scrollTo({{top: {place}, behavior: 'instant'}})")
        top = visit.page.evaluate("document.querySelector('.banner').getBoundingClientRect().top")
        assert 0 <= top < 100
    assert visit.page.inner_text(".banner") == NOT_PRIVATE
    assert len(INTERNAL_SECTIONS) == len(SECTIONS["internal"])
    visit.context.close()


def test_tables_can_be_downloaded(browser: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    visit = Visit(browser, pages["releasable"], 1440, "light")
    visit.page.evaluate(
        "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
    )
    with visit.page.expect_download() as waiting:
        visit.page.click("[data-name=ledger]")
    waiting.value.save_as(tmp_path / "ledger.csv")
    lines = (tmp_path / "ledger.csv").read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith("no.,what,mechanism") and "row count" in lines[1]
    visit.context.close()


def test_a_keyboard_reaches_the_content_and_the_sections(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit = Visit(browser, pages["releasable"], 1440, "light")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.className") == "skip"
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("location.hash") == "#content"
    visit.context.close()


def test_a_printed_page_has_all_charts(browser: Any, pages: dict[str, Path]) -> None:
    visit = Visit(browser, pages["releasable"], 1440, "dark")
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visit.page.wait_for_function(
        "[...document.querySelectorAll('.drawing')].every((p) => p.dataset.drawn)"
    )
    visit.page.emulate_media(media="print")
    assert (
        visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert visit.page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    visit.context.close()
