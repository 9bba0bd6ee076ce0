"""A small release and its pages, made once."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing

FAST = Annealing(8.0, stages=2, steps=5, tolerance=0.0)
TINY = Default(rounds=2, effort=Effort(rows=60, between_rounds=FAST, at_the_end=FAST))
SCHEMA = {
    "columns": {
        "city": {"type": "categorical", "values": ["north", "south", "east"], "other": True},
        "income": {"type": "categorical", "values": ["low", "high"]},
        "colour & <b>": {"type": "categorical", "values": [f"</script> {i}" for i in range(30)]},
        "age": {"type": "numerical", "min": 0, "max": 100, "decimals": 0},
        "wage": {"type": "numerical", "min": 0, "max": 900_000, "decimals": 0, "nullable": True},
        "seen": {"type": "datetime", "min": "2013-01-01", "max": "2013-12-31", "unit": "minute"},
    },
    "targets": ["income"],
}


def people(rows: int, seed: int) -> pd.DataFrame:
    """Rows of the schema above, with names that would break a careless page."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 101, rows)
    wage = np.where(random.random(rows) < 0.3, np.nan, np.round(np.exp(random.normal(10, 1, rows))))
    return pd.DataFrame(
        {
            "city": random.choice(["north", "south", "east", "elsewhere"], rows),
            "income": np.where(age + random.normal(0, 20, rows) > 50, "high", "low"),
            "colour & <b>": [f"</script> {i}" for i in random.integers(0, 30, rows)],
            "age": age,
            "wage": wage,
            "seen": pd.Timestamp("2013-01-01")
            + pd.to_timedelta(random.integers(0, 500_000, rows), unit="min"),
        }
    )


@pytest.fixture(scope="session")
def schema() -> tv.Schema:
    return tv.Schema.from_dict(SCHEMA)


@pytest.fixture(scope="session")
def model(schema: tv.Schema) -> tv.RAPpp:
    return tv.RAPpp(schema, 2.0, preset=TINY).fit(people(3000, 0))


@pytest.fixture(scope="session")
def pages(model: tv.RAPpp, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The three pages as files."""
    from tabveil.fitting.forecast import forecast
    from tabveil.fitting.forecast_page import forecast_page
    from tabveil.report import internal_page, page

    folder = tmp_path_factory.mktemp("pages")
    made = {
        "releasable": page(model.release_),
        "internal": internal_page(model.release_, people(3000, 0), people(800, 1)),
        "plan": forecast_page(forecast(model.release_.schema, 1.0, rows=3000)),
    }
    for name, content in made.items():
        content.save(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in made}
