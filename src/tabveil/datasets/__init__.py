"""Named tables with their public schema, for the demo, the tests and the benchmark."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from tabveil.datasets import census
from tabveil.schema import Schema


@dataclass(frozen=True)
class Dataset:
    """A table that can be made again: `frame(rows, seed)` gives its rows, `schema()` what is public."""

    name: str
    title: str
    schema: Callable[[], Schema]
    frame: Callable[[int, int], pd.DataFrame]


DATASETS: dict[str, Dataset] = {
    dataset.name: dataset for dataset in (Dataset("census", census.TITLE, census.schema, census.frame),)
}

__all__ = ["DATASETS", "Dataset"]
