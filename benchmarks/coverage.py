"""How often 95 % intervals hold what is true, and how wide they are.

    python benchmarks/coverage.py -o results/coverage                 # census, 1,800 fits
    python benchmarks/coverage.py -o results/coverage --workers 14
    python benchmarks/coverage.py -o results/coverage --population new_york --data-dir DIR \\
        --repetitions 10
    python benchmarks/coverage.py -o results/coverage --rows 2000 --epsilons 1 --beside mwem_pgm
    python benchmarks/coverage.py -o results/coverage --rows 2000 --beside mst --mbi CLONE \\
        --mst PYTHON
    python benchmarks/coverage.py -o results/coverage --show          # tables alone

Each repetition draws people from a population whose true values are known, fits a release, and asks
for intervals in three ways: `Study` (noisy answers correct synthetic rows), `estimate` (ten
replicates, combined), and naively from one synthetic table as if its rows were people. One JSON
line a repetition; what is there is not done again. The census is simulated, New York resampled from
its table. With `--beside`, also naive intervals from another synthesizer. NOT PRIVATE: it compares
with the truth."""

import argparse
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabveil import Budget, RAPpp, Schema, TabveilError
from tabveil.baselines import baseline_named
from tabveil.datasets import census
from tabveil.inference import ModelWarning, Study, estimate, replicates, statistics
from tabveil.inference.statistics import Statistic
from tabveil.release import Release

Ask = Callable[[pd.DataFrame], Statistic]
TRUTH = 2_000_000  # simulated people that stand for the population
DELTA = 1e-9
FRESH = 50_000  # the first seed of people on whom no constant of the method was chosen
MOST_REPLICATED = 20_000  # people; replicates of more take minutes
POOL = 20_000  # synthetic rows that a study corrects
Z = 1.96


@dataclass(frozen=True)
class Population:
    """Where people come from, what is public about them, and what is asked."""

    schema: Schema
    people: Callable[[int, int], pd.DataFrame]
    everybody: Callable[[], Iterator[pd.DataFrame]]  # in pieces that all count the same
    numbers: tuple[str, ...]
    values: tuple[tuple[str, str], ...]  # a column and one of its values
    cell: tuple[tuple[str, str], tuple[str, str]]
    quantiles: tuple[tuple[str, float], ...]
    differences: tuple[tuple[str, str], ...]  # means of one by another
    correlation: tuple[str, str]
    linear: tuple[str, ...]
    logistic: str


def simulated_census(folder: Path | None) -> Population:
    columns = ["age", "sex", "education", "hours", "wage", "employed", "well_off"]
    whole = census.schema().to_dict()
    kept = {name: rule for name, rule in whole["columns"].items() if name in columns}
    piece = TRUTH // 10
    return Population(
        schema=Schema.from_dict({"columns": kept, "targets": ["well_off"]}),
        people=lambda rows, seed: census.frame(rows, seed=seed)[columns],
        everybody=lambda: (census.frame(piece, seed=10**6 + s)[columns] for s in range(10)),
        numbers=("age", "hours", "wage"),
        values=(("sex", "female"), ("well_off", "yes"), ("education", "bachelor")),
        cell=(("education", "bachelor"), ("well_off", "yes")),
        quantiles=(("age", 0.5), ("age", 0.9), ("wage", 0.5), ("wage", 0.9)),
        differences=(("wage", "well_off"), ("age", "well_off"), ("hours", "sex")),
        correlation=("hours", "wage"),
        linear=("hours ~ age + sex", "wage ~ hours + well_off"),
        logistic="well_off ~ age + hours",
    )


def resampled_new_york(folder: Path | None) -> Population:
    from tabveil.datasets.acs import new_york

    columns = ["AGEP", "SEX", "MAR", "SCHL", "WKHP", "WAGP", "EMP", "PINCP50"]
    made = new_york(folder)
    everybody = made.train[columns].reset_index(drop=True)
    whole = made.schema.to_dict()
    kept = {name: rule for name, rule in whole["columns"].items() if name in columns}
    first = {name: str(everybody[name].astype(str).mode()[0]) for name in ("SEX", "MAR", "EMP")}

    def people(rows: int, seed: int) -> pd.DataFrame:
        return everybody.sample(rows, replace=True, random_state=seed).reset_index(drop=True)

    return Population(
        schema=Schema.from_dict({"columns": kept, "targets": ["PINCP50"]}),
        people=people,
        everybody=lambda: iter([everybody]),
        numbers=("AGEP", "WKHP", "WAGP"),
        values=tuple(first.items()),
        cell=(("SEX", first["SEX"]), ("EMP", first["EMP"])),
        quantiles=(("AGEP", 0.5), ("AGEP", 0.9), ("WAGP", 0.9)),
        differences=(("WAGP", "PINCP50"), ("AGEP", "PINCP50"), ("WKHP", "SEX")),
        correlation=("WKHP", "WAGP"),
        linear=("WKHP ~ AGEP + SEX", "WAGP ~ WKHP + PINCP50"),
        logistic="PINCP50 ~ AGEP + WKHP",
    )


POPULATIONS = {"census": simulated_census, "new_york": resampled_new_york}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("-o", "--out", type=Path, required=True)
    options.add_argument("--population", choices=POPULATIONS, default="census")
    options.add_argument("--data-dir", type=Path, help="where acs2024_ny.parquet lies")
    options.add_argument("--rows", nargs="+", type=int, default=[2_000, 20_000, 140_000])
    options.add_argument("--epsilons", nargs="+", type=float, default=[0.3, 1.0, 5.0])
    options.add_argument("--repetitions", type=int, default=200)
    options.add_argument("--first", type=int, default=0, help="the repetition to begin with")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument(
        "--replicated",
        type=int,
        default=10,
        help="replicates in one of so many repetitions; 0: none",
    )
    options.add_argument("--seconds", type=float, default=np.inf, help="stop after so many")
    options.add_argument("--beside", help="another synthesizer: mwem_pgm, aim, ..., or mst")
    options.add_argument("--mbi", type=Path, help="a clone of private-pgm, for mst")
    options.add_argument("--mst", help="the python of an environment for it (own_mst.py)")
    options.add_argument("--show", action="store_true", help="only the tables, of what is there")
    asked = options.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    if not asked.show:
        truth = true_values(asked)
        run(list(missing(asked)), asked, truth)
    show(asked)


# -- what is done ----------------------------------------------------------------------------------


def missing(asked: argparse.Namespace) -> Iterator[tuple[int, float, int]]:
    """The repetitions that nobody has done yet, cell by cell: each is compiled for once."""
    for rows in asked.rows:
        for epsilon in asked.epsilons:
            there = done(file_of(asked, rows, epsilon))
            for repetition in range(asked.first, asked.repetitions):
                if repetition not in there:
                    yield rows, epsilon, repetition


def run(jobs: list[tuple[int, float, int]], asked: argparse.Namespace, truth: dict) -> None:
    """All of them, in as many processes as were asked for, each on one processor."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if asked.workers > 1:
        os.environ.setdefault(
            "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        )
    work = [(job, asked, truth) for job in jobs]
    began = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        for count, (job, line) in enumerate(pool.imap_unordered(repetition_of, work), start=1):
            with file_of(asked, *job[:2]).open("a") as file:
                file.write(json.dumps(line) + "\n")
            spent = time.perf_counter() - began
            if count % 20 == 0:
                print(f"{count} of {len(jobs)}, {spent:,.0f} s", flush=True)
            if spent > asked.seconds:
                break


def repetition_of(work: tuple) -> tuple[tuple[int, float, int], dict]:
    """People drawn, a release fitted, all intervals beside the truth."""
    (rows, epsilon, repetition), asked, truth = work
    warnings.simplefilter("ignore")
    population = population_of(asked)
    people = population.people(rows, FRESH + repetition)
    began = time.perf_counter()
    release = RAPpp(population.schema, epsilon, seed=repetition).fit(people).release_
    fitted = time.perf_counter()
    found = list(by_study(release, population))
    asked_all = time.perf_counter()
    made = asked_all
    if asked.replicated and repetition % asked.replicated == 0 and rows <= MOST_REPLICATED:
        drawn = replicates(release, 10, seed=repetition)
        made = time.perf_counter()
        found += by_replicates(drawn, population)
    found += naive(release.sample(rows, seed=repetition, kind="pandas"), population, "naive")
    if asked.beside:
        found += naive(beside(people, population, epsilon, asked), population, asked.beside)
    lines = [{**line, "truth": truth[line["name"]]} for line in found]
    seconds = {
        "fit": fitted - began,
        "study": asked_all - fitted,
        "ten replicates": made - asked_all or None,
    }
    return (rows, epsilon, repetition), {
        "repetition": repetition,
        "seconds": {name: value and round(value, 2) for name, value in seconds.items()},
        "lines": lines,
    }


def beside(
    people: pd.DataFrame, population: Population, epsilon: float, asked: argparse.Namespace
) -> pd.DataFrame:
    """As many rows of another synthesizer."""
    if asked.beside == "mst":
        from own_mst import bins_and_labels, by_mst  # beside this file, where it is a script

        # bins of others, which cost it nothing
        known = bins_and_labels(population.people(100_000, 7), population.numbers)
        budget = epsilon, DELTA
        return by_mst(people, known, population.numbers, budget, asked.mbi, asked.mst)
    other = baseline_named(asked.beside)
    return other.fit(people, population.schema, Budget(epsilon, DELTA)).sample(len(people))


def by_study(release: Release, population: Population) -> Iterator[dict]:
    study = Study(release, rows=POOL)
    direct = direct_widths(release, population)
    for name, ask in questions(population).items():
        statistic = ask(study.pool.frame)
        answers = study.estimated(statistic).to_dict("records")
        for full, line in zip(full_names(name, statistic), answers, strict=True):
            yield {
                "system": "study",
                "name": full,
                "low": line["low"],
                "high": line["high"],
                "rests": line["rests_on_measured"],
                "direct": direct.get(full),
            }


def by_replicates(drawn: Any, population: Population) -> Iterator[dict]:
    for name, ask in questions(population).items():

        def values(table: pd.DataFrame, name: str = name, ask: Ask = ask) -> dict[str, float]:
            found = ask(table)
            return dict(zip(full_names(name, found), found.values.tolist(), strict=True))

        try:
            combined = estimate(drawn, values, resamples=2)
        except TabveilError:  # a category that one of the tables does not have
            continue
        for line in combined.reset_index().to_dict("records"):
            yield {
                "system": "replicates",
                "name": line["statistic"],
                "low": line["low"],
                "high": line["high"],
                "rests": line["rests_on_measured"],
            }


def naive(table: pd.DataFrame, population: Population, system: str) -> Iterator[dict]:
    """As if synthetic rows were people."""
    for name, ask in questions(population).items():
        try:
            found = ask(table)
        except Exception:  # another system's table may lack what is asked for
            continue
        wide = Z * np.sqrt((found.influence**2).mean(axis=0) / len(table))
        ends = zip(full_names(name, found), found.read(-wide), found.read(wide), strict=True)
        for full, low, high in ends:
            yield {"system": system, "name": full, "low": float(low), "high": float(high)}


def questions(population: Population) -> dict[str, Ask]:
    """All that is asked of a table, by name."""
    p, found = population, {}
    for column in p.numbers:
        found[f"mean {column}"] = lambda t, c=column: statistics.mean(t, c)
    for column, value in p.values:
        found[f"share {column}={value}"] = lambda t, c=column, v=value: one_cell(t, [c], v)
    columns = [column for column, _ in p.cell]
    cell = " × ".join(value for _, value in p.cell)
    found[f"share {' × '.join(columns)}={cell}"] = lambda t: one_cell(t, columns, cell)
    for column, level in p.quantiles:
        found[f"quantile {level:g} of {column}"] = lambda t, c=column, q=level: (
            statistics.quantiles(t, c, [q])
        )
    for column, by in p.differences:
        found[f"difference in {column} by {by}"] = lambda t, c=column, b=by: difference(t, c, b)
    found[f"correlation of {' and '.join(p.correlation)}"] = lambda t: statistics.correlation(
        t, *p.correlation
    )
    for formula in p.linear:
        found[formula] = lambda t, f=formula: statistics.linear(t, f)
    found[p.logistic] = lambda t: statistics.logistic(t, p.logistic)
    return found


def one_cell(table: pd.DataFrame, columns: list[str], cell: str) -> Statistic:
    found = statistics.shares(table, columns)
    place = [name.rpartition(": ")[2] for name in found.names].index(cell)
    values = found.values[[place]]
    return Statistic.smooth(
        [found.names[place]], values, found.influence[:, [place]], found.columns
    )


def difference(table: pd.DataFrame, column: str, by: str) -> Statistic:
    last, first = (statistics.mean(table, column, g) for g in statistics.groups(table, by)[:2])
    return first.minus(last, [f"{column} by {by}"])


def full_names(name: str, found: Statistic) -> list[str]:
    """What each value is called on all lines: coefficients by their formula and their own name."""
    return [f"{name}: {own}" for own in found.names] if "~" in name else [name]


def direct_widths(release: Release, population: Population) -> dict[str, float]:
    """How wide the interval of the best single noisy answer is: shares, and means from runs."""
    counted = [m for m in release.measurements if m.family == "row count"]
    rows = max(1.0, float(counted[0].counts.sum()))
    found = {}
    for column, value in population.values:
        noise = [
            m.standard_error**2
            * m.counts.size
            / len(next(s for s in m.sides if s.name == column).cells)
            for m in release.measurements
            if column in [side.name for side in m.sides]
        ]
        measured = next(m for m in release.measurements if [s.name for s in m.sides] == [column])
        share = measured.counts[measured.cells.index(value)] / rows
        found[f"share {column}={value}"] = (
            2 * Z * np.sqrt(min(noise) / rows**2 + max(0.0, share * (1 - share)) / rows)
        )
    for column in population.numbers:
        runs = next(m for m in release.measurements if [s.name for s in m.sides] == [column])
        middles = np.array([(run.low + run.high) / 2 for run in runs.sides[0].intervals])
        shares = runs.counts[-len(middles) :] / rows
        mean = shares @ middles
        spread = max(0.0, float(shares @ (middles - mean) ** 2))
        noise = runs.standard_error**2 * ((middles - mean) ** 2).sum() / rows**2
        found[f"mean {column}"] = 2 * Z * np.sqrt(noise + spread / rows)
    return {name: float(width) for name, width in found.items()}


@cache
def population_named(name: str, folder: Path | None) -> Population:
    return POPULATIONS[name](folder)


def population_of(asked: argparse.Namespace) -> Population:
    return population_named(asked.population, asked.data_dir)


def true_values(asked: argparse.Namespace) -> dict[str, float]:
    """What is true of the population, computed once and kept."""
    kept = asked.out / f"{asked.population}-truth.json"
    if not kept.exists():
        population = population_of(asked)
        pieces = [
            {
                full: value
                for name, ask in questions(population).items()
                for found in [ask(people)]
                for full, value in zip(full_names(name, found), found.values.tolist(), strict=True)
            }
            for people in population.everybody()
        ]
        truth = pd.DataFrame(pieces).mean().to_dict() | dict(true_quantiles(population))
        kept.write_text(json.dumps(truth, indent=1))
    return json.loads(kept.read_text())


def true_quantiles(population: Population) -> Iterator[tuple[str, float]]:
    """Of everybody together: the mean of quantiles of pieces may be a value that nobody has."""
    columns = sorted({column for column, _ in population.quantiles})
    everybody = pd.concat([people[columns] for people in population.everybody()])
    for column, level in population.quantiles:
        [value] = statistics.quantiles(everybody, column, [level]).values
        yield f"quantile {level:g} of {column}", float(value)


def file_of(asked: argparse.Namespace, rows: int, epsilon: float) -> Path:
    beside = f"-{asked.beside}" if asked.beside else ""
    return asked.out / f"{asked.population}-{rows}-{epsilon:g}{beside}.jsonl"


def done(file: Path) -> set[int]:
    lines = file.read_text().splitlines() if file.exists() else []
    return {json.loads(line)["repetition"] for line in lines}


# -- what is shown ---------------------------------------------------------------------------------


def show(asked: argparse.Namespace) -> None:
    """Coverage and width: by cell and what estimates rest on, and statistic by statistic."""
    lines, seconds = [], []
    for rows in asked.rows:
        for epsilon in asked.epsilons:
            file = file_of(asked, rows, epsilon)
            for text in file.read_text().splitlines() if file.exists() else []:
                kept = json.loads(text)
                where = {"rows": rows, "ε": epsilon}
                seconds.append({**where, **kept["seconds"]})
                lines += [{**where, **line} for line in kept["lines"]]
    if not lines:
        print("Nothing was done yet.")
        return
    found = pd.DataFrame(lines)
    found["covered"] = (found["low"] <= found["truth"]) & (found["truth"] <= found["high"])
    found["width"] = found["high"] - found["low"]
    found["to direct"] = found["width"] / found["direct"]
    naive_width = found[found["system"] == "naive"].groupby(["rows", "ε", "name"])["width"].mean()
    found["to naive"] = found["width"] / pd.MultiIndex.from_frame(found[["rows", "ε", "name"]]).map(
        naive_width
    )
    found["rests"] = found["rests"].fillna("–")
    print("\nCoverage by cell, system and what estimates rest on\n")
    print(_table(found, ["rows", "ε", "system", "rests"]))
    print("\nStatistic by statistic\n")
    print(_table(found[found["system"] == "study"], ["name", "rows", "ε", "rests"]))
    print("\nSeconds, median\n")
    print(markdown(pd.DataFrame(seconds).groupby(["rows", "ε"]).median().round(2)))


def _table(found: pd.DataFrame, by: list[str]) -> str:
    grouped = found.groupby(by, sort=False).agg(
        intervals=("covered", "size"),
        covered=("covered", "mean"),
        to_direct=("to direct", "median"),
        to_naive=("to naive", "median"),
    )
    return markdown(grouped.round({"covered": 3, "to_direct": 2, "to_naive": 2}))


def markdown(table: pd.DataFrame) -> str:
    table = table.reset_index()
    lines = [table.columns, ["---"] * table.shape[1], *table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines).replace("nan", "–")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ModelWarning)
    main()
