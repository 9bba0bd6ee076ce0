"""Small tables to compare, encoded as `evaluate` would encode them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tabveil.metrics import Comparison
from tabveil.schema import Schema
from tabveil.tables.table import Codec

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "colour": {"type": "categorical", "values": ["red", "green"]},
            "size": {"type": "categorical", "values": ["s", "m", "l"]},
            "x": {"type": "numerical", "min": 0, "max": 10},
            "y": {"type": "numerical", "min": -1, "max": 1},
            "label": {"type": "categorical", "values": ["no", "yes"]},
        },
        "targets": ["label"],
    }
)


def compare(real, synthetic, schema=SCHEMA, test=None, seed=0) -> Comparison:
    """The comparison of two data frames (and test rows) under a schema."""
    codec = Codec(schema)

    def encode(frame):
        return codec.encode(pa.Table.from_pandas(frame, preserve_index=False))

    return Comparison(
        schema=schema,
        domain=codec.domain,
        real=encode(real),
        synthetic=encode(synthetic),
        test=None if test is None else encode(test),
        targets=codec.domain.targets,
        seed=seed,
    )


def shapes(rows: int, seed: int) -> pd.DataFrame:
    """Rows whose columns all hang together: colour and x make the label, size follows x, y follows
    x."""
    rng = np.random.default_rng(seed)
    x = np.round(10 * rng.beta(2, 3, rows), 3)
    red = rng.random(rows) < 0.4
    likely = np.where(red, x > 4, x < 3)
    return pd.DataFrame(
        {
            "colour": np.where(red, "red", "green"),
            "size": np.array(["s", "m", "l"])[np.digitize(x + rng.normal(size=rows), [3, 6])],
            "x": x,
            "y": np.clip(x / 5 - 1 + 0.2 * rng.normal(size=rows), -1, 1),
            "label": np.where(likely ^ (rng.random(rows) < 0.1), "yes", "no"),
        }
    )


@pytest.fixture(scope="session")
def scored():
    """A function that runs one metric on data frames and gives its values by (metric, subject)."""

    def run(metric, real, synthetic, **options) -> dict[tuple[str, str], float]:
        scores = metric(compare(real, synthetic, **options))
        return {(score.metric, score.subject): score.value for score in scores}

    return run


@pytest.fixture(scope="session")
def schema() -> Schema:
    return SCHEMA


@pytest.fixture(scope="session")
def real() -> pd.DataFrame:
    return shapes(4_000, 1)


@pytest.fixture(scope="session")
def fresh() -> pd.DataFrame:
    """Other rows of the same population."""
    return shapes(4_000, 2)


@pytest.fixture(scope="session")
def held_out() -> pd.DataFrame:
    return shapes(2_000, 3)


@pytest.fixture(scope="session")
def shuffled(real) -> pd.DataFrame:
    """The real columns, each in an order of its own: distributions stay, dependence goes."""
    rng = np.random.default_rng(4)
    return pd.DataFrame({name: rng.permutation(real[name].to_numpy()) for name in real})
