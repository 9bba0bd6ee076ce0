"""Every outside attack succeeds where there is no noise, and stays within ε where there is.

A build that keeps its promise fails a test here with a chance of at most one in a million each: the
bounds that decide are that sure."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabveil.audit.attacks import (
    ATTACKS,
    BUILDS,
    Counts,
    Density,
    EventInCounts,
    EventInPicks,
    Silence,
)
from tabveil.audit.attacks.counts import evidence
from tabveil.audit.attacks.density import SCHEMA, epsilon_of_guesses, people, suspicion
from tabveil.audit.estimator import SHOWN
from tabveil.privacy import OpenDPNoise

SEX = {"type": "column", "column": "sex", "classes": False, "parts": ["F", "M"]}
ILL = {"type": "column", "column": "ill", "classes": True, "parts": ["no", "yes"]}
HALF_A_CELL = 0.5  # where the evidence for and against someone cancels


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_breaks_the_build_without_noise(name: str) -> None:
    finding = ATTACKS[name](BUILDS["without noise"])()
    assert not finding.holds, finding


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_stays_within_epsilon_on_the_real_build(name: str) -> None:
    finding = ATTACKS[name](BUILDS["real"])()
    assert finding.holds, finding


def test_copied_rows_are_the_most_suspicious() -> None:
    random = np.random.default_rng(0)
    members, others, reference = (people(50, random) for _ in range(3))
    both = pd.concat([members, others], ignore_index=True)
    scores = suspicion(both, members, reference, SCHEMA)
    assert scores[:50].min() > scores[50:].max()


def test_guesses_that_a_coin_could_make_prove_nothing() -> None:
    assert epsilon_of_guesses(50, 100, SHOWN) == 0
    likely = 1000 * np.e / (1 + np.e)  # what ε = 1 allows on average
    assert 0.8 < epsilon_of_guesses(round(likely), 1000, SHOWN) < 1


def test_silence_says_what_it_is() -> None:
    noise = Silence()
    counts, scores = np.array([3, 0, 7]), np.array([1, 5, 5, 2])
    assert not noise.private
    assert noise.gaussian(counts, 10.0).tolist() == counts.tolist()
    assert noise.top(scores, 3, 10.0).tolist() == [1, 2, 3]


def ages(*parts: list[int] | str) -> dict:
    return {"type": "column", "column": "age", "classes": False, "parts": list(parts)}


def release(folder: Path, measurements: list[dict]) -> Path:
    columns = {
        "age": {"type": "numerical", "min": 0, "max": 99},
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "ill": {"type": "categorical", "values": ["no", "yes"]},
    }
    (folder / "schema.json").write_text(json.dumps({"columns": columns}))
    (folder / "measurements.json").write_text(json.dumps(measurements))
    return folder


@pytest.mark.parametrize(
    ("family", "sides", "exact", "here"),
    [
        ("row count", [], 3, ()),
        ("cross-tables", [SEX], [2, 1], (0,)),
        ("cross-tables", [SEX, ages([0, 39], [40, 99])], [[1, 1], [0, 1]], (0, 1)),
        (
            "cross-tables",
            [ILL, ages([0, 39], [40, 99]), SEX],
            [[[1, 0], [0, 1]], [[0, 0], [1, 0]]],
            (1, 1, 0),
        ),
        ("distributions", [ages([30, 30], [31, 50])], [1, 1], (1,)),
    ],
)
@pytest.mark.parametrize("present", [False, True])
def test_the_measurements_of_a_release_tell_in_which_cell_someone_is(
    family: str, sides: list[dict], exact: list | int, here: tuple, present: bool, tmp_path: Path
) -> None:
    known = pd.DataFrame({"age": [30, 50, 60], "sex": ["F", "F", "M"], "ill": ["no", "yes", "no"]})
    target = pd.DataFrame({"age": [45], "sex": ["F"], "ill": ["yes"]})
    counts = np.array(exact)
    counts[here] += present
    measured = {
        "family": family,
        "standard_error": 2.0,
        "sides": sides,
        "counts": counts.tolist(),
    }
    expected = (present - HALF_A_CELL) / 2.0**2
    assert evidence(release(tmp_path, [measured]), known, target) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("family", "side"),
    [
        ("projected histograms", {"type": "line", "weights": {"age": 0.1}, "edges": [1.0]}),
        ("distributions", ages([0, 9], [90, 99])),
        ("distributions", ages("missing", [90, 99])),
        ("cross-tables", {**SEX, "parts": ["F × M", "M"]}),
        ("cross-tables", ages([0, 45], [45, 99])),
        ("cross-tables", ages([0, 30], [30, 99])),
    ],
)
def test_what_cannot_be_read_or_does_not_count_the_target_says_nothing(
    family: str, side: dict, tmp_path: Path
) -> None:
    known = pd.DataFrame({"age": [30], "sex": ["F"], "ill": ["no"]})
    target = pd.DataFrame({"age": [45], "sex": ["F"], "ill": ["yes"]})
    measured = {"family": family, "standard_error": 2.0, "sides": [side], "counts": [9, 9]}
    assert evidence(release(tmp_path, [measured]), known, target) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [
        Counts(OpenDPNoise, 10.0, 400),
        Density(OpenDPNoise, 2.0, 400),
        EventInCounts(OpenDPNoise, 10.0, 400_000),
        EventInPicks(OpenDPNoise, 4.0, 40_000),
    ],
    ids=lambda attack: attack.name,
)
def test_longer_attacks_stay_within_epsilon_too(
    attack: Counts | Density | EventInCounts | EventInPicks,
) -> None:
    finding = attack()
    assert finding.holds, finding
