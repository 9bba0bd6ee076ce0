"""What would be uploaded holds the package, its types and its pages, and nothing else of a
checkout."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PARTS = {"src", "tests", "docs", "examples", "benchmarks", "conda", "adapters"}
FILES = {
    "CITATION.cff",
    "Containerfile",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "mkdocs.yml",
    "pyproject.toml",
}
FILES |= {"constraints.txt", "constraints-lowest.txt", "constraints-newest.txt"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_a_wheel_holds_every_module_the_types_marker_and_the_templates(built: Path) -> None:
    held = set(zipfile.ZipFile(next(built.glob("*.whl"))).namelist())
    source = ROOT / "src"
    wanted = {str(path.relative_to(source)) for path in source.rglob("*.py")}
    wanted |= {"tabveil/py.typed", "tabveil/report/templates/page.html"}
    assert wanted <= held
    assert all(name.startswith(("tabveil/", "tabveil-")) for name in held)


def test_a_source_archive_holds_nothing_but_what_is_named(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        inside = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    strangers = [
        path
        for path in inside
        if path.parts
        and path.parts[0] not in PARTS | FILES | {".gitignore"}
        and path.suffix != ".md"
    ]
    assert not strangers
    data = [path for path in inside if path.suffix in (".parquet", ".csv", ".ledger", ".pyc")]
    assert not [
        path for path in data if path.parent != Path("benchmarks/figures")
    ]  # scores, and no rows


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = map(Requirement, [*project["dependencies"], f"python{project['requires-python']}"])
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    wanted = {(each.name, each.specifier) for each in asked}
    assert {
        (line.split()[0], SpecifierSet(line.split()[1])) for line in recipe["requirements"]["run"]
    } == wanted
    assert recipe["context"]["version"] == project["version"]


def test_the_version_is_the_same_wherever_it_stands() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}\n" in (ROOT / "CHANGELOG.md").read_text()
