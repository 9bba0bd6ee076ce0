"""The arrows of the house: nothing imports upwards, and the optimiser cannot reach the rows."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tabveil"

# Each room may import the rooms named here, and no other.
MAY_IMPORT = {
    "errors": set(),
    "device": set(),
    "files": {"errors"},
    "privacy": {"errors"},
    "columns": {"errors"},
    "schema": {"columns", "errors", "files"},
    "sources": {"columns", "errors", "schema"},
    "engines": {"errors", "sources"},
    "discovery": {"columns", "engines", "errors", "privacy", "schema", "sources"},
    "datasets": {"errors", "schema"},
    "tables": {"columns", "schema"},
    "queries": {"tables"},
    "rows": {"engines", "sources", "tables"},
    "curator": {"privacy", "queries", "tables"},
    "projection": {"queries", "tables"},
    "ranks": {"curator", "queries", "tables"},
    "rappp": {"curator", "projection"},
    "presets": {
        "curator", "errors", "privacy", "projection", "queries", "ranks", "rappp", "schema", "tables",
    },
    "grouping": {"columns", "curator", "ranks", "schema", "tables"},
    "release": {"columns", "errors", "files", "privacy", "queries", "schema", "tables"},
    "metrics": {"errors", "schema", "sources", "tables"},
    "progress": {"errors", "rappp"},
    "logs": {"rappp"},
    "plan": {"columns", "errors", "grouping", "presets", "privacy", "queries", "ranks", "schema"},
    "report": {
        "columns", "errors", "files", "metrics", "plan", "privacy", "queries", "release", "schema", "tables",
    },
    "synthesizer": {
        "curator", "device", "engines", "errors", "grouping", "logs", "presets", "privacy", "queries",
        "rappp", "release", "report", "rows", "schema", "sources", "tables",
    },
    "audit": {
        "discovery", "files", "presets", "privacy", "projection", "release", "schema", "sources",
        "synthesizer", "tables",
    },
    "baselines": {
        "curator", "errors", "presets", "privacy", "projection", "queries", "ranks", "rappp", "rows",
        "schema", "sources", "synthesizer", "tables",
    },
    "benchmark": {"baselines", "datasets", "errors", "files", "metrics", "privacy", "report", "schema"},
    "demo": {
        "datasets", "errors", "files", "metrics", "privacy", "progress", "release", "report", "synthesizer",
    },
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(
        path
        for path in SOURCE.rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py", "cli.py") or path.parent != SOURCE
    )


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tabveil"):
            parts = (node.module or "").split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("tabveil.")}
    return rooms


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_imports_only_the_rooms_below_it(path: Path) -> None:
    assert imported_rooms(path) - {room_of(path)} <= MAY_IMPORT[room_of(path)]


def reachable(room: str) -> set[str]:
    below = set(MAY_IMPORT[room])
    return below.union(*(reachable(r) for r in below)) if below else below


def test_the_projection_cannot_reach_the_curator_or_a_file_of_rows() -> None:
    assert not {"curator", "sources", "engines"} & reachable("projection")


def test_what_is_published_cannot_reach_the_curator_or_a_reader_of_rows() -> None:
    assert not {"curator", "sources", "engines"} & reachable("release")


def test_privacy_stands_on_its_own() -> None:
    assert reachable("privacy") == {"errors"}


DRAWS_NOISE = {"gaussian", "top"}
ITS_OWN_EAR = SOURCE / "audit"  # tries the samplers themselves, and no rows


def test_nothing_but_the_door_draws_noise() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if ITS_OWN_EAR not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in DRAWS_NOISE
        and "noise" in ast.unparse(node.func.value)
    }
    assert found == {"privacy/door.py"}


def test_only_the_door_and_those_who_hold_it_know_a_source_of_noise() -> None:
    named = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "OpenDPNoise" in path.read_text() and ITS_OWN_EAR not in path.parents
    }
    assert named == {"privacy/__init__.py", "privacy/door.py", "privacy/noise.py", "synthesizer.py"}


@pytest.mark.parametrize(
    "banned", ["import pickle", "import joblib", "eval(", "yaml.load(", "allow_pickle=True"]
)
def test_nothing_that_could_run_a_strangers_code_is_used(banned: str) -> None:
    assert not [p for p in SOURCE.rglob("*.py") if banned in p.read_text()]
