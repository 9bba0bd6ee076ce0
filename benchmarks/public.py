"""Help from public tables: each of some states private in turn, the other states public.

    python benchmarks/public.py DATA OUT --states VT WY NH NM WV --epsilons 0.1 1 --seeds 3

DATA holds acs2018_14states.parquet (not part of this repository). Scores are those of judge.py on
20,000 synthetic rows. One line a fit is appended to OUT/scores.jsonl; what stands there already is
not made again. NOT PRIVATE: scores look at real rows.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from judge import Judge

from tabveil import RAPpp, Schema
from tabveil.datasets.acs import STATES, acs

ROWS = 20_000
Change = Callable[[pd.DataFrame, tuple[str, ...]], pd.DataFrame]


def shuffled(frame: pd.DataFrame, targets: tuple[str, ...]) -> pd.DataFrame:
    """Every column in an order of its own."""
    random = np.random.default_rng(0)
    return pd.DataFrame({name: random.permutation(frame[name].to_numpy()) for name in frame})


def swapped(frame: pd.DataFrame, targets: tuple[str, ...]) -> pd.DataFrame:
    """The two classes of each target exchanged."""
    frame = frame.copy()
    for target in targets:
        classes = sorted(frame[target].astype(str).unique())
        names = dict(zip(classes, classes[::-1], strict=True))
        frame[target] = frame[target].astype(str).map(names)
    return frame


def older(frame: pd.DataFrame, targets: tuple[str, ...]) -> pd.DataFrame:
    """People of 60 and more."""
    return frame[pd.to_numeric(frame["AGEP"]) >= 60]


WAYS: dict[str, Change | None] = {
    "private": None,
    "public": None,
    "together": lambda frame, targets: frame,
    "shuffled": shuffled,
    "swapped": swapped,
    "older": older,
}


def prepare(data: Path, out: Path) -> None:
    """A folder for each state, as the judge reads them."""
    for state in STATES:
        folder = out / "tables" / state
        if not (folder / "schema.yaml").exists():
            folder.mkdir(parents=True, exist_ok=True)
            table = acs(data, state=state)
            table.train.to_parquet(folder / "train.parquet", index=False)
            table.test.to_parquet(folder / "test.parquet", index=False)
            table.schema.save(folder / "schema.yaml")


def made(way: str, folder: Path, epsilon: float, seed: int) -> Any:
    """Synthetic rows by one way; for `public` the public rows as they are."""
    others = [other for other in sorted(folder.parent.iterdir()) if other != folder]
    parts = [other / name for other in others for name in ("train.parquet", "test.parquet")]
    public = pd.concat(map(pd.read_parquet, parts), ignore_index=True)
    if way == "public":
        return public.sample(ROWS, random_state=seed)
    schema, change = Schema.load(folder / "schema.yaml"), WAYS[way]
    table = None if change is None else change(public, schema.targets)
    model = RAPpp(schema, epsilon, seed=seed, public=table)
    return model.fit(folder / "train.parquet").sample(ROWS, seed=seed)


def work(task: tuple[Path, list[tuple[str, float, int, str]]]) -> None:
    """Fit and score some of the jobs."""
    out, jobs = task
    for state, epsilon, seed, way in jobs:
        folder, start = out / "tables" / state, time.time()
        rows = made(way, folder, epsilon, seed)
        seconds = round(time.time() - start, 1)
        found = Judge(folder).score(rows)
        line = {"state": state, "epsilon": epsilon, "seed": seed, "way": way, **found}
        with (out / "scores.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"seconds": seconds}) + "\n")


def shown(scores_file: Path) -> str:
    """Means over seeds, by state, and over states."""
    lines = pd.DataFrame([json.loads(line) for line in scores_file.read_text().splitlines()])
    scores = [name for name in lines.columns if name not in ("state", "epsilon", "seed", "way")]
    by_state = lines.groupby(["epsilon", "state", "way"])[scores].mean()
    overall = by_state.groupby(["epsilon", "way"]).mean()
    return f"{by_state.round(4).to_string()}\n\n{overall.round(4).to_string()}"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--states", nargs="+", default=["VT", "WY", "NH", "NM", "WV"])
    options.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    options.add_argument("--workers", type=int, default=1)
    asked = options.parse_args()
    prepare(asked.data, asked.out)
    scores = asked.out / "scores.jsonl"
    scores.touch()
    lines = map(json.loads, scores.read_text(encoding="utf-8").splitlines())
    done = {(line["state"], line["epsilon"], line["seed"], line["way"]) for line in lines}
    jobs = [
        (state, epsilon, seed, way)
        for seed, way, epsilon, state in itertools.product(
            range(asked.seeds), asked.ways, asked.epsilons, asked.states
        )
        if (state, epsilon, seed, way) not in done
    ]
    workers = asked.workers
    dealt = [(asked.out, jobs[first::workers]) for first in range(workers)]
    with get_context("spawn").Pool(workers) as pool:
        pool.map(work, dealt, chunksize=1)
    print(shown(scores))


if __name__ == "__main__":
    main()
