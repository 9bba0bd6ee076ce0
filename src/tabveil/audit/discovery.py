"""Audits of schemas found in the data: a value that one row alone holds stays unnamed but for δ."""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tabveil.audit.estimator import ALARM, SHOWN, least_chance
from tabveil.audit.finding import Finding, Job, Size
from tabveil.discovery import DELTA, Scout, whole
from tabveil.privacy import Budget, Door, Ledger, Promise, Protection, Relation
from tabveil.sources import Source

EPSILON = 0.1  # much noise: a whole number as threshold then comes close to its δ
LONE = "nobody else's"
TABLE = pa.table({"word": ["usual"] * 20 + [LONE]})


def jobs(size: Size) -> list[Job]:
    """The everyday δ, where nothing must ever be seen, and one so large that noise does name it."""
    return [
        LoneValue(relation, delta, size.searches) for relation in Relation for delta in (DELTA, 0.1)
    ]


@dataclass(frozen=True)
class LoneValue:
    """How often a search names a value that its neighbour cannot name, for it is not there."""

    relation: Relation
    delta: float
    runs: int

    def __call__(self) -> Finding:
        promise = Promise(Budget(EPSILON, self.delta), Protection(self.relation))
        named = 0
        for _ in range(self.runs):
            allowance = Ledger.in_memory(self.relation).allowance(whole(promise), "an audit")
            scout = Scout(Source.whole(TABLE), Door(allowance, promise.protection), promise)
            named += LONE in scout.values(["word"], allowance.total)["word"]["values"]
        [charge] = allowance.charges
        claimed = float(charge.delta)
        exact = chance_of(float(charge.details["threshold"]) - 1, float(charge.details["scale"]))
        shown, sure = (least_chance(named, self.runs, confidence) for confidence in (SHOWN, ALARM))
        return Finding(
            "schema from data",
            f"a lone value, {self.relation}",
            self.runs,
            sure <= claimed and exact <= claimed,
            claimed,
            shown,
            of="δ",
            note=f"named {named:,} times; exact chance {exact:.2g}",
        )


def chance_of(least: float, scale: float) -> float:
    """That discrete Gaussian noise is at least so large."""
    reach = math.ceil(40 * scale)
    support = np.arange(-reach, reach + 1)
    weight = np.exp(-(support**2) / (2 * scale**2))
    return float(weight[support >= least].sum() / weight.sum())
