"""An attack on the noisy counts of a release, by someone who knows every row but the one sought.

They read `measurements.json` and `schema.json` as anyone can, by what is in them alone: no code
of the fit is used. In every cell that the target falls into they know the count without it; what is
left is noise, or noise and one. The likelihood ratio of the two is the best test there is on these
counts. Where runs leave open in which cell someone is, the count is left out.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tabveil.audit.attacks.attack import Attack
from tabveil.audit.attacks.builds import Build
from tabveil.audit.finding import DELTA, Finding, judged
from tabveil.audit.fits import HASTY
from tabveil.audit.worlds import EXTREME
from tabveil.fitting.synthesizer import RAPpp, fit_with_noise
from tabveil.privacy import Relation
from tabveil.schema import Schema

Places = Callable[[pd.Series], tuple[np.ndarray, np.ndarray]]
"""The first and last part of a column that each of its values may be counted in; -1 for none."""


@dataclass(frozen=True)
class Counts(Attack):
    """Many fits with the target and without it."""

    name: ClassVar[str] = "counts"

    runs: int = 40

    def __call__(self) -> Finding:
        known, present = EXTREME.tables(Relation.ADD_REMOVE)
        target = present.iloc[:1].assign(amount=7.0)  # an extreme value is counted at the bound
        without, found = losses(self.build, EXTREME.schema, known, target, self.epsilon, self.runs)
        return judged(
            f"attack on {self.name}", f"ε = {self.epsilon:g}", self.epsilon, without, found
        )


def losses(
    build: Build,
    schema: Schema,
    known: pd.DataFrame,
    target: pd.DataFrame,
    epsilon: float,
    runs: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The attacker's evidence after many fits without the target, and after as many with it."""
    tables = known, pd.concat([known, target], ignore_index=True)
    with tempfile.TemporaryDirectory(prefix="tabveil-attack-") as place:

        def once(table: pd.DataFrame, number: int) -> float:
            folder = Path(place) / str(number)
            # Noisy counts do not wait for the optimiser, so it takes one step.
            model = RAPpp(schema, epsilon, delta=DELTA, preset=HASTY["default"])
            fit_with_noise(model, table, build(), save=folder)
            return evidence(folder, known, target)

        without, found = (
            np.array([once(table, world * runs + run) for run in range(runs)])
            for world, table in enumerate(tables)
        )
    return without, found


def evidence(release: Path, known: pd.DataFrame, target: pd.DataFrame) -> float:
    """log P(counts | target is in) − log P(counts | it is not), given all other rows."""
    columns = json.loads((release / "schema.json").read_text(encoding="utf-8"))["columns"]
    measured = json.loads((release / "measurements.json").read_text(encoding="utf-8"))
    total = 0.0
    for measurement in measured:
        over = _over(measurement, columns, known, target)
        if over is not None:
            # Gaussian noise around 1 against noise around 0: (2·over − 1)/(2σ²)
            total += (over - 0.5) / measurement["standard_error"] ** 2
    return total


def _over(
    measurement: dict[str, Any], columns: dict[str, Any], known: pd.DataFrame, target: pd.DataFrame
) -> int | None:
    """By how much the count of the target's cell exceeds the known rows; None if it is not told."""
    cell: list[int] = []
    perhaps = surely = np.ones(len(known), bool)
    for side in measurement["sides"]:
        read = _reader(side, columns, measurement["family"] == "cross-tables")
        if read is None:
            return None
        [first], [last] = read(target[side["column"]])
        if first < 0 or first < last:
            return None
        low, high = read(known[side["column"]])
        perhaps = perhaps & (low <= first) & (first <= high)
        surely = surely & (low == first) & (high == first)
        cell.append(first)
    if (perhaps != surely).any():
        return None
    return int(np.array(measurement["counts"])[tuple(cell)]) - int(surely.sum())


def _reader(side: dict[str, Any], columns: dict[str, Any], whole: bool) -> Places | None:
    """How to find the parts of a side; None if it is not by a column, or has special values."""
    if side["type"] != "column" or side["column"] not in columns:
        return None
    labels = [isinstance(part, str) for part in side["parts"]]
    if all(labels):
        return _labels(side["parts"])
    return None if any(labels) else _runs(side["parts"], whole)


def _labels(parts: Sequence[str]) -> Places:
    order = {part: number for number, part in enumerate(parts)}

    def places(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([order.get(str(value), -1) for value in column])
        return found, found

    return places


def _runs(parts: Sequence[Sequence[float]], whole: bool) -> Places:
    """Runs of numbers, both ends included; `whole` if together they cover the column."""
    low, high = np.array(parts, float).T

    def places(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        numbers = column.to_numpy(float)
        first = np.minimum(np.searchsorted(high, numbers, "left"), len(parts) - 1)
        # Rows with the number at which one run ends and the next begins are spread over both.
        last = np.maximum(first, np.searchsorted(low, numbers, "right") - 1)
        inside = whole | ((low[first] <= numbers) & (numbers <= high[first]))
        return np.where(inside, first, -1), np.where(inside, last, -1)

    return places
