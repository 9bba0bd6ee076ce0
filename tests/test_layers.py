"""The arrows of the house: nothing imports upwards, and the optimiser cannot reach the rows."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tabveil"

WORDS = "shapes"  # what signatures are written in: everyone's
# Each room may import the rooms named here, and no other.
MAY_IMPORT = {
    "errors": set(),
    "disk": set(),
    "machine": {"disk", "errors"},
    "privacy": {"disk", "errors"},
    "columns": {"errors"},
    "schema": {"columns", "errors", "machine"},
    "sources": {"columns", "errors", "machine", "schema"},
    "engines": {"errors", "machine", "sources"},
    "discovery": {"columns", "engines", "errors", "privacy", "schema", "sources"},
    "datasets": {"errors", "machine", "schema"},
    "tables": {"columns", "schema"},
    "queries": {"tables"},
    "curator": {"privacy", "queries", "tables"},
    "release": {"columns", "errors", "machine", "privacy", "schema", "tables"},
    "inference": {"errors", "machine", "release", "schema", "tables"},
    "checking": {"release", "schema", "sources", "tables"},
    "metrics": {"columns", "errors", "schema", "sources", "tables"},
    "report": {
        "columns", "errors", "inference", "machine", "metrics", "privacy", "release",
        "schema", "tables",
    },
    "cards": {"errors", "machine", "privacy", "release", "report"},
    "fitting": {
        "columns", "curator", "engines", "errors", "inference", "privacy", "queries", "release",
        "report", "schema", "sources", "tables",
    },
    "audit": {
        "columns", "discovery", "fitting", "machine", "privacy", "release", "schema",
        "sources", "tables",
    },
    "baselines": {
        "curator", "errors", "fitting", "machine", "privacy", "queries", "schema", "sources",
        "tables",
    },
    "benchmark": {
        "baselines", "datasets", "errors", "machine", "metrics", "privacy", "report",
        "schema",
    },
    "studio": {
        "checking", "columns", "discovery", "disk", "errors", "fitting", "machine", "privacy",
        "release", "report", "schema", "sources",
    },
    "cli": {
        "audit", "benchmark", "cards", "checking", "datasets", "discovery", "engines", "errors",
        "fitting", "inference", "machine", "metrics", "privacy", "release", "report", "schema",
        "sources", "studio",
    },
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(
        path
        for path in SOURCE.rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py") or path.parent != SOURCE
    )


def modules_of(room: str) -> list[Path]:
    return [path for path in modules() if room_of(path) == room]


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tabveil"):
            parts = (node.module or "").split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            rooms |= {
                alias.name.split(".")[1]
                for alias in node.names
                if alias.name.startswith("tabveil.")
            }
    return rooms


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_imports_only_the_rooms_below_it(path: Path) -> None:
    room = room_of(path)
    assert imported_rooms(path) - {room, WORDS} <= MAY_IMPORT.get(room, set())


def reachable(room: str) -> set[str]:
    below = set(MAY_IMPORT[room])
    return below.union(*(reachable(r) for r in below)) if below else below


def path_of(module: str) -> Path | None:
    """The file of a module of ours; none for a name inside one, or for a module of others."""
    place = SOURCE.parent / module.replace(".", "/")
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if module.startswith("tabveil.") and file.exists()), None)


def imported_modules(path: Path) -> set[Path]:
    """The modules that one imports, with the rooms around them, which Python runs first."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    around = {folder / "__init__.py" for folder in path.parents if SOURCE in folder.parents}
    return {file for name in names if (file := path_of(name))} | around - {path}


def reachable_modules(module: str) -> set[str]:
    """Every module that this one leads to, as rooms and files."""
    found, waiting = set(), {SOURCE / module}
    while waiting:
        new = imported_modules(waiting.pop()) - found
        found, waiting = found | new, waiting | new
    return {path.relative_to(SOURCE).as_posix() for path in found}


def rooms(modules: set[str]) -> set[str]:
    return {room_of(SOURCE / module) for module in modules}


def test_the_projection_cannot_reach_the_curator_or_a_file_of_rows() -> None:
    reached = reachable_modules("fitting/projection.py")
    assert {"queries/__init__.py", "tables/table.py"} <= reached
    assert not {"curator", "sources", "engines"} & rooms(reached)


def test_modules_are_followed_from_one_to_the_next() -> None:
    assert {"curator", "sources", "engines"} <= rooms(reachable_modules("fitting/synthesizer.py"))


def test_a_release_is_loaded_and_sampled_without_budgets_or_noise() -> None:
    assert "privacy" not in rooms(reachable_modules("release/release.py"))


def test_what_is_published_cannot_reach_the_curator_or_a_reader_of_rows() -> None:
    assert not {"curator", "sources", "engines"} & reachable("release")


def test_inference_cannot_reach_the_curator_a_door_or_a_reader_of_rows() -> None:
    modules = [path for path in modules_of("inference") if path.name != "__init__.py"]
    reached = set().union(*(reachable_modules(f"inference/{path.name}") for path in modules))
    assert "release/release.py" in reached
    assert not {"curator", "sources", "engines", "privacy", "fitting"} & rooms(reached)


def test_privacy_stands_on_its_own() -> None:
    assert reachable("privacy") == {"disk", "errors"}


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
    assert named == {
        "privacy/__init__.py",
        "privacy/door.py",
        "privacy/noise.py",
        "fitting/synthesizer.py",
    }


@pytest.mark.parametrize(
    "banned", ["import pickle", "import joblib", "eval(", "yaml.load(", "allow_pickle=True"]
)
def test_nothing_that_could_run_a_strangers_code_is_used(banned: str) -> None:
    assert not [p for p in SOURCE.rglob("*.py") if banned in p.read_text()]
