"""Files of synthetic rows say that they are synthetic."""

import json
from pathlib import Path

import pandas as pd
import pyarrow.feather
import pyarrow.parquet
import pytest

from release.test_conditions import release
from tabveil.errors import InvalidInput
from tabveil.release.formats import SUFFIXES
from tabveil.release.marks import KEY, beside, marked, write_marked

SAID = {"promise": "(1, 1e-9)-differential privacy", "epsilon": 1.0, "delta": 1e-9}
MADE = release()
MADE.privacy.update(SAID)  # type: ignore[attr-defined]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_file_is_marked_inside_or_beside(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"rows{suffix}"
    write_marked(MADE, MADE.sample(20, seed=0, kind="arrow"), file)
    inside = SUFFIXES[suffix].keeps_metadata
    assert beside(file).exists() != inside
    if inside:
        read = pyarrow.parquet.read_schema if suffix == ".parquet" else schema_of_arrow
        mark = json.loads(read(file).metadata[KEY])
    else:
        mark = json.loads(beside(file).read_text(encoding="utf-8"))
    assert mark["synthetic"] is True and mark["promise"] == SAID["promise"]


def schema_of_arrow(file: Path) -> pyarrow.Schema:
    return pyarrow.feather.read_table(file).schema


def test_a_column_says_it_in_every_row_on_request(tmp_path: Path) -> None:
    table = MADE.sample(20, seed=0, kind="arrow")
    write_marked(MADE, table, tmp_path / "rows.csv", column=True)
    assert pd.read_csv(tmp_path / "rows.csv").synthetic.all()
    with pytest.raises(InvalidInput, match="a column synthetic already"):
        twice = table.append_column("synthetic", table.column(0))
        write_marked(MADE, twice, tmp_path / "again.csv", column=True)


def test_a_file_that_cannot_be_written_leaves_no_mark_behind(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").mkdir()
    with pytest.raises(OSError):
        write_marked(MADE, MADE.sample(20, seed=0, kind="arrow"), tmp_path / "rows.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_metadata_that_is_there_is_kept() -> None:
    table = MADE.sample(5, seed=0, kind="arrow").replace_schema_metadata({"a": "b"})
    assert marked(table, {"synthetic": True}).schema.metadata[b"a"] == b"b"
