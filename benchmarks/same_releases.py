"""Whether two versions of the code make the same releases, bit for bit, under fixed noise.

    python benchmarks/same_releases.py DATA before.json                        # in one checkout
    python benchmarks/same_releases.py DATA after.json --against before.json   # in the other

Five tables are fitted: the simulated census, a table with every type of column, Adult, a year of
flights and NIST's national excerpt; the last three lie in the folder DATA. Of each release the
fitted arrays, all noisy counts and 5,000 synthetic rows are hashed. NOT private: the noise is
seeded."""

import argparse
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from flights import flights_schema

import tabveil as tv
from tabveil.datasets import DATASETS, TABLES

ROWS = 4000
EVERY_TYPE = {
    "columns": {
        "id": {"type": "id", "style": "pattern", "pattern": "P-#####"},
        "sex": {"type": "categorical", "values": ["F", "M"], "nullable": True},
        "grade": {"type": "categorical", "values": [1, 2, 3, 4], "ordered": True, "other": True},
        "area": {"type": "categorical", "values": list(range(200))},
        "site": {"type": "categorical", "values": list("abcdef"), "groups": {"north": list("abc")}},
        "member": {"type": "boolean"},
        "wage": {"type": "numerical", "min": 0, "max": 9000, "decimals": 1, "special_values": [-1]},
        "total": {"type": "numerical", "min": 0, "max": 20000, "decimals": 1, "nullable": True},
        "height": {"type": "numerical", "min": 1.2, "max": 2.2},
        "born": {"type": "date", "min": "1930-01-01", "max": "2020-12-31"},
        "seen": {"type": "datetime", "min": "2020-01-01", "max": "2021-01-01", "unit": "minute"},
        "stay": {"type": "duration", "min": 0, "max": 600, "unit": "minute", "nullable": True},
    },
    "targets": ["sex"],
    "constraints": ["wage <= total", "if sex == M then grade in [1, 2, 3]", "born < seen"],
}


class FixedNoise:
    """Gaussian noise from a seed."""

    private = False
    threads = 1

    def __init__(self) -> None:
        self.random = np.random.default_rng(7)

    def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
        return counts + np.rint(self.random.normal(0, scale, counts.shape)).astype(np.int64)

    def top(self, scores: np.ndarray, picks: int, scale: float) -> np.ndarray:
        noisy = scores + self.random.gumbel(0, scale, scores.shape)
        return np.argsort(-noisy, kind="stable")[:picks].astype(np.int64)


class Fixed(tv.RAPpp):
    """The synthesizer of version 0.1 with fixed noise."""

    def _noise(self) -> FixedNoise:
        return FixedNoise()


def release_of(frame: pd.DataFrame, schema: tv.Schema) -> tv.Release:
    """A release with fixed noise, in this version or in 0.1."""
    try:
        from tabveil.fitting.synthesizer import fit_with_noise
    except ImportError:
        return Fixed(schema, epsilon=1.0).fit(frame).release_
    return fit_with_noise(tv.RAPpp(schema, epsilon=1.0), frame, FixedNoise()).release_


def every_type() -> tuple[pd.DataFrame, tv.Schema]:
    """Simulated rows of a table with every type of column."""
    random = np.random.default_rng(3)
    total = np.round(random.gamma(2, 1500, ROWS), 1)
    wage = np.where(random.random(ROWS) < 0.2, -1, np.round(total * random.random(ROWS), 1))
    minutes = random.integers(0, 600, ROWS)
    frame = pd.DataFrame(
        {
            "sex": random.choice(["F", "M", None], ROWS, p=[0.5, 0.45, 0.05]),
            "grade": random.choice([1, 2, 3, 4, 9], ROWS),
            "area": random.zipf(1.5, ROWS) % 200,
            "site": random.choice(list("abcdef"), ROWS),
            "member": random.random(ROWS) < 0.3,
            "wage": wage,
            "total": np.where(random.random(ROWS) < 0.1, np.nan, total),
            "height": random.normal(1.7, 0.1, ROWS),
            "born": pd.Timestamp("1930-01-01")
            + pd.to_timedelta(random.integers(0, 30000, ROWS), "D"),
            "seen": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(random.integers(0, 500000, ROWS), "min"),
            "stay": pd.to_timedelta(np.where(minutes % 9 == 0, None, minutes.astype(float)), "min"),
        }
    )
    return frame, tv.Schema.from_dict(EVERY_TYPE)


def census(_: Path) -> tuple[pd.DataFrame, tv.Schema]:
    dataset = DATASETS["census"]
    return dataset.frame(ROWS, 0), dataset.schema()


def adult(data: Path) -> tuple[pd.DataFrame, tv.Schema]:
    prepared = TABLES["adult"].prepare(data)
    return prepared.train, prepared.schema


def flights(data: Path) -> tuple[pd.DataFrame, tv.Schema]:
    frame = pd.read_parquet(data / "nycflights13.parquet")
    return frame.iloc[::10], flights_schema(frame)


def national(data: Path) -> tuple[pd.DataFrame, tv.Schema]:
    schema = tv.Schema.load(data / "nist_national2019.schema.yaml")
    return pd.read_csv(data / "nist_national2019.csv"), schema


FIVE: dict[str, Callable[[Path], tuple[pd.DataFrame, tv.Schema]]] = {
    "census": census,
    "every type": lambda _: every_type(),
    "adult": adult,
    "flights": flights,
    "national": national,
}


def digest(release: tv.Release) -> str:
    """One text for all that a release is made of, whatever its parts are called."""
    whole = hashlib.sha256()
    counts = [int(count) for m in release.measurements for count in np.ravel(m.counts)]
    for array in (release.probabilities, release.slack, np.array(counts)):
        whole.update(np.ascontiguousarray(array).tobytes())
    rows = release.sample(5000, seed=1, kind="arrow")
    for name in rows.column_names:
        whole.update(str(rows.column(name).to_pylist()).encode())
    return whole.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path)
    asked = parser.parse_args()
    found = {}
    for name, prepare in FIVE.items():
        frame, schema = prepare(asked.data)
        found[name] = digest(release_of(frame, schema))
        print(f"{name:12} {found[name][:16]}", flush=True)
    asked.out.write_text(json.dumps(found, indent=1))
    if asked.against:
        other = json.loads(asked.against.read_text())
        changed = [name for name in FIVE if found[name] != other.get(name)]
        print("the same" if not changed else f"changed: {', '.join(changed)}")
        raise SystemExit(bool(changed))


if __name__ == "__main__":
    main()
