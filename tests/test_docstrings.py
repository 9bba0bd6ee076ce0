"""Examples in docstrings say what happens."""

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef


def examples() -> list[tuple[str, str, str]]:
    """The module, the name and the docstring of all that is shown by an example."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(text)) if ">>>" in text else ():
            docstring = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            if docstring and ">>>" in docstring:
                found.append((module, getattr(node, "name", "module"), docstring))
    return found


@pytest.mark.parametrize(
    ("module", "name", "docstring"),
    examples(),
    ids=[f"{module}.{name}" for module, name, _ in examples()],
)
def test_an_example_in_a_docstring_comes_out_as_it_says(
    module: str, name: str, docstring: str
) -> None:
    known = vars(import_module(module.removesuffix(".__init__"))).copy()
    shown = doctest.DocTestParser().get_doctest(docstring, known, f"{module}.{name}", module, 0)
    doctest.DebugRunner(optionflags=doctest.ELLIPSIS).run(shown)


@pytest.mark.parametrize(
    "name",
    ["Annealing", "Axis", "Budget", "Domain", "Grouping", "Plan", "Promise", "Protection", "Score"],
)
def test_small_things_are_shown_by_an_example(name: str) -> None:
    assert name in {shown for _, shown, _ in examples()}
