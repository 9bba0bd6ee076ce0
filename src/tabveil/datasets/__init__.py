"""Named tables with their public schema, for the demo, the tests and the benchmark."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from tabveil.datasets import acs, adult, census, nist
from tabveil.datasets.prepared import Prepared
from tabveil.schema import Schema


@dataclass(frozen=True)
class Dataset:
    """A table that can be made again: `frame(rows, seed)` gives rows, `schema()` what is public."""

    name: str
    title: str
    schema: Callable[[], Schema]
    frame: Callable[[int, int], pd.DataFrame]


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (Dataset("census", census.TITLE, census.schema, census.frame),)
}


@dataclass(frozen=True)
class RealTable:
    """A real table in a folder of its user: `prepare(folder, **options)` splits and recodes it."""

    name: str
    title: str
    prepare: Callable[..., Prepared]


TABLES: dict[str, RealTable] = {
    table.name: table
    for table in (
        RealTable("acs", acs.TITLE, acs.acs),
        RealTable("new_york", acs.NEW_YORK_TITLE, acs.new_york),
        RealTable("adult", adult.TITLE, adult.adult),
        RealTable("nist", nist.TITLE, nist.nist),
    )
}

__all__ = ["DATASETS", "TABLES", "Dataset", "Prepared", "RealTable"]
