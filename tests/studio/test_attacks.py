"""Attacks on the server, each tried and refused, and a planted value that nobody gets to see."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studio.conftest import CANARY, ROWS, Running, Start, write_people
from tabveil.studio.guard import HEADERS, POLICY, Keys
from tabveil.studio.screens.table import LARGEST_UPLOAD
from tabveil.studio.tabs import GRACE, SILENCE, Tabs

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
GETS = (
    "/", "/people/table", "/people/columns", "/people/columns/1", "/people/plan",
    "/people/plan/picture?epsilon=1", "/people/ledger", "/people/run", "/people/release",
    "/people/schema.yaml", "/people/session.sh",
)  # fmt: skip


@pytest.fixture(scope="module")
def studio(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    people = write_people(tmp_path_factory.mktemp("attacked") / "people.csv")
    running = start(people)
    running.enter()
    yield running
    running.end()


def test_a_wrong_token_a_used_one_and_none_at_all_are_refused(studio: Running) -> None:
    used = re.findall(r"/enter\S+", studio.said.read_text())[0]
    answer, _ = studio.ask("HEAD", studio.link.removeprefix(studio.address))
    assert answer.status == 403  # a look at the link does not use it up
    for path in ("/enter?token=guess", "/enter", "/enter?token=", used):
        answer, text = studio.ask("GET", path)
        assert answer.status == 403 and "set-cookie" not in answer.headers, path
        assert "link" in text


@pytest.mark.parametrize("path", GETS)
def test_no_page_is_shown_to_a_browser_that_was_not_let_in(studio: Running, path: str) -> None:
    for cookie in ("", f"{studio.cookie[:-4]}AAAA", "tabveil-1=x", "=;;,", "a" * 4000):
        answer, text = studio.ask("GET", path, Cookie=cookie)
        assert answer.status == 403 and "people" not in text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost", "127.0.0.1.evil.example:80", ""]
)
def test_another_host_is_refused_although_it_leads_here(studio: Running, host: str) -> None:
    answer, text = studio.ask("GET", "/people/columns", Cookie=studio.cookie, Host=host)
    assert answer.status == 421 and "age" not in text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", None])
def test_another_origin_changes_nothing(studio: Running, origin: str | None) -> None:
    sent = {"Origin": origin} if origin else {}
    body = b"people=one"
    answer, _ = studio.ask("POST", "/people/columns/people", body, Cookie=studio.cookie, **sent)
    assert answer.status == 403
    _, page = studio.get("/people/columns")
    assert 'value="one" required checked' not in page


def test_another_site_can_neither_send_a_form_nor_fetch_a_page(studio: Running) -> None:
    ours = {"Cookie": studio.cookie, "Origin": studio.address}
    for site in ("cross-site", "same-site"):
        answer, _ = studio.ask("POST", "/people/plan", b"epsilon=9", Sec_Fetch_Site=site, **ours)
        assert answer.status == 403
        answer, _ = studio.ask(
            "GET", "/people/plan", Cookie=studio.cookie, Sec_Fetch_Site=site, Sec_Fetch_Mode="cors"
        )
        assert answer.status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../guard.py",
        "/static/..%2f..%2fguard.py",
        "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/../../etc/passwd",
        "/..%2f..%2f/columns",
        "/people%2f..%2fpeople/columns",
        "/dropped/columns",
        "/people/release/..%2f..%2fpeople/report",
        "/people/release/release-1%2f..%2f../zip",
        "/people/run/..%2fpeople/progress",
        "/people/session.sh%2f..",
        "/people/columns/99999999999999999999",
        "/people/columns/-1",
    ],
)
def test_no_path_leads_out_of_what_the_owner_named(studio: Running, path: str) -> None:
    answer, text = studio.get(path)
    assert answer.status in (404, 422)
    assert "root:" not in text and "secrets" not in text


@pytest.mark.parametrize(
    ("name", "kept"),
    [("../../evil.csv", "evil.csv"), ("..\\evil.csv", "evil.csv"), ("a/b/../evil.csv", "evil.csv")],
)
def test_a_dropped_file_stays_where_dropped_files_are_kept(
    studio: Running, name: str, kept: str
) -> None:
    answer, text = studio.ask(
        "POST", f"/upload?name={name}", b"a,b\n1,2\n", Cookie=studio.cookie, Origin=studio.address
    )
    place = studio.folder / "tabveil-studio" / "dropped"
    assert answer.status == 200 and Path(text).parent == place and Path(text).name.endswith(kept)
    assert Path(text).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["evil.py", "", "x.csv.exe", "..", ".bashrc"])
def test_only_tables_can_be_dropped(studio: Running, name: str) -> None:
    answer, _ = studio.ask(
        "POST", f"/upload?name={name}", b"x", Cookie=studio.cookie, Origin=studio.address
    )
    assert answer.status == 422


def test_two_gigabytes_are_refused_before_they_are_sent(studio: Running) -> None:
    began = time.monotonic()
    answer, text = studio.ask(
        "POST", "/upload?name=big.csv", b"", Cookie=studio.cookie, Origin=studio.address,
        Content_Length=str(2 * 10**9),
    )  # fmt: skip
    assert answer.status == 422 and "larger than 1 GB" in text and time.monotonic() - began < 2
    assert not list((studio.folder / "tabveil-studio").glob("dropped/big*"))
    assert LARGEST_UPLOAD < 2 * 10**9


def test_a_form_that_never_ends_is_cut_off(studio: Running) -> None:
    answer, _ = studio.ask(
        "POST",
        "/people/columns/many",
        b"values=" + b"x" * 11_000_000,
        Cookie=studio.cookie,
        Origin=studio.address,
    )
    assert answer.status == 413


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a=1&" * 30_000, b"version=-1&people=one"])
def test_a_form_that_makes_no_sense_is_refused_in_words(studio: Running, body: bytes) -> None:
    answer, text = studio.ask(
        "POST", "/people/columns/people", body, Cookie=studio.cookie, Origin=studio.address
    )
    assert answer.status in (303, 422) and "Traceback" not in text


def test_scripts_in_names_and_values_are_shown_as_text(
    studio: Running, browser: Any, tmp_path: Path
) -> None:
    header = '"' + EVIL.replace('"', '""') + '"'
    (tmp_path / "evil.csv").write_text(f"{header},b\nx,1\n", encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    page.route("**/tab?*", lambda route: route.abort())  # or the studio ends soon after this tab
    page.goto(studio.link)
    page.wait_for_selector("h1")
    studio.post("/open", path=str(tmp_path / "evil.csv"))
    page.goto(f"{studio.address}/evil/columns/0?type=categorical")
    page.fill("#f-values", f"{EVIL}\n</script>\n{{{{7*7}}}}")
    page.get_by_role("button", name="Save, and back").click()
    page.wait_for_load_state()
    for path in ("table", "columns", "columns/0", "plan", "ledger", "run", "release"):
        page.goto(f"{studio.address}/evil/{path}")
        assert page.locator("img, script:not([src])").count() == 0
    assert alerts == []
    assert EVIL in page.context.request.get(f"{studio.address}/evil/schema.yaml").text().replace(
        "\n", ""
    ).replace("''", "'")
    context.close()


@pytest.mark.parametrize("path", GETS)
def test_every_answer_comes_with_a_strict_policy(studio: Running, path: str) -> None:
    answer, text = studio.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe" not in POLICY and "http" not in POLICY
    assert not re.search(r"\son\w+=|style=|javascript:", text)
    assert "server" not in answer.headers


def test_the_cookie_is_for_this_server_alone_and_ctrl_c_ends_it_quietly(
    studio: Running, start: Start
) -> None:
    other = start()
    other.enter()
    answer, _ = other.ask("GET", "/", Cookie=studio.cookie)
    assert answer.status == 403 and other.cookie.split("=")[0] != studio.cookie.split("=")[0]
    answer, _ = other.ask("GET", other.link.removeprefix(other.address))
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    other.end()
    assert other.process.returncode in (0, 130)
    assert "Traceback" not in other.said.read_text()


def test_only_this_machine_can_reach_it(studio: Running) -> None:
    port = f"{studio.port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    heard = {line[1] for line in lines if line[1].endswith(f":{port}") and line[3] == "0A"}
    assert heard == {f"0100007F:{port}"}
    six = Path("/proc/net/tcp6")
    assert not six.exists() or f":{port} 0" not in six.read_text()


def test_a_planted_value_and_the_number_of_rows_are_nowhere_before_the_owners_look(
    browser: Any, start: Start, tmp_path: Path
) -> None:
    studio = start(write_people(tmp_path / "people.csv"), folder=tmp_path)
    context = browser.new_context()
    page = context.new_page()
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.url + (request.post_data or "")))
    page.on("console", lambda message: seen.append(message.text))
    page.on(
        "response", lambda answer: seen.append(answer.text() if "/people/" in answer.url else "")
    )
    page.goto(studio.link)
    page.wait_for_selector("h1")
    for path in GETS:
        if "session" not in path and "yaml" not in path:
            page.goto(f"{studio.address}{path}")
            seen.append(page.content())
    for screen, button in (("columns", "Keep this answer"), ("ledger", "Set this limit")):
        page.goto(f"{studio.address}/people/{screen}")
        if screen == "columns":
            page.check("input[name=people][value=one]")
        page.get_by_role("button", name=button).click()
        page.wait_for_load_state()
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    seen += [stored, str(context.cookies()), studio.said.read_text()]
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.name != "people.csv":
            seen.append(file.read_text(errors="replace"))
    for secret in (CANARY, str(ROWS), f"{ROWS:,}", "unknown"):
        assert not [text for text in seen if re.search(rf"\b{secret}\b", text)], secret
    assert stored == "[{},{}]"

    page.goto(f"{studio.address}/people/table")
    page.check("#look-owner")
    page.get_by_role("button", name="Show the first rows").click()
    page.wait_for_selector(".banner")
    assert CANARY in page.content() and page.url.endswith("/look")  # the look itself works
    context.close()
    studio.end()


def test_two_servers_on_one_folder_see_each_others_changes(start: Start, tmp_path: Path) -> None:
    people = write_people(tmp_path / "people.csv", 50)
    first, second = (start(people, folder=tmp_path) for _ in range(2))
    for studio in (first, second):
        studio.enter()
    answer, _ = first.post("/people/columns/people", people="one", version="0")
    assert answer.status == 303
    answer, text = second.post("/people/columns/people", people="many", version="0")
    assert answer.status == 422 and "changed in another tab" in text
    assert 'value="one" required checked' in second.get("/people/columns")[1]
    for studio in (first, second):
        studio.end()


def test_a_port_that_is_taken_and_a_file_that_is_not_there_are_refused_in_one_line(
    start: Start, studio: Running, tmp_path: Path
) -> None:
    for words, said in (
        (("--port", str(studio.port)), "is in use"),
        ((str(tmp_path / "no.csv"),), "does not exist"),
    ):
        with pytest.raises(AssertionError, match=said):
            start(*words)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_server_ends_when_the_last_tab_was_closed_for_a_while() -> None:
    clock = Clock()
    tabs = Tabs(clock)
    assert not tabs.all_closed  # nobody came yet
    tabs.here("a")
    tabs.here("b")
    tabs.gone("a")
    clock.now += GRACE + 1
    assert not tabs.all_closed
    tabs.gone("b")
    assert not tabs.all_closed  # it may only be a reload
    tabs.here("c")
    clock.now += GRACE + 1
    assert not tabs.all_closed
    clock.now += SILENCE
    assert not tabs.all_closed  # it has just fallen silent
    clock.now += GRACE + 1
    assert tabs.all_closed


def test_a_token_is_good_for_one_use() -> None:
    links: list[str] = []
    keys = Keys(1, links.append)
    token = keys.link.split("=")[1]
    assert keys.use("x" * len(token)) is None
    secret = keys.use(token)
    assert secret and keys.knows(secret) and not keys.knows("")
    assert keys.use(token) is None and token not in links[0]
    assert os.path.basename(keys.link)
