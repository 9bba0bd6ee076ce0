"""Every example runs as it stands, and the README shows the file that was run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# In the README, a block that comes from an example stands right under a comment that names the file.
EMBEDDED = re.compile(r"<!-- from (examples/\S+\.py) -->\n```python\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_without_error(example: Path, tmp_path: Path) -> None:
    # In an empty folder, so that an example cannot lean on the repository or leave files in it.
    ended = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "110"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()


def test_the_readme_shows_the_quickstart() -> None:
    assert "examples/quickstart.py" in {name for name, _ in embedded()}


def test_python_in_the_readme_is_the_file_it_says_it_is_from() -> None:
    for name, shown in embedded():
        assert shown == (ROOT / name).read_text(encoding="utf-8"), f"README.md differs from {name}"


def test_no_marked_block_of_the_readme_is_overlooked() -> None:
    assert readme().count("<!-- from ") == len(embedded())


def embedded() -> list[tuple[str, str]]:
    return EMBEDDED.findall(readme())


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")
