"""An experiment is a grid of cells: each is run once, kept at once, and found again."""

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from tabveil.baselines import BASELINES, baseline_named
from tabveil.benchmark import Experiment, run
from tabveil.benchmark.cell import measured
from tabveil.benchmark.figure import draw, figure, points_of
from tabveil.benchmark.results import markdown, means, rows_of, shown, tidy
from tabveil.benchmark.run import refuse_failures, result_file
from tabveil.cli import app
from tabveil.datasets import TABLES
from tabveil.errors import InvalidInput, TabveilError
from tabveil.metrics import METRICS, comparison_of, scores_of

SHIPPED = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.toml"))
SMALL = """
title = "Two references on a simulated census"
synthetic_rows = 400
queries = 200

[[dataset]]
name = "census"
rows = 600

[[synthesizer]]
name = ["sample", "independent"]

[[table]]
scores = ["f1_linear", "cm_error"]
along = ["system"]

[[figure]]
x = "fit_seconds"
y = "cm_error"
"""
QUIET = Console(file=io.StringIO())


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Experiment, Path]:
    """An experiment that was run once for all tests."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "small.toml").write_text(SMALL)
    experiment = Experiment.load(folder / "small.toml")
    outcome = run(experiment, folder / "out", jobs=2, console=QUIET)
    assert outcome.finished == 2 and not outcome.failed
    return experiment, folder / "out"


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "asked.toml").write_text(text)
    return tmp_path / "asked.toml"


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_every_shipped_experiment_can_be_read_and_shows_something(file):
    experiment = Experiment.load(file)
    assert list(experiment.cells())
    assert experiment.table or experiment.figure


def test_the_quick_experiment_names_every_system():
    quick = Experiment.load(next(file for file in SHIPPED if file.stem == "quick"))
    assert {cell.synthesizer["name"] for cell in quick.cells()} == set(BASELINES) - {"projection"}


def test_lists_multiply_and_what_needs_no_epsilon_comes_once(tmp_path):
    text = SMALL.replace('["sample", "independent"]', '["sample", "default"]')
    cells = list(Experiment.load(written(tmp_path, "epsilons = [1, 2, 3]\n" + text)).cells())
    assert [cell.epsilon for cell in cells] == [None, 1.0, 2.0, 3.0]
    assert len({cell.name for cell in cells}) == len(cells)


def test_defaults_that_are_spelled_out_are_the_same_cell(tmp_path):
    spelled = SMALL.replace(
        'name = ["sample", "independent"]', 'name = "rap"\nbins = 30\nbinning = "equal"'
    )
    short = SMALL.replace('name = ["sample", "independent"]', 'name = "rap"')
    names = [
        [cell.name for cell in Experiment.load(written(tmp_path, t)).cells()]
        for t in (spelled, short)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 'x'\nsynthesiser = []", "synthesizer"),
        ("title = 'x'", "names no dataset"),
        ("title = ", "not TOML"),
        (SMALL.replace("census", "consensus"), "no dataset consensus"),
        (SMALL.replace("independent", "dependent"), "no baseline dependent"),
        (SMALL.replace("rows = 600", "rows = 600\ncolour = 1"), "no option colour"),
        ("neighbours = 'near'\n" + SMALL, "no relation near"),
        ("delta = 2\n" + SMALL, "δ is 2"),
    ],
)
def test_an_experiment_that_cannot_be_run_is_refused_before_it_starts(tmp_path, text, message):
    with pytest.raises(InvalidInput, match=message):
        Experiment.load(written(tmp_path, text))


def test_a_result_says_what_it_cost_and_where_it_comes_from(finished):
    experiment, out = finished
    result = json.loads(result_file(out, next(experiment.cells())).read_text())
    assert result["privacy"]["accountant"] == "none: NOT PRIVATE"
    assert {"python", "tabveil", "jax"} <= set(result["provenance"]["versions"])
    assert {"machine", "device", "when", "command"} <= set(result["provenance"])
    assert {"prepare", "fit", "sample", "score"} == set(result["seconds"])
    assert result["table"]["train"] == 480


def test_results_are_tidy_and_better_for_real_rows(finished):
    rows = tidy(*finished)
    assert {"f1_linear", "f1_trees", "cm_error", "mm_error_uniform", "lt_error"} <= set(
        rows["metric"]
    )
    table = means(rows, ["cm_error", "f1_linear"], ["system"]).set_index("system")
    assert (
        table.loc["real rows, a sample", "CM error"] < table.loc["independent columns", "CM error"]
    )


def test_a_score_has_the_name_and_the_value_that_evaluate_gives_it(finished):
    experiment, out = finished
    cell = next(experiment.cells())
    scores = json.loads(result_file(out, cell).read_text())["scores"]
    table = cell.prepare(None)
    drawn = baseline_named(**cell.synthesizer).fit(table.train, table.schema, cell.budget(480))
    synthetic = drawn.sample(cell.synthetic_rows, cell.seed)
    asked = comparison_of(table.train, synthetic, table.schema, table.test, queries=cell.queries)
    told = {(s.metric, s.subject): s.value for s in scores_of(asked, METRICS)}
    assert len(scores) > 20
    assert all(told[s["metric"], s["subject"]] == s["value"] for s in scores)


def test_what_is_kept_of_the_real_rows_changes_no_score(finished):
    experiment, out = finished
    cell = next(experiment.cells())
    kept = json.loads(result_file(out, cell).read_text())["scores"]
    assert measured(cell, None, out)["scores"] == kept


def test_results_and_experiments_with_old_names_of_scores_are_understood(finished):
    cell = next(finished[0].cells())
    old = [("cm_total_variation", "mean"), ("f1_linear", "mean"), ("f1_linear", "income")]
    told = [{"metric": metric, "subject": subject, "value": 0.5} for metric, subject in old]
    rows = pd.DataFrame(rows_of(cell, {"status": "done", "seconds": {"fit": 1}, "scores": told}))
    assert rows["metric"].tolist()[:3] == ["total_variation_cm", "f1_linear", "f1_linear_by_target"]
    assert means(rows, ["cm_total_variation"], ["system"])["CM total variation"].tolist() == [0.5]
    for name in ("f1_linear", "f1_linear_by_target"):
        points = points_of(rows, "seed", name, "subject", {})
        assert points["subject"].tolist() == ["income"]
    assert points_of(rows, "seed", "f1_linear", "dataset", {})["subject"].tolist() == ["mean"]


def test_a_table_has_a_column_for_each_value_across(finished):
    rows = tidy(*finished).assign(epsilon=1.0)
    table = means(rows, ["cm_error"], ["system"], across="epsilon")
    assert list(table.columns) == ["system", "ε = 1", "seeds"]
    assert table["seeds"].tolist() == [1, 1]


def test_a_table_for_a_page_says_how_far_seeds_lie_apart():
    values = [("a", 0, 0.90), ("a", 1, 0.92), ("b", 0, 0.5)]
    rows = pd.DataFrame(values, columns=["system", "seed", "value"]).assign(
        subject="mean", metric="f1_linear"
    )
    table = means(rows, ["f1_linear"], ["system"], spread=True)
    assert table["F1 linear"].tolist() == ["0.91 ± 0.01", "0.5"]
    assert table["seeds"].tolist() == [2, 1]


def test_finished_cells_are_not_run_again(finished):
    experiment, out = finished
    before = {file: file.stat().st_mtime_ns for file in (out / "cells").iterdir()}
    assert run(experiment, out, console=QUIET).finished == 2
    assert {file: file.stat().st_mtime_ns for file in (out / "cells").iterdir()} == before


def test_figures_and_tables_are_made_from_the_results(finished, tmp_path):
    experiment, out = finished
    made = draw(experiment, out, tmp_path / "figures", "small")
    assert [file.name for file in made] == ["small.parquet", "small.svg", "small.md"]
    assert made[1].read_text().startswith("<svg")
    assert "independent columns" in made[2].read_text()
    kept = pd.read_parquet(made[0])
    assert len(kept) == len(tidy(experiment, out))
    assert kept["versions"].str.contains("jax").all()


def test_a_system_can_be_left_out_of_a_figure(finished):
    rows = tidy(*finished)
    drawn = [
        figure(rows, "small", x="epsilon", y="f1_linear", without=w).to_json()
        for w in ((), ("sample",))
    ]
    assert ["real rows, a sample" in chart for chart in drawn] == [True, False]


def test_nothing_to_draw_is_said_in_one_line(tmp_path):
    with pytest.raises(InvalidInput, match="Run it first"):
        draw(Experiment.load(written(tmp_path, SMALL)), tmp_path, tmp_path / "figures", "small")


def test_a_cell_that_takes_too_long_is_given_up_and_tried_again_with_more_time(tmp_path):
    one = SMALL.replace('["sample", "independent"]', '"sample"')
    experiment = Experiment.load(written(tmp_path, one))
    run(experiment, tmp_path / "out", limit=0.3, console=QUIET)
    file = result_file(tmp_path / "out", next(experiment.cells()))
    assert json.loads(file.read_text())["status"] == "unfinished"
    assert run(experiment, tmp_path / "out", limit=0.3, console=QUIET).finished == 1
    run(experiment, tmp_path / "out", limit=120, console=QUIET)
    assert json.loads(file.read_text())["status"] == "done"


def test_a_cell_that_fails_leaves_the_others_and_says_why(tmp_path, monkeypatch):
    monkeypatch.delenv("TABVEIL_DATA", raising=False)
    text = SMALL.replace('name = "census"\nrows = 600', 'name = "adult"\nrows = 100')
    outcome = run(Experiment.load(written(tmp_path, text)), tmp_path / "out", jobs=2, console=QUIET)
    assert outcome.finished == 0 and len(outcome.failed) == 2
    with pytest.raises(TabveilError, match="--data-dir"):
        refuse_failures(outcome)


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path):
    file = written(tmp_path, SMALL)
    command = [sys.executable, "-m", "tabveil", "bench", str(file), "-o", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    cells = tmp_path / "out" / "cells"
    deadline = time.monotonic() + 120
    while not (cells.is_dir() and any(cells.glob("*.json"))) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "goes on from there" in told
    kept = {file: file.stat().st_mtime_ns for file in cells.glob("*.json")}
    assert len(kept) == 1
    again = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert again.returncode == 0, again.stderr
    assert len(list(cells.glob("*.json"))) == 2
    assert kept.items() <= {file: file.stat().st_mtime_ns for file in cells.glob("*.json")}.items()


def test_the_command_lists_experiments_and_systems():
    found = CliRunner().invoke(app, ["bench", "--list"], env={"COLUMNS": "200"})
    assert found.exit_code == 0
    assert "quick.toml" in found.output and "MWEM+PGM" in found.output


def test_real_tables_that_are_not_there_are_asked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("TABVEIL_DATA", raising=False)
    for table in TABLES.values():
        with pytest.raises(InvalidInput, match="Name their folder"):
            table.prepare()
        with pytest.raises(InvalidInput, match="has no file"):
            table.prepare(tmp_path)


def test_a_folder_that_is_not_named_is_asked_for_before_any_cell_runs(monkeypatch, tmp_path):
    monkeypatch.delenv("TABVEIL_DATA", raising=False)
    file = written(
        tmp_path, SMALL.replace('name = "census"\nrows = 600', 'name = "adult"\nrows = 100')
    )
    told = CliRunner().invoke(app, ["bench", str(file), "-o", str(tmp_path / "out")])
    assert isinstance(told.exception, InvalidInput) and "--data-dir" in told.exception.hint
    assert not (tmp_path / "out").exists()


def test_numbers_are_shown_with_as_many_digits_as_they_deserve():
    assert [shown(v) for v in (1234.5, 0.87654, 0.0123, float("nan"), "x")] == [
        "1,234",
        "0.877",
        "0.012",
        "–",
        "x",
    ]
    assert markdown(pd.DataFrame({"a": [1.0]})) == "| a |\n| --- |\n| 1 |\n"
