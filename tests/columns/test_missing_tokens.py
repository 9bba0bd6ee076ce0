"""Signs that stand for a missing cell are read as missing from every source, and written back."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tabveil as tv
from odd_cells import LEARNT, encoded
from tabveil.columns import RULES
from tabveil.errors import InvalidInput
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.release.output import write
from tabveil.schema import Schema
from tabveil.sources.checking import check
from tabveil.tables.table import Codec

ONE_STEP = Annealing(8.0, stages=1, steps=1, tolerance=0.0)
QUICK = Default(rounds=1, effort=Effort(rows=20, between_rounds=ONE_STEP, at_the_end=ONE_STEP))

SURVEY = Schema.from_dict(
    {
        "missing": ["N", "", -9],
        "columns": {
            "income": {"type": "numerical", "min": 0, "max": 99, "decimals": 0, "nullable": True},
            "degree": {"type": "categorical", "values": [1, 2, 3], "nullable": True},
            "sex": {"type": "categorical", "values": [1, 2]},
            "born": {"type": "date", "min": "1990-01-01", "max": "2000-01-01", "nullable": True},
            "hours": {"type": "numerical", "min": 0, "max": 9, "decimals": 0, "missing": [-9]},
        },
    }
)
CELLS = pd.DataFrame(
    {
        "income": ["12", "N", "", "-9", "-9.0"],
        "degree": ["1", "N", "2", "-9", ""],
        "sex": ["1", "2", "2", "1", "1"],
        "born": ["1995-05-05", "N", "-9", "1999-01-01", ""],
        "hours": ["-9", "5", "", "0", "9"],
    }
)
EMPTY = CELLS.replace({"N": "", "-9": "", "-9.0": ""})


@cache
def fitted() -> tv.RAPpp:
    rows = pd.concat([CELLS] * 40, ignore_index=True)
    return tv.RAPpp(SURVEY, 10.0, preset=QUICK).fit(rows)


def as_source(name: str, folder: Path) -> object:
    table = pa.Table.from_pandas(CELLS, preserve_index=False)
    file = folder / name
    match name:
        case "pandas":
            return CELLS
        case "pandas categories":
            return CELLS.astype("category")
        case "polars":
            return pl.from_pandas(CELLS)
        case "arrow":
            return table
        case "rows.csv":
            CELLS.to_csv(file, index=False)
        case "rows.parquet":
            pa.parquet.write_table(table, file)
        case "rows.feather":
            pa.feather.write_feather(table, file)
    return file


SOURCES = [
    "pandas", "pandas categories", "polars", "arrow", "rows.csv", "rows.parquet", "rows.feather",
]  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_signs_are_missing_cells_in_every_kind_of_table(name: str, tmp_path: Path) -> None:
    empty = encoded(EMPTY, SURVEY)
    assert (encoded(as_source(name, tmp_path), SURVEY) == empty).all()


def test_a_number_is_a_sign_however_it_is_stored() -> None:
    schema = Schema(columns={"x": {"type": "numerical", "min": 0, "max": 9, "missing": [-9]}})
    for cells in ([-9, 3], [-9.0, 3.0], ["-9", "3"], [" -9", "3"]):
        assert encoded(pd.DataFrame({"x": cells}), schema)[:, 0].tolist() == [1, 0]


def test_what_came_as_a_sign_goes_out_as_the_first_one() -> None:
    synthetic = fitted().sample(300, seed=0)
    for name in ("income", "degree", "born"):
        assert "N" in set(synthetic[name]) and not synthetic[name].isna().any()
        assert "" not in set(synthetic[name])
    assert set(synthetic["sex"]) <= {1, 2}
    assert synthetic["hours"].dtype == "int64" and -9 in set(synthetic["hours"])
    assert check(synthetic, SURVEY) == []


def test_a_file_of_synthetic_rows_is_read_as_what_it_was(tmp_path: Path) -> None:
    release = fitted().release_
    table = release.sample(200, seed=1, kind="arrow")
    for name in ("rows.csv", "rows.parquet", "rows.feather"):
        write(table, tmp_path / name)
        assert (encoded(tmp_path / name, SURVEY) == encoded(table, SURVEY)).all()
    release.save(tmp_path / "release")
    again = tv.load(tmp_path / "release")
    assert again.schema == SURVEY
    assert again.sample(200, seed=1, kind="arrow").equals(table)


def test_categories_keep_the_sign_as_a_level() -> None:
    rows = pd.concat([CELLS] * 40, ignore_index=True).astype({"degree": "category"})
    drawn = tv.RAPpp(SURVEY, 10.0, preset=QUICK).fit(rows).sample(100, seed=0)["degree"]
    assert drawn.cat.categories.tolist() == ["1", "2", "3", "N"] and "N" in set(drawn)


def test_what_follows_from_a_missing_cell_is_missing_with_the_same_sign() -> None:
    columns = {
        "income": SURVEY.columns["income"],
        "decile": {"type": "follows", "of": "income", "cuts": [10, 50], "values": [0, 5, 9]},
    }
    codec = Codec(Schema.from_dict({"missing": ["N"], "columns": columns}))
    read = codec.encode(pa.table({"income": ["5", "N", "70"]}))
    assert codec.decode(read).to_pydict() == {"income": ["5", "N", "70"], "decile": ["0", "N", "9"]}


def test_an_empty_first_sign_leaves_cells_empty() -> None:
    schema = Schema(columns={"x": {"type": "categorical", "values": [1, 2], "missing": ["", "N"]}})
    model = tv.RAPpp(schema, 10.0, preset=QUICK).fit(pd.DataFrame({"x": ["1", "N", "2", ""] * 30}))
    drawn = model.sample(100, seed=0)["x"]
    assert drawn.isna().any() and "N" not in set(drawn)


def test_a_condition_may_name_the_sign() -> None:
    model = fitted()
    assert set(model.sample(20, where={"income": "N"}, seed=0)["income"]) == {"N"}
    assert set(model.sample(20, where={"degree": "N"}, seed=0)["degree"]) == {"N"}


def test_a_typo_does_not_hide_among_signs() -> None:
    assert check(CELLS, SURVEY) == []
    typo = CELLS.assign(degree=["1", "N", "2", "M", ""], income=["12", "N", "", "l2", "-9"])
    assert [line.split(" (")[0] for line in check(typo, SURVEY)] == [
        "Column income: some cells are not numbers",
        "Column degree: some values are not declared",
    ]


def test_signs_of_the_table_make_no_column_nullable_and_those_of_a_column_do() -> None:
    assert not SURVEY.columns["sex"].nullable and SURVEY.columns["hours"].nullable
    [line] = check(CELLS.assign(sex=["1", "N", "2", "1", "1"]), SURVEY)
    assert line.startswith("Column sex: some cells are missing, and it is not nullable")


def test_a_column_has_the_last_word_about_its_signs() -> None:
    document = {
        "missing": ["N", 0],
        "columns": {
            "own": {"type": "numerical", "min": 0, "max": 9, "missing": ["-"]},
            "none": {"type": "categorical", "values": [0, 1], "missing": []},
            "not": {"type": "categorical", "values": ["a"], "missing": ["x"], "nullable": False},
            "table": {"type": "categorical", "values": ["a"]},
        },
    }
    schema = Schema.from_dict(document)
    signs = {name: rule.missing for name, rule in schema.columns.items()}
    assert signs == {"own": ("-",), "none": (), "not": ("x",), "table": ("N", 0)}
    assert [rule.nullable for rule in schema.columns.values()] == [True, False, False, False]
    assert Schema.from_dict(schema.to_dict()) == schema


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ({"type": "numerical", "min": 0, "max": 9, "missing": [5]}, "5 cannot stand for"),
        ({"type": "numerical", "min": 0, "max": 9, "missing": ["5.0"]}, "5.0 cannot stand for"),
        (
            {"type": "numerical", "min": 0, "max": 9, "special_values": [-9]},
            "-9 cannot stand for a missing cell: it is one of its values.",
        ),
        ({"type": "categorical", "values": ["N", "Y"]}, "N cannot stand for"),
        (
            {"type": "categorical", "values": [1], "other": True, "missing": ["OTHER"]},
            "OTHER cannot stand for",
        ),
        (
            {"type": "date", "min": "1990-01-01", "max": "2000-01-01", "missing": ["1999-09-09"]},
            "1999-09-09 cannot stand for",
        ),
        ({"type": "boolean", "missing": "N"}, "missing must be a list of what stands for"),
        ({"type": "boolean", "missing": [None]}, "missing must be a list of what stands for"),
        ({"type": "boolean", "missing": [float("nan")]}, "value nan is not a finite number."),
        ({"type": "boolean", "missing": "TODO"}, "missing is still TODO"),
        ({"type": "id", "missing": ["N"]}, "missing must be left out"),
    ],
)
def test_a_sign_that_is_also_a_value_is_refused_in_one_line(rule: dict, line: str) -> None:
    columns = {"x": rule, "y": {"type": "boolean"}}
    with pytest.raises(InvalidInput) as caught:
        Schema.from_dict({"missing": ["N", -9], "columns": columns})
    assert caught.value.message.startswith("Column x: ") and line in caught.value.message
    assert "\n" not in caught.value.message + caught.value.hint


def test_a_constraint_that_names_a_sign_is_told_how_to_say_it() -> None:
    with pytest.raises(InvalidInput, match="degree is missing"):
        SURVEY.replaced(constraints=["if sex == 1 then degree == N"])


@pytest.mark.parametrize("kind", [name for name in RULES if f"{name} 0" in LEARNT])
@given(sign=st.text(min_size=1, max_size=8))
def test_any_text_that_is_no_value_can_be_a_sign(kind: str, sign: str) -> None:
    rule: dict[str, Any] = {"type": kind, **RULES[kind].example.rule, "missing": [sign]}
    try:
        schema = Schema(columns={"x": rule})
    except InvalidInput:
        return  # it is a value of the column
    codec = schema.codecs["x"]
    read = encoded(pd.DataFrame({"x": [sign, ""]}), schema)
    assert (read[0] == read[1]).all() and read[0, 0] == codec.missing
