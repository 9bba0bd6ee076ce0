"""Wherever rows are counted, however they are split: the same bits, and no row leaves."""

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tabveil as tv
from noises import Fixed
from tabveil import cli
from tabveil.curator import PointCounts, TableCount, Workload, WorkloadCounts
from tabveil.engines import ENGINES, Dask, Engine, Local, Spark
from tabveil.errors import InvalidInput
from tabveil.fitting.presets import PRESETS, Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.fitting.rows import EncodedRows
from tabveil.privacy import Ledger, Relation
from tabveil.queries import Pairs, random_linear_thresholds
from tabveil.sources import Source
from tabveil.tables.placement import Lattice, MinMax
from tabveil.tables.table import Codec, Table

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of a worker that was killed
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
FAST = Annealing(stages=1, steps=3)
TINY = Default(rounds=2, effort=Effort(rows=50, between_rounds=FAST, at_the_end=FAST))


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "dask":
        request.getfixturevalue("dask_client")
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    with ENGINES[request.param]() as opened:
        yield opened


@pytest.fixture
def workload(codec: Codec) -> Workload:
    families = (
        Pairs.over(codec.domain, [np.array([20_000, 40_000])] * 2, 10**6),
        random_linear_thresholds(codec.domain, 30, np.random.default_rng(0)),
    )
    return Workload(families, MinMax.of(codec.schema), codec.domain)


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    assert all(a.dtype == np.int64 for a in found)
    return all((a == b).all() for a, b in zip(found, expected, strict=True))


# -- the same bits ---------------------------------------------------------------------------------


def test_every_engine_counts_what_one_batch_would(
    engine: Engine, workload: Workload, codec: Codec, table: pa.Table, folder: Path
) -> None:
    expected = WorkloadCounts(workload)(codec.encode(table))
    rows = EncodedRows(Source.of(folder, codec.schema), codec, engine)
    assert same(rows.total(WorkloadCounts(workload)), expected)
    lattice = Lattice.of(codec.schema)
    assert same(
        rows.total(PointCounts(lattice), lattice.names), PointCounts(lattice)(codec.encode(table))
    )
    assert rows.count() == table.num_rows


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("kind", ["folder", "csv", "csv.gz", "arrow", "pandas"])
def test_no_format_and_no_number_of_threads_changes_a_count(
    threads: int,
    kind: str,
    workload: Workload,
    codec: Codec,
    table: pa.Table,
    folder: Path,
    tmp_path: Path,
) -> None:
    frame = table.to_pandas()
    if kind.startswith("csv"):
        frame.to_csv(tmp_path / f"rows.{kind}", index=False)
    data: Any = {"folder": folder, "arrow": table, "pandas": frame}.get(
        kind, tmp_path / f"rows.{kind}"
    )
    rows = EncodedRows(Source.of(data, codec.schema), codec, Local(threads=threads))
    assert same(rows.total(WorkloadCounts(workload)), WorkloadCounts(workload)(codec.encode(table)))


@pytest.mark.parametrize("pieces", [1, 2, 3, 8, 1000])
@pytest.mark.parametrize("kind", ["folder", "arrow", "pandas"])
def test_pieces_hold_every_row_once(
    pieces: int, kind: str, codec: Codec, table: pa.Table, folder: Path
) -> None:
    data: Any = {"folder": folder, "arrow": table, "pandas": table.to_pandas()}[kind]
    parts = Source.of(data, codec.schema).split(pieces)
    found = pa.concat_tables(
        [batch.cast(table.schema) for part in parts for batch in part.batches()]
    )
    assert found.equals(table) and len(parts) <= pieces
    assert sum(part.count() for part in parts) == table.num_rows


def test_frames_of_a_cluster_go_straight_into_a_fit(
    schema: tv.Schema, table: pa.Table, dask_client: Any, spark_session: Any, fixed_noise: None
) -> None:
    import dask.dataframe

    frame = table.to_pandas()
    local = tv.RAPpp(schema, 1.0, preset=TINY).fit(frame).release_
    on_dask = (
        tv.RAPpp(schema, 1.0, preset=TINY)
        .fit(dask.dataframe.from_pandas(frame, npartitions=5))
        .release_
    )
    on_spark = tv.RAPpp(schema, 1.0, preset=TINY).fit(spark_session.createDataFrame(table)).release_
    for release in (on_dask, on_spark):
        assert release.measurements == local.measurements
        assert (release.probabilities == local.probabilities).all()
        assert (release.numbers.chances == local.numbers.chances).all()


@pytest.mark.parametrize("name", ENGINES)
def test_with_fixed_noise_every_engine_makes_the_same_release(
    name: str, schema: tv.Schema, frame: pd.DataFrame, folder: Path, request: pytest.FixtureRequest,
    fixed_noise: None,
) -> None:  # fmt: skip
    if name != "local":
        request.getfixturevalue({"dask": "dask_client", "spark": "spark_session"}[name])
    local = tv.RAPpp(schema, 1.0, preset=TINY, engine=Local(threads=1)).fit(frame).release_
    other = tv.RAPpp(schema, 1.0, preset=TINY, engine=name).fit(folder).release_
    assert other.measurements == local.measurements and not other.privacy["private"]
    assert (other.probabilities == local.probabilities).all() and (
        other.numbers.chances == local.numbers.chances
    ).all()


@pytest.fixture
def fixed_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabveil.fitting.synthesizer.OpenDPNoise", Fixed)


# -- failure ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiesOnce:
    """Kills the process that counts, the first time; afterwards it counts."""

    mark: Path
    count: TableCount

    def __call__(self, table: Table) -> list[np.ndarray]:
        try:
            self.mark.touch(exist_ok=False)
        except FileExistsError:
            return self.count(table)
        if self.mark.with_suffix(".driver").read_text() == str(os.getpid()) or not table.rows:
            self.mark.unlink()  # the driver only asks for shapes
            return self.count(table)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("a killed process goes no further")


@pytest.mark.parametrize("name", ["dask", "spark"])
def test_a_worker_that_dies_in_the_middle_changes_no_bit(
    name: str, request: pytest.FixtureRequest, workload: Workload, codec: Codec, table: pa.Table,
    folder: Path, tmp_path: Path,
) -> None:  # fmt: skip
    request.getfixturevalue({"dask": "dask_client", "spark": "spark_session"}[name])
    mark = tmp_path / "died"
    mark.with_suffix(".driver").write_text(str(os.getpid()))
    with ENGINES[name]() as engine:
        rows = EncodedRows(Source.of(folder, codec.schema), codec, engine)
        found = rows.total(DiesOnce(mark, WorkloadCounts(workload)))
    assert mark.exists()
    assert same(found, WorkloadCounts(workload)(codec.encode(table)))


@dataclass(frozen=True)
class Broken:
    """Fails on every row, with words that quote one."""

    def __call__(self, table: Table) -> list[np.ndarray]:
        if table.rows:
            raise ValueError(f"secret {table.numbers[0]}")
        return [np.zeros(1, np.int64)]


@dataclass(frozen=True)
class BrokenFromTheStart:
    """Fails on any table, also on one without rows."""

    def __call__(self, table: Table) -> list[np.ndarray]:
        raise ValueError("secret")


@pytest.mark.parametrize("broken", [Broken(), BrokenFromTheStart()], ids=["later", "at once"])
def test_an_error_in_counting_becomes_a_sentence_without_a_cell_on_every_engine(
    engine: Engine, broken: Any, codec: Codec, folder: Path, capfd: pytest.CaptureFixture
) -> None:
    with pytest.raises(InvalidInput) as problem:
        EncodedRows(Source.of(folder, codec.schema), codec, engine).total(broken)
    said, error = capfd.readouterr(), problem.value
    shown = "".join(traceback.format_exception(error))
    assert "secret" not in f"{error}{error.__cause__}{error.__context__}{shown}{said.out}{said.err}"
    assert "ValueError" in error.message and "\n" not in error.message and error.hint


def test_the_owner_can_ask_for_the_traceback(
    codec: Codec, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TABVEIL_DEBUG", "1")
    with pytest.raises(ValueError, match="secret"):
        EncodedRows(Source.of(folder, codec.schema), codec, Local()).total(Broken())


def test_a_fit_that_fails_leaves_the_ledger_true_and_no_release(
    schema: tv.Schema, folder: Path, tmp_path: Path, engine: Engine
) -> None:
    damaged = bytearray((folder / "3.parquet").read_bytes())
    damaged[4 : len(damaged) // 2] = bytes(len(damaged) // 2 - 4)  # pages, not the footer
    (folder / "3.parquet").write_bytes(damaged)
    ledger = tmp_path / "fits.ledger"
    model = tv.RAPpp(schema, 1.0, preset=TINY, ledger=ledger, engine=engine)
    with pytest.raises(
        InvalidInput, match=r"3\.parquet in the Parquet folder rows could not be read"
    ):
        model.fit(folder)
    assert not hasattr(model, "release_")
    kept = Ledger.read(ledger)
    assert [charge.what for charge in kept.charges] == ["row count", "measuring 2 distributions"]
    assert (
        kept.relation is Relation.ADD_REMOVE and Fraction(0) < kept.spent < tv.Budget(1.0, 1e-9).rho
    )


def test_a_file_that_lacks_a_column_is_named(
    schema: tv.Schema, table: pa.Table, folder: Path
) -> None:
    pq.write_table(table.drop_columns(["wage"]), folder / "part-17.parquet")
    with pytest.raises(
        InvalidInput, match=r"^Part-17\.parquet in the Parquet folder rows lacks .*wage"
    ):
        Source.of(folder, schema)


# -- choosing --------------------------------------------------------------------------------------


def test_an_engine_that_does_not_exist_is_refused_before_anything_is_read(
    schema: tv.Schema,
) -> None:
    with pytest.raises(InvalidInput, match="no engine abacus"):
        tv.RAPpp(schema, 1.0, engine="abacus").fit("nowhere.csv")
    with pytest.raises(InvalidInput, match="no scheduler"):
        Local("tcp://nowhere:1")


def test_a_scheduler_that_does_not_answer_is_named(
    dask_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tabveil.engines.dask.PATIENCE", "1s")
    with (
        pytest.raises(InvalidInput, match="No Dask scheduler answers at tcp"),
        Dask("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_cluster_by_its_address_counts_the_same(
    dask_client: Any, workload: Workload, codec: Codec, table: pa.Table, folder: Path
) -> None:
    with Dask(dask_client.scheduler.address) as engine:
        rows = EncodedRows(Source.of(folder, codec.schema), codec, engine)
        assert same(
            rows.total(WorkloadCounts(workload)), WorkloadCounts(workload)(codec.encode(table))
        )


def test_the_command_line_counts_on_a_cluster(
    dask_client: Any,
    schema: tv.Schema,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PRESETS, "default", TINY)
    schema.save(tmp_path / "schema.json")
    words = [
        "fit",
        f"file://{folder}",
        "--schema",
        tmp_path / "schema.json",
        "--epsilon",
        1,
        "-o",
        tmp_path / "out",
    ]
    words += ["--engine", "dask", "--scheduler", dask_client.scheduler.address]
    monkeypatch.setattr(sys, "argv", ["tabveil", *map(str, words)])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    assert tv.load(tmp_path / "out").privacy["private"]


def test_spark_knows_its_tables_by_name(
    spark_session: Any, schema: tv.Schema, table: pa.Table, fixed_noise: None
) -> None:
    spark_session.createDataFrame(table).createOrReplaceTempView("people")
    by_name = tv.RAPpp(schema, 1.0, preset=TINY, engine="spark").fit("people").release_
    assert (
        by_name.measurements == tv.RAPpp(schema, 1.0, preset=TINY).fit(table).release_.measurements
    )
    with Spark() as engine, pytest.raises(InvalidInput, match="no table nobody"):
        engine.find("nobody")


def test_a_cluster_frame_is_not_read_here(
    dask_client: Any, frame: pd.DataFrame, schema: tv.Schema
) -> None:
    import dask.dataframe

    source = Source.of(dask.dataframe.from_pandas(frame, npartitions=2), schema)
    assert source.count() == len(frame) and repr(source) == "Source(a Dask frame, 7 columns)"
    with pytest.raises(InvalidInput, match="not read row by row"):
        next(source.batches())


def test_a_folder_can_be_named_by_its_address(
    folder: Path, schema: tv.Schema, table: pa.Table
) -> None:
    source = Source.of(f"file://{folder}", schema)
    assert source.count() == table.num_rows
    assert Source.of(f"file://{folder}/1.parquet", schema).count() == 690
    for nowhere, word in (
        (f"file://{folder}-not", "holds no|reached"),
        ("nothing://a", "cannot be reached"),
    ):
        with pytest.raises(InvalidInput, match=word):
            Source.of(nowhere, schema)


def test_short_files_are_counted_together(folder: Path, schema: tv.Schema, table: pa.Table) -> None:
    assert [b.num_rows for b in Source.of(folder, schema).batches()] == [table.num_rows]
    text = table.set_column(table.column_names.index("age"), "age", table["age"].cast(pa.string()))
    pq.write_table(text.slice(0, 7), folder / "9.parquet")  # the same numbers in another type
    assert [b.num_rows for b in Source.of(folder, schema).batches()] == [table.num_rows, 7]


def test_progress_tells_shares_of_bytes_and_nothing_else(folder: Path, schema: tv.Schema) -> None:
    shares: list[float] = []
    for _ in Source.of(folder, schema).batches(on_progress=shares.append):
        pass
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert all(share == round(share, 2) for share in shares)


def test_a_local_pass_stops_all_threads_after_an_error(codec: Codec, table: pa.Table) -> None:
    class Endless(Source):
        def batches(self, *_: Any, **__: Any) -> Iterator[pa.Table]:
            while True:
                yield table

    with pytest.raises(InvalidInput, match="could not be counted"):
        EncodedRows(
            Endless(Source.of(table, codec.schema).reader, ()), codec, Local(threads=3)
        ).total(Broken())
