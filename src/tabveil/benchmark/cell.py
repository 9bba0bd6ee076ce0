"""One cell: prepare the rows, fit, draw, score, and say where, when and with what. NOT private."""

import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabveil.baselines import BASELINES, baseline_named
from tabveil.benchmark.experiment import Cell, evaluator_named
from tabveil.machine.files import atomic_write
from tabveil.machine.memory import peak_gigabytes
from tabveil.machine.processors import cores
from tabveil.metrics import comparison_of, kolmogorov_smirnov, models, queries, scores_of
from tabveil.metrics.comparison import Score
from tabveil.privacy import Relation

SCORED = (models.scores, queries.scores, kolmogorov_smirnov.scores)
PACKAGES = ("tabveil", "jax", "numpy", "opendp", "scikit-learn", "folktables")


def measured(cell: Cell, folder: str | Path | None, out: Path) -> dict[str, Any]:
    """Everything there is to say about one cell; answers of the real rows are kept in `out`."""
    answers = out / "answers"
    seconds: dict[str, float] = {}
    with timed(seconds, "prepare"):
        table = cell.prepare(folder)
    options = {name: value for name, value in cell.synthesizer.items() if name != "name"}
    baseline = baseline_named(cell.synthesizer["name"], **options)
    budget = cell.budget(len(table.train))
    worked = processor_seconds()
    with timed(seconds, "fit"):
        fitted = baseline.fit(
            table.train, table.schema, budget, Relation(cell.neighbours), cell.seed
        )
    worked = processor_seconds() - worked
    with timed(seconds, "sample"):
        synthetic = fitted.sample(cell.drawn(len(table.train)), cell.seed)
    memory = peak_gigabytes()
    with timed(seconds, "score"):
        comparison = comparison_of(
            table.train,
            synthetic,
            table.schema,
            table.test,
            queries=cell.queries,
            references=False,
            answered=kept_answers(cell, answers),
        )
        scores = scores_of(comparison, SCORED)
        keep_answers(cell, answers, comparison.answered)
        outside, report = evaluated(cell, synthetic, out)
    kind = BASELINES[cell.synthesizer["name"]]
    return {
        "cell": cell.to_dict(),
        "status": "done",
        "scores": [asdict(score) for score in (*scores, *outside)],
        **({"report": report} if report else {}),
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "processor_seconds": round(worked, 1),
        "gigabytes": round(memory, 3),
        "privacy": {
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "neighbours": fitted.relation,
            "accountant": kind.accountant,
            "rho": float(budget.rho),
            "rho_spent": None if fitted.spent is None else float(fitted.spent),
        },
        "notes": dict(fitted.notes),
        "table": {
            "train": len(table.train),
            "test": len(table.test),
            "categorical": len(table.schema.categorical) - len(table.schema.targets),
            "numerical": len(table.schema.numerical),
            "targets": len(table.schema.targets),
        },
        "provenance": provenance(),
    }


def evaluated(cell: Cell, synthetic: pd.DataFrame, out: Path) -> tuple[list[Score], str | None]:
    """Scores of a program of others, where one is asked, and where its report lies."""
    if cell.evaluator is None:
        return [], None
    evaluator = evaluator_named(**cell.evaluator)
    told, report = evaluator.scores(synthetic, cell.excerpt, out, cell.name)
    return [Score(name, "mean", value) for name, value in told.items()], report


def kept_answers(cell: Cell, folder: Path) -> dict[str, np.ndarray]:
    """What real rows answer to the random queries of this dataset, if it was computed before."""
    file = _answers_file(cell, folder)
    if not file.is_file():
        return {}
    with np.load(file) as kept:
        return {name: kept[name] for name in kept.files}


def keep_answers(cell: Cell, folder: Path, answers: Mapping[str, np.ndarray]) -> None:
    """Write them down for the next cell of the same dataset."""
    file = _answers_file(cell, folder)
    if answers and not file.is_file():
        atomic_write(file, lambda handle: np.savez_compressed(handle, **answers))  # type: ignore[arg-type]


def _answers_file(cell: Cell, folder: Path) -> Path:
    spelled = json.dumps([dict(cell.dataset), cell.queries], sort_keys=True, default=str)
    return folder / f"{hashlib.sha256(spelled.encode()).hexdigest()[:16]}.npz"


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Write down how long the block took."""
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began


def processor_seconds() -> float:
    """Seconds that all threads of this process and its children worked; steadier than a clock."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def provenance() -> dict[str, Any]:
    """Versions, machine and time."""
    import jax

    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    device = jax.devices()[0]
    return {
        "versions": versions,
        "machine": f"{platform.system()} {platform.machine()}, {cores()} of {os.cpu_count()} cores",
        "device": f"{device.platform}: {device.device_kind}",
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def main() -> None:
    """Run the cell that standard input spells, and write its result."""
    asked = json.loads(sys.stdin.read())
    result = measured(Cell(**asked["cell"]), asked["folder"], Path(asked["out"]))
    result["provenance"]["command"] = asked["command"]
    atomic_write(asked["file"], json.dumps(result, indent=1, ensure_ascii=False).encode())


if __name__ == "__main__":
    main()
