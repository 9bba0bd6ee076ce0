"""The command line answers every mistake with one clear line, and never leaves half a file
behind."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from rich.console import Console

import tabveil as tv
from samples import SMALL, random_table
from tabveil import cli
from tabveil.cli.progress import progress_bar
from tabveil.errors import Interrupted
from tabveil.fitting.presets import PRESETS, Default, Paper, PaperEffort
from tabveil.fitting.projection import Annealing
from tabveil.fitting.rappp import Status
from tabveil.privacy import Ledger
from tabveil.tables.table import Codec

TINY = Paper(
    thresholds=200,
    threshold_epochs=2,
    picks=3,
    effort=PaperEffort(rows=50, annealing=Annealing(stages=2, steps=5)),
)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path) -> Run:
    for name in PRESETS:
        monkeypatch.setitem(PRESETS, name, TINY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tabveil", *map(str, words)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def files(tmp_path: Path) -> Path:
    codec = Codec(tv.Schema.from_dict(SMALL))
    codec.decode(random_table(codec.domain, 300, seed=0)).to_pandas().to_csv(
        tmp_path / "people.csv", index=False
    )
    codec.schema.save(tmp_path / "schema.yaml")
    return tmp_path


FIT = ("fit", "people.csv", "--schema", "schema.yaml", "--epsilon", "1", "-o", "release")


@pytest.mark.parametrize(
    ("shell", "typed"),
    [
        ("bash", {"COMP_WORDS": "tabveil sch", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "tabveil sch"}),
    ],
)
def test_the_tab_key_completes_a_command(shell: str, typed: dict[str, str]) -> None:
    asked = {**os.environ, "_TABVEIL_COMPLETE": f"complete_{shell}", **typed}
    program = Path(sys.executable).with_name("tabveil")
    completed = subprocess.run(
        [program], env=asked, capture_output=True, text=True, timeout=60
    ).stdout
    assert "schema" in completed and "sample" not in completed


def test_the_command_says_which_version_it_is(run: Run) -> None:
    assert run("--version").out == f"tabveil {version('tabveil')}\n"


def test_a_fit_with_the_epsilon_that_the_ledger_has_room_for_is_not_refused(
    run: Run, files: Path
) -> None:
    run("ledger", "new", "people.ledger", "--epsilon", "2")
    assert run(*FIT, "--ledger", "people.ledger").code == 0
    found = re.search(
        r"enough for one more fit with ε = ([\d.]+)", run("ledger", "show", "people.ledger").out
    )
    assert found and 1 < float(found.group(1)) < 2
    last = (
        "fit",
        "people.csv",
        "--schema",
        "schema.yaml",
        "--epsilon",
        found.group(1),
        "-o",
        "last",
    )
    assert run(*last, "--ledger", "people.ledger").code == 0


def test_fit_sample_evaluate_and_ledger_work_together(run: Run, files: Path) -> None:
    fitted = run(*FIT, "--target", "income")
    assert fitted.code == 0 and "(1, 1e-09)-differential privacy" in fitted.out
    assert run("sample", "release", "-n", "120", "-o", "synthetic.csv", "--seed", "1").code == 0
    assert len(pd.read_csv("synthetic.csv")) == 120
    assert run("sample", "release", "-n", "7", "-o", "synthetic.parquet").code == 0
    assert len(pd.read_parquet("synthetic.parquet")) == 7
    women = run(
        "sample",
        "release",
        "--where",
        "sex=F",
        "--where",
        "age=0..100",  # 300 rows are noise: of fewer ages, a release may know none
        "-o",
        "women.csv",
        "-n",
        "50",
    )
    assert women.code == 0 and "relaxed rows" in women.out
    chosen = pd.read_csv("women.csv")
    assert (
        (chosen["sex"] == "F").all() and chosen["age"].between(0, 100).all() and len(chosen) == 50
    )
    assert (
        "names no column" in run("sample", "release", "--where", "height=3", "-o", "none.csv").err
    )
    scores = run(
        "evaluate", "--real", "people.csv", "--test", "people.csv", "--synthetic", "synthetic.csv",
        "--schema", "schema.yaml", "--json",
    )  # fmt: skip
    assert scores.code == 0 and {"metric", "subject", "value", "reference", "private"} == set(
        json.loads(scores.out)[0]
    )
    ledger = json.loads(run("ledger", "show", "people.csv.ledger", "--json").out)
    assert 0.99 < ledger["epsilon_spent"] <= 1 + 1e-9 and ledger["relation"] == "add-remove"
    assert "Spent so far" in run("ledger", "show", "people.csv.ledger").out


def test_evaluate_says_that_it_is_not_private(run: Run, files: Path) -> None:
    shown = run(
        "evaluate", "--real", "people.csv", "--synthetic", "people.csv", "--schema", "schema.yaml"
    )
    assert shown.code == 0 and "NOT PRIVATE" in shown.err


def test_a_drafted_schema_has_to_be_filled_in(run: Run, files: Path) -> None:
    assert "TODO" in run("schema", "init", "people.csv", "-o", "draft.yaml").out
    refused = run("fit", "people.csv", "--schema", "draft.yaml", "--epsilon", "1", "-o", "release")
    assert refused.code == 1 and "TODO" in refused.err
    text = Path("draft.yaml").read_text()
    assert "TODO" in text and "'c'" not in text


def test_a_public_schema_can_be_used_at_once(run: Run, files: Path) -> None:
    assert run("schema", "init", "people.csv", "-o", "own.yaml", "--public").code == 0
    assert run("schema", "check", "people.csv", "--schema", "own.yaml").code == 0


def test_check_names_columns_and_rules_but_no_value(run: Run, files: Path) -> None:
    frame = pd.read_csv("people.csv")
    frame.loc[0, "city"] = "Zanzibar-4711"
    frame.loc[1, "age"] = 987654
    frame.to_csv("odd.csv", index=False)
    checked = run("schema", "check", "odd.csv", "--schema", "schema.yaml")
    assert checked.code == 1 and "city" in checked.out and "age" in checked.out
    assert "Zanzibar" not in checked.out and "987654" not in checked.out


def write(path: str, text: str) -> None:
    Path(path).write_text(text)


MISTAKES: dict[str, tuple[Callable[[], object], tuple, int, str]] = {
    "missing file": (lambda: None, ("fit", "nobody.csv", *FIT[2:]), 1, "nobody.csv"),
    "wrong extension": (
        lambda: write("people.xls", "a"),
        ("fit", "people.xls", *FIT[2:]),
        1,
        ".csv",
    ),
    "empty file": (lambda: write("empty.csv", ""), ("fit", "empty.csv", *FIT[2:]), 1, "empty"),
    "missing column": (
        lambda: write("thin.csv", "sex,city\nF,a\n"),
        ("fit", "thin.csv", *FIT[2:]),
        1,
        "job",
    ),
    "duplicate columns": (
        lambda: write("twice.csv", "sex,sex,city,job,income,employed,age,wage\n"),
        ("fit", "twice.csv", *FIT[2:]),
        1,
        "sex",
    ),
    "missing schema": (lambda: None, (*FIT[:3], "none.yaml", *FIT[4:]), 1, "none.yaml"),
    "epsilon zero": (lambda: None, (*FIT, "--epsilon", "0"), 1, "ε"),
    "epsilon negative": (lambda: None, (*FIT, "--epsilon", "-1"), 1, "ε"),
    "epsilon nan": (lambda: None, (*FIT, "--epsilon", "nan"), 1, "ε"),
    "epsilon no number": (lambda: None, (*FIT, "--epsilon", "much"), 2, "epsilon"),
    "delta one": (lambda: None, (*FIT, "--delta", "1"), 1, "δ"),
    "unknown target": (lambda: None, (*FIT, "--target", "incom"), 1, "income"),
    "numeric target": (lambda: None, (*FIT, "--target", "age"), 1, "age"),
    "output exists": (lambda: os.mkdir("release"), FIT, 1, "exists"),
    "output folder missing": (lambda: None, (*FIT[:-1], "no/where/release"), 1, "mkdir"),
    "unknown preset": (lambda: None, (*FIT, "--preset", "best"), 2, "preset"),
    "unknown option": (lambda: None, (*FIT, "--epsilom", "1"), 2, "epsilom"),
    "not a release": (lambda: os.mkdir("folder"), ("sample", "folder"), 1, "release"),
    "ledger is none": (
        lambda: write("odd.ledger", "hello\n"),
        (*FIT, "--ledger", "odd.ledger"),
        1,
        "odd.ledger",
    ),
    "ledger missing": (lambda: None, ("ledger", "show", "none.ledger"), 1, "none.ledger"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_clear_line_and_nothing_is_written(
    run: Run, files: Path, mistake: str
) -> None:
    prepare, words, code, clue = MISTAKES[mistake]
    prepare()
    before = sorted(Path().rglob("*"))
    answer = run(*words)
    assert answer.code == code
    assert clue in answer.err and "Traceback" not in answer.err
    if code == 1:
        message, *hint = answer.err.strip().splitlines()
        assert hint and hint[-1].startswith("Hint: ") and len(message) < 300
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("count", [0, -3])
def test_no_rows_are_refused(run: Run, files: Path, count: int) -> None:
    assert run(*FIT).code == 0
    answer = run("sample", "release", "-n", count, "-o", "none.csv")
    assert answer.code == 1 and "rows" in answer.err and not Path("none.csv").exists()


def test_samples_are_not_overwritten(run: Run, files: Path) -> None:
    assert run(*FIT).code == 0
    write("taken.csv", "mine")
    assert run("sample", "release", "-o", "taken.csv").code == 1
    assert Path("taken.csv").read_text() == "mine"


def test_a_spent_ledger_refuses_with_code_3(run: Run, files: Path) -> None:
    assert run("ledger", "new", "data.ledger", "--epsilon", "1").code == 0
    assert run(*FIT, "--ledger", "data.ledger").code == 0
    again = run(*FIT[:-1], "second", "--ledger", "data.ledger")
    assert again.code == 3 and "left" in again.err and not Path("second").exists()


def test_another_relation_cannot_use_the_same_ledger(run: Run, files: Path) -> None:
    assert run(*FIT, "--ledger", "data.ledger").code == 0
    again = run(*FIT[:-1], "second", "--ledger", "data.ledger", "--neighbours", "substitute")
    assert again.code == 1 and "substitute" in again.err


def test_a_full_disk_leaves_nothing_half_written_and_the_ledger_true(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "release/table.npz")

    monkeypatch.setattr("numpy.savez_compressed", full)
    answer = run(*FIT)
    assert answer.code == 1 and "No space left" in answer.err
    assert not Path("release").exists() and not list(Path().glob(".release*"))
    assert Ledger.read("people.csv.ledger").spent == tv.Budget(1, 1e-9).rho


def test_an_interrupted_fit_says_what_stays_spent_and_goes_on_when_asked_again(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tabveil.release.Release.save", interrupt)
        answer = run(*FIT)
    assert answer.code == 130 and "stays spent" in answer.err and not Path("release").exists()
    spent = Ledger.read("people.csv.ledger").spent
    answer = run(*FIT)
    assert answer.code == 0 and "Went on where an earlier run stopped" in answer.out
    assert Ledger.read("people.csv.ledger").spent == spent
    assert not list(Path().glob("*.journal"))


def test_a_ctrl_c_is_heard_although_python_drops_what_is_raised_while_it_clears_up() -> None:
    def clear_up(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    others = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark has one of its own
    try:
        with pytest.raises(Interrupted), progress_bar(Console()) as watch:
            gc.callbacks.append(clear_up)
            try:
                gc.collect()
            finally:
                gc.callbacks.remove(clear_up)
            watch(Status.reading(0.5))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, others)


def test_an_unforeseen_error_shows_its_type_and_no_content(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("cell 4711-secret")

    monkeypatch.setattr("tabveil.fitting.synthesizer.RAPpp.fit", fail)
    answer = run(*FIT)
    assert answer.code == 1 and "ValueError" in answer.err and "4711" not in answer.err
    monkeypatch.setenv("TABVEIL_DEBUG", "1")
    with pytest.raises(ValueError, match="4711"):  # the owner asked to see it
        run(*FIT)


def test_every_command_explains_itself_with_an_example(run: Run) -> None:
    for words in cli.COMMANDS:
        shown = run(*words.split(), "--help")
        assert shown.code == 0 and f"Example: tabveil {words}" in " ".join(shown.out.split())


def test_the_demo_never_overwrites_and_needs_no_package_for_pages(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(module: str) -> None:
        raise ImportError(module)

    for folder in ("demo", "demo-2"):
        answer = run("demo", "-o", "demo", "--rows", "1000")
        assert answer.code == 0 and f"{folder}/synthetic.csv" in answer.out
        made = {p.name for p in Path(folder).iterdir()}
        assert made >= {"synthetic.csv", "release", "schema.yaml", "train.csv"}
        assert ("report.html" in made) == ("report.html" in answer.out) == (folder == "demo")
        monkeypatch.setattr("tabveil.machine.packages.import_module", absent)  # the second time
    assert "tabveil[report]" in answer.out
    refused = run("demo", "-o", "third", "--epsilon", "0")
    assert refused.code == 1 and not Path("third").exists()


# -- pages, plans and logs -------------------------------------------------------------------------


def test_a_report_is_written_once_and_the_internal_one_names_itself(run: Run, files: Path) -> None:
    assert run(*FIT, "--log-file", "fit.log").code == 0
    assert "round 1 of" in Path("fit.log").read_text() and os.stat("fit.log").st_mode & 0o077 == 0
    made = run("report", "release")
    assert made.code == 0 and "report.html" in made.out
    assert "Each column" in Path("report.html").read_text(encoding="utf-8")
    assert run("report", "release").code == 1  # nothing is overwritten
    inside = run("report", "release", "--internal", "--real", "people.csv")
    assert inside.code == 0 and "NOT PRIVATE" in inside.err
    assert "NOT PRIVATE" in Path("internal-NOT-PRIVATE.html").read_text(encoding="utf-8")


def test_a_report_shows_bands_from_replicates_if_asked(run: Run, files: Path) -> None:
    assert run(*FIT).code == 0
    assert run("report", "release", "--replicates", "3").code == 0
    assert "What replicates leave open" in Path("report.html").read_text(encoding="utf-8")
    refused = run("report", "release", "--replicates", "1", "-o", "other.html")
    assert refused.code == 1 and "take two or more" in refused.err


def test_real_rows_are_shown_on_the_internal_page_only(run: Run, files: Path) -> None:
    for words in (("--real", "people.csv"), ("--internal",)):
        refused = run("report", "release", *words)
        assert refused.code == 1 and "--internal --real TRAIN together" in refused.err


def test_a_plan_needs_a_schema_and_no_data(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRESETS, "default", Default())
    shown = run("plan", "--schema", "schema.yaml", "--epsilon", "1", "--rows", "5000")
    assert shown.code == 0 and "Predicted mean error" in shown.out
    found = json.loads(run("plan", "--schema", "schema.yaml", "--epsilon", "1", "--json").out)
    assert found["rows"] == 10_000 and 0 < found["predicted_error"] < 1
    wanted = run(
        "plan", "--schema", "schema.yaml", "--want-error", "0.1", "--rows", "50000", "--json"
    )
    assert json.loads(wanted.out)["predicted_error"] <= 0.1
    assert run("plan", "--schema", "schema.yaml", "--epsilon", "1", "-o", "plan.html").code == 0
    assert "Plan of a release" in Path("plan.html").read_text(encoding="utf-8")
    paper = run("plan", "--schema", "schema.yaml", "--epsilon", "1", "--preset", "paper", "--json")
    assert json.loads(paper.out)["predicted_error"] is None
    refused = run("plan", "--schema", "schema.yaml")
    assert refused.code == 1 and "--want-error" in refused.err


def test_a_first_line_that_looks_like_data_is_asked_about_and_never_quoted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "years.csv").write_text("CANARY,2019\n1,2\n")
    refused = run("schema", "init", "years.csv")
    assert (
        refused.code == 1 and "--header" in refused.err and not (tmp_path / "schema.yaml").exists()
    )
    for more in ([], ["--epsilon", "1"], ["--public"]):
        said = run("schema", "init", "years.csv", *more)
        assert said.code == 1 and "CANARY" not in said.out + said.err
    assert not list(tmp_path.glob("*.ledger"))
    assert run("schema", "init", "years.csv", "--header", "-o", "said.yaml").code == 0
    assert "CANARY:" in (tmp_path / "said.yaml").read_text()
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    for answer in (False, True):
        monkeypatch.setattr("typer.confirm", lambda question, a=answer: asked.append(question) or a)
        assert run("schema", "init", "years.csv", "-o", f"{answer}.yaml").code == int(not answer)
    assert len(asked) == 2 and "CANARY" not in "".join(asked)


def test_replicates_are_drawn_whole_or_not_at_all(run: Run, files: Path) -> None:
    assert run(*FIT).code == 0
    before = Path("people.csv.ledger").read_bytes()
    made = run("replicate", "release", "-m", "3", "-o", "made", "--seed", "1")
    assert made.code == 0 and "Wrote 3 tables" in made.out and "combine all" in made.out
    assert sorted(path.name for path in Path("made").iterdir()) == [
        "README.txt",
        "replicate-01.csv",
        "replicate-02.csv",
        "replicate-03.csv",
        "replicates.json",
    ]
    again = run("replicate", "release", "-m", "3", "-o", "made")
    assert again.code == 1 and "exists already" in again.err
    few = run("replicate", "release", "-m", "1", "-o", "one")
    assert few.code == 1 and "two or more" in few.err and not Path("one").exists()
    assert Path("people.csv.ledger").read_bytes() == before
