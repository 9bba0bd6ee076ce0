"""Small public schemas and tables that many tests share, and a browser."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from shapes import check_shapes

if "SHAPES_UNCHECKED" not in os.environ:  # the checker moves the lines that coverage counts
    check_shapes()  # before anything of ours is imported

from samples import SMALL
from tabveil.schema import Schema
from tabveil.tables.table import Codec, Domain

# Tests that share what is slow to start (a cluster, a browser, compiled programs) run in one
# process. The marks of pytest-xdist for this are lost on pytest 9.2, which names tests in another
# way than it expects.
TOGETHER = ("tests/engines/", "tests/report/test_pages", "tests/studio/", "tests/test_docs.py")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((start for start in TOGETHER if nodeid.startswith(start)), nodeid)

    return Scheduling(config, log)


@pytest.fixture
def schema() -> Schema:
    return Schema.from_dict(SMALL)


@pytest.fixture
def codec(schema: Schema) -> Codec:
    return Codec(schema)


@pytest.fixture
def domain(codec: Codec) -> Domain:
    return codec.domain


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a screen; where continuous integration runs, its absence is a failure."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is not installed; run `make browser`.")
        pytest.skip("Chromium is not installed; run `make browser`.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()
