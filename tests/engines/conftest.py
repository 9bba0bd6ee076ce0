"""One Dask cluster and one Spark session for all tests of engines, and a table that is worth
splitting."""

import os
import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from samples import random_table
from tabveil.tables.table import Codec

ROWS = 3000


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    """Two worker processes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dask.dataframe  # noqa: F401
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local session that tries each task up to four times."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        builder = (
            SparkSession.builder.master("local[2,4]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYSPARK_PYTHON", sys.executable)
            # Workers meet counters of these tests, and what these tests import.
            here = Path(__file__).parent
            patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (here, here.parent))))
            session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture
def table(codec: Codec) -> pa.Table:
    return codec.decode(random_table(codec.domain, ROWS, seed=0))


@pytest.fixture
def frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas()


@pytest.fixture
def folder(table: pa.Table, tmp_path: Path) -> Path:
    """Five files of different length, in row groups of at most 100 rows."""
    place = tmp_path / "rows"
    place.mkdir()
    ends = [0, 10, 700, 701, 2000, ROWS]
    for number, (a, b) in enumerate(pairwise(ends)):
        pq.write_table(table.slice(a, b - a), place / f"{number}.parquet", row_group_size=100)
    return place
