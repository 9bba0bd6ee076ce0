"""An attack on the noisy counts of a release, by someone who knows every row but the one they look
for.

They read `measurements.json` and `schema.json` as anyone can, from the words in them alone: no code
of the fit is used. In every cell that the target falls into they know the count without it; what is
left is noise, or noise and one. The likelihood ratio of the two is the best test there is on these
counts. Where the words leave open in which cell someone is, the count is left out."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tabveil.audit.attacks.builds import Build, Built
from tabveil.audit.finding import DELTA, Finding, judged
from tabveil.audit.fits import HASTY
from tabveil.audit.worlds import EXTREME
from tabveil.privacy import Relation
from tabveil.schema import Schema

JOINED = " × "
Places = Callable[[pd.Series], tuple[np.ndarray, np.ndarray]]
"""The first and the last part of a column that each of its values may be counted in; -1 for
none."""


@dataclass(frozen=True)
class Counts:
    """Many fits with the target and without it."""

    name: ClassVar[str] = "counts"

    build: Build
    epsilon: float = 1.0
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
            Built(build, schema, epsilon, delta=DELTA, preset=HASTY["default"]).fit(table).save(
                folder
            )
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
    """By how much the count of the target's cell exceeds the known rows; None where words do not
    say."""
    axes = _axes(measurement, columns)
    if axes is None:
        return None
    cell = 0
    perhaps = surely = np.ones(len(known), bool)
    for name, parts, read in axes:
        [first], [last] = read(target[name])
        if first < 0 or first < last:
            return None
        low, high = read(known[name])
        perhaps = perhaps & (low <= first) & (first <= high)
        surely = surely & (low == first) & (high == first)
        cell = cell * parts + int(first)
    if (perhaps != surely).any():
        return None
    return int(measurement["counts"][cell]) - int(surely.sum())


def _axes(
    measurement: dict[str, Any], columns: dict[str, Any]
) -> list[tuple[str, int, Places]] | None:
    """The columns of a cross-table, how many parts each has, and how to find them."""
    if measurement["family"] == "row count":
        return []
    names = measurement["query"].split(JOINED)
    cells = [cell.split(JOINED) for cell in measurement["cells"]]
    if not set(names) <= set(columns) or any(len(cell) != len(names) for cell in cells):
        return None
    if len(names) == 3:
        names = [names[2], *names[:2]]  # classes of a target come first
    axes = []
    for axis, name in enumerate(names):
        parts = list(dict.fromkeys(cell[axis] for cell in cells))
        number = columns[name]["type"] == "numerical"
        read = _runs(parts, measurement["family"] == "cross-tables") if number else _labels(parts)
        if read is None:
            return None
        axes.append((name, len(parts), read))
    return axes


def _labels(parts: Sequence[str]) -> Places:
    order = {part: number for number, part in enumerate(parts)}

    def places(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([order.get(str(value), -1) for value in column])
        return found, found

    return places


def _runs(parts: Sequence[str], whole: bool) -> Places | None:
    """Runs of numbers, "3 to 8" or "3"; `whole` if together they cover the column, with ends
    rounded."""
    try:
        ends = np.array([[float(end) for end in (part.split(" to ") * 2)[:2]] for part in parts])
    except ValueError:
        return None  # words for a missing or special value
    low, high = ends.T

    def places(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        numbers = column.to_numpy(float)
        first = np.minimum(np.searchsorted(high, numbers, "left"), len(parts) - 1)
        # Rows with the number at which one run ends and the next begins are spread over both.
        last = np.maximum(first, np.searchsorted(low, numbers, "right") - 1)
        inside = whole | ((low[first] <= numbers) & (numbers <= high[first]))
        return np.where(inside, first, -1), np.where(inside, last, -1)

    return places
