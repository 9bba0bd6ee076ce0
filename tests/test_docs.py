"""Every code block of the site runs as it is shown, and the site builds without a network.

Blocks of a page run in order in one empty folder. What a page takes for granted is named in a
comment on it, `<!-- starts with: people.csv, schema -->`, and made here. `python` and `bash` blocks
run; `yaml` blocks are schemas, or answers for cards; a block with a file name as its title is
written to that file; one with the title "prints" must be in what the block before it printed.
`text` is for the eye alone, and must not hold what could run."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import tabveil as tv
from tabveil import cli
from tabveil.cards import About
from tabveil.fitting.presets import PRESETS, Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.report.guarantee import Risk

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "make"))
FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STARTS = re.compile(r"<!-- starts with: (.*?) -->")
INCLUDED = re.compile(r'^--8<-- "(.*?)"$', re.MULTILINE)
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
RUNNABLE = re.compile(
    r"^(import |from \w+ import|tabveil (?!fit .*(://|spark|--scheduler)))", re.MULTILINE
)

# The optimiser in few steps: what is shown must run, not converge.
FEW = Annealing(8.0, stages=2, steps=5, tolerance=0.0)
QUICK = Default(rounds=2, effort=Effort(rows=200, between_rounds=FEW, at_the_end=FEW))

PEOPLE = tv.Schema.from_dict(
    {
        "columns": {
            "age": {"type": "numerical", "min": 18, "max": 100, "decimals": 0},
            "sex": {"type": "categorical", "values": ["F", "M"]},
            "city": {"type": "categorical", "values": ["Bern", "Oslo", "Rome"]},
            "income": {"type": "categorical", "values": ["low", "high"]},
        },
        "targets": ["income"],
    }
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    language: str
    title: str
    text: str


@dataclass
class World:
    """What a page finds in its folder and among its names."""

    names: dict[str, Any] = field(default_factory=dict)

    def prepare(self, thing: str) -> None:
        """Make one thing that a page takes for granted."""
        makers: dict[str, Callable[[], Any]] = {
            "people.csv": lambda: people(400).to_csv("people.csv", index=False),
            "people/": lambda: (Path("people").mkdir(), people(400).to_parquet("people/0.parquet")),
            "schema.yaml": lambda: PEOPLE.save("schema.yaml"),
            "release": lambda: fitted().save("release"),
            "old-release": lambda: fitted().save("old-release"),
            "last-year.csv": lambda: people(600, seed=2).to_csv("last-year.csv", index=False),
            "totals.csv": lambda: Path("totals.csv").write_text("sex,share\nF,0.51\nM,0.49\n"),
            "synthetic.csv": lambda: (
                fitted().sample(300, seed=0).to_csv("synthetic.csv", index=False)
            ),
            "dask_frame": lambda: self.names.update(dask_frame=dask_frame()),
        }
        tables = {
            "schema": lambda: PEOPLE,
            "model": fitted,
            "train": lambda: people(400),
            "real": lambda: people(400),
            "test": lambda: people(200, seed=1),
            "synthetic": lambda: fitted().sample(300, seed=0),
        }
        if thing in tables:
            self.names[thing] = tables[thing]()
        else:
            makers[thing]()


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, rows)
    income = np.where(age + random.normal(0, 15, rows) > 50, "high", "low")
    city = random.choice(["Bern", "Oslo", "Rome"], rows)
    return pd.DataFrame(
        {"age": age, "sex": random.choice(["F", "M"], rows), "city": city, "income": income}
    )


def fitted() -> tv.RAPpp:
    return tv.RAPpp(PEOPLE, epsilon=1.0, preset=QUICK).fit(people(400))


def dask_frame() -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(people(400), npartitions=2)


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(ROOT))
    found = [Block(name, *parts) for parts in FENCE.findall(text)]
    assert text.count("\n```") + text.startswith("```") == 2 * len(found), (
        f"{name} has an odd fence"
    )
    return [
        replace(b, text=INCLUDED.sub(lambda m: (ROOT / m.group(1)).read_text(), b.text))
        for b in found
    ]


WITH_BLOCKS = [page for page in PAGES if blocks(page)]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name in PRESETS:
        monkeypatch.setitem(PRESETS, name, QUICK)


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.usefixtures("quick")
def test_every_block_of_a_page_does_what_the_page_says(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, printed = World(), ""
    for thing in ", ".join(STARTS.findall(page.read_text(encoding="utf-8"))).split(", "):
        if thing:
            world.prepare(thing)
    for block in blocks(page):
        if block.title == "prints":
            assert " ".join(block.text.split()) in " ".join(printed.split())
        elif "." in block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
        if block.language == "python":
            printed = run_python(block, world)
        elif block.language == "bash":
            printed = "".join(run_command(line, monkeypatch) for line in commands_of(block))
        elif block.title == "about.yaml":
            About.load(block.title)
        elif block.language == "yaml" and "TODO" not in block.text:
            tv.Schema.from_dict(yaml.safe_load(block.text))


def run_python(block: Block, world: World) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block.text, block.page, "exec"), world.names)
    return printed.getvalue()


def commands_of(block: Block) -> Iterator[str]:
    for line in block.text.splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints; its exit code must be 0, or what a comment behind it says."""
    stated = re.search(r"# exit code (\d+)", line)
    program, *words = shlex.split(line, comments=True)
    assert program == "tabveil", f"only tabveil commands can be checked: {line}"
    # a studio would wait for a browser; others test it
    small = {"demo": ["--rows", "1000"], "studio": ["--help"]}.get(words[0], [])
    monkeypatch.setattr(sys, "argv", ["tabveil", *words, *small])
    ended = 0
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            cli.main()
        except SystemExit as end:
            ended = int(end.code or 0)
    printed = out.getvalue() + err.getvalue()
    assert ended == (int(stated.group(1)) if stated else 0), f"{line}\n{printed}"
    return printed


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_block_escapes_by_its_language(page: Path) -> None:
    for block in blocks(page):
        assert block.language in {"python", "bash", "yaml", "json", "text"}, (
            f"{page}: {block.text[:40]}"
        )
        if block.language == "text" and block.title != "prints":
            assert not RUNNABLE.search(block.text), block.text


def test_every_example_in_the_help_of_a_command_is_a_right_call() -> None:
    from commands import commands, examples

    for name, command in commands():
        assert examples(command), f"{name} shows no example"
        for example in examples(command):
            words = shlex.split(example)
            start = len(name.split())
            assert words[:start] == name.split()
            command.make_context(name, words[start:])


@pytest.mark.parametrize(
    "name", ["real-and-synthetic", "rank-space", "annealing", "whole-histograms", "epsilons"]
)
@pytest.mark.usefixtures("quick")
def test_a_picture_can_be_drawn_again_from_the_code(name: str) -> None:
    from pictures import PICTURES

    assert PICTURES[name](400).to_dict()
    assert list((DOCS / "pictures").glob(f"{name}.*"))


def test_the_table_of_risks_is_what_the_library_says() -> None:
    lines = re.findall(r"^\| ([\d.]+) \| (.*) \|$", (DOCS / "epsilon.md").read_text(), re.MULTILINE)
    assert len(lines) == 6
    for epsilon, cells in lines:
        stated = float(epsilon), 1e-9
        promised = Risk([stated])
        exact = Risk.of_spending(tv.Budget(*stated).rho, *stated)
        found = (
            r(risk)
            for risk in (promised, exact)
            for r in (lambda k: k.guess, lambda k: k.caught(0.01))
        )
        assert cells.split(" | ") == [f"{value:.1%}" for value in found]


class Fetched(HTMLParser):
    """What a browser would fetch to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        place = named.get("src") or (named.get("href") if tag == "link" else "") or ""
        self.found.append(place)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_the_site_builds_strictly_and_fetches_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        reader = Fetched()
        reader.feed(page.read_text(encoding="utf-8"))
        assert not [
            place for place in reader.found if place.startswith(("http:", "https:", "//"))
        ], page


def test_the_site_shows_every_command_every_room_and_every_public_name(site: Path) -> None:
    commands = (site / "reference/commands/index.html").read_text(encoding="utf-8")
    for name in ("tabveil fit", "tabveil schema init", "tabveil ledger show"):
        assert name in commands
    rooms = (site / "architecture/index.html").read_text(encoding="utf-8")
    drawn = (site / "pictures/rooms.svg").read_text(encoding="utf-8")
    for path in (ROOT / "src/tabveil").iterdir():
        room = path.name.removesuffix(".py")
        if not room.startswith("_") and room != "py.typed":
            assert f"<code>{room}</code>" in rooms and f">{room}</text>" in drawn
    reference = (site / "reference/python/index.html").read_text(encoding="utf-8")
    for name in tv.__all__:
        assert name in reference
