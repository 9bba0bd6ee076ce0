"""All flights out of New York City in 2013, as they come: missing cells, moments, 4,000 tail
numbers.

    python benchmarks/flights.py nycflights13.parquet OUT          # fit at ε = 1, sample, compare

The schema is written from public knowledge: clock times, the calendar of 2013, the carriers,
airports and registered tail numbers (whose lists are public; they are read off the published file
here). NOT private: the comparison at the end looks at the real rows."""

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

import tabveil as tv

DELAYS = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
CONSTRAINTS = [
    "sched_dep_time == 100 * hour + minute",
    "if dep_time is missing then dep_delay is missing",
    "if dep_time is not missing then dep_delay is not missing",
    "if dep_time is missing then arr_time is missing",
    "if arr_time is missing then arr_delay is missing",
    "if arr_delay is missing then air_time is missing",
    "if arr_delay is not missing then air_time is not missing",
    # others arrive in the small hours of the next day
    "if arr_time > 600 then dep_time <= arr_time",
]


def flights_schema(frame: pd.DataFrame) -> tv.Schema:
    """The public schema; lists of carriers, airports and tail numbers come from the published
    table."""

    def listed(name: str) -> dict:
        return {"type": "categorical", "values": sorted(frame[name].dropna().unique().tolist())}

    def whole(low: int, high: int, **more: object) -> dict:
        return {"type": "numerical", "min": low, "max": high, "decimals": 0, **more}

    def numbered(low: int, high: int) -> dict:
        return {"type": "categorical", "values": list(range(low, high + 1))}

    missing = {"nullable": True}
    columns = {
        "year": numbered(2013, 2013),
        "month": numbered(1, 12),
        "day": numbered(1, 31),
        "dep_time": whole(1, 2400, **missing),
        "sched_dep_time": whole(0, 2359),
        "dep_delay": whole(-60, 1500, **missing),
        "arr_time": whole(1, 2400, **missing),
        "sched_arr_time": whole(0, 2359),
        "arr_delay": whole(-100, 1500, **missing),
        "carrier": listed("carrier"),
        "flight": whole(1, 9999),
        "tailnum": listed("tailnum") | missing,
        "origin": listed("origin"),
        "dest": listed("dest"),
        "air_time": whole(10, 800, **missing),
        "distance": whole(0, 5000),
        "hour": numbered(0, 23),
        "minute": numbered(0, 59),
        "time_hour": {
            "type": "datetime",
            "min": "2013-01-01T00:00",
            "max": "2014-01-01T12:00",
            "unit": "hour",
            "format": "%Y-%m-%dT%H:%M:%SZ",
        },
    }
    return tv.Schema.from_dict({"columns": columns, "constraints": CONSTRAINTS})


def compared(real: pd.DataFrame, synthetic: pd.DataFrame) -> dict:
    """How far the synthetic flights are from the real ones."""
    numbers = [*DELAYS, "sched_dep_time", "sched_arr_time", "flight", "distance"]
    ks = {n: float(ks_2samp(real[n].dropna(), synthetic[n].dropna()).statistic) for n in numbers}
    moments = [pd.to_datetime(f["time_hour"]).astype("int64") for f in (real, synthetic)]
    ks["time_hour"] = float(ks_2samp(*moments).statistic)
    missing = (real.isna().mean() - synthetic.isna().mean()).abs()
    cancelled = synthetic["dep_time"].isna()
    known = synthetic[["dep_time", "arr_time"]].dropna()
    overnight = known["arr_time"] <= 600
    return {
        "same columns and dtypes": bool((real.dtypes == synthetic.dtypes).all()),
        "largest difference of missing shares": float(missing.max()),
        "cancelled flights missing everywhere": float(
            synthetic.loc[cancelled, list(DELAYS)].isna().all(axis=1).mean()
        ),
        "arrive after they depart, or in the small hours": float(
            (overnight | (known["arr_time"] >= known["dep_time"])).mean()
        ),
        "KS": ks,
        "largest KS": max(ks.values()),
        "TV of departures per hour": total_variation(real, synthetic, ["hour"]),
        "TV of departures per month": total_variation(real, synthetic, ["month"]),
        "TV of departures per hour and month": total_variation(real, synthetic, ["hour", "month"]),
        "TV of tail numbers": total_variation(real, synthetic, ["tailnum"]),
    }


def total_variation(real: pd.DataFrame, synthetic: pd.DataFrame, names: list[str]) -> float:
    shares = [
        frame.value_counts(names, normalize=True, dropna=False) for frame in (real, synthetic)
    ]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("table", type=Path)
    options.add_argument("folder", type=Path)
    options.add_argument("--epsilon", type=float, default=1.0)
    asked = options.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    real = pd.read_parquet(asked.table)
    schema = flights_schema(real)
    schema.save(asked.folder / "schema.yaml")
    started = time.perf_counter()
    model = tv.RAPpp(schema, asked.epsilon).fit(real)
    fitted = time.perf_counter()
    synthetic = model.sample(len(real), seed=0)
    sampled = time.perf_counter()
    model.save(asked.folder / "release")
    synthetic.to_parquet(asked.folder / "synthetic.parquet", index=False)
    found = compared(real, synthetic) | {
        "seconds to fit": fitted - started,
        "seconds to sample": sampled - fitted,
        "GB at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "rows": len(synthetic),
    }
    (asked.folder / "figures.json").write_text(json.dumps(found, indent=1))
    print(json.dumps(found, indent=1, default=np.float64))


if __name__ == "__main__":
    main()
