"""NIST's evaluator scores cells of an experiment; here a stand-in, which says what it saw."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

from tabveil.benchmark import Experiment
from tabveil.benchmark.command import plot, summary
from tabveil.benchmark.experiment import EVALUATORS
from tabveil.benchmark.results import tidy
from tabveil.cli import app
from tabveil.datasets import TABLES
from tabveil.errors import InvalidInput, TabveilError
from tabveil.machine.environments import python_of

ASKED = """
title = "A survey by its own evaluator"
synthetic_rows = "n"
queries = 50

[evaluator]
name = "sdnist"
draws = 2

[[dataset]]
name = "nist"
features = 10

[[synthesizer]]
name = "independent"

[[table]]
scores = ["k_marginal"]
along = ["features", "system"]
"""
# It is called as Python is: -W ignore SCRIPT FILE EXCERPT BOOKS SCORES DRAWS REPORT.
STAND_IN = """#!/bin/sh
table=$(wc -l < "$6/ACSDataExcerpts/national/$5.csv")
echo "{\\"k_marginal\\": $(wc -l < "$4"), \\"pmse\\": $8, \\"combinations\\": $table}" > "$7"
cp "$4" "$9/synthetic.csv"
echo "<html>" > "$9/report.html"
"""
CODES = {"SEX": 2, "MSP": 6, "RAC1P": 9, "HOUSING_TYPE": 3, "OWN_RENT": 3, "EDU": 12, "DVET": 6}
CODES |= {"PINCP_DECILE": 10, "DREM": 2, "DPHY": 2, "DEYE": 2, "HISP": 5, "DEAR": 2}
NULLABLE = {"MSP", "EDU", "DVET", "PINCP_DECILE", "DREM", "DPHY", "INDP", "PINCP", "NOC", "NPF"}
ROWS = 200


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder with a table like NIST's and its code book."""
    random, folder = np.random.default_rng(0), tmp_path / "tables"
    columns: dict = {
        name: {"type": "categorical", "values": list(range(13))[name != "OWN_RENT" :][:size]}
        for name, size in CODES.items()
    }
    columns |= {
        name: {"type": "numerical", "min": 0, "max": 99, "decimals": 0}
        for name in ("AGEP", "NOC", "NPF", "PINCP", "POVPIP", "WGTP", "PWGTP")
    }
    columns["DENSITY"] = {"type": "numerical", "min": 0, "max": 9, "decimals": 1}
    columns["PUMA"] = {"type": "categorical", "values": ["01-1", "01-2"]}
    columns["INDP"] = {
        "type": "categorical",
        "values": [170, 180, 370],
        "groups": {"AGR": [170, 180], "EXT": [370]},
    }
    columns["INDP_CAT"] = {"type": "categorical", "values": [0, 1], "nullable": True}
    for name in NULLABLE:
        columns[name]["nullable"] = True
    drawn = {
        name: random.choice([str(v) for v in rule.get("values", range(60))], ROWS)
        for name, rule in columns.items()
    }
    drawn["DENSITY"] = np.where(drawn["PUMA"] == "01-1", "1.5", "2.5")
    drawn["MSP"] = np.where(drawn["AGEP"].astype(int) < 15, "N", drawn["MSP"])
    folder.mkdir()
    pd.DataFrame(drawn).to_csv(folder / "nist_national2019.csv", index=False)
    (folder / "nist_national2019.schema.yaml").write_text(yaml.safe_dump({"columns": columns}))
    return folder


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the evaluator's repository, and its environment with the stand-in."""
    monkeypatch.setenv("TABVEIL_VENVS", str(tmp_path / "venvs"))
    monkeypatch.delenv("TABVEIL_SDNIST", raising=False)
    books = tmp_path / "SDNist" / "BenchmarkData" / "ACSDataExcerpts" / "national"
    books.mkdir(parents=True)
    (books / "national2019.csv").write_text("version https://git-lfs.github.com/spec/v1\n")
    (books / "national2019.json").write_text("{}")
    python_of("sdnist").parent.mkdir(parents=True)
    python_of("sdnist").write_text(STAND_IN)
    python_of("sdnist").chmod(0o755)
    return tmp_path / "SDNist"


def written(tmp_path: Path, text: str = ASKED) -> Path:
    (tmp_path / "asked.toml").write_text(text)
    return tmp_path / "asked.toml"


def bench(tmp_path: Path, tables: Path, *more: str) -> Path:
    out = tmp_path / "out"
    asked = ["bench", str(tmp_path / "asked.toml"), "--data-dir", str(tables), "-o", str(out)]
    told = CliRunner().invoke(app, [*asked, *more], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    return out


def test_the_evaluator_scores_as_many_rows_against_the_table_that_was_fitted(
    tmp_path, tables, copy
):
    experiment = Experiment.load(written(tmp_path))
    out = bench(tmp_path, tables, "--sdnist", str(copy))
    told = tidy(experiment, out).set_index("metric")["value"]
    # The header of each file is a line, too; the pointer in the copy was not scored against.
    assert told["k_marginal"] == told["combinations"] == ROWS + 1
    assert told["pmse"] == 2
    assert summary(experiment, out).row_count == 1


def test_missing_cells_reach_the_evaluator_as_they_came(tmp_path, tables, copy):
    written(tmp_path)
    out = bench(tmp_path, tables, "--sdnist", str(copy))
    [made] = out.glob("reports/*/synthetic.csv")
    drawn = pd.read_csv(made, dtype=str, keep_default_na=False)
    assert (drawn["MSP"] == "N").mean() == pytest.approx(0.25, abs=0.1)
    assert not drawn.isin([""]).any().any()


def test_results_lead_to_the_report_of_each_cell(tmp_path, tables, copy):
    config = written(tmp_path)
    out = bench(tmp_path, tables, "--sdnist", str(copy))
    plot(config, out, out / "figures", Console(file=io.StringIO()))
    page = (out / "reports.md").read_text()
    [(name, link)] = [line[3:-1].split("](") for line in page.splitlines() if "](" in line]
    assert "features 10" in name
    assert (out / link).read_text() == "<html>\n"


def test_tables_with_many_columns_get_no_report_unless_asked(tmp_path, tables, copy):
    python_of("sdnist").write_text(STAND_IN.split("cp")[0])
    experiment = Experiment.load(written(tmp_path, ASKED.replace("features = 10", "features = 24")))
    out = bench(tmp_path, tables, "--sdnist", str(copy))
    told = tidy(experiment, out)
    assert told["report"].isna().all() and "k_marginal" in told["metric"].tolist()


def test_a_copy_that_is_not_named_or_is_none_is_asked_for_before_any_cell_runs(
    tmp_path, tables, copy
):
    config = written(tmp_path)
    for asked in ([], ["--sdnist", str(tables)]):
        told = CliRunner().invoke(
            app,
            ["bench", str(config), "--data-dir", str(tables), "-o", str(tmp_path / "o"), *asked],
        )
        assert isinstance(told.exception, InvalidInput) and "--sdnist" in told.exception.hint
    assert not (tmp_path / "o").exists()


def test_an_evaluator_that_fails_is_said_and_its_cell_is_not_kept(tmp_path, tables, copy):
    python_of("sdnist").write_text("#!/bin/sh\nexit 3\n")
    written(tmp_path)
    with pytest.raises(TabveilError, match=r"SDNist 2.5 did not finish"):
        bench(tmp_path, tables, "--sdnist", str(copy))
    assert not list((tmp_path / "out" / "cells").glob("*.json"))


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('name = "sdnist"', 'name = "sdmist"', "no evaluator sdmist"),
        ("draws = 2", "drawn = 2", "no option drawn"),
        ('name = "nist"\nfeatures = 10', 'name = "adult"', "cannot score adult"),
        ('synthetic_rows = "n"', 'synthetic_rows = "all"', "synthetic_rows is 'all'"),
    ],
)
def test_an_evaluation_that_cannot_be_run_is_refused_when_it_is_read(tmp_path, old, new, message):
    with pytest.raises(InvalidInput, match=message):
        Experiment.load(written(tmp_path, ASKED.replace(old, new)))


def test_a_cell_without_an_evaluator_is_spelled_as_it_was_before_there_were_any(tmp_path):
    text = ASKED.replace('[evaluator]\nname = "sdnist"\ndraws = 2\n', "")
    [cell] = Experiment.load(written(tmp_path, text)).cells()
    assert "evaluator" not in json.dumps(cell.to_dict())
    [other] = Experiment.load(written(tmp_path)).cells()
    assert other.evaluator == {"name": "sdnist", "draws": 2} and other.name != cell.name
    assert other.evaluator["name"] in EVALUATORS


def test_all_features_have_their_strata_followers_and_constraints(tables):
    ten, all_of_them = (TABLES["nist"].prepare(tables, features=n).schema for n in (10, 24))
    assert not ten.strata and len(ten.columns) == 10 and len(ten.constraints) == 11
    assert list(all_of_them.strata) == ["PUMA"] and len(all_of_them.constraints) == 26
    assert {"DENSITY", "INDP_CAT"} == {
        name for name, rule in all_of_them.to_dict()["columns"].items() if rule["type"] == "follows"
    }


def test_another_excerpt_needs_no_code_book_of_its_own(tables):
    national = pd.read_csv(tables / "nist_national2019.csv", dtype=str)
    first = national["PUMA"] == "01-1"
    elsewhere = national.assign(
        PUMA=np.where(first, "48-1", "48-2"), DENSITY=np.where(first, "3.5", "4.5")
    )
    elsewhere.to_csv(tables / "nist_tx2019.csv", index=False)
    found = TABLES["nist"].prepare(tables, excerpt="tx2019", features=24).schema
    assert found.categories["PUMA"].labels == ("48-1", "48-2") and found.strata == ("PUMA",)
    assert found.to_dict()["columns"]["DENSITY"]["map"] == {"48-1": 3.5, "48-2": 4.5}
