"""Files and frames are read row by row whatever they hold, and refused by their header alone."""

import datetime
import gzip
import tempfile
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.errors import InvalidInput
from tabveil.release.formats import SUFFIXES
from tabveil.release.output import as_kind, write
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.sources.checking import check
from tabveil.sources.drafting import draft_schema
from tabveil.sources.formats import FORMATS
from tabveil.tables.table import Codec

PEOPLE = Schema(
    columns={
        "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
        "sex": {"type": "categorical", "values": ["F", "M"], "other": True, "nullable": True},
        "wage": {
            "type": "numerical",
            "min": 0,
            "max": 100,
            "decimals": 1,
            "special_values": [-1],
            "nullable": True,
        },
    }
)
FRAME = pd.DataFrame(
    {"wage": [1.5, -1.0, np.nan], "extra": [1, 2, 3], "sex": ["F", "x", None], "age": [30, 0, 99]}
)
CODES = [[0, 0], [2, 1], [3, 2]]
NUMBERS = [[30, 1.5], [0, 0], [99, 0]]
CANARY = "4929123412341234"


def encoded(data, schema=PEOPLE, rows=65_536):
    codec = Codec(schema)
    tables = [codec.encode(batch) for batch in Source.of(data, schema).batches(rows)]
    return np.concatenate([t.codes for t in tables]).tolist(), np.concatenate(
        [t.numbers for t in tables]
    ).tolist()


def refusal(data, schema=PEOPLE):
    with pytest.raises(InvalidInput) as caught:
        list(Source.of(data, schema).batches())
    assert "\n" not in caught.value.message and CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def saved(tmp_path, name):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        FRAME[:2].to_parquet(path / "1.parquet")
        FRAME[2:].to_parquet(path / "2.parquet")
        (path / "_SUCCESS").touch()
    elif name.endswith(".parquet"):
        FRAME.to_parquet(path)
    elif name.endswith((".feather", ".arrow")):
        FRAME.to_feather(path, chunksize=2)
    elif name.endswith(".jsonl"):
        FRAME.to_json(path, orient="records", lines=True)
    elif name.endswith(".xlsx"):
        FRAME.to_excel(path, index=False)
    elif name.endswith(".duckdb"):
        with duckdb.connect(path) as database:
            database.register("given", FRAME)
            database.execute("CREATE TABLE people AS SELECT * FROM given")
    else:
        FRAME.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("rows", [1, 2, 65_536])
@pytest.mark.parametrize("name", ["a.CSV", "folder", *(f"a{suffix}" for suffix in FORMATS)])
def test_every_file_format_reads_as_the_same_table(tmp_path, name, rows):
    path = saved(tmp_path, name)
    assert encoded(path, rows=rows) == (CODES, NUMBERS)
    assert encoded(str(path)) == (CODES, NUMBERS)
    assert Source.of(path, PEOPLE).count() == 3
    assert Source.of(path, PEOPLE).kind == "pandas"
    assert Source.of(path, PEOPLE).fingerprint()  # so that an unfinished run knows it again


@pytest.mark.parametrize("rows", [1, 2, 65_536])
@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (FRAME, "pandas"),
        (FRAME.astype(object), "pandas"),
        (FRAME.astype({"sex": "category"}).convert_dtypes(), "pandas"),
        (FRAME.convert_dtypes(dtype_backend="pyarrow"), "pandas"),
        (pl.from_pandas(FRAME), "polars"),
        (pl.from_pandas(FRAME).with_columns(pl.col("sex").cast(pl.Categorical)), "polars"),
        (pa.Table.from_pandas(FRAME), "arrow"),
    ],
)
def test_every_kind_of_frame_reads_as_the_same_table(frame, kind, rows):
    assert encoded(frame, rows=rows) == (CODES, NUMBERS)
    source = Source.of(frame, PEOPLE)
    assert (source.kind, source.count()) == (kind, 3)


def test_batches_hold_the_schemas_columns_in_schema_order_and_no_more_rows_than_asked():
    batches = list(Source.of(FRAME, PEOPLE).batches(2))
    assert [batch.num_rows for batch in batches] == [2, 1]
    assert batches[0].column_names == ["age", "sex", "wage"]


def test_a_source_can_be_read_twice(tmp_path):
    source = Source.of(saved(tmp_path, "a.csv"), PEOPLE)
    assert list(source.batches()) == list(source.batches())


def test_nothing_a_source_says_of_itself_comes_from_its_rows(tmp_path):
    source = Source.of(pd.concat([FRAME] * 2311), PEOPLE)
    assert repr(source) == "Source(a pandas frame, 3 columns)"
    assert Source.of(saved(tmp_path, "a.csv"), PEOPLE).describe() == "the CSV file a.csv, 3 columns"


@pytest.mark.parametrize(
    "content", ["age,sex,wage", "age,sex,wage\n", "\ufeffage,sex,wage\r\n\r\n"]
)
def test_a_header_without_rows_is_a_table_of_no_rows(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    assert Source.of(path, PEOPLE).count() == 0
    assert [batch.num_rows for batch in Source.of(path, PEOPLE).batches()] == [0]
    assert encoded(path) == ([], [])


@pytest.mark.parametrize(
    "frame", [FRAME[:0], pl.from_pandas(FRAME[:0]), pa.Table.from_pandas(FRAME[:0])]
)
def test_a_frame_without_rows_is_a_table_of_no_rows(frame):
    assert encoded(frame) == ([], []) and Source.of(frame, PEOPLE).count() == 0


def csv_ages(tmp_path, rows):
    path = tmp_path / "a.csv"
    path.write_bytes(b"age,sex,wage\n" + rows)
    numbers = encoded(path)[1]
    assert Source.of(path, PEOPLE).count() == len(numbers)
    return [age for age, _ in numbers]


@pytest.mark.parametrize(
    ("rows", "ages"),
    [
        (b"1,F,2\n3\n4,F\n5,F,2,9\n6,F,2\n", [1, 6]),  # ragged rows are skipped
        (b"1,F,2\r\n\r\n2,F,2", [1, 2]),
        (b"1,\xff\xfe,2\n2,F,\xff\n", [1, 2]),
        (b"1,F,2\n\xff\n\xe2\x82,\xff\n2,\xe2\x82,2\n", [1, 2]),  # ragged and not UTF-8
        (b"1,\x00,2\n2\x00,F,2\n", [1, 0]),
        (b'1,"a\nb",2\n2,"a,b",2\n3,"a""b",2\n', [1, 2, 3]),
        (b",,\n", [0]),
        (b'"","",""\n', [0]),
        (b"1,F," + b"9" * 2_000_000 + b"\n2,F,2\n", [1, 2]),
        (b"1,F,2\n" * 3 + b'2,"never closed', [1, 1, 1]),
    ],
)
def test_odd_csv_rows_never_stop_the_reading(tmp_path, rows, ages):
    assert csv_ages(tmp_path, rows) == ages


PIECES = [
    b",",
    b'"',
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"\xe2\x82",
    b"1",
    b" ",
    b"1,F,2\n",
    b'"1","F","2"\n',
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join))
def test_no_bytes_below_the_header_stop_the_reading(rows):
    with tempfile.TemporaryDirectory() as folder:
        csv_ages(Path(folder), rows)


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfage,sex,wage\n7,F,1\n")
    assert encoded(path)[1] == [[7, 1]]


def test_extra_columns_may_have_any_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"age,sex,wage,,,\xff,x,x\n7,F,1,a,b,c,d,e\n")
    assert encoded(path)[1] == [[7, 1]]


def written(path, content):
    path.write_bytes(content)
    return path


def test_paths_that_are_no_tables_are_refused(tmp_path):
    assert "does not exist" in refusal(tmp_path / "none.csv")
    assert "unknown extension" in refusal(tmp_path / "a.ods")
    assert "is an empty file" in refusal(written(tmp_path / "a.csv", b""))
    assert "is an empty file" in refusal(written(tmp_path / "a.parquet", b""))
    assert "no readable header" in refusal(written(tmp_path / "b.csv", b"\n\n"))
    assert "no readable header" in refusal(written(tmp_path / "b.csv.gz", CANARY.encode()))
    assert "not a readable Parquet file" in refusal(
        written(tmp_path / "b.parquet", CANARY.encode() * 99)
    )
    assert "not a readable Arrow file" in refusal(written(tmp_path / "b.arrow", CANARY.encode()))
    assert "not a readable Excel file" in refusal(written(tmp_path / "b.xlsx", CANARY.encode()))
    assert "not begin with a JSON object" in refusal(written(tmp_path / "b.jsonl", CANARY.encode()))
    assert "as a DuckDB file" in refusal(written(tmp_path / "b.duckdb", CANARY.encode()))
    (tmp_path / "empty").mkdir()
    assert "holds no .parquet files" in refusal(tmp_path / "empty")


def test_damaged_files_are_refused_without_their_content(tmp_path):
    content = gzip.compress(
        b"age,sex,wage\n" + b"".join(f"{i},{CANARY},{i * i}\n".encode() for i in range(9999))
    )
    assert "could not be read to its end" in refusal(
        written(tmp_path / "a.csv.gz", content[: len(content) // 2])
    )
    frame = pd.DataFrame({"age": [1.5] * 999, "sex": [CANARY] * 999, "wage": range(999)})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_feather(tmp_path / "a.feather", compression="uncompressed")
    for path, place in ((tmp_path / "a.parquet", 4), (tmp_path / "a.feather", -9000)):
        content = bytearray(path.read_bytes())
        content[place : place + 396] = b"\xff" * 396
        assert "could not be read to its end" in refusal(written(path, bytes(content)))


@pytest.mark.parametrize(
    "data", [None, [1], {"a": [1]}, np.zeros(3), FRAME["age"], pl.Series([1]), 7]
)
def test_what_is_no_table_is_refused(data):
    assert "is not a table that can be read" in refusal(data)


def test_missing_columns_are_listed_with_the_closest_names(tmp_path):
    message = refusal(FRAME.rename(columns={"age": "Age", "wage": "wages"}))
    assert message.startswith("A pandas frame lacks the columns age, wage.\n")
    assert "Age for age, wages for wage" in message
    assert "lacks the column age" in refusal(pl.from_pandas(FRAME).drop("age"))
    assert "separated by commas" in refusal(written(tmp_path / "a.csv", b"age;sex;wage\n1;F;2\n"))


def test_a_file_without_a_header_line_does_not_show_its_first_row(tmp_path):
    assert "lacks the columns" in refusal(
        written(tmp_path / "a.csv", f"{CANARY},{CANARY},1\n".encode())
    )


FIRST_ROWS = [
    f"{CANARY},F,1", f"Anna {CANARY},F,teacher", "anna@example.org,F,x", "canary,2019-05-01,x",
    "canary,,x",
    "canary,1:30,x", "canary,01/02/2020,x", "canary,true,x", "canary,NA,x", "canary,canary,x",
    "canary,$5.00,x", "canary,-1.5e3,x",
]  # fmt: skip
NAMES = [
    "age,sex,wage",
    "Age (years),Q1,x2",
    "id,name,e-mail",
    "2019 income,income_2019,notes",
    "a",
]


@pytest.mark.parametrize("first", FIRST_ROWS)
def test_a_first_line_that_looks_like_data_is_shown_nowhere(tmp_path, first):
    path = written(tmp_path / "a.csv", f"{first}\nx,y,z\n".encode())
    for read in (
        lambda: refusal(path),
        lambda: Source.whole(path),
        lambda: draft_schema(path, public=True),
    ):
        try:
            message = read()
        except InvalidInput as problem:
            message = str(problem)
        assert "--header" in message and not any(
            cell in message for cell in first.split(",") if len(cell) > 1
        )
    near = Schema(columns={"canar": {"type": "boolean"}, "Anne": {"type": "boolean"}})
    assert "canary" not in refusal(path, near)


@pytest.mark.parametrize("first", NAMES)
def test_a_first_line_of_names_raises_no_doubt(tmp_path, first):
    path = written(tmp_path / "a.csv", f"{first}\n".encode())
    assert Source.whole(path).columns == tuple(first.split(","))


def test_odd_names_that_the_schema_knows_raise_no_doubt(tmp_path):
    path = written(tmp_path / "a.csv", b"2019,2020\n1,2\n")
    years = Schema(columns={"2019": {"type": "boolean"}, "2020": {"type": "boolean"}})
    assert Source.of(path, years).count() == 1


@pytest.mark.parametrize("relation", ["add-remove", "substitute"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\n\n"])
def test_a_blank_line_of_a_csv_with_one_column_is_a_missing_cell(tmp_path, relation, end, start):
    schema = Schema(columns={"age": {"type": "numerical", "min": 0, "max": 99, "nullable": True}})
    line = "\r\n" if end == "\r\n" else "\n"
    ages = ["5", "6", "7"] * 20
    neighbour = [*ages[:30], "", *ages[30 + (relation == "substitute") :]]
    for cells in (ages, neighbour):
        path = written(tmp_path / "a.csv", (start + line.join(["age", *cells]) + end).encode())
        rows = Source.of(path, schema)
        assert rows.count() == sum(batch.num_rows for batch in rows.batches(7)) == len(cells)
        assert [kind for [kind] in encoded(path, schema)[0]] == [int(not cell) for cell in cells]


@pytest.mark.parametrize(
    ("content", "rows"),
    [("a", 0), ("a\n", 0), ("a\n\n", 1), ("a\n\n\n", 2), ("a\n1", 1), ('a\n""\n', 1)],
)
def test_a_final_line_break_makes_no_row_of_its_own(tmp_path, content, rows):
    source = Source.whole(written(tmp_path / "a.csv", content.encode()))
    assert source.count() == sum(batch.num_rows for batch in source.batches()) == rows


def test_each_file_of_a_folder_must_have_the_columns(tmp_path):
    folder = saved(tmp_path, "folder")
    FRAME.drop(columns="age").to_parquet(folder / "3.parquet")
    assert "lacks the column age" in refusal(folder)


def test_a_column_that_appears_twice_is_refused(tmp_path):
    twice = "has the column age twice"
    assert twice in refusal(pd.concat([FRAME, FRAME[["age"]]], axis=1))
    assert twice in refusal(written(tmp_path / "a.csv", b"age,sex,wage,age\n1,F,2,3\n"))
    assert twice in refusal(pa.table([pa.array([1])] * 4, names=["age", "sex", "wage", "age"]))


class Hostile:
    def __eq__(self, other):
        raise RuntimeError(CANARY)

    __str__ = __repr__ = __hash__ = __float__ = __eq__


JUNK = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(st.characters(), max_size=4),
    st.binary(max_size=4),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.decimals(),
    st.complex_numbers(),
    st.timedeltas(),
    st.sampled_from(
        [
            "F", "1", b"M", bytearray(b"F"), memoryview(b"F"), "\ud800", pd.NA, pd.NaT,
            pd.Timestamp("2013-01-01 05:00"),
            pd.Period("2013"), np.float32(1), np.int8(1), np.bool_(True),
            np.datetime64(1, "ns"), np.timedelta64(1, "ns"),
            np.array([1]), [1], {}, (1,), object(), Hostile(), Decimal("sNaN"),
            Decimal("1E+999999"),
            10**5000, pa.scalar(1),
        ]
    ),
)  # fmt: skip


def objects(cells):
    column = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return column


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(JUNK, JUNK, JUNK), max_size=6), st.integers(1, 4))
def test_object_columns_of_anything_encode_row_by_row(rows, batch):
    columns = list(zip(*rows, strict=True)) or [()] * 3
    cells = [pd.Series(objects(column), dtype=object) for column in columns]
    frame = pd.DataFrame(dict(zip(PEOPLE.columns, cells, strict=True)))
    whole = encoded(frame)
    assert encoded(frame, rows=batch) == whole
    if rows:
        apart = [encoded(frame[place : place + 1]) for place in range(len(frame))]
        assert (
            [c for codes, _ in apart for c in codes],
            [n for _, numbers in apart for n in numbers],
        ) == whole


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (True, "true"),
        (b"a", "a"),
        (Decimal("1.50"), "1.5"),
        (datetime.date(2013, 1, 1), "2013-01-01"),
    ],
)
def test_an_object_is_the_same_category_as_its_text(cell, text):
    schema = Schema(
        columns={"x": {"type": "categorical", "values": ["zzz", text], "nullable": True}}
    )
    assert encoded(pd.DataFrame({"x": objects([cell, text, object()])}), schema)[0] == [
        [1],
        [1],
        [2],
    ]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1 + 1j, 2j]),
        pd.Series(pd.period_range("2013", periods=2, freq="D")),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series(pd.arrays.SparseArray([0.0, 1.0])),
        pd.Series(pd.to_timedelta([1, 2])),
        pd.Series(pd.to_datetime(["2013-01-01", None], utc=True)),
        pd.Series(np.array([1, 2], np.longdouble)),
        pd.Series(np.array([1, 2], np.float16)),
        pd.Series([2**64 - 1, 0], dtype="uint64"),
        pd.Series(pd.Categorical(["F", 1], categories=[1, "F", "unused"])),
        pd.Series(pd.cut([1, 5], [0, 2, 9])),
        pd.Series([None, None]),
        pd.Series([["F"], {}]),
    ],
)
def test_columns_of_any_pandas_type_are_read(series):
    frame = pd.DataFrame({name: series for name in PEOPLE.columns})
    assert len(encoded(frame)[0]) == 2


def test_levels_of_a_pandas_categorical_are_read_like_cells():
    schema = Schema(
        columns={"x": {"type": "categorical", "values": ["zzz", 1, "(0, 2]"], "nullable": True}}
    )
    assert encoded(
        pd.DataFrame({"x": pd.Categorical([1, "a", None], categories=["a", 1])}), schema
    )[0] == [
        [1],
        [3],
        [3],
    ]
    assert encoded(pd.DataFrame({"x": pd.cut([1, 5], [0, 2, 9])}), schema)[0] == [[2], [3]]


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([object(), "F"], dtype=pl.Object),
        pl.Series([2**100, 1], dtype=pl.Int128),
        pl.Series([[1], [2]]),
        pl.Series([{"a": 1}, None]),
        pl.Series([None, None]),
        pl.Series([datetime.time(1), None]),
        pl.Series([Decimal("1.5"), None]),
    ],
)
def test_columns_of_any_polars_type_are_read(series):
    assert len(encoded(pl.DataFrame({name: series for name in PEOPLE.columns}))[0]) == 2


CLEAN = Schema(
    columns={
        "whole": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
        "gap": {"type": "numerical", "min": 0, "max": 99, "decimals": 0, "nullable": True},
        "real": {"type": "numerical", "min": 0, "max": 1, "decimals": 2, "nullable": True},
        "truth": {"type": "categorical", "values": [True, False]},
        "maybe": {"type": "categorical", "values": [True, False], "nullable": True},
        "text": {"type": "categorical", "values": ["a", "é"]},
    }
)
CLEAN_FRAME = pd.DataFrame(
    {
        "whole": [1, 2],
        "gap": pd.array([1, None], dtype="Int64"),
        "real": [0.25, np.nan],
        "truth": [True, False],
        "maybe": pd.array([None, True], dtype="boolean"),
        "text": ["a", "é"],
    }
)


def round_trip(frame):
    codec, source = Codec(CLEAN), Source.of(frame, CLEAN)
    [batch] = source.batches()
    return as_kind(codec.decode(codec.encode(batch)), source.kind, CLEAN)


def test_frames_come_back_as_the_kind_and_dtypes_they_were():
    pd.testing.assert_frame_equal(round_trip(CLEAN_FRAME), CLEAN_FRAME)
    polars = pl.from_pandas(CLEAN_FRAME)
    assert isinstance(round_trip(polars), pl.DataFrame)
    assert round_trip(polars).equals(polars)
    arrow = round_trip(pa.Table.from_pandas(CLEAN_FRAME))
    assert isinstance(arrow, pa.Table) and arrow.column("gap").to_pylist() == [1, None]


def test_pandas_dtypes_do_not_depend_on_whether_a_cell_is_missing():
    assert (round_trip(CLEAN_FRAME[:1]).dtypes == round_trip(CLEAN_FRAME).dtypes).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_reads_as_the_same_table(tmp_path, suffix):
    name = f"out{suffix}"
    [batch] = Source.of(CLEAN_FRAME, CLEAN).batches()
    codec = Codec(CLEAN)
    write(codec.decode(codec.encode(batch)), tmp_path / name)
    assert encoded(tmp_path / name, CLEAN) == encoded(CLEAN_FRAME, CLEAN)


def test_check_names_the_column_and_the_rule_and_no_value():
    strict = Schema(
        columns={
            "n": {"type": "numerical", "min": 0, "max": 9, "decimals": 0},
            "s": {"type": "categorical", "values": ["a"]},
            "o": {"type": "categorical", "values": ["a"], "other": True, "nullable": True},
        }
    )
    frame = pd.DataFrame(
        {
            "n": objects([-5, CANARY, 0.5, None, "x"]),
            "s": ["a", CANARY, None, "a", "a"],
            "o": [CANARY] * 5,
        }
    )
    lines = check(frame, strict)
    assert CANARY not in " ".join(lines)
    assert [line.split(" (")[0] for line in lines] == [
        "Column n: some cells are above max 9",
        "Column n: some cells are below min 0",
        "Column n: some cells are missing, and it is not nullable",
        "Column n: some cells are not numbers",
        "Column n: some numbers have more decimals than declared",
        "Column s: some cells are missing, and it is not nullable",
        "Column s: some values are not declared",
    ]


def test_check_finds_nothing_in_clean_data():
    assert check(CLEAN_FRAME, CLEAN) == []


DRAFTED = pd.DataFrame(
    {
        "whole": range(200),
        "few": [1, 2] * 100,
        "real": np.linspace(0, 1, 200).round(2),
        "text": ["b", "a"] * 100,
        "names": [f"n{i}" for i in range(200)],
        "truth": [True, False] * 100,
        "gap": [None, 1.25] * 100,
        "constant": [0.5] * 200,
        "day": ["2013-01-31", "2014-02-28"] * 100,
        "moment": ["2013-01-31 12:00:00", "2014-02-28 23:59:59"] * 100,
    }
)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_draft_says_names_and_types_only(tmp_path, as_file):
    data = DRAFTED
    if as_file:
        data = tmp_path / "a.csv"
        DRAFTED.to_csv(data, index=False)
    todo = {"type": "numerical", "min": "TODO", "max": "TODO"}
    assert draft_schema(data, public=False) == {
        "columns": {
            "whole": todo | {"decimals": 0},
            "few": {"type": "categorical", "values": "TODO"},
            "real": todo,
            "text": {"type": "categorical", "values": "TODO"},
            "names": {"type": "categorical", "values": "TODO"},
            "truth": {"type": "categorical", "values": [False, True]},
            "gap": todo,
            "constant": todo,
            "day": {"type": "date", "min": "TODO", "max": "TODO"},
            "moment": {"type": "datetime", "min": "TODO", "max": "TODO"},
        }
    }


@pytest.mark.parametrize("as_file", [False, True])
def test_a_public_draft_is_a_schema_the_data_keeps(tmp_path, as_file):
    data = frame = DRAFTED.drop(columns="names")
    if as_file:
        data = tmp_path / "a.csv"
        frame.to_csv(data, index=False)
    draft = draft_schema(data, public=True)
    assert draft["columns"] == {
        "whole": {"type": "numerical", "min": 0, "max": 199, "decimals": 0},
        "few": {"type": "categorical", "values": [1, 2]},
        "real": {"type": "numerical", "min": 0, "max": 1, "decimals": 2},
        "text": {"type": "categorical", "values": ["a", "b"]},
        "truth": {"type": "categorical", "values": [False, True]},
        "gap": {"type": "categorical", "values": [1.25], "nullable": True},
        "constant": {"type": "categorical", "values": [0.5]},
        "day": {"type": "date", "min": "2013-01-31", "max": "2014-03-01"},
        "moment": {"type": "datetime", "min": "2013-01-31", "max": "2014-03-01"},
    }
    assert check(data, Schema.from_dict(draft)) == []


def test_a_few_texts_among_many_numbers_are_drafted_as_signs_for_missing_cells(tmp_path):
    cells = {
        "income": ["N", "-", "", *range(197)],
        "rate": ["N", *(n / 4 for n in range(199))],
        "code": ["N", *[1, 2, 3] * 66, 3],
        "street": ["1a", "1b", "2a", "2b", *range(196)],
    }
    pd.DataFrame(cells).to_csv(tmp_path / "a.csv", index=False)
    numbers = {"type": "numerical", "min": "TODO", "max": "TODO"}
    categories = {"type": "categorical", "values": "TODO"}
    assert draft_schema(tmp_path / "a.csv", public=False)["columns"] == {
        "income": numbers | {"decimals": 0}, "rate": numbers,
        "code": categories, "street": categories,
    }  # fmt: skip
    public = draft_schema(tmp_path / "a.csv", public=True)["columns"]
    assert public == {
        "income": {"type": "numerical", "min": 0, "max": 196, "decimals": 0, "missing": ["-", "N"]},
        "rate": {"type": "numerical", "min": 0, "max": 49.5, "decimals": 2, "missing": ["N"]},
        "code": {"type": "categorical", "values": ["1", "2", "3", "N"]},
        "street": {"type": "categorical", "values": "TODO"},
    }
    del public["street"]
    assert check(tmp_path / "a.csv", Schema.from_dict({"columns": public})) == []


def test_too_many_texts_to_list_stay_todo_even_in_a_public_draft():
    assert draft_schema(DRAFTED[["names"]], public=True)["columns"]["names"]["values"] == "TODO"
