"""What `import tabveil` gives is whole, comes from one list, and waits until it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tabveil as tv
from tabveil.columns import RULES
from tabveil.fitting.presets import PRESETS

ROOT = Path(__file__).parents[1]


def typed_names() -> set[tuple[str, str]]:
    """What type checkers are shown, as rooms and names."""
    tree = ast.parse((ROOT / "src/tabveil/__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(block.body)
    return {
        ((node.module or "").removeprefix("tabveil."), alias.asname or "")
        for node in imports
        for alias in node.names
    }


def test_type_checkers_are_shown_the_names_on_the_list() -> None:
    assert typed_names() == {(room, name) for room, names in tv.ROOMS.items() for name in names}


@pytest.mark.parametrize("name", tv.__all__)
def test_every_public_name_is_there_and_described(name: str) -> None:
    assert getattr(tv, name).__doc__
    reference = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    assert f"tabveil.{name}" in reference


def test_every_type_of_column_and_every_preset_is_public() -> None:
    assert all(getattr(tv, kind.__name__) is kind for kind in RULES.values())
    presets = {type(preset).__name__ for preset in PRESETS.values()}
    assert presets <= set(tv.__all__) == set(dir(tv))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no RAPppp"):
        tv.RAPppp  # noqa: B018


def test_importing_tabveil_loads_nothing_that_a_device_must_be_woken_before() -> None:
    program = "import sys, tabveil; print({'jax', 'pandas', 'tabveil.fitting'} & {*sys.modules})"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout == "set()\n"
