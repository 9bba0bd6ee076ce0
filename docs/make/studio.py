"""Take the pictures of the studio's screens: the simulated census, from a file to a release.

python docs/make/studio.py                   # those of the docs
python docs/make/studio.py /tmp/look --all   # three widths, light and dark, to look at
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from playwright.sync_api import sync_playwright

from tabveil.datasets import DATASETS
from tabveil.release.output import write

HERE = Path(__file__).parents[1] / "pictures"
CENSUS = DATASETS["census"]
ROWS = 20_000
TALL = {"plan": 1900}
FRAMED = 3200  # a frame is drawn only where it can be seen


def tour(out: Path, sizes: list[tuple[int, str]]) -> None:
    """Do the whole job once, and take a picture of every screen in every size."""
    with tempfile.TemporaryDirectory() as folder:
        write(pa.Table.from_pandas(CENSUS.frame(ROWS, 0)), Path(folder) / "census.csv")
        studio = subprocess.Popen(
            [sys.executable, "-m", "tabveil", "studio", "census.csv", "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            link = re.findall(r"http://\S+", studio.stdout.readline())[0]
            with sync_playwright() as play:
                chromium = play.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                take(chromium.new_context(), link, out, sizes)
                chromium.close()
        finally:
            studio.terminate()
            studio.wait()


def take(context: Any, link: str, out: Path, sizes: list[tuple[int, str]]) -> None:
    """The tour itself."""
    page = context.new_page()
    page.goto(link)
    page.wait_for_url("**/table")
    home = page.url.removesuffix("/table")

    def shoot(screen: str, name: str) -> None:
        page.goto(f"{home}/{screen}" if screen else link.partition("/enter")[0])
        if screen == "release":
            page.locator("iframe").scroll_into_view_if_needed()
            page.frame_locator("iframe").locator("h1").wait_for(timeout=60_000)
            page.evaluate("scrollTo(0, 0)")
            time.sleep(2)  # until its charts are drawn
        snap(page, out, sizes, name, TALL.get(screen, 900))

    if len(sizes) > 1:
        shoot("", "pick")
        show_all(page, out, sizes, home)
    shoot("table", "table")
    fill_columns(page, home)
    for screen in ("columns", "columns/2", "plan", "ledger"):
        if screen == "ledger":
            page.goto(f"{home}/ledger")
            page.fill("#limit", "3")
            page.get_by_role("button", name="Set this limit").click()
        if screen != "ledger" or len(sizes) > 1:  # the docs show it after the first payment
            shoot(screen, screen.replace("s/2", ""))
    page.goto(f"{home}/run")
    page.check("#sure")
    shoot_run(page, out, sizes)
    page.locator(".tag.done").wait_for(timeout=300_000)
    shoot("ledger", "ledger-paid")
    shoot("release", "release")


def snap(page: Any, out: Path, sizes: list[tuple[int, str]], name: str, tall: int = 900) -> None:
    """What the page shows, in every size; of many, the whole page."""
    many = len(sizes) > 1
    for width, scheme in sizes:
        report = many and page.locator("iframe").count()
        page.set_viewport_size({"width": width, "height": FRAMED if report else tall})
        page.emulate_media(color_scheme=scheme)
        if report:
            time.sleep(2)  # until it is drawn anew
        end = f"-{width}-{scheme}" if many else ""
        page.screenshot(path=out / f"studio-{name}{end}.png", full_page=many)


def show_all(page: Any, out: Path, sizes: list[tuple[int, str]], home: str) -> None:
    """What the docs do not show: all that is folded away on the columns screen, and real rows."""
    page.goto(f"{home}/columns")
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    snap(page, out, sizes, "unfolded")
    page.goto(f"{home}/table")
    page.check("#look-owner")
    page.get_by_role("button", name="Show the first rows").click()
    page.locator(".banner").wait_for()
    snap(page, out, sizes, "look")


def shoot_run(page: Any, out: Path, sizes: list[tuple[int, str]]) -> None:
    """The last page before spending, and a fit on its way."""
    snap(page, out, sizes, "run")
    page.get_by_role("button", name="Spend, and make").click()
    page.locator("svg.curve").wait_for(timeout=300_000)
    if len(sizes) > 1:  # it would be over before all are taken
        page.get_by_role("button", name="Stop").click()
        page.locator(".tag.stopped").wait_for(timeout=60_000)
        snap(page, out, sizes, "stopped")
        page.get_by_role("button", name="Go on").click()
        page.locator("svg.curve").wait_for(timeout=300_000)
    time.sleep(1)
    snap(page, out, sizes[:1] if len(sizes) == 1 else [(360, "dark"), (1024, "light")], "progress")


def fill_columns(page: Any, home: str) -> None:
    """What is public about the census, as its schema has it."""
    document = yaml.safe_load(yaml.safe_dump(CENSUS.schema().to_dict()))
    names = list(CENSUS.frame(1, 0).columns)
    for name, rule in document["columns"].items():
        page.goto(f"{home}/columns/{names.index(name)}?type={rule.pop('type')}")
        for field, value in rule.items():
            lines = value if isinstance(value, list) else [value]
            if value is True:
                page.check(f"#f-{field}")
            else:
                page.fill(f"#f-{field}", "\n".join(map(str, lines)))
        if name in document.get("targets", ()):
            page.check("#f-targets")
        page.get_by_role("button", name="Save, and back").click()
        page.wait_for_url(re.compile("columns(#.*)?$"))
    page.check("input[name=people][value=one]")
    page.get_by_role("button", name="Keep this answer").click()
    page.goto(f"{home}/plan")
    page.fill("#rows", str(ROWS))
    page.get_by_role("button", name="Keep this plan").click()
    page.wait_for_load_state()


if __name__ == "__main__":
    every = "--all" in sys.argv
    chosen = [word for word in sys.argv[1:] if not word.startswith("--")]
    target = Path(chosen[0]) if chosen else HERE
    target.mkdir(parents=True, exist_ok=True)
    looks = [(w, s) for w in (360, 1024, 1920) for s in ("light", "dark")]
    tour(target, looks if every else [(1280, "light")])
