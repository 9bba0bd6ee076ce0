"""No cell stops a fit, each is read by itself, and the same cell is read alike however it is
typed."""

import datetime
import traceback

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from odd_cells import LEARNT, arrow_arrays, as_objects, encoded, pandas_columns
from tabveil.columns import Date, Datetime, Duration
from tabveil.errors import InvalidInput
from tabveil.schema import Schema
from tabveil.sources.checking import check
from tabveil.sources.drafting import draft_schema

ARROW = arrow_arrays()
PANDAS = pandas_columns()
NUMPY = [n for n, s in PANDAS.items() if isinstance(s.dtype, np.dtype) and s.dtype.kind in "mM"]


@pytest.mark.parametrize("rule", LEARNT)
def test_cells_of_every_arrow_type_are_read_one_by_one(rule: str) -> None:
    schema = Schema(columns={"x": LEARNT[rule]})
    for name, cells in ARROW.items():
        whole = encoded(pa.table({"x": cells}), schema)
        assert len(whole) == len(cells), name
        for rows in (1, 2):
            assert np.array_equal(encoded(pa.table({"x": cells}), schema, rows), whole), name


@pytest.mark.parametrize("rule", LEARNT)
def test_one_row_that_makes_pandas_hold_objects_changes_no_other_row(rule: str) -> None:
    schema = Schema(columns={"x": LEARNT[rule]})
    for name, series in PANDAS.items():
        typed = encoded(pd.DataFrame({"x": series}), schema)
        objects = as_objects(series)
        assert np.array_equal(encoded(pd.DataFrame({"x": objects}), schema), typed), name
        more = pd.concat([objects, pd.Series(["odd"], dtype=object)], ignore_index=True)
        assert np.array_equal(encoded(pd.DataFrame({"x": more}), schema)[:-1], typed), name


@pytest.mark.parametrize("name", NUMPY)
def test_times_of_numpy_are_read_like_those_of_pandas(name: str) -> None:
    cells = np.empty(len(PANDAS[name]), object)
    for place, cell in enumerate(PANDAS[name].to_numpy()):
        cells[place] = cell
    for rule in LEARNT.values():
        schema = Schema(columns={"x": rule})
        typed = encoded(pd.DataFrame({"x": PANDAS[name]}), schema)
        assert np.array_equal(
            encoded(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), schema), typed
        )


def test_an_instant_among_objects_stays_the_instant_that_it_is() -> None:
    zone = "America/New_York"
    schema = Schema(
        columns={
            "x": {
                "type": "datetime",
                "min": "2013-01-01",
                "max": "2014-01-01",
                "unit": "hour",
                "timezone": zone,
            }
        }
    )
    noon = pd.Timestamp("2013-07-01 12:00", tz=zone)
    found = [
        encoded(pd.DataFrame({"x": pd.Series([noon], dtype=kind)}), schema)
        for kind in (None, object)
    ]
    assert found[0] == found[1] == encoded(pd.DataFrame({"x": ["2013-07-01 12:00"]}), schema)


def read(rule: Datetime | Duration, *cells: object, kind: pa.DataType | None = None) -> list[float]:
    return rule.codec.line.read(pa.chunked_array([pa.array(list(cells), kind)])).tolist()


def test_a_date_that_is_no_midnight_is_its_day_and_far_days_are_far() -> None:
    rule = Date(min="2020-01-01", max="2020-12-31")
    odd = pa.array([1577836800001, 1577923199999], pa.int64()).cast(pa.timestamp("ms"))
    dates = pa.Array.from_buffers(pa.date64(), 2, odd.buffers())
    assert rule.codec.line.read(pa.chunked_array([dates])).tolist() == [0, 0]
    far = rule.codec.line.read(
        pa.chunked_array([pa.array([-(2**31), 2**31 - 1], pa.int32()).cast(pa.date32())])
    )
    assert far[0] < 0 and far[1] > 365


def test_lengths_of_any_digits_are_numbers_and_written_as_others_write_them() -> None:
    rule = Duration(min=0, max=9, unit="second")
    assert read(rule, "9" * 310 + ":00:00", "-" + "9" * 5000 + ":00:00") == [np.inf, -np.inf]
    hour = [
        str(pd.Timedelta("-1h")),
        str(datetime.timedelta(hours=-1)),
        "-1:00:00",
        "-0 days 1:00:00",
    ]
    assert read(rule, *hour) == [-3600] * 4
    assert read(rule, "0 days 00:00:01.999999999", "-1 days +23:59:59.999999999") == [1, -1]


def test_whole_numbers_are_the_days_that_their_texts_are() -> None:
    rule = Date(min="2020-01-01", max="2020-12-31", format="%Y%m%d", nullable=True)
    assert read(rule, "20200103") == read(rule, 20200103) == read(rule, 20200103.0) == [2]


def test_a_format_that_python_cannot_use_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be read back"):
        Datetime(min="2020-01-01", max="2021-01-01", unit="day", format="%Y%Y-%m-%d")


@pytest.mark.parametrize("name", ARROW)
def test_checking_and_drafting_stop_at_no_cell(name: str) -> None:
    table = pa.table({"x": ARROW[name]})
    for rule in LEARNT.values():
        check(table, Schema(columns={"x": rule}))
    for public in (True, False):
        draft_schema(table, public=public)


@pytest.mark.parametrize("name", PANDAS)
def test_checking_says_of_objects_what_it_says_of_typed_cells(name: str) -> None:
    for rule in LEARNT.values():
        schema = Schema(columns={"x": rule})
        found = [
            check(pd.DataFrame({"x": s}), schema) for s in (PANDAS[name], as_objects(PANDAS[name]))
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize(
    "place", ["columns.categorical.ListCodec.broken", "sources.drafting._Seen.look"]
)
def test_unforeseen_trouble_in_checking_and_drafting_quotes_no_cell(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("CANARY")

    monkeypatch.setattr(f"tabveil.{place}", broken)
    table = pa.table({"x": ["a"]})
    with pytest.raises(InvalidInput) as problem:
        check(table, Schema(columns={"x": LEARNT["boolean 0"]}))
        draft_schema(table, public=True)
    assert "CANARY" not in "".join(traceback.format_exception(problem.value)) and problem.value.hint
