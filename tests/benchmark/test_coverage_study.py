"""The coverage study: goes on where it stopped, and counts what intervals hold."""

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "coverage.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    place = importlib.util.spec_from_file_location("coverage_study", SCRIPT)
    assert place and place.loader
    module = importlib.util.module_from_spec(place)
    sys.modules["coverage_study"] = module  # dataclasses look their module up
    place.loader.exec_module(module)
    return module


@pytest.fixture
def asked(tmp_path: Path) -> argparse.Namespace:
    return argparse.Namespace(
        out=tmp_path,
        population="census",
        rows=[10, 20],
        epsilons=[1.0],
        first=0,
        repetitions=3,
        beside=None,
    )


def line(repetition: int, low: float, high: float, system: str = "study") -> str:
    own = {"rests": "yes", "direct": 2.0} if system == "study" else {}
    found = {"system": system, "name": "mean x", "low": low, "high": high, "truth": 0.0, **own}
    return json.dumps({"repetition": repetition, "seconds": {"fit": 1.0}, "lines": [found]}) + "\n"


def test_what_is_there_is_not_done_again(study: ModuleType, asked: argparse.Namespace) -> None:
    (asked.out / "census-10-1.jsonl").write_text(line(0, -1, 1) + line(2, -1, 1))
    assert list(study.missing(asked)) == [
        (10, 1.0, 1),
        (20, 1.0, 0),
        (20, 1.0, 1),
        (20, 1.0, 2),
    ]
    asked.first = 2
    assert list(study.missing(asked)) == [(20, 1.0, 2)]


def test_coverage_is_the_share_of_intervals_that_hold_the_truth(
    study: ModuleType, asked: argparse.Namespace, capsys: pytest.CaptureFixture[str]
) -> None:
    naive = "".join(line(place, 1, 2, "naive") for place in range(4))
    held = line(0, -1, 1) + line(1, -1, 1) + line(2, -2, 1) + line(3, 1, 3)
    (asked.out / "census-10-1.jsonl").write_text(held + naive)
    study.show(asked)
    said = capsys.readouterr().out
    assert "| 10 | 1.0 | study | yes | 4 | 0.75 | 1.0 | 2.0 |" in said
    assert "| 10 | 1.0 | naive | – | 4 | 0.0 |" in said
