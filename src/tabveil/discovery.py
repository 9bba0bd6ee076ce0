"""Find types, values, bounds and decimals in the data, for a price: a private way to a schema.

Nothing is taken from the types that columns came in: readers guess most of these from cells. What
each column holds is counted instead, with noise. What is found is written into an ordinary schema,
with what it cost.
"""

import datetime
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from tabveil.columns.cells import by_value, is_missing, number_in, numbers_in, plain, rounded
from tabveil.columns.words import key, short
from tabveil.engines import Local
from tabveil.errors import InvalidInput
from tabveil.privacy import Budget, Door, Ledger, Noise, Promise, Protection
from tabveil.schema import (
    TODO,
    Privacy,
    Schema,
    did_you_mean,
    rule_mark,
    save_document,
    shown,
)
from tabveil.sources import Source
from tabveil.sources.reader import explained

DELTA = 1e-6
LOOKS_SHARE = Fraction(1, 10)  # of ρ, for what columns hold
# A list of values must stand clear of its noise; bounds and decimals are read off sums.
VALUES_WEIGHT = 4
LEAST, MOST = -20, 50  # powers of two that numbers are sorted into; beyond them they are clamped
DECIMALS = 7  # 0 to 6, and more
CARELESS = 0.001  # chance per column that mere noise widens its bounds
CLEARLY = 4  # standard deviations of the noise
YEARS = (1900, 2100)
LOOKS = ("missing", "number", "truth", "day", "moment", "text")


def infer_schema(
    data: object,
    *,
    epsilon: float,
    delta: float = DELTA,
    ledger: str | Path | None = None,
    neighbours: str = "add-remove",
    privacy: dict[str, Any] | None = None,
    targets: Sequence[str] = (),
) -> Schema:
    """A schema whose values and bounds were found in the data with (ε, δ)-differential privacy.

    Columns of which nothing could be found are dropped; `found_document` leaves them to be filled
    in.
    """
    document = found_document(
        data, epsilon=epsilon, delta=delta, ledger=ledger, neighbours=neighbours, privacy=privacy
    )
    columns = {
        name: {"type": "drop"} if TODO in rule.values() else rule
        for name, rule in document["columns"].items()
    }
    return Schema.from_dict(document | {"columns": columns, "targets": list(targets)})


def found_document(
    data: object,
    *,
    epsilon: float,
    delta: float = DELTA,
    ledger: str | Path | None = None,
    neighbours: str = "add-remove",
    privacy: dict[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    save: Path | None = None,
    noise: Noise | None = None,
) -> dict[str, Any]:
    """The same as a document to save: `TODO` stands where nothing could be found.

    With `columns`, only these are searched, which leaves more of the budget for each.
    With a ledger file, a search that was cut short goes on when it is asked for again, from the
    answers that were paid for. With `save`, the document is on disk before the search counts as
    done.
    """
    unit = Privacy(**privacy) if privacy else None
    promise = Promise(Budget(epsilon, delta), Protection.of(neighbours, unit))
    source = Source.whole(data)
    if unit:
        if unit.unit not in source.columns:
            raise InvalidInput(
                f"The table has no column {shown(unit.unit)}.",
                "Name the column that tells people apart.",
            )
        source = replace(
            source.only([name for name in source.columns if name != unit.unit]), bound=unit
        )
    if columns is not None:
        absent = [name for name in columns if name not in source.columns]
        if absent:
            raise InvalidInput(
                f"There is no column {shown(absent[0])} to search.",
                did_you_mean(absent[0], source.columns),
            )
        source = source.only([name for name in source.columns if name in set(columns)])
    if not source.columns:
        raise InvalidInput("The table has no column to search.", "Is this the right file?")
    relation, protected = promise.protection.relation, promise.protection.unit
    book = Ledger.in_memory(relation) if ledger is None else Ledger.open(ledger, relation)
    with book:
        asked = [asdict(promise), source.fingerprint(), *([] if columns is None else [columns])]
        request = json.dumps(asked, default=str)
        label = f"A schema with ε = {epsilon:g}"
        allowance = book.allowance(whole(promise), label, request=request, unit=protected)
        door = Door(allowance, promise.protection, noise)
        rules = Scout(source, door, promise).columns()
        found = {
            "epsilon": epsilon,
            "delta": delta,
            "rho": str(allowance.spent),
            "relation": relation.value,
            "unit": protected,
            "delta_used": float(sum(charge.delta for charge in allowance.charges)),
            "charges": [charge.mark for charge in allowance.charges],
            "columns": {
                name: rule_mark(rule) for name, rule in rules.items() if TODO not in rule.values()
            },
        } | ({} if door.private else {"private": False})
        document: dict[str, Any] = {"columns": rules, "found": found}
        document |= {"privacy": unit.model_dump()} if unit else {}
        if save is not None:
            save_document(document, save)
        allowance.finish()
    return document


def whole(promise: Promise) -> Fraction:
    """The ρ a search may spend: half of δ pays for lists of values, half is for the conversion."""
    return Budget(promise.budget.epsilon, promise.budget.delta / 2).rho


class Scout:
    """Looks at the rows of a table whose schema is not known, for a price."""

    def __init__(self, source: Source, door: Door, promise: Promise) -> None:
        self._source, self._door, self._promise = source, door, promise

    def __repr__(self) -> str:
        return "Scout()"  # and nothing of the rows

    def columns(self) -> dict[str, dict[str, Any]]:
        """A rule for every column, as far as it could be found."""
        rho = self._door.allowance.total
        looks = self._looks(list(self._source.columns), rho * LOOKS_SHARE)
        rho -= rho * LOOKS_SHARE
        texts = [name for name, look in looks.items() if look == "text"]
        rest = [name for name, look in looks.items() if look != "text"]
        weight = rho / (VALUES_WEIGHT * len(texts) + len(rest))
        rules: dict[str, dict[str, Any]] = {}
        if rest:
            rules |= self._ranges(rest, looks, weight * len(rest))
        if texts:
            rules |= self.values(texts, weight * VALUES_WEIGHT * len(texts))
        return {name: rules[name] for name in self._source.columns}

    # -- three kinds of questions, each one histogram per column -----------------------------------

    def _looks(self, names: list[str], rho: Fraction) -> dict[str, str]:
        """What columns hold, by what most rows do; days are moments if some clearly tell time."""
        counts, scale = self._histograms(
            f"what {len(names)} columns look like", rho, dict.fromkeys(names, "look"), len(LOOKS)
        )
        return {name: _look_of(c, scale) for name, c in zip(names, counts, strict=True)}

    def _ranges(
        self, names: list[str], looks: dict[str, str], rho: Fraction
    ) -> dict[str, dict[str, Any]]:
        """Bounds, decimals and missing cells of numbers, moments and truths."""
        kinds = {"moment": "year", "day": "year", "truth": "truth", "number": "size"}
        cells = {name: kinds[looks[name]] for name in names}
        counts, scale = self._histograms(f"ranges of {len(names)} columns", rho, cells, CELLS)
        return {
            name: _range_rule(looks[name], c, scale) for name, c in zip(names, counts, strict=True)
        }

    def values(self, names: list[str], rho: Fraction) -> dict[str, dict[str, Any]]:
        """The values that clearly more than a few rows hold (docs/proofs/discovery.md)."""
        protection = self._door.protection
        delta = self._promise.budget.delta / 2

        def tallies() -> list[Counter[str]]:
            held: list[Counter[str]] = [Counter() for _ in names]
            with explained(
                "The values of some columns could not be counted.", "Declare these columns."
            ):
                for batch in self._source.only(names).batches():
                    for name, tally in zip(names, held, strict=True):
                        _count_values(batch.column(name), tally)
            return held

        named = self._door.frequent(
            f"values of {len(names)} columns",
            rho,
            tallies,
            squared=protection.squared(len(names)),
            least=lambda scale: threshold(scale, delta / len(names), protection.rows_per_person),
            delta=delta,
        )
        rules = {}
        for name, kept in zip(names, named, strict=True):
            values = [value for value in kept if value != BLANK]
            rule: dict[str, Any] = {"type": "categorical", "values": values or TODO, "other": True}
            rules[name] = rule | ({"nullable": True} if BLANK in kept else {})
        return rules

    def _histograms(
        self, what: str, rho: Fraction, cell_of: dict[str, str], cells: int
    ) -> tuple[list[np.ndarray], float]:
        """Noisy counts of public cells, one histogram per column; a row is in one cell of each."""

        def exact() -> np.ndarray:
            counts = Local().total(self._source.only(list(cell_of)), Histograms(cell_of, cells))
            return np.stack(counts)

        counts, scale = self._door.counts(
            what,
            rho,
            exact,
            squared=self._door.protection.squared(len(cell_of)),
            cells=cells * len(cell_of),
        )
        return list(counts), scale


@dataclass(frozen=True)
class Histograms:
    """Counts the rows of a batch in the cells of some columns; `cell_of` names each one's cells."""

    cell_of: dict[str, str]
    cells: int

    def __call__(self, batch: pa.Table) -> list[np.ndarray]:
        found = {name: CELL_OF[kind](batch.column(name)) for name, kind in self.cell_of.items()}
        return [np.bincount(cells, minlength=self.cells) for cells in found.values()]


def threshold(scale: float, delta: float, rows_per_person: int = 1) -> int:
    """The least noisy count at which to name values, so that a lone one is named with chance ≤ δ.

    Somebody with `rows_per_person` rows brings at most so many new values, of at most so many rows.
    The tail of the discrete Gaussian at t is at most that of the continuous one at t − 1 (Canonne,
    Kamath, Steinke 2020).
    """
    deviations = -NormalDist().inv_cdf(delta / rows_per_person)
    return rows_per_person + 1 + math.ceil(scale * deviations * (1 + 1e-9))


# The cell that a row is in. For numbers:
# decimals × power of two, by sign; the last cell is missing.

POWERS = MOST - LEAST + 1
SIZES = 2 * POWERS + 1
CELLS = (DECIMALS + 1) * SIZES + 1
MISSING = CELLS - 1


def _look(column: pa.ChunkedArray) -> np.ndarray:
    return by_value(column, _each(_looks_like), LOOKS.index("missing"))


def _each(answer: Callable[[int | float | bytes | None], int]) -> Callable[[pa.Array], np.ndarray]:
    return lambda values: np.array([answer(value) for value in plain(values).to_pylist()], np.int64)


def _looks_like(value: int | float | bytes | None) -> int:
    if is_missing(value):
        return LOOKS.index("missing")
    text = key(value).strip()
    if text.lower() in ("true", "false"):
        return LOOKS.index("truth")
    if math.isfinite(number_in(text)):
        return LOOKS.index("number")
    if _moment(value) is None:
        return LOOKS.index("text")
    return LOOKS.index("day" if len(text) == len("2013-01-31") else "moment")


def _look_of(counts: np.ndarray, scale: float) -> str:
    held = dict(zip(LOOKS, counts.tolist(), strict=True))
    times = {"day": held.pop("day") + held["moment"], "moment": held.pop("moment")}
    look = max(["number", "truth", "day", "text"], key=lambda name: (held | times)[name])
    return "moment" if look == "day" and times["moment"] > CLEARLY * scale else look


def _moment(value: int | float | bytes | None) -> datetime.datetime | None:
    """The moment that a text spells, if it does."""
    if not isinstance(value, bytes):
        return None
    try:
        return datetime.datetime.fromisoformat(key(value).strip())
    except ValueError:
        return None


def _size(column: pa.ChunkedArray) -> np.ndarray:
    numbers = numbers_in(column)
    known = np.isfinite(numbers)
    numbers = np.where(known, numbers, 0.0)
    decimals = np.full(len(numbers), DECIMALS, np.int64)
    for places in range(DECIMALS - 1, -1, -1):
        decimals[rounded(numbers, places) == numbers] = places
    power = np.clip(np.frexp(np.abs(numbers))[1] - 1, LEAST, MOST) - LEAST
    size = np.where(
        numbers > 0, POWERS + 1 + power, np.where(numbers < 0, POWERS - 1 - power, POWERS)
    )
    return np.where(known, decimals * SIZES + size, MISSING)


def _year(column: pa.ChunkedArray) -> np.ndarray:
    def cell(value: int | float | bytes | None) -> int:
        moment = _moment(value)
        return MISSING if moment is None else int(np.clip(moment.year, *YEARS)) - YEARS[0]

    return by_value(column, _each(cell), MISSING)


def _truth(column: pa.ChunkedArray) -> np.ndarray:
    return np.where(np.isnan(numbers_in(column)), MISSING, 0)


CELL_OF = {"look": _look, "size": _size, "year": _year, "truth": _truth}


def _range_rule(look: str, counts: np.ndarray, scale: float) -> dict[str, Any]:
    """What noisy counts say about a column; only cells that clearly hold rows are believed."""
    held = counts > scale * -NormalDist().inv_cdf(CARELESS / CELLS)
    nullable = {"nullable": True} if counts[MISSING] > CLEARLY * scale else {}
    if look == "truth":
        return {"type": "boolean"} | nullable
    if look in ("moment", "day"):
        years = np.nonzero(held[: YEARS[1] - YEARS[0] + 1])[0] + YEARS[0]
        kind = "date" if look == "day" else "datetime"
        if not len(years):
            return {"type": kind, "min": TODO, "max": TODO} | nullable
        return {
            "type": kind,
            "min": f"{years[0]}-01-01",
            "max": f"{years[-1] + 1}-01-01",
        } | nullable
    sizes = held[:MISSING].reshape(DECIMALS + 1, SIZES)
    places, powers = np.nonzero(sizes)
    if not len(powers):
        return {"type": "numerical", "min": TODO, "max": TODO} | nullable
    low, high = _edge(int(powers.min()), least=True), _edge(int(powers.max()), least=False)
    most = int(places.max())
    decimals = {"decimals": most} if most < DECIMALS else {}
    if "decimals" in decimals:
        low, high = math.floor(low), math.ceil(high)
    high = high if high > low else low + 1
    return (
        {"type": "numerical", "min": short(float(low)), "max": short(float(high))}
        | decimals
        | nullable
    )


def _edge(size: int, *, least: bool) -> float:
    """The end of a power of two that lies outwards."""
    if size == POWERS:
        return 0.0
    power = size - POWERS - 1 if size > POWERS else POWERS - 1 - size
    outward = (size > POWERS) != least
    edge = 2.0 ** (power + LEAST + outward)
    return edge if size > POWERS else -edge


BLANK = ""  # stands for missing cells among the values of a column; no value is spelled like that


def _count_values(column: pa.ChunkedArray, held: Counter[str]) -> None:
    """Add up how many rows hold each value."""
    for chunk in column.chunks:
        for entry in plain(chunk).value_counts().to_pylist():
            held[BLANK if is_missing(entry["values"]) else key(entry["values"])] += entry["counts"]
