"""Every format on the list writes tables that are read back the same, whole or not at all."""

import re
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
import typer

from tabveil.cli import app
from tabveil.errors import InvalidInput, either
from tabveil.release.formats import FORMATS, SUFFIXES
from tabveil.release.kinds import KINDS
from tabveil.release.output import as_kind, write
from tabveil.schema import Schema
from tabveil.sources import Source, formats
from tabveil.sources.databases import DATABASES

FORMULAS = ["=1+1", "@SUM(A1)", "-2+3"]
TABLE = pa.table({"text": [*FORMULAS, 'é, "x"\n', None], "number": [1, -2, 3, None, 5]})


def texts(path: Path) -> list[str | None]:
    """The column of texts as any reader finds it; in text files, nothing is a missing cell."""
    [batch] = Source.whole(path).batches()
    cells = batch.column("text").to_pylist()
    return [cell.decode() or None if isinstance(cell, bytes) else cell for cell in cells]


def test_no_two_formats_share_an_ending() -> None:
    assert len(SUFFIXES) == sum(len(each.suffixes) for each in FORMATS)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_raw_is_read_back_the_same(suffix: str, tmp_path: Path) -> None:
    write(TABLE, tmp_path / f"a{suffix}", raw=True)
    assert texts(tmp_path / f"a{suffix}") == TABLE.column("text").to_pylist()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_formulas_are_harmless_where_spreadsheets_open_the_format(
    suffix: str, tmp_path: Path
) -> None:
    write(TABLE, tmp_path / f"a{suffix}")
    sign = "'" if SUFFIXES[suffix].in_spreadsheets else ""
    assert texts(tmp_path / f"a{suffix}")[:3] == [f"{sign}{formula}" for formula in FORMULAS]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_there_whole_and_for_its_owner_alone_or_not_at_all(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tabveil.disk.os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            write(TABLE, tmp_path / f"a{suffix}")
    assert not list(tmp_path.iterdir())
    write(TABLE, tmp_path / f"A{suffix.upper()}")
    assert (tmp_path / f"A{suffix.upper()}").stat().st_mode & 0o777 == 0o600


def test_an_unknown_ending_is_answered_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=re.escape(either(SUFFIXES))):
        write(TABLE, tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


def test_the_list_of_formats_in_the_docs_is_the_list_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (`.*?`) \| (.*?) \| (.*?) \|", page, re.MULTILINE)
    told = {name: parts for parts in lines for name in re.findall(r"`(.*?)`", parts[0])}
    databases = {f"{name}://" + "/" * (name == "duckdb") for name in DATABASES}
    assert set(told) == {*SUFFIXES, *formats.FORMATS, *databases}
    assert {name for name, parts in told.items() if parts[1] != "–"} == {
        *formats.FORMATS,
        *databases,
    }
    written = {name for name, parts in told.items() if parts[2] != "–"} - databases
    assert written == set(SUFFIXES)


def test_the_command_line_names_every_ending_that_can_be_written_and_read() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    written = next(option for option in commands["sample"].params if option.name == "file")
    read = next(option for option in commands["fit"].params if option.name == "data")
    assert written.help == f"A {either(SUFFIXES)} file."
    assert read.help.startswith(f"A {either(formats.FORMATS)} file")


def test_a_table_comes_in_every_kind_of_frame() -> None:
    schema = Schema(columns={"number": {"type": "numerical", "min": 0, "max": 9, "decimals": 0}})
    table = pa.table({"number": [1, 2]})
    found = {kind: as_kind(table, kind, schema) for kind in KINDS}
    assert found["arrow"] == table and found["polars"].equals(pl.from_arrow(table))
    assert found["pandas"]["number"].tolist() == [1, 2]
    with pytest.raises(InvalidInput, match=re.escape(either(KINDS))):
        as_kind(table, "excel", schema)
