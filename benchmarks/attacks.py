"""Outside attackers against this package, a peer, a build without noise and a copy of the rows.

    make attacks DATA=DIR      # makes the environments and runs all of it

    python benchmarks/attacks.py OUT --data-dir DIR --python VENV/bin/python
    python benchmarks/attacks.py OUT --show

What was done is kept in OUT and not done again. OUT holds real rows: NOT PRIVATE.
"""

import argparse
import json
import math
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from tabveil.audit.attacks import Build, EventInCounts, EventInPicks, Silence
from tabveil.audit.attacks.counts import losses
from tabveil.audit.attacks.density import suspicion
from tabveil.audit.estimator import lower_bound
from tabveil.audit.finding import DELTA
from tabveil.datasets import DATASETS, TABLES
from tabveil.fitting.synthesizer import RAPpp, fit_with_noise
from tabveil.privacy import Budget, OpenDPNoise, gaussian_scale, rho_of, selection_scale
from tabveil.report.guarantee import Risk
from tabveil.schema import Schema

OUTSIDERS = Path(__file__).with_name("outsiders")
EPSILONS = (1.0, 10.0)
EVERYTHING = 1e5  # an ε at which the default preset asks for every cross-table there is
POOL = 200  # people, each of whom a coin lets in
SYNTHETIC = 2000
FALSE_ALARMS = 0.01
SECRET = "occupation"
ORDER = ("ours", "MST", "no noise, same questions", "no noise, all questions", "a copy of the rows")


PRIVATE = ORDER[:2]


@dataclass(frozen=True)
class People:
    """A table's people: whom a coin may let in, and a sample that the attacker has of everyone."""

    schema: Schema
    pool: pd.DataFrame
    reference: pd.DataFrame


def people(table: str, folder: str | None, repeat: int) -> People:
    """Fresh people for each repeat."""
    if table in DATASETS:
        made = DATASETS[table]
        return People(
            made.schema(), made.frame(POOL, 2 * repeat), made.frame(10 * POOL, 2 * repeat + 1)
        )
    prepared = TABLES[table].prepare(folder)
    drawn = prepared.train.sample(POOL, random_state=repeat).reset_index(drop=True)
    return People(prepared.schema, drawn, prepared.test.sample(10 * POOL, random_state=repeat))


@dataclass(frozen=True)
class Cell:
    """One system's synthetic rows for one throw of the coins."""

    table: str
    system: str
    epsilon: float
    repeat: int

    def folder(self, out: Path) -> Path:
        system = self.system.replace(",", "").replace(" ", "-")
        return out / "cells" / f"{self.table}-{system}-{self.epsilon:g}-{self.repeat}"

    def fit(self, rows: pd.DataFrame, schema: Schema) -> pd.DataFrame | None:
        """Synthetic rows, or None where another environment has to make them."""
        if self.system == "a copy of the rows":
            return rows
        if self.system == "MST":
            return None
        build: Build = OpenDPNoise if self.system == "ours" else Silence
        epsilon = self.epsilon if math.isfinite(self.epsilon) else EVERYTHING
        model = RAPpp(schema, epsilon, delta=DELTA, seed=self.repeat)
        fit_with_noise(model, rows, build())
        return model.release_.sample(SYNTHETIC, seed=self.repeat, kind="pandas")


def cells(tables: Sequence[str], repeats: int) -> Iterator[Cell]:
    for repeat in range(repeats):
        for table in tables:
            for system in ORDER:
                graded = system in ORDER[:3]
                yield from (
                    Cell(table, system, e, repeat) for e in (EPSILONS if graded else (math.inf,))
                )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("out", type=Path)
    options.add_argument("--data-dir", help="where adult.parquet lies; or set TABVEIL_DATA")
    options.add_argument("--tables", nargs="+", default=["census", "adult"])
    options.add_argument("--repeats", type=int, default=2, help="throws of the coins")
    options.add_argument(
        "--runs", type=int, default=200, help="fits per world of the attack on counts"
    )
    options.add_argument(
        "--draws", type=int, default=60_000, help="of noise per world, for the testers"
    )
    options.add_argument(
        "--python", type=Path, help="with outsiders/requirements.txt; else ours alone"
    )
    options.add_argument(
        "--auditorium", nargs=2, metavar=("PYTHON", "CODE"), help="for DP-Auditorium"
    )
    options.add_argument("--show", action="store_true", help="only print what is there")
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not asked.show:
        if asked.auditorium:
            testers(asked.out, asked.draws, *asked.auditorium)
        rows(asked)
        counts(asked)
    show(asked.out)


# -- rows: the density attack and Anonymeter -------------------------------------------------------


def rows(asked: argparse.Namespace) -> None:
    """Fit what is missing, then attack it."""
    elsewhere: list[Path] = []
    plan = [c for c in cells(asked.tables, asked.repeats) if asked.python or c.system != "MST"]
    for cell in plan:
        folder = cell.folder(asked.out)
        if (folder / "synthetic.parquet").exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        known = people(cell.table, asked.data_dir, cell.repeat)
        inside = coins(cell.repeat)
        train = known.pool[inside].reset_index(drop=True)
        train.to_parquet(folder / "train.parquet")
        known.pool[~inside].reset_index(drop=True).to_parquet(folder / "control.parquet")
        started = time.perf_counter()
        made = cell.fit(train, known.schema)
        if made is None:
            order = {"domain": domain_of(known.schema), "epsilon": cell.epsilon, "delta": DELTA}
            (folder / "asked.json").write_text(json.dumps({**order, "rows": SYNTHETIC}))
            elsewhere.append(folder)
            continue
        made.to_parquet(folder / "synthetic.parquet")
        print(cell, f"{time.perf_counter() - started:.0f} s", flush=True)
    if elsewhere:
        outside(asked.python, "mst.py", *map(str, elsewhere))
    if asked.python:
        new = [
            c.folder(asked.out)
            for c in plan
            if not (c.folder(asked.out) / "anonymeter.json").exists()
        ]
        if new:
            outside(asked.python, "anonymeter_risks.py", SECRET, *map(str, new))
    done = {
        (r["attack"], r["table"], r["system"], r["epsilon"], r["repeat"]) for r in read(asked.out)
    }
    for cell in plan:
        key = cell.table, cell.system, cell.epsilon, cell.repeat
        folder = cell.folder(asked.out)
        if ("density", *key) not in done:
            write(asked.out, "density", *key, density(cell, folder, asked.data_dir))
        if ("Anonymeter", *key) not in done and (folder / "anonymeter.json").exists():
            write(
                asked.out, "Anonymeter", *key, json.loads((folder / "anonymeter.json").read_text())
            )


def coins(repeat: int) -> np.ndarray:
    return np.random.default_rng(repeat).random(POOL) < 0.5


def density(cell: Cell, folder: Path, data_dir: str | None) -> dict[str, list[float]]:
    """How suspicious members and others look."""
    known, inside = people(cell.table, data_dir, cell.repeat), coins(cell.repeat)
    scores = suspicion(
        known.pool, pd.read_parquet(folder / "synthetic.parquet"), known.reference, known.schema
    )
    return {
        "members": scores[inside].round(5).tolist(),
        "others": scores[~inside].round(5).tolist(),
    }


def domain_of(schema: Schema) -> dict[str, Any]:
    """What is public about columns, as dpmm takes it."""
    return {
        name: {"categories": [*codec.labels[: codec.declared]]}
        if (codec := schema.categories.get(name))
        else {"lower": schema.numbers[name].min, "upper": schema.numbers[name].max}
        for name in schema.columns
    }


def outside(python: Path, script: str, *more: str, path: str | None = None) -> None:
    """Run a script in another environment, on one processor."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    extra = {"PYTHONPATH": path} if path else {}
    subprocess.run(
        [str(python), "-W", "ignore", str(OUTSIDERS / script), *more],
        check=True,
        env=kept | threads | extra,
        stdout=subprocess.DEVNULL,
    )


# -- noisy counts ----------------------------------------------------------------------------------


def counts(asked: argparse.Namespace) -> None:
    """Many fits with one person and without."""
    done = {
        (r["table"], r["system"], r["epsilon"]) for r in read(asked.out) if r["attack"] == "counts"
    }
    for table in asked.tables:
        known = people(table, asked.data_dir, 0)
        others, target = known.pool[1:].reset_index(drop=True), known.pool[:1]
        for system, build in (("ours", OpenDPNoise), ("no noise, same questions", Silence)):
            for epsilon in EPSILONS:
                if (table, system, epsilon) in done:
                    continue
                started = time.perf_counter()
                runs = asked.runs if build is OpenDPNoise else min(asked.runs, 50)
                without, present = losses(build, known.schema, others, target, epsilon, runs)
                found = {"without": without.tolist(), "present": present.tolist()}
                write(asked.out, "counts", table, system, epsilon, 0, found)
                print(
                    "counts",
                    table,
                    system,
                    epsilon,
                    f"{time.perf_counter() - started:.0f} s",
                    flush=True,
                )


# -- testers from another hand ---------------------------------------------------------------------


class Half(OpenDPNoise):
    """Half the noise that was paid for."""

    def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
        return super().gaussian(counts, scale / 2)

    def top(self, scores: np.ndarray, picks: int, scale: float) -> np.ndarray:
        return super().top(scores, picks, scale / 2)


def testers(out: Path, draws: int, python: str, code: str) -> None:
    """DP-Auditorium on noisy counts and on a pick."""
    folder = out / "testers"
    if (folder / "found.json").exists():
        return
    folder.mkdir(exist_ok=True)
    if not (folder / "draws.npz").exists():
        draw(folder, draws)
    outside(Path(python), "auditorium.py", str(folder), path=code)


def draw(folder: Path, draws: int) -> None:
    """What each build gives out in two worlds, and what is allowed."""
    cases, drawn = [], {}
    for system, build in (("ours", OpenDPNoise), ("half the noise", Half), ("no noise", Silence)):
        for epsilon, reach in ((1.0, 1.0), (10.0, 1.5)):
            rho = rho_of(epsilon, DELTA)
            name = f"counts-{system}-{epsilon:g}"
            worlds = EventInCounts(build, epsilon, draws).worlds(gaussian_scale(rho, 2))
            drawn |= {f"{name}/without": worlds[0], f"{name}/present": worlds[1]}
            asked = {"tester": "Rényi", "alpha": 2.0, "allowed": 2 * float(rho), "reach": reach}
            cases.append({"name": name, "system": system, "epsilon": epsilon, **asked})
        name = f"pick-{system}"
        worlds = EventInPicks(build, 1.0, draws // 3).worlds(selection_scale(Fraction(1, 8), 1, 1))
        drawn |= {f"{name}/without": worlds[0], f"{name}/present": worlds[1]}
        cases.append(
            {
                "name": name,
                "system": system,
                "epsilon": 1.0,
                "tester": "hockey-stick",
                "allowed": 0.0,
            }
        )
    (folder / "asked.json").write_text(json.dumps(cases))
    np.savez(folder / "draws.npz", **drawn)


# -- results ---------------------------------------------------------------------------------------


def read(out: Path) -> list[dict[str, Any]]:
    file = out / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def write(
    out: Path, attack: str, table: str, system: str, epsilon: float, repeat: int, found: Any
) -> None:
    line = {
        "attack": attack,
        "table": table,
        "system": system,
        "epsilon": epsilon,
        "repeat": repeat,
    }
    with (out / "results.jsonl").open("a") as file:
        file.write(json.dumps({**line, "found": found}) + "\n")


def show(out: Path) -> None:
    """Markdown tables of all that is there."""
    results = read(out)
    for attack, figures in FIGURES.items():
        grouped: dict[tuple[str, str, float], list[Any]] = {}
        for line in results:
            if line["attack"] == attack:
                grouped.setdefault((line["table"], line["system"], line["epsilon"]), []).append(
                    line["found"]
                )
        lines = [
            {
                "table": table,
                "system": system,
                "ε": grade(epsilon),
                **figures(found, promised(system, epsilon)),
            }
            for (table, system, epsilon), found in sorted(grouped.items(), key=place)
        ]
        if lines:
            print(f"\n{attack}\n\n{markdown(lines)}")
    if (out / "testers" / "found.json").exists():
        found = json.loads((out / "testers" / "found.json").read_text())
        lines = [
            {
                "tester": f"{case['tester']}, {case['name'].split('-')[0]}",
                "ε": f"{case['epsilon']:g}",
                "system": case["system"],
                "allowed": f"{case['allowed']:.3g}",
                "proved": f"{case['proved']:.3g}",
                "verdict": "refused" if case["proved"] > case["allowed"] else "holds",
            }
            for case in found
        ]
        print(f"\ntesters\n\n{markdown(lines)}")


def promised(system: str, epsilon: float) -> float:
    return epsilon if system in PRIVATE else math.inf


def grade(epsilon: float) -> str:
    return "" if math.isinf(epsilon) else f"{epsilon:g}"


def place(item: tuple[tuple[str, str, float], Any]) -> tuple[str, int, float]:
    table, system, epsilon = item[0]
    return table, ORDER.index(system), epsilon


def markdown(lines: list[dict[str, str]]) -> str:
    heads = list(lines[0])
    return "\n".join(
        [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        + [f"| {' | '.join(line[head] for head in heads)} |" for line in lines]
    )


def allowed(epsilon: float) -> Risk:
    """What this ε lets any attack reach, by the promise alone."""
    return Risk([(epsilon, DELTA)])


def spent(epsilon: float) -> Risk:
    """And by what a fit with it spends."""
    return Risk.of_spending(Budget(epsilon, DELTA).rho, epsilon, DELTA)


def area(risk: Risk) -> float:
    """The largest area under a curve of members found against others accused."""
    accused = np.linspace(0, 1, 2001)
    return float(np.trapezoid([risk.caught(a) for a in accused], accused))


def density_figures(found: list[dict[str, list[float]]], epsilon: float) -> dict[str, str]:
    members, others = (np.concatenate([f[name] for f in found]) for name in ("members", "others"))
    random = np.random.default_rng(0)
    again = [
        (random.choice(members, len(members)), random.choice(others, len(others)))
        for _ in range(1000)
    ]
    figures = {}
    for name, score in (("AUC", auc), ("found at 1% accused", caught)):
        low, high = np.quantile([score(*pair) for pair in again], [0.025, 0.975])
        digits = (lambda x: f"{x:.2f}") if name == "AUC" else (lambda x: f"{x:.1%}")
        figures[name] = f"{digits(score(members, others))} ({digits(low)} to {digits(high)})"
    if math.isinf(epsilon):
        return {**figures, "allowed by ε": "", "by ρ": ""}
    promise, account = allowed(epsilon), spent(epsilon)
    return {
        **figures,
        "allowed by ε": f"{area(promise):.2f}; {promise.caught(FALSE_ALARMS):.1%}",
        "by ρ": f"{area(account):.2f}; {account.caught(FALSE_ALARMS):.1%}",
    }


def auc(members: np.ndarray, others: np.ndarray) -> float:
    """How often a member looks more suspicious than another; ties count half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, members, "left") + np.searchsorted(ordered, members, "right")
    return float(below.mean() / (2 * len(others)))


def caught(members: np.ndarray, others: np.ndarray) -> float:
    """The share of members above a threshold that one in a hundred of the others passes."""
    return float((members > np.quantile(others, 1 - FALSE_ALARMS, method="higher")).mean())


def anonymeter_figures(found: list[dict[str, dict[str, int]]], epsilon: float) -> dict[str, str]:
    figures = {}
    for how in found[0]:
        tried, members, others = (
            sum(f[how][name] for f in found) for name in ("tried", "members", "others")
        )
        figures[how] = risk(tried, members, others) if tried else "no question"
    most = "" if math.isinf(epsilon) else f"{1 - math.exp(-epsilon):.2f}"
    return {**figures, "allowed by ε": most}


def risk(tried: int, members: int, others: int) -> str:
    """Anonymeter's risk: what members lose beyond others, of what there is to lose; with 95 %
    intervals."""
    (rate, error), (usual, usual_error) = wilson(members, tried), wilson(others, tried)
    value = (rate - usual) / (1 - usual)
    spread = math.hypot(error / (1 - usual), usual_error * (1 - rate) / (1 - usual) ** 2)
    value, low, high = np.clip([value, value - spread, value + spread], 0, 1)
    return f"{members}/{others} of {tried}: {value:.2f} ({low:.2f} to {high:.2f})"


def wilson(events: int, trials: int) -> tuple[float, float]:
    z = norm.ppf(0.975)
    spread = z * math.sqrt(events * (trials - events) / trials + z * z / 4)
    return (events + z * z / 2) / (trials + z * z), spread / (trials + z * z)


def counts_figures(found: list[dict[str, list[float]]], epsilon: float) -> dict[str, str]:
    without, present = (np.array(found[0][name]) for name in ("without", "present"))
    right = int((without < 0).sum() + (present > 0).sum())
    asked = len(without) + len(present)
    rate, error = wilson(right, asked)
    proved = lower_bound(without, present, DELTA)
    limits = [] if math.isinf(epsilon) else [allowed(epsilon), spent(epsilon)]
    return {
        "right": f"{right / asked:.1%} ({rate - error:.1%} to {rate + error:.1%})",
        **dict.fromkeys(("allowed by ε", "by ρ"), ""),
        **dict(
            zip(("allowed by ε", "by ρ"), (f"{limit.guess:.1%}" for limit in limits), strict=False)
        ),
        "ε proved": f"{proved.epsilon:.2f}",
        "for any shape": f"{proved.any_shape:.2f}",
        "runs a world": str(len(without)),
    }


FIGURES = {"density": density_figures, "Anonymeter": anonymeter_figures, "counts": counts_figures}

if __name__ == "__main__":
    main()
