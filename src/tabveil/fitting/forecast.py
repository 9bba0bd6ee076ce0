"""What a fit would measure, and how far off, from public things alone: no table is opened.

What is bought is what the preset itself says. The error model behind the prediction was made for
the default preset and is empirical: its constants were fitted to releases of a few tables
(docs/plan.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from rich.box import SIMPLE
from rich.table import Table as Grid

from tabveil.errors import InvalidInput
from tabveil.fitting.grouping import grouping_cost, grouping_spending, large_columns, widest
from tabveil.fitting.maps import maps_cost, maps_spending
from tabveil.fitting.presets import Preset, Task, preset_named
from tabveil.fitting.ranks import LEVELS
from tabveil.fitting.spending import CountedColumn, Outlook, Purchase
from tabveil.privacy import (
    Budget,
    Protection,
    Relation,
    Risk,
    delta_warning,
    epsilon_within,
)
from tabveil.schema import Schema

SHOWN = 8  # lines of columns and pairs on the terminal
ROWS = 10_000  # assumed where nobody says how many there are
MEAN_OF_NOISE = math.sqrt(2 / math.pi)  # E|Z| of a standard normal Z

# The error model. Errors are total variation:
# the share of rows that would have to move to another cell.
KEPT = 0.39  # of the noise in a single column; the rest is undone by what other tables say about it
KEPT_IN_LISTS = 0.62  # likewise of each value of a long list, of which no other table speaks
# times the share of rows in runs too thin to be cut further is what a number is off,
UNRESOLVED = 1.05
UNKNOWN = 0.22  # and no more, if hardly any run can be cut
# of the noise in a cell of a cross-table, likewise, and never more than the cell's own share,
JOINT = 0.56
STEEP = 2.8  # where the k-th largest cell has a share like k to the power of minus this
DEPENDENCE = 0.091  # what a table loses at most if its two columns are taken as independent
# What remains without any noise: 1,000 relaxed rows, finite bins.
FLOOR_CATEGORY, FLOOR_NUMBER = 0.0006, 0.0015
FLOOR_SURFACE = 0.045  # the same for two numbers, whose shape inside a bin is not known
PROGRAM = 700_000_000  # bytes that the program needs whatever the schema
START = 3.5  # seconds: imports and compiled programs
FLOPS = 4.5e11  # multiplications and additions a second on two ordinary cores
READING, COUNTING = 1.5e-8, 5e-9  # seconds on two cores: to read a cell, to count a row once
Z_95 = 1.96  # standard errors to each side of a 95 % interval
SMALLEST, LARGEST = 1e-3, 100.0  # the ε between which `epsilon_for` searches


@dataclass(frozen=True)
class ColumnForecast:
    """One column: how finely it is counted, noise per count as a share of all rows, its error.

    `interval` is half the width of a 95 % interval: of a share of one half, or of the mean of a
    number in its standard deviations.
    """

    name: str
    kind: str
    cells: int
    noise: float
    error: float
    interval: float


class PairForecast(NamedTuple):  # there are very many, and a tuple is made quickest
    """One cross-table of two columns: its cells, noise on each if measured, its predicted error.

    `interval` is half the width of a 95 % interval of a coefficient of one on the other, both in
    standard deviations, if the table is measured.
    """

    first: str
    second: str
    cells: int
    noise: float
    error: float
    interval: float


@dataclass(frozen=True)
class SpendingForecast:
    """One purpose of the budget: what is asked, its share of ρ, and the noise on each count."""

    purpose: str
    asked: str
    share: float
    noise: float | None  # standard deviation in rows; None where something is chosen, not counted


@dataclass(frozen=True)
class Expected:
    """What models of error, memory and time expect of a fit."""

    columns: tuple[ColumnForecast, ...]
    pairs: tuple[PairForecast, ...]
    candidates: int
    measured: int
    memory: int
    seconds: float

    @cached_property
    def error(self) -> float:
        """The mean error over all cross-tables of two columns, or that of an only column."""
        parts = self.pairs or self.columns
        return sum(part.error for part in parts) / len(parts)

    @property
    def score(self) -> float:
        """The same as a k-marginal score for k = 2: 1000 is perfect."""
        return 1000 * (1 - self.error)


NO_MODEL = "No error, memory or time is foretold: the models were made for the default preset."


@dataclass(frozen=True)
class Forecast:
    """What a fit will do with its budget, and what to expect of the result."""

    epsilon: float
    delta: float
    relation: str
    rows: int
    rho: float
    spending: tuple[SpendingForecast, ...]
    rounds: int
    expected: Expected | None  # none for a preset that the models were not made for

    @property
    def error(self) -> float:
        """The mean error that is predicted."""
        if self.expected is None:
            raise InvalidInput(NO_MODEL, "Ask about the default preset.")
        return self.expected.error

    @property
    def risk(self) -> Risk:
        """What the best possible attacker could do with the release."""
        return Risk.of_fit(self.epsilon, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """A form for JSON; null where nothing is predicted."""
        found = self.expected
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "rows": self.rows,
            "rho": self.rho,
            "max_advantage": self.risk.advantage,
            "max_tpr_at_fpr_0.01": self.risk.caught(0.01),
            "predicted_error": found and found.error,
            "predicted_k_marginal_2": found and found.score,
            "tables_measured": found and found.measured,
            "tables_possible": found and found.candidates,
            "rounds": self.rounds,
            "memory_bytes": found and found.memory,
            "seconds_on_two_cores": found and found.seconds,
            "spending": [vars(part) for part in self.spending],
            "columns": [vars(part) for part in found.columns] if found else None,
            "pairs": [part._asdict() for part in found.pairs] if found else None,
        }


def forecast(
    schema: Schema,
    epsilon: float,
    *,
    delta: float | None = None,
    rows: int = ROWS,
    relation: Relation | str = Relation.ADD_REMOVE,
    preset: str | Preset = "default",
) -> Forecast:
    """What a preset would do with this budget on about so many rows."""
    if rows < 1:
        raise InvalidInput(
            f"A table of {rows} rows cannot be planned for.", "Give about how many there are."
        )
    preset, protection = preset_named(preset), Protection.of(relation, schema.privacy)
    if delta is None:
        public = rows if protection.relation is Relation.SUBSTITUTE else None
        delta = preset.default_delta(public)
    rho = Budget(epsilon, delta).rho
    left = rho - maps_cost(schema, rho) - grouping_cost(schema, rho)
    grouping = grouping_spending(schema, rho, protection)
    spending = preset.spending(Task(widest(schema), left, protection.relation), rows)
    purchases = (
        *maps_spending(schema, rho, protection),
        *grouping,
        *spending.purchases,
    )
    return Forecast(
        epsilon=epsilon,
        delta=delta,
        relation=protection.relation.value,
        rows=rows,
        rho=float(rho),
        spending=tuple(
            SpendingForecast(p.purpose, p.asked, float(p.rho / rho), p.noise) for p in purchases
        ),
        rounds=spending.rounds,
        expected=(
            _expected(spending.outlook, rows, _within_groups(schema, grouping, rows))
            if spending.outlook
            else None
        ),
    )


def epsilon_for(schema: Schema, error: float, **settings: Any) -> Forecast:
    """The forecast with the smallest ε whose predicted error is at most this, by bisection."""
    best = forecast(schema, LARGEST, **settings)
    if not 0 < error < 1 or best.error > error:
        raise InvalidInput(
            f"An error of {error:g} is out of reach: with ε = {LARGEST:g}, {best.error:.3g} is "
            "predicted.",
            "Ask for a larger error, declare fewer categories, or gather more rows.",
        )
    low, high = math.log(SMALLEST), math.log(LARGEST)
    while high - low > 1e-3:
        middle = (low + high) / 2
        attempt = forecast(schema, math.exp(middle), **settings)
        low, high, best = (low, middle, attempt) if attempt.error <= error else (middle, high, best)
    # Two digits say enough, rounded up so that the error is still met.
    digits = 10 ** (1 - math.floor(math.log10(best.epsilon)))
    return forecast(schema, math.ceil(best.epsilon * digits) / digits, **settings)


def epsilon_at_risk(
    schema: Schema,
    *,
    advantage: float | None = None,
    caught: float | None = None,
    accused: float = 0.01,
    **settings: Any,
) -> Forecast:
    """The forecast with the largest ε that leaves the best possible attacker no more than this.

    `advantage` limits by how much members found out may exceed strangers accused; `caught` limits
    the members found out while a share `accused` of strangers is.
    """
    limits = {"advantage": advantage, "share of strangers accused": accused, "share found": caught}
    for name, limit in limits.items():
        if limit is not None and not 0 < limit < 1:
            raise InvalidInput(f"The {name} is {limit:g}, but must be between 0 and 1.", RISK_HINT)

    def allowed(risk: Risk) -> bool:
        return (advantage is None or risk.advantage <= advantage) and (
            caught is None or risk.caught(accused) <= caught
        )

    delta = forecast(schema, 1.0, **settings).delta
    return forecast(schema, epsilon_within(delta, allowed), **{**settings, "delta": delta})


RISK_HINT = "Such as an advantage of 0.1, or 0.05 found while 0.01 of strangers are accused."


def summary_tables(found: Forecast) -> list[Grid | str]:
    """The forecast for the terminal: what is bought, worst columns and pairs, the bottom line."""
    spending = Grid(
        "spent on", "asked", "share", "noise, rows", box=SIMPLE, title="What would be measured"
    )
    for part in found.spending:
        noise = "–" if part.noise is None else f"{part.noise:,.1f}"
        spending.add_row(part.purpose, part.asked, f"{part.share:.1%}", noise)
    budget = f"ε = {found.epsilon:g}, δ = {found.delta:g}, about {found.rows:,} rows: "
    if found.expected is None:
        return [spending, f"{budget}{found.rounds} rounds.\n{_at_risk(found.risk)}\n{NO_MODEL}"]
    bottom_line = f"{_bottom_line(found.expected, found.rounds)}\n{_at_risk(found.risk)}"
    warning = delta_warning(found.delta, found.rows)
    return [spending, *_worst(found.expected), budget + bottom_line, *[warning] * bool(warning)]


def _at_risk(risk: Risk) -> str:
    return (
        f"An attacker who knows all other rows is right about one at most {risk.guess:.1%} of the "
        f"time (a coin: 50%) and finds at most {risk.caught(0.01):.1%} of people while accusing 1% "
        "of strangers."
    )


def _worst(found: Expected) -> list[Grid | str]:
    columns = Grid(
        "column",
        "parts",
        "noise",
        "predicted error",
        "interval ±",
        box=SIMPLE,
        title="Columns, worst first",
    )
    for column in sorted(found.columns, key=lambda c: -c.error)[:SHOWN]:
        columns.add_row(
            column.name,
            str(column.cells),
            f"{column.noise:.3%}",
            f"{column.error:.3f}",
            f"{column.interval:.3f}{' sd' if column.kind == 'numerical' else ''}",
        )
    if not found.pairs:
        return [columns]
    pairs = Grid(
        "columns",
        "cells",
        "noise",
        "predicted error",
        "interval ±",
        box=SIMPLE,
        title="Pairs, worst first",
    )
    for pair in sorted(found.pairs, key=lambda p: -p.error)[:SHOWN]:
        name = f"{pair.first} × {pair.second}"
        pairs.add_row(
            name,
            f"{pair.cells:,}",
            f"{pair.noise:.3%}",
            f"{pair.error:.3f}",
            f"{pair.interval:.3f}",
        )
    return [columns, pairs, INTERVALS]


INTERVALS = (
    "Interval ±: half a 95 % interval of a share of one half, of a mean in standard deviations "
    "(sd), and of a coefficient between two columns, if their table is measured."
)


def _bottom_line(found: Expected, rounds: int) -> str:
    return (
        f"{found.measured:,} of {found.candidates:,} cross-tables in {rounds} rounds.\n"
        f"Predicted mean error of a cross-table: {found.error:.3f} (k-marginal score "
        f"{found.score:.0f}), checked on six tables; yours may differ.\n"
        f"About {found.memory / 1e9:.2g} GB of memory and {found.seconds / 60:.1f} minutes on "
        "two cores."
    )


def _within_groups(schema: Schema, grouping: Sequence[Purchase], rows: int) -> dict[str, float]:
    """How far columns with long lists are off beyond their groups: all values were counted once."""
    noise = sum(part.noise or 0.0 for part in grouping) / rows
    lists = {name: schema.categories[name].declared for name in large_columns(schema)}
    return {name: min(0.5, KEPT_IN_LISTS * _raw(values, noise)) for name, values in lists.items()}


def _expected(outlook: Outlook, rows: int, within_groups: Mapping[str, float]) -> Expected:
    """The models of error, memory and time."""
    groups = (_column(column, rows) for column in outlook.columns)
    columns = tuple(
        replace(column, error=math.hypot(column.error, within_groups.get(column.name, 0.0)))
        for column in groups
    )
    return Expected(
        columns=columns,
        pairs=tuple(
            _pair(columns[i], columns[j], noise / rows, rows)
            for (i, j), noise in outlook.tables.items()
        ),
        candidates=outlook.candidates,
        measured=outlook.measured,
        memory=PROGRAM + outlook.memory,
        seconds=_seconds(outlook, rows),
    )


def _column(column: CountedColumn, rows: int) -> ColumnForecast:
    """A single column: noise on each category; of numbers, rows in runs too thin to cut further."""
    noise = column.noise / rows
    if column.kind == "categorical":
        error = min(0.5, KEPT * _raw(column.cells, noise)) + FLOOR_CATEGORY
    else:
        # A run is cut if it holds clearly more than the noise of the next level (`learn_ranks`).
        unresolved = 6 * noise * float(LEVELS[0] / LEVELS[1]) ** 0.5
        error = min(UNKNOWN, UNRESOLVED * unresolved) + FLOOR_NUMBER
    wide = _interval(column.cells, noise, rows) / (2 if column.kind == "categorical" else 1)
    return ColumnForecast(column.name, column.kind, column.cells, noise, error, wide)


def _interval(cells: int, noise: float, rows: int) -> float:
    """Half a 95 % interval of what has a variance of one: from noise in all cells, and sampling."""
    return Z_95 * math.sqrt(cells * noise**2 + 1 / rows)


def _pair(one: ColumnForecast, two: ColumnForecast, noise: float, rows: int) -> PairForecast:
    """A cross-table: what its two columns are off, and how they hang together."""
    cells = one.cells * two.cells
    surface = FLOOR_SURFACE if one.kind == two.kind == "numerical" else 0.0
    error = _pair_error(one.error, two.error, cells, noise, surface)
    wide = _interval(cells, noise, rows)
    return PairForecast(one.name, two.name, cells, noise, error, wide)


@lru_cache(maxsize=4096)  # of many columns most are alike
def _pair_error(one: float, two: float, cells: int, noise: float, surface: float) -> float:
    joint = DEPENDENCE * -math.expm1(-_sparse(cells, noise) / DEPENDENCE)
    return min(1.0, math.hypot(one, two, joint) + surface)


def _raw(cells: int, noise: float) -> float:
    """The expected total variation of a table with this noise per cell, as a share of all rows."""
    return cells * noise * MEAN_OF_NOISE / 2


def _sparse(cells: int, noise: float) -> float:
    """The same for a cross-table, most of whose cells are nearly empty and kept so by the fit."""
    shares = np.arange(1.0, cells + 1) ** -STEEP
    return float(np.minimum(shares / shares.sum(), JOINT * noise).sum() / 2)


def _seconds(outlook: Outlook, rows: int) -> float:
    """A rough time on two cores: start-up, steps of the optimiser, reading and counting rows."""
    a_row = READING * len(outlook.columns) + COUNTING * outlook.counts
    return START + outlook.multiplications / FLOPS + rows * a_row
