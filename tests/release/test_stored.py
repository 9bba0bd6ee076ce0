"""Releases of version 0.1 can still be read, and nothing that they said is lost."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tabveil as tv
from tabveil.release.format_1 import measurement_from_dict
from tabveil.report import page
from tabveil.schema import Schema
from tabveil.tables.placement import Interval
from tabveil.tables.sides import AlongLine, ByColumn, InWords, UnderBounds
from tabveil.tables.table import Codec, Domain

STORED = sorted((Path(__file__).parent / "stored").iterdir())


@pytest.fixture(params=STORED, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


def said(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "measurements.json").read_text(encoding="utf-8"))


# -- whole releases --------------------------------------------------------------------------------


def test_a_release_of_version_0_1_can_be_sampled(folder: Path) -> None:
    rows = tv.load(folder).sample(300, seed=0)
    assert len(rows) == 300 and not rows.drop_duplicates().empty


def test_it_shows_the_words_and_counts_that_its_file_holds(folder: Path) -> None:
    lines = [
        (m["family"], m["query"], cell, count, m["standard_error"])
        for m in said(folder)
        for cell, count in zip(m["cells"], m["counts"], strict=True)
    ]
    assert list(tv.load(folder).measured().itertuples(index=False, name=None)) == lines


def test_all_its_words_are_read_as_data_whatever_signs_are_in_its_names(folder: Path) -> None:
    sides = [side for m in tv.load(folder).measurements for side in m.sides]
    assert sides and not any(isinstance(side, InWords) for side in sides)


def test_its_page_is_made(folder: Path) -> None:
    html = page(tv.load(folder)).html()
    assert "What was measured" in html


def test_saved_anew_it_is_of_the_latest_format_and_says_the_same(
    folder: Path, tmp_path: Path
) -> None:
    old = tv.load(folder)
    old.save(tmp_path / "anew")
    about = json.loads((tmp_path / "anew" / "release.json").read_text(encoding="utf-8"))
    assert about["format"] == 3 and "placement" in about and "scale" not in about
    with np.load(tmp_path / "anew" / "table.npz") as arrays:
        assert set(arrays.files) == {"probabilities", "positions", "slack"}
    new = tv.load(tmp_path / "anew")
    assert new.measurements == old.measurements
    assert new.sample(50, seed=3).equals(old.sample(50, seed=3))


def with_format(folder: Path, place: Path, version: object) -> Path:
    shutil.copytree(folder, place)
    about = json.loads((place / "release.json").read_text(encoding="utf-8"))
    (place / "release.json").write_text(json.dumps({**about, "format": version}))
    return place


def test_a_newer_format_is_refused_in_one_line(tmp_path: Path) -> None:
    newer = with_format(STORED[0], tmp_path / "newer", 5)
    (newer / "measurements.json").write_text('"nothing that we know"')
    with pytest.raises(tv.InvalidInput) as refusal:
        tv.load(newer)
    assert refusal.value.message == "The release has format 5, this version reads 1, 2, 3 and 4."


@pytest.mark.parametrize("version", [None, True, "2", 2.0, [2], {}])
def test_a_format_that_is_no_number_is_damage(tmp_path: Path, version: object) -> None:
    with pytest.raises(tv.InvalidInput, match="damaged"):
        tv.load(with_format(STORED[0], tmp_path / "odd", version))


# -- words turned back into data -------------------------------------------------------------------

COLUMNS = {
    "a": {"type": "categorical", "values": ["x × y", "z"]},
    "a × b": {"type": "boolean"},
    "b": {"type": "boolean"},
    "n": {"type": "numerical", "min": 0, "max": 99, "special_values": [7], "nullable": True},
    "m": {"type": "numerical", "min": -9, "max": 9},
    "t": {"type": "boolean"},
}


@pytest.fixture(scope="module")
def domain() -> Domain:
    return Codec(Schema.from_dict({"columns": COLUMNS, "targets": ["t"]})).domain


def read(domain: Domain, family: str, query: str, *cells: str) -> Any:
    content = {"family": family, "query": query, "standard_error": 2.0, "cells": list(cells)}
    found = measurement_from_dict({**content, "counts": list(range(len(cells)))}, domain)
    assert (found.query, found.cells) == (query, list(cells))
    assert found.counts.ravel().tolist() == list(range(len(cells)))
    return found


def test_runs_and_special_values_become_numbers_and_labels(domain: Domain) -> None:
    found = read(domain, "distributions", "n", "0 to 49.5", "50", "special 7", "missing")
    parts = (Interval(0, 49.5), Interval(50, 50), "special 7", "missing")
    assert found.sides == (ByColumn("n", parts),)


def test_classes_come_first_in_the_cells_and_last_in_the_words(domain: Domain) -> None:
    cells = [
        f"{t} × {n} × {m}"
        for t in ("false", "true")
        for n in ("special 7", "missing", "0 to 99")
        for m in ("-9 to 0", "0 to 9")
    ]
    found = read(domain, "cross-tables", "n × m × t", *cells)
    assert [side.column for side in found.sides] == ["t", "n", "m"]
    assert [side.classes for side in found.sides] == [True, False, False]
    assert found.counts.shape == (2, 3, 2)


def test_neighbouring_runs_with_the_same_words_stay_apart(domain: Domain) -> None:
    cells = [f"{n} × {m}" for n in ("special 7", "missing", "3", "3") for m in (1, 1, 2)]
    assert read(domain, "cross-tables", "n × m", *cells).counts.shape == (4, 3)


def test_lines_and_bounds_are_read_to_the_decimals_they_were_written_with(domain: Domain) -> None:
    line, by_t = "-0.439·n +1.200·m", ByColumn("t", ("false", "true"), classes=True)
    weights = {"n": -0.439, "m": 1.2}
    cells = [f"{bin_} × {t}" for bin_ in ("up to -1.000", "above -1.000") for t in by_t.parts]
    found = read(domain, "projected histograms", f"{line}, by t", *cells)
    assert found.sides == (AlongLine(weights, (-1.0,)), by_t)
    found = read(domain, "linear thresholds", f"{line} ≤ 0.500, by t", "false", "true")
    assert found.sides == (UnderBounds(((weights, 0.5),)), by_t)
    assert len(read(domain, "linear thresholds", f"{line} ≤ 0.500, by all rows", "").sides) == 1


@pytest.mark.parametrize(
    ("family", "query", "cells"),
    [
        ("cross-tables", "a", ["x", "y", "z"]),
        ("cross-tables", "b × n", ["false × 1", "true × 2"]),
        ("cross-tables", "n × m", ["1"]),
        ("cross-tables", "m × b", ["1 × false", "1 × true"]),
        ("cross-tables", "nobody", ["1"]),
        ("cross-tables", "", [""]),
        ("distributions", "nobody", ["1"]),
        ("linear thresholds", "+0.100·nobody ≤ 0.100, by t", ["false", "true"]),
        ("linear thresholds", "n ≤ 0.100", ["all"]),
        ("projected histograms", "+0.100·n, by t", ["up to 0.1", "above 0.1"]),
        ("a family of yours", "all rows", ["all"]),
    ],
)
def test_words_that_do_not_tell_are_kept_as_they_are(
    domain: Domain, family: str, query: str, cells: list[str]
) -> None:
    found = read(domain, family, query, *cells)
    assert found.sides == (InWords(query, tuple(cells)),)


@pytest.mark.parametrize(
    "change",
    [
        {"family": 1}, {"query": None}, {"cells": ["a"]}, {"cells": [1, 2]}, {"counts": [1, 2.0]},
        {"counts": [1, True]}, {"counts": [1, 10**30]}, {"standard_error": -1.0},
        {"standard_error": "1"}, {"cells": [], "counts": []}, {"more": 1},
    ],
)  # fmt: skip
def test_what_is_no_measurement_is_refused(domain: Domain, change: dict[str, Any]) -> None:
    right = {"family": "categories", "query": "b", "standard_error": 2.0}
    right |= {"cells": ["false", "true"], "counts": [4, 5]}
    measurement_from_dict(right, domain)
    with pytest.raises((ValueError, OverflowError)):
        measurement_from_dict({**right, **change}, domain)
