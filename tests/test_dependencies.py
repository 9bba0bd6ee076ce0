"""The versions that `make lowest` and `make newest` try are the ends of what pyproject.toml
allows."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tabveil.privacy.noise import TESTED

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASKED = [Requirement(line) for line in PROJECT["dependencies"]]


def pinned(name: str) -> dict[str, Version]:
    lines = (ROOT / name).read_text().split()
    return {
        canonicalize_name(package): Version(v)
        for package, v in (line.split("==") for line in lines)
    }


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_a_lower_bound_is_the_version_that_is_tried(asked: Requirement) -> None:
    [bound] = [limit for limit in asked.specifier if limit.operator == ">="]
    assert pinned("constraints-lowest.txt")[asked.name] == Version(bound.version)


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_the_newest_versions_are_no_older_than_those_of_every_day(asked: Requirement) -> None:
    assert pinned("constraints-newest.txt")[asked.name] >= pinned("constraints.txt")[asked.name]


def test_every_opendp_that_can_be_installed_is_one_whose_law_was_tested() -> None:
    [opendp] = [asked for asked in ASKED if asked.name == "opendp"]
    published = [
        "0.13.0",
        "0.14.0",
        "0.14.1",
        "0.14.2",
        "0.15.0",
        "0.15.1",
        "0.16.0",
        "0.16.1",
        "0.17.0",
    ]
    assert [version for version in published if version in opendp.specifier] == list(TESTED)
