"""What is light of the adapters: the command line as a program, and scikit-learn's habits."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from sklearn.base import clone

import tabveil as tv
from samples import SMALL

ADAPTERS = Path(__file__).parents[1] / "adapters"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """`adapters/command.py`, with the command line of this environment."""
    program = tmp_path / "tabveil"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tabveil "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("TABVEIL", str(program))
    monkeypatch.setenv("PYTHONPATH", str(ADAPTERS.parent / "src"))
    return loaded("command")


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ADAPTERS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_program_fits_once_draws_rows_and_hears_why_not(command: ModuleType) -> None:
    people = loaded("people")
    model = command.Fitted(people.people(300), people.SCHEMA, 1.0, "--preset", "structure")
    drawn = model.sample(50)
    assert isinstance(drawn, pd.DataFrame) and set(drawn["sex"]) == {"F", "M"}
    assert model.privacy["epsilon"] == 1.0
    with pytest.raises(command.Refused, match="Hint"):
        command.Fitted(people.people(300), people.SCHEMA, -1.0)


def test_scikit_learn_clones_it_and_checks_its_parameters() -> None:
    model = tv.RAPpp(tv.Schema.from_dict(SMALL), epsilon=0.5, targets=["income"], seed=3)
    copy = clone(model)
    assert copy is not model and copy.schema == model.schema
    params = {n: v for n, v in copy.get_params().items() if n != "schema"}
    assert params == {n: v for n, v in model.get_params().items() if n != "schema"}
    with pytest.raises(tv.InvalidInput, match="no parameter epsilom"):
        copy.set_params(epsilom=1.0)


@pytest.mark.parametrize("name", ["sdgym", "sdmetrics", "synthcity", "lomas"])
def test_every_adapter_names_the_versions_it_was_tried_with(name: str) -> None:
    [file] = ADAPTERS.glob(f"{name}_*.py")
    pins = (ADAPTERS / f"requirements-{name}.txt").read_text(encoding="utf-8")
    page = (ADAPTERS.parent / "docs" / "adapters.md").read_text(encoding="utf-8")
    version = pins.splitlines()[0].split("==")[1]
    assert f"`{file.name}`" in page and version in page
