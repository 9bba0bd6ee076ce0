"""How sure one can be: intervals for every column and pair, from noisy answers and known noise."""

import warnings
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

from tabveil.inference import ModelWarning, Study
from tabveil.inference.pool import counted_rows
from tabveil.report.evidence import Evidence
from tabveil.report.page import Block, Chart, Grid, Note, Prose, Section
from tabveil.report.pairs import heat_map
from tabveil.report.plot import BAND
from tabveil.report.words import few, percent

ROWS = 20_000  # synthetic rows that are corrected
MOST_CATEGORIES = 24
# benchmarks/results.md, "Intervals"
TRIALS = "95 to 97 times in 100, single kinds of estimates 87 to 100 times"


def section(evidence: Evidence) -> Section:
    """Means, medians and shares with intervals, and how wide one of a coefficient would be."""
    study = Study(evidence.release, rows=ROWS)
    lines = [line for name in evidence.names for line in _lines(study, evidence, name)]
    columns = ["column", "statistic", "estimate", "from", "to", "rests on measured tables"]
    blocks: list[Block] = [
        Prose(
            "What can be said of the population that the people come from, with intervals made to "
            "hold it 95 times in 100. They count the noise, that the people are a sample, and what "
            "was not measured; how much to allow for the last is a judgement, not a theorem. "
            "In trials on simulated people, those that rest on measured tables ('yes') held it "
            f"{TRIALS}; the others mostly more often, and they are wider for that. Intervals "
            "computed from synthetic rows as if they were people are too narrow."
        ),
        Grid("intervals", "Every column", pd.DataFrame(lines, columns=columns), folded=True),
    ]
    pairs = coefficients(evidence)
    if len(pairs):
        blocks.append(
            Chart.of(
                "How wide an interval of a coefficient would be",
                "Half the width, for two columns in units of their standard deviations (a "
                "correlation, about). Blank: never measured together, so nothing is known.",
                heat_map(pairs, evidence.names, "width", float(pairs["width"].max())),
            )
        )
    blocks.append(
        Note(
            "For anything else: `tabveil.inference.Study(RELEASE)` in Python, or `tabveil "
            "replicate` for other software."
        )
    )
    return Section("sure", "How sure one can be", blocks)


def coefficients(evidence: Evidence) -> pd.DataFrame:
    """For each pair that was measured, half the width of an interval of a coefficient.

    With c cells of noise s each, as a share of n rows, it is 1.96 √(c s² + 1/n).
    """
    rows = counted_rows(evidence.release).rows
    best: dict[tuple[str, ...], float] = {}
    for noisy in evidence.tables:
        variance = float((noisy.errors**2).sum()) / rows**2
        for pair in combinations([name for name in evidence.names if name in noisy.columns], 2):
            best[pair] = min(variance, best.get(pair, np.inf))
    found = [(*pair, BAND * np.sqrt(variance + 1 / rows)) for pair, variance in best.items()]
    return pd.DataFrame(found, columns=["first", "second", "width"])


def _lines(study: Study, evidence: Evidence, name: str) -> list[tuple[str, ...]]:
    """One column: mean and median of a number, shares of few categories."""
    schema = evidence.release.schema
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # the table says the same
        if name in schema.numbers and study.is_number(name):
            found = pd.concat([study.means(name), study.quantiles(name, [0.5])])
            return _written(name, ["mean", "median"], found, lambda number: few(number, 4))
        if name in schema.categories and len(schema.categories[name].labels) <= MOST_CATEGORIES:
            found = study.shares(name)
            values = [text.partition(": ")[2] for text in found.index]
            return _written(name, values, found, lambda share: percent(min(1.0, max(0.0, share))))
    return []


def _written(
    name: str, words: list[str], found: pd.DataFrame, write: Callable[[float], str]
) -> list[tuple[str, ...]]:
    ends = found[["estimate", "low", "high"]].map(write).to_numpy().tolist()
    lines = zip(words, ends, found["rests_on_measured"], strict=True)
    return [(name, word, *between, rests) for word, between, rests in lines]
