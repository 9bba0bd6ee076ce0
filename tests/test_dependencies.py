"""The versions that `make lowest` and `make newest` try are the ends of what pyproject.toml allows."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASKED = [Requirement(line) for line in PROJECT["dependencies"]]


def pinned(name: str) -> dict[str, Version]:
    lines = (ROOT / name).read_text().split()
    return {canonicalize_name(package): Version(v) for package, v in (line.split("==") for line in lines)}


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_a_lower_bound_is_the_version_that_is_tried(asked: Requirement) -> None:
    [bound] = asked.specifier
    assert bound.operator == ">=" and pinned("constraints-lowest.txt")[asked.name] == Version(bound.version)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_the_newest_versions_are_no_older_than_those_of_every_day(asked: Requirement) -> None:
    assert pinned("constraints-newest.txt")[asked.name] >= pinned("constraints.txt")[asked.name]
