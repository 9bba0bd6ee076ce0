"""What a fit would measure and how far off it would be, from public things alone: no table is
opened.

The rules of spending are those of the default preset itself. The error model behind the prediction
is empirical: its constants were fitted to nine releases of three tables (docs/plan.md)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table as Grid

from tabveil.columns import Categorical
from tabveil.errors import InvalidInput
from tabveil.fitting.grouping import MOST, large_columns
from tabveil.fitting.grouping import SHARE as GROUPING_SHARE
from tabveil.fitting.presets import Default, Task
from tabveil.fitting.presets.default import Outline, bins_for
from tabveil.fitting.ranks import LEVELS
from tabveil.privacy import DELTA, Budget, Protection, Relation
from tabveil.queries import GRID, Pairs
from tabveil.schema import Schema

SHOWN = 8  # lines of columns and pairs on the terminal
ROWS = 10_000  # assumed where nobody says how many there are
MEAN_OF_NOISE = math.sqrt(2 / math.pi)  # E|Z| of a standard normal Z

# The error model. Errors are total variation: the share of rows that would have to move to another
# cell.
KEPT = 0.4  # of the noise in a single column; the rest is undone by what other tables say about it
UNRESOLVED = 0.85  # of the rows in runs too thin to be cut further lie elsewhere inside their run
# of the noise in a cell of a cross-table, likewise, and never more than the cell's own share,
JOINT = 0.9
STEEP = 1.75  # where the k-th largest cell has a share like k to the power of minus this
DEPENDENCE = 0.085  # what a table loses at most if its two columns are taken as independent
FLOOR_CATEGORY, FLOOR_NUMBER = (
    0.001,
    0.012,
)  # what remains without any noise: 2,000 relaxed rows, finite bins
FLOOR_SURFACE = 0.023  # the same for two numbers, whose shape inside a bin is not known
PROGRAM = 700_000_000  # bytes that the program needs whatever the schema
START = 5.0  # seconds: imports and compiled programs
FLOPS = 2.5e11  # multiplications and additions a second on two ordinary cores
READING, COUNTING = 1.5e-8, 5e-9  # seconds on two cores: to read a cell, to count a row once
SMALLEST, LARGEST = 1e-3, 100.0  # the ε between which `epsilon_for` searches


@dataclass(frozen=True)
class ColumnForecast:
    """One column: how finely it is counted, the noise on each count as a share of all rows, its
    error."""

    name: str
    kind: str
    cells: int
    noise: float
    error: float


@dataclass(frozen=True)
class PairForecast:
    """One cross-table of two columns: its cells, the noise on each if measured, its predicted
    error."""

    first: str
    second: str
    cells: int
    noise: float
    error: float


@dataclass(frozen=True)
class Spending:
    """One purpose of the budget: what is asked, its share of ρ, and the noise on each count."""

    purpose: str
    asked: str
    share: float
    noise: float | None  # standard deviation in rows; None where something is chosen, not counted


@dataclass(frozen=True)
class Forecast:
    """What a fit will do with its budget, and what to expect of the result."""

    epsilon: float
    delta: float
    relation: str
    rows: int
    rho: float
    spending: tuple[Spending, ...]
    columns: tuple[ColumnForecast, ...]
    pairs: tuple[PairForecast, ...]
    candidates: int
    measured: int
    rounds: int
    memory: int
    seconds: float

    @property
    def error(self) -> float:
        """The mean error over all cross-tables of two columns, or over columns where there is only
        one."""
        parts = self.pairs or self.columns
        return sum(part.error for part in parts) / len(parts)

    @property
    def score(self) -> float:
        """The same as NIST's k-marginal score for k = 2: 1000 is perfect."""
        return 1000 * (1 - self.error)

    def to_dict(self) -> dict[str, Any]:
        """A form for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "rows": self.rows,
            "rho": self.rho,
            "predicted_error": self.error,
            "predicted_k_marginal_2": self.score,
            "tables_measured": self.measured,
            "tables_possible": self.candidates,
            "rounds": self.rounds,
            "memory_bytes": self.memory,
            "seconds_on_two_cores": self.seconds,
            "spending": [vars(part) for part in self.spending],
            "columns": [vars(part) for part in self.columns],
            "pairs": [vars(part) for part in self.pairs],
        }


def forecast(
    schema: Schema,
    epsilon: float,
    *,
    delta: float = DELTA,
    rows: int = ROWS,
    relation: Relation | str = Relation.ADD_REMOVE,
    preset: Default | None = None,
) -> Forecast:
    """What the default preset would do with this budget on about so many rows."""
    if rows < 1:
        raise InvalidInput(
            f"A table of {rows} rows cannot be planned for.", "Give about how many there are."
        )
    preset, relation, budget = preset or Default(), Relation(relation), Budget(epsilon, delta)
    large = large_columns(schema)
    grouping = budget.rho * GROUPING_SHARE if large else Fraction(0)
    task = Task(_after_grouping(schema, large), budget.rho - grouping, relation)
    domain = task.domain
    bins = bins_for(task.strength(rows))
    edges = [np.arange(1, bins) * GRID // bins for _ in domain.numerical]
    pairs = Pairs.over(domain, edges, preset.most_cells)
    outline = preset.outline(task, pairs, rows)

    asks = [tables for tables, *_ in outline.plan.rounds]
    along = [ask for _, *others in outline.plan.rounds for ask in others]
    chosen, lines = (sum(ask.picks for ask in some) for some in (asks, along))
    count = preset.count_cost(task)
    ranks = preset.ranks_share.of(task, len(domain.numerical), rows)
    protection = Protection.of(relation, schema.privacy)
    numbers, crossed = len(domain.numerical), len(outline.with_targets)

    def noise(picks: int, rho: Fraction) -> float:
        return protection.noise_of(picks, rho, pairs.cells_moved)

    run = protection.noise_of(numbers, ranks * LEVELS[0]) if numbers else 0.0
    alone = noise(pairs.categorical, outline.alone) if pairs.categorical else 0.0
    together = noise(crossed, outline.together) if crossed else None
    table = noise(asks[0].picks, asks[0].measure) if asks else None
    line = noise(along[0].picks, along[0].measure) if along else None

    spending = [
        Spending(
            "grouping", f"values of {len(large)} long lists", _share(grouping, budget),
            protection.noise_of(len(large), grouping) if large else None,
        ),
        Spending(
            "row count", "how many rows there are", _share(count, budget),
            protection.noise_of(1, count) if count else None,
        ),
        Spending("distributions", f"{numbers} numeric columns, level by level", _share(ranks,
        budget), run),
        Spending("columns", f"{pairs.categorical} categorical columns", _share(outline.alone,
        budget), alone),
        Spending(
            "tables with targets",
            f"{crossed} cross-tables of a target and a column",
            _share(outline.together, budget),
            together,
        ),
        Spending(
            "choosing",
            f"{chosen} of {len(pairs)} cross-tables" + f", {lines} directions" * bool(lines),
            _share(sum((a.select for a in [*asks, *along]), Fraction(0)), budget), None,
        ),
        Spending(
            "cross-tables", f"the {chosen} chosen ones",
            _share(sum((a.measure for a in asks), Fraction(0)), budget), table,
        ),
        Spending(
            "projected histograms", f"{lines} directions through the numbers",
            _share(sum((a.measure for a in along), Fraction(0)), budget), line,
        ),
    ]  # fmt: skip
    columns = _columns(pairs, rows, alone, run)
    return Forecast(
        epsilon=epsilon,
        delta=delta,
        relation=relation.value,
        rows=rows,
        rho=float(budget.rho),
        spending=tuple(part for part in spending if part.share > 0),
        columns=columns,
        pairs=_pairs(columns, outline.with_targets, pairs, rows, together, table),
        candidates=len(pairs) - len(columns),
        measured=chosen + len(outline.with_targets),
        rounds=len(outline.plan.rounds),
        memory=PROGRAM + preset.memory(domain),
        seconds=_seconds(preset, pairs, outline, rows, preset.rows_for(task.strength(rows))),
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


def summary_tables(found: Forecast) -> list[Grid | str]:
    """The forecast for the terminal: what is bought, the worst columns and pairs, and the bottom
    line."""
    spending = Grid(
        "spent on", "asked", "share", "noise, rows", box=SIMPLE, title="What would be measured"
    )
    for part in found.spending:
        noise = "–" if part.noise is None else f"{part.noise:,.1f}"
        spending.add_row(part.purpose, part.asked, f"{part.share:.1%}", noise)
    columns = Grid(
        "column", "parts", "noise", "predicted error", box=SIMPLE, title="Columns, worst first"
    )
    for column in sorted(found.columns, key=lambda c: -c.error)[:SHOWN]:
        columns.add_row(
            column.name, str(column.cells), f"{column.noise:.3%}", f"{column.error:.3f}"
        )
    pairs = Grid(
        "columns", "cells", "noise", "predicted error", box=SIMPLE, title="Pairs, worst first"
    )
    for pair in sorted(found.pairs, key=lambda p: -p.error)[:SHOWN]:
        name = f"{pair.first} × {pair.second}"
        pairs.add_row(name, f"{pair.cells:,}", f"{pair.noise:.3%}", f"{pair.error:.3f}")
    return [
        spending,
        columns,
        *([pairs] if found.pairs else []),
        f"ε = {found.epsilon:g}, δ = {found.delta:g}, about {found.rows:,} rows: "
        f"{found.measured:,} of "
        f"{found.candidates:,} cross-tables in {found.rounds} rounds.\n"
        f"Predicted mean error of a cross-table: {found.error:.3f} (k-marginal score "
        f"{found.score:.0f}), "
        "checked on three tables; yours may differ.\n"
        f"About {found.memory / 1e9:.2g} GB of memory and {found.seconds / 60:.1f} minutes on "
        "two cores.",
    ]


def _columns(pairs: Pairs, rows: int, alone: float, run: float) -> tuple[ColumnForecast, ...]:
    """Single columns: noise on every category; for numbers, rows in runs too thin to be cut
    further."""
    # A run is cut if it holds more than six times the noise of the next level (see `learn_ranks`).
    unresolved = 6 * run * float(LEVELS[0] / LEVELS[1]) ** 0.5 / rows
    found = []
    for place, column in enumerate(pairs.layout.columns):
        cells = len(column.labels)
        if place < pairs.categorical:
            error = min(0.5, KEPT * _raw(cells, alone / rows)) + FLOOR_CATEGORY
            found.append(ColumnForecast(column.name, "categorical", cells, alone / rows, error))
        else:
            error = min(0.5, UNRESOLVED * unresolved) + FLOOR_NUMBER
            found.append(ColumnForecast(column.name, "numerical", cells, run / rows, error))
    return tuple(found)


def _pairs(
    columns: tuple[ColumnForecast, ...],
    with_targets: np.ndarray,
    pairs: Pairs,
    rows: int,
    together: float | None,
    chosen: float | None,
) -> tuple[PairForecast, ...]:
    """Cross-tables: what their two columns are off, and how they hang together."""
    direct = {pairs.layout.queries[q][:2] for q in with_targets}
    found = []
    for i, j in combinations(range(len(columns)), 2):
        one, two = columns[i], columns[j]
        cells = one.cells * two.cells
        scales = [s for s in (chosen, together if (i, j) in direct else None) if s is not None]
        noise = min(scales, default=math.inf) / rows
        joint = DEPENDENCE * -math.expm1(-_sparse(cells, noise) / DEPENDENCE)
        surface = FLOOR_SURFACE if one.kind == two.kind == "numerical" else 0.0
        error = min(1.0, math.hypot(one.error, two.error, joint) + surface)
        found.append(PairForecast(one.name, two.name, cells, noise, error))
    return tuple(found)


def _raw(cells: int, noise: float) -> float:
    """The expected total variation of a table with this noise on every cell, as a share of all
    rows."""
    return cells * noise * MEAN_OF_NOISE / 2


@lru_cache(maxsize=4096)
def _sparse(cells: int, noise: float) -> float:
    """The same for a cross-table, most of whose cells are nearly empty and are kept so by the
    fit."""
    shares = np.arange(1.0, cells + 1) ** -STEEP
    return float(np.minimum(shares / shares.sum(), JOINT * noise).sum() / 2)


def _seconds(preset: Default, pairs: Pairs, outline: Outline, rows: int, relaxed: int) -> float:
    """A rough time on two cores: start-up, three products in every step, and reading and counting
    rows."""
    between, last = preset.between_rounds, preset.at_the_end
    steps = len(outline.plan.rounds) * between.stages * between.steps + last.stages * last.steps
    projecting = steps * relaxed * 6 * pairs.effort(outline.room(pairs)[0]) / FLOPS
    counts = sum(map(len, pairs.counting.pieces))
    return START + projecting + rows * (READING * len(pairs.layout.columns) + COUNTING * counts)


def _after_grouping(schema: Schema, large: list[str]) -> Schema:
    """The schema with long lists of values as short as they will be: declared groups, or the most
    common."""
    columns = dict(schema.columns)
    for name in large:
        codec = schema.categories[name]
        alone = [f"value {i}" for i in range(min(MOST, codec.declared) + 1)]
        others = codec.labels[codec.declared :]  # OTHER and missing keep codes of their own
        columns[name] = Categorical(values=(*(codec.groups or alone), *others))
    return schema.model_copy(update={"columns": columns})


def _share(rho: Fraction, budget: Budget) -> float:
    return float(rho / budget.rho)
