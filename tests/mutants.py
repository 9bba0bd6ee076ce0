"""Mutation testing of the privacy core: breaks one thing at a time and asks whether the tests
notice.

A program for `make mutants`, not a test. Cosmic Ray says what can be broken; each mutant runs in a
forked child that has everything loaded but tabveil, so that it costs seconds. Prints survivors as
they are found."""

import argparse
import importlib.abc
import importlib.util
import io
import itertools
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import cosmic_ray.mutating
import jax
import numpy
import opendp.prelude
import optax
import pandas
import pyarrow.parquet
import pydantic
import pytest
import scipy.stats
import yaml
from cosmic_ray.plugins import get_operator

PRELOADED = (jax, numpy, opendp, optax, pandas, pyarrow, pydantic, scipy, yaml)
ROOT = Path(__file__).parents[1]
TESTS = {
    "privacy/budget.py": ["tests/privacy/test_budget.py"],
    "privacy/noise.py": ["tests/privacy/test_noise.py", "tests/privacy/test_door.py"],
    "privacy/ledger.py": ["tests/privacy/test_ledger.py"],
    "privacy/ledger_file.py": ["tests/privacy/test_ledger.py"],
    "privacy/journal.py": ["tests/privacy/test_ledger.py"],
    "privacy/promise.py": ["tests/privacy/test_door.py", "tests/sources/test_contributions.py"],
    "privacy/risk.py": ["tests/privacy/test_risk.py"],
    "privacy/door.py": ["tests/privacy/test_door.py"],
    "curator.py": ["tests/test_curator.py"],
    "sources/contributions.py": ["tests/sources/test_contributions.py"],
    "release/statement.py": ["tests/release/test_statement.py"],
}
SLOW = "kill or die_at or process or few_kills"  # tests that start programs of their own
BINARY = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "Pow_Mul", "FloorDiv_Mul", "BitAnd_BitOr")
COMPARISONS = (
    "Lt_LtE",
    "LtE_Lt",
    "Gt_GtE",
    "GtE_Gt",
    "Eq_NotEq",
    "NotEq_Eq",
    "Is_IsNot",
    "IsNot_Is",
)
OPERATORS = [
    *(f"core/ReplaceBinaryOperator_{change}" for change in BINARY),
    *(f"core/ReplaceComparisonOperator_{change}" for change in COMPARISONS),
    *(
        f"core/{name}"
        for name in ("AddNot", "ReplaceAndWithOr", "ReplaceOrWithAnd", "NumberReplacer")
    ),
    *(
        f"core/{name}"
        for name in ("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ZeroIterationForLoop")
    ),
    "core/ReplaceUnaryOperator_Delete_Not",
]
GUARDS = (
    "strict=False",
    "frozen=False",
    " /,",
)  # slips of ours; nothing behaves differently without them
SECONDS = 90  # for all tests of one mutant; a mutant that hangs is noticed


def mutants(file: str) -> list[tuple[str, str, int, str]]:
    """Every mutant of a file: file, operator, occurrence and the code."""
    code = (ROOT / "src/tabveil" / file).read_text()
    found = []
    for name in OPERATORS:
        for occurrence in range(10_000):
            mutated = cosmic_ray.mutating.mutate_code(code, get_operator(name)(), occurrence)
            if mutated is None:
                break
            if not any(guard in line for line in changed(file, mutated) for guard in GUARDS):
                found.append((file, name, occurrence, mutated))
    return found


class Broken(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from other code."""

    def __init__(self, module: str, path: Path, code: str) -> None:
        self.module, self.path, self.code = module, path, code

    def find_spec(self, name: str, *_: Any) -> Any:
        return (
            importlib.util.spec_from_file_location(name, self.path, loader=self)
            if name == self.module
            else None
        )

    def exec_module(self, module: Any) -> None:
        exec(compile(self.code, str(self.path), "exec"), module.__dict__)


def started(file: str, code: str, place: int) -> int:
    """A child that runs all tests of this file, with this code in its place, on one processor."""
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, {place})
        signal.alarm(SECONDS)
        module = "tabveil." + file.removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, Broken(module, ROOT / "src/tabveil" / file, code))
        quiet = [
            "-x",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            "--hypothesis-seed=0",
        ]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            failed = pytest.main([*quiet, "-m", "not slow", "-k", f"not ({SLOW})", *TESTS[file]])
        os._exit(int(failed != 0))
    return child


def fates(file: str, codes: Sequence[str], jobs: int) -> Iterator[tuple[int, str]]:
    """What became of each mutant, as it becomes known: it survived, was killed, or hung."""
    places = list(itertools.islice(itertools.cycle(sorted(os.sched_getaffinity(0))), jobs))
    running: dict[int, tuple[int, int]] = {}
    waiting = iter(enumerate(codes))
    while True:
        for number, code in itertools.islice(waiting, len(places)):
            place = places.pop()
            running[started(file, code, place)] = number, place
        if not running:
            return
        child, status = os.wait()
        number, place = running.pop(child)
        places.append(place)
        hung = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        yield number, "survived" if status == 0 else "hung" if hung else "killed"


def changed(file: str, code: str) -> list[str]:
    """The lines that a mutant changed."""
    before = (ROOT / "src/tabveil" / file).read_text().splitlines()
    lines = enumerate(zip(before, code.splitlines(), strict=False), start=1)
    return [f"{number}: {new.strip()}" for number, (old, new) in lines if old != new]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=list(TESTS), help="files under src/tabveil")
    parser.add_argument(
        "--sample", type=int, help="only so many mutants of each file, drawn at random"
    )
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="tests at a time"
    )
    asked = parser.parse_args()
    os.chdir(ROOT)
    assert PRELOADED
    killed, total = 0, 0
    for file in asked.files:
        clock, everyone = time.monotonic(), mutants(file)
        chosen = everyone
        if asked.sample is not None:
            chosen = random.Random(0).sample(everyone, min(asked.sample, len(everyone)))
        as_it_is = (ROOT / "src/tabveil" / file).read_text()
        assert [*fates(file, [as_it_is], 1)] == [(0, "survived")], (
            f"the tests of {file} fail as it is"
        )
        count = Counter[str]()
        for number, fate in fates(file, [code for *_, code in chosen], asked.jobs):
            count[fate] += 1
            if fate != "killed":
                _, operator, _, code = chosen[number]
                print(fate, file, operator, changed(file, code), flush=True)
        print(file, json.dumps({"mutants": len(chosen), "of": len(everyone), **count}), end=" ")
        print(f"{time.monotonic() - clock:.0f} s", flush=True)
        killed, total = killed + len(chosen) - count["survived"], total + len(chosen)
    print(f"{killed} of {total} mutants noticed: {killed / total:.1%}")


if __name__ == "__main__":
    main()
