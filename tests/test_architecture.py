"""The walk through the house that the docs describe is the way that a cell really goes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tabveil"
SCHEMA = """
columns:
  age: {type: numerical, min: 16, max: 99, decimals: 0}
  sex: {type: categorical, values: [F, M]}
  born: {type: numerical, min: 1900, max: 2020, decimals: 0}
targets: [sex]
constraints: [age < born]
"""
# Runs one command as a user would, and notes every function that was called, with its file.
FOLLOWED = """
import json, runpy, sys, threading
called = {}  # in the order of first calls
def note(frame, event, arg):
    if frame.f_code.co_name not in ("<module>", "<lambda>"):  # importing a file is no passing
        called.setdefault(frame.f_code.co_filename + " " + frame.f_code.co_name)
threading.setprofile(note)
sys.setprofile(note)
place, sys.argv = sys.argv[1], ["tabveil", *sys.argv[2:]]
try:
    runpy.run_module("tabveil", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
finally:
    sys.setprofile(None)
    json.dump(list(called), open(place, "w"))
"""


def files_named() -> list[str]:
    """The files that the walk names, in its order."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = text.split("## A cell on its way")[1].split("\n## ")[0]
    return re.findall(r"`([\w/]+\.py)`", walk)


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a fit and a sample call, as files and functions in the order of their first calls."""
    folder = tmp_path_factory.mktemp("walk")
    random = np.random.default_rng(0)
    ages = random.integers(16, 99, 300)
    people = {"age": ages, "sex": random.choice(["F", "M"], 300), "born": 2020 - ages}
    pd.DataFrame(people).to_csv(folder / "people.csv", index=False)
    (folder / "people.yaml").write_text(SCHEMA)
    commands = (
        "fit people.csv --schema people.yaml --epsilon 1 -o release",
        "sample release -n 100 -o synthetic.csv",
    )
    called: list[str] = []
    for place, command in enumerate(commands):
        notes = folder / f"{place}.json"
        ended = subprocess.run(
            [sys.executable, "-c", FOLLOWED, str(notes), *command.split()],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert ended.returncode == 0, ended.stderr
        called += json.loads(notes.read_text())
    return called


def test_the_walk_names_each_file_once_and_all_exist() -> None:
    named = files_named()
    assert len(named) > 30 and len(set(named)) == len(named)
    assert [name for name in named if not (SOURCE / name).is_file()] == []


def test_a_cell_passes_every_file_of_the_walk(passed: list[str]) -> None:
    files = {call.split()[0] for call in passed}
    assert [name for name in files_named() if str(SOURCE / name) not in files] == []


def test_the_door_is_passed_before_the_cell_is_read(passed: list[str]) -> None:
    way = (
        "privacy/door.py counts",
        "privacy/ledger.py charge",
        "sources/formats/csv.py batches",
        "privacy/noise.py gaussian",
        "privacy/journal.py keep",  # the number of rows; cells are read for the questions after it
        "columns/cells.py numbers_in",
        "fitting/projection.py project",
    )
    places = [passed.index(f"{SOURCE}/{call}") for call in way]
    assert places == sorted(places)
