"""A private table with a public one beside it: this package and others, on the same rows.

    python benchmarks/public_peers.py public.jsonl --states wy=OUT/wy,OUT/wy-public.parquet \\
        --epsilons 0.1 1 --seeds 0 --jam .venv/jam/bin/python private-pgm \\
        --pmw .venv/pmw/bin/python dp-query-release

Each folder is as prepare.py makes them; its public table has the same columns. One line of scores
per run; those that are there are not run again. NOT PRIVATE.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from judge import Judge

import tabveil as tv

OUTSIDERS = Path(__file__).with_name("outsiders")
DELTA = 1e-9
ROWS = 20_000


@dataclass(frozen=True)
class State:
    """A private table and a public one."""

    name: str
    folder: Path
    public: Path

    @classmethod
    def of(cls, words: str) -> "State":
        name, places = words.split("=")
        return cls(name, *map(Path, places.split(",")))


Made = tuple[pd.DataFrame, float]
System = Callable[[State, float, int], Made]


def ours(state: State, epsilon: float, seed: int) -> Made:
    schema = tv.Schema.load(state.folder / "schema.yaml")
    started = time.monotonic()
    model = tv.RAPpp(schema, epsilon, delta=DELTA, seed=seed, public=state.public)
    model.fit(state.folder / "train.parquet")
    made = model.sample(ROWS, seed=seed)
    return made, time.monotonic() - started


def public_alone(state: State, epsilon: float, seed: int) -> Made:
    """Its rows as they are: what nobody should fall behind."""
    return pd.read_parquet(state.public).sample(ROWS, random_state=seed), 0.0


def outsider(script: str, python: str, code: str) -> System:
    def system(state: State, epsilon: float, seed: int) -> Made:
        with tempfile.TemporaryDirectory() as place:
            out = Path(place) / "synthetic.parquet"
            order = [python, OUTSIDERS / script, state.folder, state.public, epsilon, seed, out]
            done = subprocess.run(
                [str(word) for word in order],
                env={**os.environ, "PYTHONPATH": code},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            print(done.stdout, file=sys.stderr)
            said = json.loads(done.stdout.splitlines()[-1])
            return pd.read_parquet(out), said["seconds"]

    return system


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("out", type=Path, help="a .jsonl file")
    options.add_argument(
        "--states", type=State.of, nargs="+", required=True, metavar="NAME=FOLDER,PUBLIC"
    )
    options.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0])
    options.add_argument("--seeds", type=int, nargs="+", default=[0])
    options.add_argument("--jam", nargs=2, metavar=("PYTHON", "CODE"))
    options.add_argument("--pmw", nargs=2, metavar=("PYTHON", "CODE"))
    asked = options.parse_args()
    systems: dict[str, System] = {"public rows": public_alone, "tabveil": ours}
    if asked.pmw:
        systems["PMW-Pub"] = outsider("pmw_public.py", *asked.pmw)
    if asked.jam:
        python, code = asked.jam
        systems["JAM"] = outsider("jam_public.py", python, f"{code}/mechanisms")
    there = _lines(asked.out)
    for state in asked.states:
        judge = Judge(state.folder)
        for epsilon in asked.epsilons:
            for seed in asked.seeds:
                for name, system in systems.items():
                    run = {"state": state.name, "epsilon": epsilon, "seed": seed, "system": name}
                    if any(run.items() <= line.items() for line in there):
                        continue
                    made, seconds = system(state, epsilon, seed)
                    line = {**run, **judge.score(made), "seconds": round(seconds, 1)}
                    with asked.out.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                    print(json.dumps(line), flush=True)


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
