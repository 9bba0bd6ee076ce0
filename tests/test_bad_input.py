"""Whatever a table or a schema holds: a fit works, or is refused at the door, and no cell is ever
quoted."""

import csv
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tabveil as tv
from tabveil.errors import InvalidInput
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.release.output import write
from tabveil.sources import Source
from tabveil.tables.table import Codec

ONE_STEP = Annealing(8.0, stages=1, steps=1, tolerance=0.0)
TINY = Default(rounds=1, effort=Effort(rows=12, between_rounds=ONE_STEP, at_the_end=ONE_STEP))
SCHEMA = {
    "columns": {
        "city": {"type": "categorical", "values": ["a", "b", "é"], "other": True},
        "amount": {"type": "numerical", "min": -10, "max": 10, "decimals": 2, "nullable": True},
        "answer": {"type": "categorical", "values": ["no", "yes"]},
    },
    "targets": ["answer"],
}
SECRET = "CANARY-7319"


def frame(rows: int = 30, **columns: Any) -> pd.DataFrame:
    """A clean table, with some of its columns replaced."""
    clean = {
        "city": ["a", "b", "é"] * (rows // 3 + 1),
        "amount": list(np.linspace(-10, 10, rows + 3)),
        "answer": ["no", "yes"] * (rows // 2 + 2),
    }
    return pd.DataFrame({name: columns.get(name, cells[:rows]) for name, cells in clean.items()})


def cells(*values: object) -> pd.Series:
    """Thirty objects of any type in one column."""
    return pd.Series((list(values) * 30)[:30], dtype=object)


def fitted(data: object, schema: dict = SCHEMA) -> tv.RAPpp:
    return tv.RAPpp(tv.Schema.from_dict(schema), 1.0, preset=TINY).fit(data)


# -- cells: never an error, and what comes out obeys the schema ------------------------------------

NUMBERS: dict[str, pd.Series] = {
    "not a number": cells(float("nan"), 1.0),
    "infinities": cells(float("inf"), float("-inf"), 2.0),
    "minus zero": cells(-0.0, 0.0),
    "subnormal": cells(5e-324, -5e-324),
    "1e308": cells(1e308, -1e308),
    "integers beyond 2^53": cells(2**53 + 1, -(2**60)),
    "the largest uint64": pd.Series([2**64 - 1] * 30, dtype="uint64"),
    "integers of any size": cells(10**400, -(10**400)),
    "decimals": cells(Decimal("1.005"), Decimal("NaN"), Decimal("1E+999")),
    "mixed types": cells("1", 1, 1.0, True, None, b"1"),
    "texts": cells("ten", "", " 1 ", "1,5", "0x10", "１", "1e5", "nan", "inf", SECRET),
    "out of bounds": cells(-1e9, 1e9),
    "all missing": cells(None),
    "constant": cells(3.0),
    "dates": cells(datetime(2024, 1, 1, tzinfo=UTC), date(9999, 12, 31)),
    "lists and dictionaries": cells([1], {"a": 1}, (), object()),
    "complex numbers": cells(1 + 2j),
    "truths": cells(True, False),
    "nullable integers": pd.Series([1, None] * 15, dtype="Int64"),
    "Arrow decimals": pd.Series(
        [Decimal("1.50"), None] * 15, dtype=pd.ArrowDtype(pa.decimal128(5, 2))
    ),
    "32-bit floats": pd.Series([1e38, np.nan] * 15, dtype="float32"),
    "durations": pd.Series(pd.to_timedelta([1, 2] * 15, unit="s")),
    "times with zones": pd.Series(pd.to_datetime(["2024-01-01"] * 30, utc=True)),
}
WORDS: dict[str, pd.Series] = {
    "never declared": cells(SECRET, "a"),
    "another case": cells("A", "B"),
    "another normal form": cells("e\u0301", "\u00e9"),
    "spaces around": cells(" a", "a ", "\u00a0a"),
    "zero width": cells("a\u200b", "\ufeffa", "\u2060"),
    "newlines, commas, quotes": cells("a\n", "a,b", '"a"', "a\r\n", "'"),
    "byte order marks and NUL": cells("\ufeff", "\x00", "a\x00"),
    "formulas": cells("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"),
    "lone surrogates": cells("\ud800", "a\udfff"),
    "bytes": cells(b"a", b"\xff\xfe"),
    "truths": cells(True, False),
    "numbers": cells(1, 1.0, float("nan"), 10**400),
    "all missing": cells(None),
    "one category": cells("a"),
    "unused levels": pd.Series(pd.Categorical(["a"] * 30, categories=["a", "b", SECRET])),
    "Arrow texts": pd.Series(["a", None] * 15, dtype=pd.ArrowDtype(pa.string())),
    "nullable texts": pd.Series(["a", None] * 15, dtype="string"),
    "very long": cells("x" * 100_000),
    "odd objects": cells(object(), [], {}, lambda: None, Decimal(1)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_any_number_is_read(name: str) -> None:
    require_clean(fitted(frame(amount=NUMBERS[name])))


@pytest.mark.parametrize("name", WORDS)
def test_any_word_is_read(name: str) -> None:
    require_clean(fitted(frame(city=WORDS[name])))


def require_clean(model: tv.RAPpp) -> None:
    """What comes out has the schema's columns and values, however odd the cells were."""
    out = model.release_.sample(40, seed=0, kind="arrow").to_pandas()
    assert list(out.columns) == list(SCHEMA["columns"])
    assert set(map(str, out["city"])) <= {"a", "b", "é", "OTHER"} and set(out["answer"]) <= {
        "no",
        "yes",
    }
    amount = out["amount"].dropna().astype(float)
    assert amount.between(-10, 10).all()
    assert model.release_.probabilities.shape == clean_shape()


def clean_shape() -> tuple[int, ...]:
    return Codec(tv.Schema.from_dict(SCHEMA)).domain.cells, TINY.effort.rows


def twice(data: pd.DataFrame, column: str) -> pd.DataFrame:
    return pd.concat([data, data[[column]]], axis=1)


def view(data: pd.DataFrame) -> pd.DataFrame:
    return data[data["answer"] == "no"]


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "one row": lambda: frame(1),
    "no rows": lambda: frame(0).astype({"city": object, "answer": object}),
    "fewer rows than queries": lambda: frame(3),
    "the same row many times": lambda: pd.concat([frame(1)] * 50),
    "an index that repeats": lambda: frame().set_index(np.zeros(30, int)),
    "an index with names": lambda: frame().set_index(pd.Index([SECRET] * 30, name=SECRET)),
    "a view": lambda: view(frame()),
    "columns in another order": lambda: frame()[["answer", "amount", "city"]],
    "a column without a name": lambda: frame().assign(**{"": 1}),
    "columns that nobody declared, twice": lambda: twice(frame().assign(other=SECRET), "other"),
    "ten thousand more columns": lambda: pd.concat(
        [frame(), pd.DataFrame(np.zeros((30, 10_000), np.int8)).add_prefix("c")], axis=1
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_any_table_with_the_schemas_columns_is_read(name: str) -> None:
    require_clean(fitted(TABLES[name]()))


CSV_FILES: dict[str, bytes] = {
    "ragged rows": b"city,amount,answer\na,1\nb,2,no,too many\na,3,yes\n",
    "a byte order mark": b"\xef\xbb\xbfcity,amount,answer\na,1,no\n",
    "carriage returns": b"city,amount,answer\r\na,1,no\r\n",
    "cells with line breaks": b'city,amount,answer\n"a\nb",1,"no"\n',
    "NUL": b"city,amount,answer\na\x00,1\x00,no\n",
    "no UTF-8": b"city,amount,answer\n\xff\xfe,1,no\n",
    "an open quote": b'city,amount,answer\n"a,1,no\nb,2,yes\n',
    "a header alone": b"city,amount,answer\n",
    "blank lines": b"city,amount,answer\n\n\na,1,no\n\n",
}


@pytest.mark.parametrize("name", CSV_FILES)
def test_any_csv_with_the_schemas_header_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(CSV_FILES[name])
    require_clean(fitted(tmp_path / "people.csv"))


REFUSED_TABLES: dict[str, Callable[[], object]] = {
    "a column twice": lambda: twice(frame(), "city"),
    "a column missing": lambda: frame().drop(columns="city").assign(**{SECRET: 1}),
    "no table": lambda: [SECRET],
    "nothing": lambda: None,
    "a number": lambda: 7319,
}


@pytest.mark.parametrize("name", REFUSED_TABLES)
def test_what_is_no_table_of_the_schema_is_refused_without_a_cell(name: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        fitted(REFUSED_TABLES[name]())
    assert SECRET not in str(refusal.value) and refusal.value.hint


# -- schemas ---------------------------------------------------------------------------------------


def column(**rule: Any) -> dict:
    return {"columns": {"x": rule}}


REFUSED_SCHEMAS: dict[str, dict] = {
    "no columns": {"columns": {}},
    "bounds that meet": column(type="numerical", min=1, max=1),
    "bounds in the wrong order": column(type="numerical", min=2, max=1),
    "bounds that are no numbers": column(type="numerical", min="a", max=float("nan")),
    "endless bounds": column(type="numerical", min=float("-inf"), max=float("inf")),
    "no values": column(type="categorical", values=[]),
    "a value twice": column(type="categorical", values=["a", "a"]),
    "an empty name": {"columns": {"": {"type": "categorical", "values": ["a", "b"]}}},
    "a target that is not there": {**SCHEMA, "targets": ["elsewhere"]},
    "an unknown type": column(type="__import__"),
    "an unknown key": {**column(type="categorical", values=["a"]), "surprise": 1},
    "a number for a rule": {"columns": {"x": 3}},
    "a number for a key of privacy": {**SCHEMA, "privacy": {1: "x"}},
    "nothing for a key of found": {**SCHEMA, "found": {None: "x"}},
}


@pytest.mark.parametrize("name", REFUSED_SCHEMAS)
def test_a_schema_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        tv.Schema.from_dict(REFUSED_SCHEMAS[name])


def test_more_columns_than_memory_are_refused_before_anything_is_spent(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(10_000)]
    schema = {"columns": {name: {"type": "categorical", "values": ["a", "b"]} for name in names}}
    data = pd.DataFrame([["a"] * len(names)], columns=names)
    with pytest.raises(InvalidInput, match=r"memory|cells"):
        tv.RAPpp(tv.Schema.from_dict(schema), 1.0, ledger=tmp_path / "a.ledger").fit(data)
    assert not (tmp_path / "a.ledger").exists()


HOSTILE_FILES: dict[str, Callable[[Path], None]] = {
    "a gigabyte": lambda path: os.truncate(path, 2**30),
    "deep nesting": lambda path: path.write_text('{"columns":' + "[" * 100_000),
    "deep nesting, closed": lambda path: path.write_text("[" * 50_000 + "]" * 50_000),
    "no UTF-8": lambda path: path.write_bytes(b"\xff\xfe{}"),
    "a huge number": lambda path: path.write_text(
        '{"columns": {"x": {"min": ' + "9" * 10_000 + "}}}"
    ),
    "NaN": lambda path: path.write_text(
        '{"columns": {"x": {"type": "numerical", "min": NaN, "max": 1}}}'
    ),
    "a list": lambda path: path.write_text("[]"),
    "nothing": lambda path: path.write_text(""),
}
HOSTILE_YAML: dict[str, str] = {
    "python objects": "columns: !!python/object/apply:os.system ['true']",
    "a bomb of aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(
        f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "columns: *i",
    "an alias within itself": "columns: &a {x: *a}",
    "merge keys": "columns: {x: {<<: {type: categorical}}}",
    "deep nesting": "columns: " + "[" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_strangers_schema_file_is_refused_at_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.touch()
    HOSTILE_FILES[name](path)
    with pytest.raises(InvalidInput):
        tv.Schema.load(path)


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_a_strangers_yaml_runs_nothing_and_does_not_grow(name: str, tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(HOSTILE_YAML[name])
    with pytest.raises(InvalidInput):
        tv.Schema.load(tmp_path / "schema.yaml")


def small(**more: Any) -> str:
    return json.dumps({"columns": {"x": {"type": "categorical", "values": ["a", "b"]}}, **more})


MANY = [str(number) for number in range(20_000)]
NUMBER = {"type": "numerical", "min": 0, "max": 9, "decimals": 0}
LAUGHS = [f"&{b} [{','.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
BOOLEAN = "columns: {x: {type: boolean}}\n"
SLOW: dict[str, str] = {
    "aliases in constraints": f"{BOOLEAN}constraints:\n- {{columns: &a [x,x,x,x,x,x,x,x,x]"
    + "".join(f", k{number}: {laugh}" for number, laugh in enumerate(LAUGHS))
    + "}\n",
    "aliases in constraints, as a list": f"{BOOLEAN}constraints:\n- &a [x,x,x,x,x,x,x,x]\n"
    + "".join(f"- {laugh}\n" for laugh in LAUGHS),
    "an alias within itself": f"{BOOLEAN}constraints: &a [{{columns: [x], only: *a}}]",
    "brackets": f"{BOOLEAN}constraints: {'[' * 5000}",
    "dashes": f"{BOOLEAN}constraints:\n{'- ' * 5000}",
    "a number to the base of sixty": "columns: {x: {type: numerical, max: 1, min: 1"
    + ":1" * 30_000
    + "}}",
    "nesting in a constraint": small(constraints=[json.loads('{"a":' * 200 + "1" + "}" * 200)]),
    "many words in a constraint": small(constraints=["x == a and " * 100_000]),
    "a long list in a constraint": json.dumps(
        {
            "columns": {"x": {"type": "categorical", "values": MANY}},
            "constraints": [f"x in [{','.join(MANY)}]"],
        }
    ),
    "many combinations": json.dumps(
        {
            "columns": {"x": {"type": "categorical", "values": MANY}},
            "constraints": [{"columns": ["x"], "never": [[value] for value in MANY[:-1]]}],
        }
    ),
    "many constraints": json.dumps(
        {
            "columns": {"x": {"type": "categorical", "values": MANY}},
            "constraints": ["x == 5"] * 20_000,
        }
    ),
    "a long chain": json.dumps(
        {
            "columns": {f"c{number}": NUMBER for number in range(1000)},
            "constraints": [f"c{number} <= c{number - 1}" for number in range(1, 1000)],
        }
    ),
    "a sum of one column": json.dumps(
        {
            "columns": {"x": {"type": "categorical", "values": list(range(20_000))}, "y": NUMBER},
            "constraints": [" + ".join(["x"] * 20_000) + " == y"],
        }
    ),
    "many targets": json.dumps(
        {
            "columns": {f"c{number}": {"type": "boolean"} for number in range(10_000)},
            "targets": [f"c{number}" for number in range(10_000)],
        }
    ),
    "a value that is close to many": json.dumps(
        {
            "columns": {
                "x": {"type": "categorical", "values": [f"value {n}" for n in range(100_000)]}
            },
            "constraints": ["x == 'a value'"],
        }
    ),
    "a long pattern": json.dumps(
        {
            "columns": {
                "x": {"type": "boolean"},
                "y": {"type": "id", "style": "pattern", "pattern": "#" * 10**6},
            }
        }
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_strangers_schema_loads_or_is_refused_in_about_a_second(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / f"schema.{'json' if SLOW[name].startswith('{') else 'yaml'}"
    path.write_text(SLOW[name])
    started = time.process_time()
    try:
        tv.Schema.load(path)
    except InvalidInput as refusal:
        assert refusal.hint and "\n" not in refusal.message and len(str(refusal)) < 1000
    assert time.process_time() - started < 5  # a fifth of a second, but on a busy machine


def test_columns_share_lists_of_values_by_aliases(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(
        "columns:\n  a: {type: categorical, values: &codes [x, y, z]}\n"
        + "".join(f"  b{number}: {{type: categorical, values: *codes}}\n" for number in range(200))
    )
    columns = tv.Schema.load(tmp_path / "schema.yaml").columns
    assert len(columns) == 201 and columns["b7"] == columns["a"]


def test_names_and_values_never_become_paths(tmp_path: Path) -> None:
    odd = "../../outside"
    schema = {
        "columns": {
            odd: {"type": "categorical", "values": [odd, "/etc/passwd"]},
            "amount": SCHEMA["columns"]["amount"],
            "answer": SCHEMA["columns"]["answer"],
        },
        "targets": ["answer"],
    }
    home = tmp_path / "a" / "b"
    home.mkdir(parents=True)
    fitted(frame().rename(columns={"city": odd}), schema).save(home / "release")
    assert tv.load(home / "release").sample(5, seed=0) is not None
    assert {path.name for path in tmp_path.iterdir()} == {"a"} and len(list(home.iterdir())) == 1


# -- tables and schemas that nobody thought of -----------------------------------------------------

texts = st.text(max_size=6)
rules = st.one_of(
    st.builds(
        lambda values, other, nullable: {
            "type": "categorical", "values": values, "other": other, "nullable": nullable,
        },
        st.lists(st.text("abcdefgh=+-@ é", min_size=1, max_size=4).map(str.strip).filter(bool),
        min_size=1,
                 max_size=5, unique=True),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(
        lambda low, width, decimals, nullable: {
            "type": "numerical", "min": low, "max": low + width, "decimals": decimals,
            "nullable": nullable,
        },
        st.integers(-1000, 1000),
        st.integers(1, 1000),
        st.integers(0, 4),
        st.booleans(),
    ),
)  # fmt: skip
anything = st.one_of(
    texts, st.floats(), st.integers(), st.none(), st.booleans(), st.binary(max_size=4),
    st.decimals(),
    st.dates(), st.datetimes(), st.lists(st.integers(), max_size=2),
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_table_is_encoded_by_any_schema_row_by_row(data: st.DataObject) -> None:
    columns = data.draw(st.lists(rules, min_size=1, max_size=4))
    schema = _schema({f"c{number}": rule for number, rule in enumerate(columns)})
    if schema is None:
        return
    rows = data.draw(st.lists(st.tuples(*[anything] * len(columns)), min_size=1, max_size=6))
    codec = Codec(schema)

    def encoded(part: list[tuple]) -> tuple[np.ndarray, np.ndarray]:
        table = pd.DataFrame(part, columns=list(schema.columns), dtype=object)
        [batch] = [codec.encode(b) for b in Source.of(table, schema).batches()]
        return batch.codes, batch.numbers

    codes, numbers = encoded(rows)
    assert (codes >= 0).all() and (codes < np.array(codec.domain.sizes, int)).all()
    assert np.isfinite(numbers).all()
    for number, row in enumerate(rows):  # a row is encoded alike whatever stands beside it
        alone = encoded([row])
        assert (alone[0][0] == codes[number]).all() and (alone[1][0] == numbers[number]).all()


def _schema(columns: dict) -> tv.Schema | None:
    try:
        return tv.Schema.from_dict({"columns": columns})
    except InvalidInput:
        return None


# -- spreadsheets ----------------------------------------------------------------------------------

DANGEROUS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", "-a"]
HARMLESS = ["a", "-5", "+1.5e3", "1-2", "a=b", "", "'=1"]


def written(table: pa.Table, path: Path, **how: Any) -> list[list[str]]:
    write(table, path, **how)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


TEXT_TYPES = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
    pa.binary_view(),
]  # fmt: skip


def texts_as(kind: pa.DataType, shape: str) -> pa.Array:
    """The dangerous and the harmless texts in a type, also shared by rows."""
    cells = pa.array(DANGEROUS + HARMLESS, pa.string()).cast(pa.large_binary()).cast(kind)
    if shape == "plain":
        return cells
    if shape == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array(range(len(cells)), pa.int32()), cells)
    if shape == "runs":
        return pa.RunEndEncodedArray.from_arrays(
            pa.array(range(1, len(cells) + 1), pa.int32()), cells
        )
    return pa.ExtensionArray.from_storage(pa.opaque(kind, "x", "y"), cells)


@pytest.mark.parametrize("shape", ["plain", "dictionary", "runs", "extension"])
@pytest.mark.parametrize("kind", TEXT_TYPES, ids=str)
def test_cells_that_a_spreadsheet_would_run_are_neutralised(
    kind: pa.DataType, shape: str, tmp_path: Path
) -> None:
    table = pa.table({"=name": texts_as(kind, shape)})
    [[name], *rows] = written(table, tmp_path / "safe.csv")
    assert name == "'=name"
    assert [cell for [cell] in rows] == [f"'{cell}" for cell in DANGEROUS] + HARMLESS
    [[name], *rows] = written(table, tmp_path / "raw.csv", raw=True)
    assert name == "=name" and [cell for [cell] in rows] == DANGEROUS + HARMLESS


def test_bytes_of_fixed_size_and_bytes_that_are_no_text_are_neutralised_too(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([b"=1+1", b"abcd", b"=\xff()"], pa.binary(4))})
    assert written(table, tmp_path / "a.csv") == [["x"], ["'=1+1"], ["abcd"], ["'=\ufffd()"]]


@pytest.mark.parametrize("kind", ["binary", "large_binary", "string_view", "categories of binary"])
def test_a_release_that_asks_for_bytes_is_written_without_formulas(
    kind: str, tmp_path: Path
) -> None:
    schema = json.loads(json.dumps(SCHEMA).replace('"a"', '"=a()"').replace(', "other": true', ""))
    fitted(frame(city=cells("=a()")), schema).save(tmp_path / "release")
    document = json.loads((tmp_path / "release" / "release.json").read_text())
    document["types"] = {"city": kind}
    (tmp_path / "release" / "release.json").write_text(json.dumps(document))
    write(tv.load(tmp_path / "release").sample(50, seed=0, kind="arrow"), tmp_path / "safe.csv")
    assert '"\'=a()"' in (tmp_path / "safe.csv").read_text()
    assert '"=a()"' not in (tmp_path / "safe.csv").read_text()


def test_numbers_and_missing_cells_are_written_as_they_are(tmp_path: Path) -> None:
    table = pa.table({"n": [-1, None], "x": [-1.5, 2.0], "s": pa.array([None, "-1"], pa.string())})
    assert written(table, tmp_path / "a.csv") == [
        ["n", "x", "s"],
        ["-1", "-1.5", ""],
        ["", "2", "-1"],
    ]


def test_synthetic_formulas_are_neutralised_by_default_and_raw_on_request(
    tmp_path: Path, capsys
) -> None:
    schema = json.loads(json.dumps(SCHEMA).replace('"a"', '"=a()"'))
    fitted(frame(city=cells("=a()")), schema).save(tmp_path / "release")
    from tabveil.cli import app

    for more, name in (([], "safe.csv"), (["--raw"], "raw.csv")):
        app(
            ["sample", str(tmp_path / "release"), "-n", "50", "-o", str(tmp_path / name), *more],
            standalone_mode=False,
        )
    safe, raw = ((tmp_path / name).read_text() for name in ("safe.csv", "raw.csv"))
    assert "'=a()" in safe and '"=a()"' not in safe and "'=a()" not in raw
