"""Fuzzed cells in columns of every type, from every source: never an error, and each is read by
itself."""

import csv
import math
import random
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odd_cells import LEARNT, RULES_TO_TRY, TEXTS, arrow_arrays, encoded, pandas_columns
from tabveil.release.formats import SUFFIXES
from tabveil.release.output import write
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.sources.checking import check
from tabveil.tables.table import Codec, Table

CANARY = "CANARY"
SECONDS = 5  # of processor time for one table, the collection of garbage in a long run included
SCHEMAS = {name: Schema(columns={"x": rule}) for name, rule in LEARNT.items()}
ARROW = {name: cells for name, cells in arrow_arrays().items() if len(cells)}
PANDAS = pandas_columns()

# -- one cell of any kind --------------------------------------------------------------------------

ODDITIES = [
    CANARY,
    pd.NaT,
    pd.NA,
    pd.Period("2020"),
    [1],
    {},
    object(),
    np.datetime64("2020"),
    10**5000,
]
hour = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.decimals(), st.complex_numbers(),
    st.text(max_size=12), st.binary(max_size=8), st.sampled_from(TEXTS), st.sampled_from(ODDITIES),
    st.dates(), st.times(), st.datetimes(), st.datetimes(timezones=hour), st.timedeltas(),
    st.from_regex(r"-?\d{1,4} days?[ ,+]{1,2}\d{1,3}:\d\d:\d\d(\.\d{1,9})?", fullmatch=True),
    st.from_regex(r"\d{4}-\d\d-\d\d[T ]?(\d\d:\d\d(:\d\d)?)?(Z|[+-]\d\d:\d\d)?", fullmatch=True),
)  # fmt: skip
columns = st.lists(anything, min_size=1, max_size=8)


def objects(cells: list[Any]) -> pd.DataFrame:
    column = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.DataFrame({"x": pd.Series(column, dtype=object)})


def texts(cells: list[Any]) -> list[str | None]:
    """What can be written into a file of the cells."""
    return [
        None if cell is None else str(cell).encode("utf-8", "replace").decode()
        for cell in cells
        if _short(cell)
    ]


def _short(cell: Any) -> bool:
    return not isinstance(cell, int) or abs(cell) < 10**4000


def as_arrow(cells: list[Any], folder: Path) -> object:
    return pa.table({"x": pa.array(texts(cells), pa.string())})


def as_pandas(cells: list[Any], folder: Path) -> object:
    return objects(cells)


def as_polars(cells: list[Any], folder: Path) -> object:
    return pl.DataFrame({"x": pl.Series("x", cells, dtype=pl.Object)})


def as_csv(cells: list[Any], folder: Path) -> object:
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [["x"], *([text or ""] for text in texts(cells))]
        )
    return folder / "a.csv"


def as_parquet(cells: list[Any], folder: Path) -> object:
    pa.parquet.write_table(as_arrow(cells, folder), folder / "a.parquet")
    return folder / "a.parquet"


def as_feather(cells: list[Any], folder: Path) -> object:
    pa.feather.write_feather(as_arrow(cells, folder), folder / "a.feather")
    return folder / "a.feather"


SOURCES: dict[str, Callable[[list[Any], Path], object]] = {
    "arrow": as_arrow, "pandas": as_pandas, "polars": as_polars, "csv": as_csv,
    "parquet": as_parquet, "feather": as_feather,
}  # fmt: skip


class TooSlow(BaseException):
    """A table that would keep us waiting."""


@contextmanager
def soon() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def require_total(data: object, schema: Schema, batch: int) -> int:
    """Every row is encoded inside the domain, and alike in any batches; how many rows there
    were."""
    codec = Codec(schema)
    whole = encoded(data, schema)
    assert np.isfinite(whole).all()
    sizes = codec.domain.sizes
    assert (whole[:, : len(sizes)] >= 0).all() and (whole[:, : len(sizes)] < np.array(sizes)).all()
    assert np.array_equal(encoded(data, schema, batch), whole)
    return len(whole)


@pytest.mark.parametrize("source", SOURCES)
@given(st.sampled_from(sorted(SCHEMAS)), columns, st.integers(1, 4))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_cell_from_any_source_is_read_by_itself(
    source: str, rule: str, cells: list[Any], batch: int
) -> None:
    with tempfile.TemporaryDirectory() as name, soon():
        folder = Path(name)
        kept = cells if source in ("pandas", "polars") else [cell for cell in cells if _short(cell)]
        data = SOURCES[source](kept, folder)
        rows = require_total(data, SCHEMAS[rule], batch)
        assert rows == len(kept)
        whole = encoded(data, SCHEMAS[rule])
        for row, cell in enumerate(kept):
            assert np.array_equal(
                encoded(SOURCES[source]([cell], folder), SCHEMAS[rule])[0], whole[row]
            )
        check(SOURCES[source](kept, folder), SCHEMAS[rule])


def any_table(codec: Codec, rows: int, seed: int) -> Table:
    """Codes and numbers as a release may hold them, every kind of cell among them."""
    chance = np.random.default_rng(seed)
    codes = np.stack([chance.integers(0, size, rows) for size in codec.domain.sizes],
    1).astype(np.int32) \
        if codec.domain.sizes else np.empty((rows, 0), np.int32)  # fmt: skip
    numbers = np.empty((rows, len(codec.domain.numerical)))
    for place, rule in enumerate(codec.schema.numbers.values()):
        numbers[:, place] = rule.min + chance.random(rows) * (rule.max - rule.min)
    return Table(codes, numbers)


@pytest.mark.parametrize("rule", LEARNT)
def test_what_is_decoded_is_encoded_as_itself_from_every_source(rule: str, tmp_path: Path) -> None:
    schema, codec = SCHEMAS[rule], Codec(SCHEMAS[rule])
    made = codec.decode(any_table(codec, 200, seed=0))
    cells = encoded(made, schema)
    files = [tmp_path / f"a{suffix}" for suffix in SUFFIXES]
    for file in files:
        write(made, file, raw=True)
    for data in (made.to_pandas(), pl.from_arrow(made), *files):
        assert np.array_equal(encoded(data, schema, 7), cells)
    again = codec.decode(codec.encode(made))
    assert np.array_equal(encoded(again, schema), cells) and check(again, schema) == []


@pytest.mark.parametrize("rule", [name for name in RULES_TO_TRY if name not in LEARNT])
def test_what_is_not_learnt_is_never_read(rule: str) -> None:
    schema = Schema(columns={"x": RULES_TO_TRY[rule], "boolean": {"type": "boolean"}})
    frame = objects([CANARY, object()]).assign(boolean=True)
    assert Source.of(frame, schema).columns == ("boolean",) and len(encoded(frame, schema)) == 2


# -- a million cells -------------------------------------------------------------------------------

SIGNS = "0123456789:-+. TZedays,naif/%\x00é٣\ud800'\"\n"


def any_text(chance: random.Random) -> str:
    kind = chance.randrange(4)
    if kind == 0:
        return "".join(chance.choices(SIGNS, k=chance.randrange(24)))
    text = chance.choice(TEXTS[:-1])[:400]
    if kind == 1 and text:
        place = chance.randrange(len(text))
        return text[:place] + chance.choice(SIGNS) + text[place + 1 :]
    return text if kind == 2 else text * chance.randrange(3) + CANARY


def any_object(chance: random.Random) -> Any:
    """A cell of any Python type."""
    far = chance.choice([10, 10**6, 10**12, 10**18, 10**30])
    number = chance.randint(-far, far)
    moment = datetime(1, 1, 1) + timedelta(microseconds=chance.randrange(315537897599999999))
    makers: list[Callable[[], Any]] = [
        lambda: any_text(chance), lambda: any_text(chance).encode("utf-8", "surrogatepass"),
        lambda: number,
        lambda: chance.random() * number, lambda: chance.choice([math.nan, math.inf, -math.inf,
        -0.0]),
        lambda: Decimal(number).scaleb(chance.randint(-40, 40)), lambda: moment,
        lambda: moment.date(),
        lambda: moment.replace(tzinfo=timezone(timedelta(minutes=chance.randint(-1439, 1439)))),
        lambda: moment.replace(tzinfo=UTC), lambda: moment.time(), lambda: bool(number % 2),
        lambda: None,
        lambda: timedelta(microseconds=max(-(10**19), min(10**19, number))),
        lambda: np.float32(chance.random()),
        lambda: np.datetime64(number % 2**62, chance.choice(["D", "s", "ms", "us", "ns", "Y"])),
        lambda: np.timedelta64(number % 2**62, chance.choice(["D", "s", "ms", "us", "ns"])),
        lambda: pd.Timestamp(number % 2**62), lambda: pd.Timedelta(number % 2**62),
        lambda: [number],
        lambda: chance.choice([*ODDITIES, date(1, 1, 1), clock(0), complex(1, 1)]),
    ]  # fmt: skip
    return chance.choice(makers)()


def any_column(chance: random.Random, rows: int, folder: Path) -> object:
    """A column from any source: typed by Arrow, typed by pandas, or of any objects."""
    kind = chance.randrange(6)
    if kind == 0:
        cells = ARROW[chance.choice(sorted(ARROW))]
        return pa.table({"x": pa.chunked_array([cells] * (1 + rows // len(cells)))})
    if kind == 1:
        series = PANDAS[chance.choice(sorted(PANDAS))]
        return pd.DataFrame(
            {"x": pd.concat([series] * (1 + rows // len(series)), ignore_index=True)}
        )
    if kind == 2:
        width = chance.choice(
            [pa.timestamp("s"), pa.timestamp("ns", "Asia/Tokyo"), pa.duration("ms"), pa.float64()]
        )
        raw = pa.py_buffer(chance.randbytes(8 * rows))
        return pa.table({"x": pa.Array.from_buffers(width, rows, [None, raw])})
    return SOURCES[["csv", "pandas", "polars"][kind - 3]](
        [any_object(chance) for _ in range(rows)], folder
    )


@pytest.mark.slow
def test_a_million_fuzzed_cells_are_read_without_an_error(tmp_path: Path) -> None:
    chance, cells, tables, slowest, started = random.Random(0), 0, 0, 0.0, time.monotonic()
    names = sorted(SCHEMAS)
    while cells < 1_000_000:
        rule, rows = names[tables % len(names)], chance.choice([1, 50, 500, 3000])
        batch = 1 if rows <= 50 else 1 + rows // chance.choice([3, 7, 40])
        data, before = any_column(chance, rows, tmp_path), time.process_time()
        try:
            with soon():
                cells += require_total(data, SCHEMAS[rule], batch)
        except BaseException as problem:
            said = "".join(traceback.format_exception_only(problem))
            raise AssertionError(
                f"table {tables}, {rule}: {type(problem).__name__}, {CANARY in said}"
            ) from problem
        slowest = max(slowest, time.process_time() - before)
        tables += 1
    took = time.monotonic() - started
    print(
        f"\n{cells:,} cells in {tables:,} tables, {took:.0f} s; the slowest table took "
        f"{slowest:.2f} s"
    )
    assert cells >= 1_000_000 and slowest < SECONDS
