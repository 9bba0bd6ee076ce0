"""Cards say what the release says, and those whom they are for accept them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

import tabveil as tv
from samples import SMALL, random_table
from tabveil.audit.attacks import Silence
from tabveil.cards import About, Subject, write_cards
from tabveil.cards.about import OPEN, questions
from tabveil.cards.registry import record
from tabveil.cards.review import LIMIT, layers
from tabveil.cli import app
from tabveil.datasets import DATASETS
from tabveil.errors import InvalidInput
from tabveil.fitting.synthesizer import fit_with_noise
from tabveil.release.output import write
from tabveil.tables.table import Codec

CHECKER = Path(__file__).parent / "registry" / "scripts" / "check.py"
# Shaped like the survey of New York that the benchmarks use: codes, whole numbers, two targets.
NEW_YORK = tv.Schema.from_dict(
    {
        "columns": {
            **{
                name: {"type": "categorical", "values": [str(code) for code in range(-1, codes)]}
                for name, codes in {"COW": 9, "SCHL": 25, "MAR": 6, "RAC1P": 10, "ENG": 5}.items()
            },
            "PINCP50": {"type": "categorical", "values": ["no", "yes"]},
            "EMP": {"type": "categorical", "values": ["no", "yes"]},
            "AGEP": {"type": "numerical", "min": 16, "max": 99, "decimals": 0},
            "WAGP": {"type": "numerical", "min": 0, "max": 999999, "decimals": 0},
        },
        "targets": ["PINCP50", "EMP"],
    }
)
ABOUT = {
    "name": "People of Aarau, 2026",
    "curators": ["Office of Statistics"],
    "description": "One row per resident.\n\nWhat they earn, and where they live.",
    "intended_use": "Teaching, and writing code before access to the real table is granted.",
    "region": "Switzerland",
    "published": "2026-03-31",
    "justification": "ε = 1 was weighed by the board: incomes are sensitive, the table is small.",
    "preprocessing": "None; settings were not tuned on the rows.",
    "license": "CC-BY-4.0",
    "authors": ["A. Person"],
}


def census() -> tv.Release:
    data = DATASETS["census"]
    return tv.RAPpp(data.schema(), 1.0, preset="structure").fit(data.frame(2000, 0)).release_


def new_york() -> tv.Release:
    codec = Codec(NEW_YORK)
    rows = codec.decode(random_table(codec.domain, 500, seed=0))
    return tv.RAPpp(NEW_YORK, 0.5, preset="structure", neighbours="substitute").fit(rows).release_


def bought() -> tv.Release:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": random.integers(18, 90, 9000), "town": random.choice(["a", "b"], 9000)}
    )
    schema = tv.Schema.infer(frame, epsilon=1.0)
    return tv.RAPpp(schema, 1.0, preset="structure").fit(frame).release_


RELEASES = {"demo": census, "New York": new_york, "a bought schema": bought}


@pytest.fixture(scope="module", params=RELEASES)
def carded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """A release with all its cards beside it."""
    place = tmp_path_factory.mktemp("carded")
    release = RELEASES[request.param]()
    release.save(place / "release")
    write(release.sample(50, seed=0, kind="arrow"), place / "rows.csv")
    subject = Subject(
        tv.load(place / "release"), place / "release", About(**ABOUT), place / "rows.csv"
    )
    write_cards(subject, place / "cards")
    return subject


def cards_of(subject: Subject) -> Path:
    return subject.folder.parent / "cards"


def test_the_registrys_own_checker_accepts_the_record(carded: Subject) -> None:
    [file] = cards_of(carded).glob("*.yaml")
    ended = subprocess.run(
        [sys.executable, str(CHECKER), "--yaml_paths", str(file)], capture_output=True, text=True
    )
    assert "No errors!" in ended.stdout, ended.stdout + ended.stderr


def test_the_checker_would_have_noticed(carded: Subject, tmp_path: Path) -> None:
    broken = record(carded)
    broken["deployment"]["basic"]["publication_date"] = "last week"
    (tmp_path / "broken.yaml").write_text(yaml.safe_dump(broken), encoding="utf-8")
    command = [sys.executable, str(CHECKER), "--yaml_paths", str(tmp_path / "broken.yaml")]
    assert subprocess.run(command, capture_output=True, text=True).returncode == 1


def test_the_record_says_what_the_release_says(carded: Subject) -> None:
    said = record(carded)["deployment"]
    privacy = carded.release.privacy
    assert said["privacy_loss"]["privacy_parameters"]["epsilon"] == privacy["epsilon"]
    assert said["privacy_loss"]["privacy_parameters"]["delta"] == privacy["delta"]
    for item in privacy["assumed_public"]:
        assert item in said["dp_variant"]["unprotected_quantities"]
    found = "found in the data" in said["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert found == bool(privacy["schema"])


# Others' packages warn as they load, about themselves.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")
def test_mlcroissant_accepts_the_metadata_and_reads_the_rows(
    carded: Subject, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import mlcroissant

    for file in (*carded.folder.iterdir(), carded.data, cards_of(carded) / "croissant.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    dataset = mlcroissant.Dataset(jsonld=tmp_path / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors and not dataset.metadata.ctx.issues.warnings
    assert "not standard" not in caplog.text
    assert dataset.metadata.personal_sensitive_information
    rows = list(dataset.records("rows"))
    assert len(rows) == 50
    assert {name.removeprefix("rows/") for name in rows[0]} == set(pd.read_csv(carded.data).columns)


def test_the_review_page_answers_every_layer_or_leaves_it_to_a_person(carded: Subject) -> None:
    page = (cards_of(carded) / "review.html").read_text(encoding="utf-8")
    assert "Still open" in page and not re.findall(r'(?:src|href)="https?:', page)
    assert "questions that only a person can answer" in page and "answers: one_row" in page
    for name in carded.release.schema.columns:
        assert f">{name}<" in page  # what is in the table, column by column
    asked = [name for layer in layers(carded) for name in layer.open]
    assert len(asked) == len(set(asked)) and set(asked) <= set(OPEN)
    for layer in layers(carded):
        assert layer.name in page and (layer.met or layer.open)
    for name in OPEN:
        assert OPEN[name].split("?")[0] in page.replace("&#39;", "'")
        assert f"answers: {name}" in page  # where the answer goes


def test_what_is_not_protected_is_not_said_to_be_met(carded: Subject) -> None:
    page = (cards_of(carded) / "review.html").read_text(encoding="utf-8")
    limits = [question for layer in layers(carded) for question, _, _ in layer.limits]
    assert page.count(f">{LIMIT}<") == len(limits) > 0
    assert not any("not protected" in how for layer in layers(carded) for _, how, _ in layer.met)


def test_answers_close_questions(carded: Subject, tmp_path: Path) -> None:
    answers = {name: f"answered {name}" for name in OPEN}
    about = About(**{**ABOUT, "answers": answers})
    write_cards(Subject(carded.release, carded.folder, about), tmp_path / "cards")
    page = (tmp_path / "cards" / "review.html").read_text(encoding="utf-8")
    assert "Still open" not in page and "[open," not in page and ">[open]<" not in page
    assert all(answer in page for answer in answers.values())
    assert "recordSet" not in json.loads((tmp_path / "cards" / "croissant.json").read_text())


def test_all_questions_are_in_the_file_to_fill_in_and_it_can_be_read_back(tmp_path: Path) -> None:
    empty = yaml.safe_load(questions())
    assert set(empty) == set(About.model_fields) and set(empty["answers"]) == set(OPEN)
    filled = {**empty, **ABOUT, "answers": {"bias": "none known", "access": ""}}
    (tmp_path / "about.yaml").write_text(yaml.safe_dump(filled, allow_unicode=True), "utf-8")
    about = About.load(tmp_path / "about.yaml")
    assert about.name == ABOUT["name"] and about.answers == {"bias": "none known"}


def test_answers_stay_as_they_were_written(tmp_path: Path) -> None:
    text = yaml.safe_dump({**ABOUT, "answers": {}}, allow_unicode=True).replace("answers: {}", "")
    said = "version: 1.0\nanswers:\n  one_row: no\n  other_releases: 2\n  consulted: 2026-03-31\n"
    (tmp_path / "about.yaml").write_text(text + said, encoding="utf-8")
    about = About.load(tmp_path / "about.yaml")
    assert about.version == "1.0"
    assert about.answers == {"one_row": "no", "other_releases": "2", "consulted": "2026-03-31"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": "", "region": None}, "does not answer yet: name, region"),
        ({"published": "soon"}, "published cannot be used"),
        ({"sector": "Fishing"}, "sector cannot be used"),
        ({"colour": "blue"}, "answers colour, which nobody asks"),
        (
            {"answers": {"anonymus": "yes"}},
            "answers anonymus, which nobody asks.\nHint: .*anonymous",
        ),
        ({"answers": {"bias": ["old", "young"]}}, "answers.bias cannot be used"),
    ],
)
def test_what_is_missing_is_asked_for(change: dict, problem: str, tmp_path: Path) -> None:
    (tmp_path / "about.yaml").write_text(yaml.safe_dump({**ABOUT, **change}), encoding="utf-8")
    with pytest.raises(InvalidInput, match=problem):
        About.load(tmp_path / "about.yaml")


def test_the_command_asks_first_and_then_writes(carded: Subject, tmp_path: Path) -> None:
    run, release = CliRunner().invoke, str(carded.folder)
    asked, about = tmp_path / "about.yaml", tmp_path / "filled.yaml"
    assert run(app, ["card", release, "--questions", str(asked)]).exit_code == 0
    refused = run(app, ["card", release, "--about", str(asked), "-o", str(tmp_path / "cards")])
    assert isinstance(refused.exception, InvalidInput) and not (tmp_path / "cards").exists()
    assert isinstance(run(app, ["card", release]).exception, InvalidInput)
    about.write_text(yaml.safe_dump(ABOUT), encoding="utf-8")
    done = run(app, ["card", release, "--about", str(about), "-o", str(tmp_path / "cards")])
    assert done.exit_code == 0 and "review.html" in done.output.replace("\n", "")


def test_no_card_is_written_for_a_release_with_seeded_noise(tmp_path: Path) -> None:
    schema = tv.Schema.from_dict(SMALL)
    codec = Codec(schema)
    rows = codec.decode(random_table(codec.domain, 50, seed=0))
    model = tv.RAPpp(schema, 1.0, preset="structure")
    release = fit_with_noise(model, rows, Silence()).release_
    with pytest.raises(InvalidInput, match="NOT PRIVATE"):
        Subject(release, tmp_path, About(**ABOUT))
