"""Finished cells as tidy rows, and tables of means over seeds."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from tabveil.baselines import BASELINES, baseline_named
from tabveil.benchmark.experiment import Cell, Experiment, default_options
from tabveil.benchmark.run import result_file
from tabveil.datasets.acs import POOLED
from tabveil.errors import InvalidInput

SCORES = {
    "f1_linear": "F1 linear",
    "f1_trees": "F1 trees",
    "cm_error": "CM error",
    "total_variation_cm": "CM total variation",
    "mm_error_uniform": "MM error",
    "mm_error_quantile": "MM error, quantiles",
    "lt_error": "LT error",
    "kolmogorov_smirnov": "KS",
    "projected_error_mean": "mean error",
    "projected_error_max": "max error",
    "k_marginal": "K-marginal",
    "worst_puma": "worst PUMA",
    "univariate": "univariate TV",
    "pearson_difference": "Pearson difference",
    "decile_given_edu": "decile given EDU, TV",
    "pmse": "pMSE",
    "pmse_least": "pMSE, least",
    "pmse_most": "pMSE, most",
    "inconsistent_age": "inconsistent: age",
    "inconsistent_work": "work",
    "inconsistent_housing": "housing",
    "combinations": "combinations, share of real",
    "fit_seconds": "seconds",
    "processor_seconds": "processor seconds",
    "gigabytes": "GB",
}


def tidy(experiment: Experiment, out: Path) -> pd.DataFrame:
    """One row per cell and score, with everything that the cell was made from."""
    rows: list[dict[str, Any]] = []
    for cell in experiment.cells():
        file = result_file(out, cell)
        if file.is_file():
            rows += rows_of(cell, json.loads(file.read_text(encoding="utf-8")))
    if not rows:
        raise InvalidInput(
            f"{out} holds no result of this experiment.", "Run it first, without --plot."
        )
    return pd.DataFrame(rows)


def rows_of(cell: Cell, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The scores of one result; a cell that was not finished has its time alone."""
    system, options = BASELINES[cell.synthesizer["name"]].title, without_name(cell.synthesizer)
    known = {
        name: v
        for name, v in default_options(cell.dataset["name"]).items()
        if name in ("task", "state", "excerpt", "features")
    }
    table = {"name": cell.dataset["name"], **known, **cell.dataset}
    dataset = words({name: value for name, value in table.items() if value != POOLED})
    about = {
        "cell": cell.name,
        "table": cell.dataset["name"],
        "dataset": dataset,
        "panel": ", ".join([dataset, *([f"ε = {cell.epsilon:g}"] if cell.epsilon else [])]),
        **without_name(table),
        "synthesizer": cell.synthesizer["name"],
        "system": system,
        "options": words(options),
        "named": ", ".join(filter(None, [system, words(options)])),
        **{
            f"option_{name}": value
            for name, value in asdict(baseline_named(**cell.synthesizer)).items()
        },
        "epsilon": cell.epsilon,
        "seed": cell.seed,
        "status": result["status"],
        "report": result.get("report"),
        **provenance_of(result),
        "neighbours": result.get("privacy", {}).get("neighbours", cell.neighbours),
        "delta": result.get("privacy", {}).get("delta"),
        "train_rows": result.get("table", {}).get("train"),
        "categorical": result.get("table", {}).get("categorical"),
        "numerical": result.get("table", {}).get("numerical"),
    }
    scores = [
        (name_today(s["metric"], s["subject"]), s["subject"], s["value"])
        for s in result.get("scores", ())
    ]
    scores += [("fit_seconds", "mean", result["seconds"]["fit"])]
    scores += [
        (name, "mean", result[name])
        for name in ("processor_seconds", "gigabytes")
        if name in result
    ]
    scores += [(name, "mean", value) for name, value in result.get("notes", {}).items()]
    return [
        {**about, "metric": metric, "subject": subject, "value": value}
        for metric, subject, value in scores
    ]


def reports(rows: pd.DataFrame) -> list[str]:
    """Lines of a page that lead to the report of each cell that has one."""
    cells = rows.dropna(subset="report").drop_duplicates("cell") if "report" in rows else rows[:0]
    return [
        f"- [{line.named}, {line.panel}, seed {line.seed}]({line.report})"
        for line in cells.itertuples()
    ]


def name_today(metric: str, subject: str = "mean") -> str:
    """What a score about a subject is called; in version 0.1 the benchmark had two other names."""
    if metric.startswith("f1_") and subject != "mean" and not metric.endswith("_by_target"):
        return f"{metric}_by_target"
    return "total_variation_cm" if metric == "cm_total_variation" else metric


def provenance_of(result: Mapping[str, Any]) -> dict[str, str]:
    """Where a result comes from, in words."""
    told = result.get("provenance", {})
    versions = " ".join(f"{name} {number}" for name, number in told.get("versions", {}).items())
    # Results may be passed on; where the folders of a machine lie is nobody's business.
    command = [Path(word).name for word in shlex.split(told.get("command", ""))]
    named = {name: str(told.get(name, "")) for name in ("device", "machine", "when")}
    return {**named, "command": shlex.join(command), "versions": versions}


def without_name(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options but the name of what they belong to."""
    return {name: value for name, value in options.items() if name != "name"}


def words(options: Mapping[str, Any]) -> str:
    """Options in a few words."""
    named = [str(value) if name in PLAIN else f"{name} {value}" for name, value in options.items()]
    return ", ".join(named)


PLAIN = ("name", "task", "state", "excerpt", "binning")


def means(
    rows: pd.DataFrame,
    scores: list[str],
    along: list[str],
    across: str | None = None,
    subject: str = "mean",
    spread: bool = False,
) -> pd.DataFrame:
    """Means over seeds, a line per combination of `along`; with `across`, a column per value of it.

    With `spread` each is spelled with its standard deviation, where there are several seeds.
    """
    scores = [name_today(score) for score in scores]
    chosen = rows[(rows["subject"] == subject) & rows["metric"].isin(scores)]
    chosen = chosen.assign(score=pd.Categorical(chosen["metric"], scores, ordered=True))
    wide = ["score"] + ([across] if across else [])

    def over_seeds(how: Literal["mean", "std"]) -> pd.DataFrame:
        return chosen.pivot_table(
            index=along,
            columns=wide,
            values="value",
            aggfunc=how,
            dropna=False,
            sort=False,
            observed=True,
        )

    table = over_seeds("mean")
    seeds = chosen.groupby(along, dropna=False, sort=False)["seed"].nunique()
    table = table.dropna(how="all", axis=0).dropna(how="all", axis=1).sort_index(axis=1)
    if spread:
        deviations = over_seeds("std").reindex_like(table)
        table = table.combine(deviations, lambda means, by: means.combine(by, spelled))
    table.columns = pd.Index(
        [heading(column, across, alone=len(scores) == 1) for column in table.columns]
    )
    return table.assign(seeds=seeds.reindex(table.index)).reset_index()


def spelled(mean: float, deviation: float) -> str:
    """A mean over seeds and how far they lie apart; a gap is a dash, one seed has no deviation."""
    if deviation != deviation:
        return shown(mean)
    return f"{shown(mean)} ± {np.format_float_positional(deviation, 1, fractional=False, trim='-')}"


def heading(column: Any, across: str | None, alone: bool) -> str:
    """What a column of means is called: its score and the value it stands for, or that alone."""
    if across is None:
        return SCORES.get(column, str(column))
    score, value = column
    name = HEADINGS.get(across, across)
    known = f"{name} = {value:g}" if value == value else f"no {name}"
    return known if alone else f"{SCORES.get(score, score)}, {known}"


HEADINGS = {"epsilon": "ε", "option_sharpness": "σ"}


def markdown(table: pd.DataFrame) -> str:
    """A table for a page."""
    lines = [[str(name) for name in table.columns], ["---"] * len(table.columns)]
    lines += [[shown(value) for value in line] for line in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def shown(value: Any) -> str:
    """A number with as many digits as it deserves; a gap is a dash."""
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        return (
            f"{value:,.0f}"
            if abs(value) >= 100
            else f"{value:.3g}"
            if abs(value) >= 0.1
            else f"{value:.2g}"
        )
    return str(value)
