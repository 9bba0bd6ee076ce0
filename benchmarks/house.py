"""What the house looks like in numbers, for any version of it: files, functions, doors, density.

    python benchmarks/house.py .
    python benchmarks/house.py ../before .          # side by side
    python benchmarks/house.py --ladders .          # and where types of columns are asked for

Reads Python files as text and runs none of them."""

import argparse
import ast
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LONG_LINE = 90
COLUMN_TYPES = {
    "Boolean", "Categorical", "Date", "Datetime", "Drop", "Duration", "Id", "Numerical",
    "CategoryCodec", "DurationCodec", "ListCodec", "MomentCodec", "NumberCodec", "Point",
    "PointCodec",
    "Figures", "Labels", "Moments", "Spans",  # what codecs were called before
}  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class House:
    """The package below `src`, and the tests beside it."""

    root: Path

    @cached_property
    def package(self) -> Path:
        """The folder of the one package."""
        return next(path.parent for path in sorted((self.root / "src").glob("*/__init__.py")))

    @cached_property
    def texts(self) -> dict[Path, str]:
        return {path: path.read_text("utf-8") for path in sorted(self.package.rglob("*.py"))}

    @cached_property
    def trees(self) -> dict[Path, ast.Module]:
        return {path: ast.parse(text) for path, text in self.texts.items()}

    @cached_property
    def lines(self) -> list[str]:
        return [line for text in self.texts.values() for line in text.splitlines()]

    @cached_property
    def filled(self) -> int:
        """How many lines are not blank."""
        return sum(bool(line.strip()) for line in self.lines)

    @cached_property
    def test_lines(self) -> int:
        tests = (self.root / "tests").rglob("*.py")
        return sum(len(path.read_text("utf-8").splitlines()) for path in tests)

    def nodes(self) -> Iterator[ast.AST]:
        for tree in self.trees.values():
            yield from ast.walk(tree)

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in self.nodes() if isinstance(node, Function)]


def length(function: Function) -> int:
    """Lines from `def` to the end."""
    return (function.end_lineno or 0) - function.lineno + 1


def parameters(function: Function) -> list[ast.arg]:
    """All but `self` and `cls`."""
    given = function.args
    more = [extra for extra in (given.vararg, given.kwarg) if extra]
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *more]
    return [one for one in every if one.arg not in ("self", "cls")]


def is_typed(function: Function) -> bool:
    """Whether its result and all its parameters say what they are."""
    return function.returns is not None and all(one.annotation for one in parameters(function))


def public(house: House) -> list[ast.ClassDef | Function]:
    """Classes and functions that others may use; not those inside functions."""
    inner = {
        node for function in house.functions for node in ast.walk(function) if node is not function
    }
    return [
        node
        for node in house.nodes()
        if isinstance(node, ast.ClassDef | Function)
        and not node.name.startswith("_")
        and node not in inner
    ]


def doors(house: House) -> int:
    """Modules and folders at the top."""
    inside = house.package.iterdir()
    return sum(
        (path / "__init__.py").exists() or (path.suffix == ".py" and not path.stem.startswith("__"))
        for path in inside
    )


def ladders(house: House) -> Counter[str]:
    """How often each file asks whether something is one of the types of columns."""
    found: Counter[str] = Counter()
    for path, tree in house.trees.items():
        place = path.relative_to(house.package).as_posix()
        for node in ast.walk(tree):
            found[place] += len(_asked(node) & COLUMN_TYPES)
    return +found


def _asked(node: ast.AST) -> set[str]:
    """The classes that a check names: `isinstance(x, A | B)`, or `case A()`."""
    if isinstance(node, ast.MatchClass):
        kinds: ast.AST = node.cls
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        kinds = node.args[1]
    else:
        return set()
    return set(re.findall(r"\w+", ast.unparse(kinds)))


def share(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.0f} %"


def spread(values: list[int], *, tail: bool = False) -> str:
    """Median, perhaps the 95th percentile, and maximum."""
    ordered = sorted(values)
    late = [ordered[int(0.95 * len(ordered))]] if tail else []
    return " / ".join(f"{value:g}" for value in (statistics.median(ordered), *late, ordered[-1]))


COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

FIGURES: dict[str, Callable[[House], object]] = {
    "files": lambda house: len(house.texts),
    "lines": lambda house: len(house.lines),
    "lines a file, median / max": lambda house: spread(
        [len(text.splitlines()) for text in house.texts.values()]
    ),
    "function, median / 95 % / max": lambda house: spread(
        [length(function) for function in house.functions], tail=True
    ),
    "most parameters": lambda house: max(len(parameters(f)) for f in house.functions),
    "tests / code": lambda house: f"{house.test_lines / len(house.lines):.2f}",
    "docstrings": lambda house: share(
        sum(ast.get_docstring(node) is not None for node in public(house)),
        len(public(house)),
    ),
    "typed": lambda house: share(sum(map(is_typed, house.functions)), len(house.functions)),
    "doors at the top": doors,
    f"lines longer than {LONG_LINE}": lambda house: (
        f"{100 * sum(len(line) > LONG_LINE for line in house.lines) / len(house.lines):.1f} %"
    ),
    "comprehensions per 100 lines": lambda house: (
        f"{100 * sum(isinstance(n, COMPREHENSIONS) for n in house.nodes()) / house.filled:.1f}"
    ),
    "checks for a type of column": lambda house: ladders(house).total(),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("roots", type=Path, nargs="+", help="folders with src and tests")
    parser.add_argument("--ladders", action="store_true", help="show where, for the last one")
    asked = parser.parse_args()
    houses = [House(root) for root in asked.roots]
    print("| | " + " | ".join(root.resolve().name for root in asked.roots) + " |")
    print("|---" * (len(houses) + 1) + "|")
    for name, figure in FIGURES.items():
        print(f"| {name} | " + " | ".join(str(figure(house)) for house in houses) + " |")
    if asked.ladders:
        for place, count in ladders(houses[-1]).most_common():
            print(f"{count:4}  {place}")


if __name__ == "__main__":
    main()
