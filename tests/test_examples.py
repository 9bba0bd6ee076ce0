"""Every example runs as it stands, and what is shown is the file that was run."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
# In the README, a block that comes from an example stands right under a comment that names the
# file.
EMBEDDED = re.compile(r"<!-- from (examples/\S+\.py) -->\n```python\n(.*?)```", re.DOTALL)
INCLUDED = re.compile(r'^--8<-- "(examples/\S+\.py)"$', re.MULTILINE)


def test_every_example_is_on_a_page_whose_blocks_are_run() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in INCLUDED.findall(page)}
    assert shown == {str(path.relative_to(ROOT)) for path in EXAMPLES}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not [cell for cell in notebook.cells if cell.get("outputs")], (
        "keep outputs out of the repository"
    )
    # Few rows; warnings of the kernel itself are not ours.
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute(
        env={**os.environ, "ROWS": "1500", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    )
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


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
