"""NIST's table and evaluator: fit, draw as many rows, and score them by SDNist's own classes.

    python -m venv sdnist-env && sdnist-env/bin/pip install SDNIST   # a copy of usnistgov/SDNist
    python benchmarks/nist.py DATA OUT --sdnist sdnist-env/bin/python --root SDNIST/BenchmarkData
    python benchmarks/nist.py DATA OUT --features 10 --constraints --epsilons 1 --seeds 3 ...

DATA holds nist_national2019.csv and its schema (not part of this repository). SDNist has pins of
its own, hence an environment of its own. NOT PRIVATE: scores look at the real rows.
"""

import argparse
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tabveil import RAPpp, Schema
from tabveil.schema.constraints import parse_constraints

HERE = Path(__file__).parent
TABLE = "nist_national2019"


def schema_of(data: Path, features: int, constraints: bool) -> Schema:
    """The code book's lists and bounds, and what else is known of the chosen columns."""
    known = yaml.safe_load((HERE / "nist.yaml").read_text(encoding="utf-8"))
    columns = yaml.safe_load((data / f"{TABLE}.schema.yaml").read_text(encoding="utf-8"))["columns"]
    every = Schema.from_dict({"columns": columns, "missing": known["missing"]})
    document: dict[str, Any] = {"missing": known["missing"]}
    if features == 10:
        document["columns"] = {name: columns[name] for name in known["demographic"]}
    else:
        document["columns"] = columns | followers(data, columns)
        document["strata"] = known["strata"]
    if constraints:
        chosen = set(document["columns"])
        document["constraints"] = [
            text for text in known["constraints"] if columns_of(text, every) <= chosen
        ]
    return Schema.from_dict(document)


def columns_of(text: str, schema: Schema) -> set[str]:
    """The columns that a constraint is about."""
    [constraint] = parse_constraints([text], schema.columns)
    claims = (*constraint.conditions, constraint.claim)
    return {name for claim in claims for name in claim.columns}


def followers(data: Path, columns: dict[str, Any]) -> dict[str, Any]:
    """A PUMA's density, which is public (this file is the copy at hand), and a code's industry."""
    rows = pd.read_csv(data / f"{TABLE}.csv", dtype=str, usecols=["PUMA", "DENSITY"])
    density = {puma: float(d) for puma, d in rows.drop_duplicates().itertuples(index=False)}
    groups = columns["INDP"]["groups"].values()
    industry = {code: number for number, codes in enumerate(groups) for code in codes}
    return {
        "DENSITY": {"type": "follows", "of": "PUMA", "map": density},
        "INDP_CAT": {"type": "follows", "of": "INDP", "map": industry},
    }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--sdnist", type=Path, required=True, help="a Python that has SDNist 2.5")
    options.add_argument("--root", type=Path, required=True, help="BenchmarkData of its repository")
    options.add_argument("--features", type=int, choices=[10, 24], default=24)
    options.add_argument("--constraints", action="store_true")
    options.add_argument("--epsilons", type=float, nargs="+", default=[1.0])
    options.add_argument("--seeds", type=int, default=3)
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    schema = schema_of(asked.data, asked.features, asked.constraints)
    rows = pd.read_csv(asked.data / f"{TABLE}.csv", dtype=str, keep_default_na=False)
    kind = f"{asked.features}{'-constraints' if asked.constraints else ''}"
    for epsilon in asked.epsilons:
        for seed in range(asked.seeds):
            made = asked.out / f"{kind}-{epsilon:g}-{seed}.csv"
            started = time.monotonic()
            model = RAPpp(schema, epsilon, seed=seed).fit(rows)
            seconds = time.monotonic() - started
            model.sample(len(rows), seed=seed).to_csv(made, index=False)
            scores = subprocess.run(
                [asked.sdnist, HERE / "outsiders" / "nist_scores.py", made, asked.root],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            line = {"fit": made.stem, "seconds": round(seconds, 1), **json.loads(scores)}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
