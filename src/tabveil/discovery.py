"""Find values, bounds and decimals in the data itself, for a price: a private way to a schema.

A door beside the curator with the same rules: charged before it looks, whole counts, noised once. What is
found is written into an ordinary schema, with what it cost. Types of columns are public, as everywhere; only
texts of which nobody knows whether they spell numbers are counted by what they look like.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from tabveil.columns.cells import is_missing, number_in, numbers_in, plain, rounded, spread
from tabveil.columns.words import key, short
from tabveil.errors import InvalidInput
from tabveil.privacy import Allowance, Budget, Ledger, Noise, OpenDPNoise, Relation, gaussian_scale
from tabveil.schema import TODO, Privacy, Schema
from tabveil.sources import Source

DELTA = 1e-6
LOOKS_SHARE = Fraction(1, 10)  # of ρ, where texts might spell numbers
VALUES_WEIGHT = 4  # a list of values must stand clear of its noise; bounds and decimals are read off sums
LEAST, MOST = -20, 50  # powers of two that numbers are sorted into; beyond them they are clamped
DECIMALS = 7  # 0 to 6, and more
CARELESS = 0.001  # chance per column that mere noise widens its bounds
YEARS = (1900, 2100)
CellOf = Callable[[str], Callable[[pa.ChunkedArray], np.ndarray]]
LOOKS = ("missing", "number", "truth", "text")


@dataclass(frozen=True)
class Terms:
    """What is promised, and to whom."""

    budget: Budget  # for all that is found; half of δ pays for lists of values
    relation: Relation
    privacy: Privacy | None

    @property
    def rho(self) -> Fraction:
        """What may be spent; the other half of δ is left for the conversion."""
        return Budget(self.budget.epsilon, self.budget.delta / 2).rho


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

    Columns of which nothing could be found are dropped; `found_document` leaves them to be filled in.
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
    noise: Noise | None = None,
) -> dict[str, Any]:
    """The same as a document to save: `TODO` stands where nothing could be found."""
    if neighbours not in set(Relation):
        raise InvalidInput(f"There is no relation {neighbours}.", f"Choose from: {', '.join(Relation)}.")
    unit = Privacy(**privacy) if privacy else None
    terms = Terms(Budget(epsilon, delta), Relation(neighbours), unit)
    source = Source.whole(data)
    if unit:
        source = replace(source.only([name for name in source.columns if name != unit.unit]), bound=unit)
    protected = f"all rows of one {unit.unit}" if unit else "one row"
    book = Ledger.in_memory(terms.relation) if ledger is None else Ledger.open(ledger, terms.relation)
    with book:
        allowance = book.allowance(terms.rho, f"A schema with ε = {epsilon:g}", unit=protected)
        columns = Scout(source, allowance, terms, noise or OpenDPNoise()).columns()
    found = {"epsilon": epsilon, "delta": delta, "rho": str(allowance.spent)}
    document: dict[str, Any] = {"columns": columns, "found": found}
    return document | ({"privacy": unit.model_dump()} if unit else {})


class Scout:
    """Looks at the rows of a table whose schema is not known, for a price."""

    def __init__(self, source: Source, allowance: Allowance, terms: Terms, noise: Noise) -> None:
        self._source, self._allowance, self._terms, self._noise = source, allowance, terms, noise

    def __repr__(self) -> str:
        return "Scout()"  # and nothing of the rows

    def columns(self) -> dict[str, dict[str, Any]]:
        """A rule for every column, as far as it could be found."""
        looks = {name: self._known(name) for name in self._source.columns}
        unsure = [name for name, look in looks.items() if look == "unsure"]
        rho = self._allowance.total
        if unsure:
            looks |= self._looks(unsure, rho * LOOKS_SHARE)
            rho -= rho * LOOKS_SHARE
        texts = [name for name, look in looks.items() if look == "text"]
        rest = [name for name, look in looks.items() if look in ("number", "whole", "moment", "day", "truth")]
        weight = rho / (VALUES_WEIGHT * len(texts) + len(rest) or 1)
        rules: dict[str, dict[str, Any]] = {}
        if rest:
            rules |= self._ranges(rest, looks, weight * len(rest))
        if texts:
            rules |= self._values(texts, weight * VALUES_WEIGHT * len(texts))
        return {name: rules.get(name, {"type": "drop"}) for name in self._source.columns}

    def _known(self, name: str) -> str:
        """What a column is by its type alone."""
        kind = self._source.arrow_types().get(name)
        if kind is None or self._source.is_text or pa.types.is_large_binary(kind):
            return "unsure"
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        checks = {
            "truth": pa.types.is_boolean,
            "whole": pa.types.is_integer,
            "number": lambda k: pa.types.is_floating(k) or pa.types.is_decimal(k),
            "day": pa.types.is_date,
            "moment": pa.types.is_timestamp,
        }
        text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        return "text" if text else next((name for name, check in checks.items() if check(kind)), "other")

    # -- three kinds of questions, each one histogram per column --------------------------------------------

    def _looks(self, names: list[str], rho: Fraction) -> dict[str, str]:
        """Whether texts spell numbers, truths or neither, by what most rows do."""
        counts, _ = self._histograms(
            f"what {len(names)} columns look like", names, rho, lambda name: _look, len(LOOKS)
        )
        return {name: LOOKS[1 + int(np.argmax(c[1:]))] for name, c in zip(names, counts, strict=True)}

    def _ranges(self, names: list[str], looks: dict[str, str], rho: Fraction) -> dict[str, dict[str, Any]]:
        """Bounds, decimals and missing cells of numbers, moments and truths."""

        def cell(name: str) -> Callable[[pa.ChunkedArray], np.ndarray]:
            return {"moment": _year, "day": _year, "truth": _truth}.get(looks[name], _size)

        counts, scale = self._histograms(f"ranges of {len(names)} columns", names, rho, cell, CELLS)
        return {name: _range_rule(looks[name], c, scale) for name, c in zip(names, counts, strict=True)}

    def _values(self, names: list[str], rho: Fraction) -> dict[str, dict[str, Any]]:
        """The values that clearly more than a few rows hold (docs/proofs/discovery.md)."""
        each = self._each
        delta = self._terms.budget.delta / 2
        scale = gaussian_scale(rho, len(names) * self._moved * each**2)
        least = threshold(scale, delta / len(names), each)
        self._allowance.charge(
            f"values of {len(names)} columns",
            rho,
            "discrete Gaussian with threshold",
            scale=scale,
            threshold=least,
            delta=delta,
        )
        held: list[Counter[str]] = [Counter() for _ in names]
        missing = np.zeros(len(names), np.int64)
        for batch in self._source.only(names).batches():
            for place, name in enumerate(names):
                missing[place] += _count_values(batch.column(name), held[place])
        empty = self._noise.gaussian(missing, scale)
        rules = {}
        for name, counter, blank in zip(names, held, empty.tolist(), strict=True):
            values = sorted(counter)
            counts = np.array([counter[value] for value in values], np.int64)
            noisy = self._noise.gaussian(counts, scale) if len(counts) else counts
            kept = [value for value, count in zip(values, noisy.tolist(), strict=True) if count >= least]
            rule: dict[str, Any] = {"type": "categorical", "values": kept or TODO, "other": True}
            rules[name] = rule | ({"nullable": True} if blank > 4 * scale else {})
        return rules

    def _histograms(
        self, what: str, names: list[str], rho: Fraction, cell_of: CellOf, cells: int
    ) -> tuple[list[np.ndarray], float]:
        """Noisy counts of public cells, one histogram per column; a row is in one cell of each."""
        scale = gaussian_scale(rho, len(names) * self._moved * self._each**2)
        self._allowance.charge(what, rho, "discrete Gaussian", scale=scale, cells=cells * len(names))
        counts = [np.zeros(cells, np.int64) for _ in names]
        for batch in self._source.only(names).batches():
            for name, total in zip(names, counts, strict=True):
                total += np.bincount(cell_of(name)(batch.column(name)), minlength=cells)
        return [self._noise.gaussian(total, scale) for total in counts], scale

    @property
    def _each(self) -> int:
        return self._terms.privacy.max_rows if self._terms.privacy else 1

    @property
    def _moved(self) -> int:
        return 1 if self._terms.relation is Relation.ADD_REMOVE else 2


def threshold(scale: float, delta: float, each: int = 1) -> int:
    """The least noisy count at which values may be named, so that a lone one is named with chance ≤ δ.

    Somebody with `each` rows brings at most so many new values, of at most so many rows. The tail of the
    discrete Gaussian at t is at most that of the continuous one at t − 1 (Canonne, Kamath, Steinke 2020).
    """
    deviations = -NormalDist().inv_cdf(delta / each)
    return each + 1 + math.ceil(scale * deviations * (1 + 1e-9))


# The cell that a row is in. For numbers: decimals × power of two, by sign; the last cell is missing.

POWERS = MOST - LEAST + 1
SIZES = 2 * POWERS + 1
CELLS = (DECIMALS + 1) * SIZES + 1
MISSING = CELLS - 1


def _look(column: pa.ChunkedArray) -> np.ndarray:
    def answer(values: pa.Array) -> np.ndarray:
        return np.array([_looks_like(value) for value in plain(values).to_pylist()], np.int64)

    return spread(column, answer, 0)


def _looks_like(value: int | float | bytes | None) -> int:
    if is_missing(value):
        return LOOKS.index("missing")
    text = key(value).strip()
    if text.lower() in ("true", "false"):
        return LOOKS.index("truth")
    return LOOKS.index("number" if math.isfinite(number_in(text)) else "text")


def _size(column: pa.ChunkedArray) -> np.ndarray:
    numbers = numbers_in(column)
    known = np.isfinite(numbers)
    numbers = np.where(known, numbers, 0.0)
    decimals = np.full(len(numbers), DECIMALS, np.int64)
    for places in range(DECIMALS - 1, -1, -1):
        decimals[rounded(numbers, places) == numbers] = places
    power = np.clip(np.frexp(np.abs(numbers))[1] - 1, LEAST, MOST) - LEAST
    size = np.where(numbers > 0, POWERS + 1 + power, np.where(numbers < 0, POWERS - 1 - power, POWERS))
    return np.where(known, decimals * SIZES + size, MISSING)


def _year(column: pa.ChunkedArray) -> np.ndarray:
    def years(chunk: pa.Array) -> np.ndarray:
        cells = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
        return np.asarray(pa.compute.year(cells).fill_null(-1), np.int64)

    chunks = [years(chunk) for chunk in column.chunks]
    found = np.concatenate([np.empty(0, np.int64), *chunks])
    return np.where(found < 0, MISSING, np.clip(found, *YEARS) - YEARS[0])


def _truth(column: pa.ChunkedArray) -> np.ndarray:
    return np.where(np.isnan(numbers_in(column)), MISSING, 0)


def _range_rule(look: str, counts: np.ndarray, scale: float) -> dict[str, Any]:
    """What noisy counts say about a column; only cells that clearly hold rows are believed."""
    held = counts > scale * -NormalDist().inv_cdf(CARELESS / CELLS)
    nullable = {"nullable": True} if counts[MISSING] > 4 * scale else {}
    if look == "truth":
        return {"type": "boolean"} | nullable
    if look in ("moment", "day"):
        years = np.nonzero(held[: YEARS[1] - YEARS[0] + 1])[0] + YEARS[0]
        kind = "date" if look == "day" else "datetime"
        if not len(years):
            return {"type": kind, "min": TODO, "max": TODO} | nullable
        return {"type": kind, "min": f"{years[0]}-01-01", "max": f"{years[-1] + 1}-01-01"} | nullable
    sizes = held[:MISSING].reshape(DECIMALS + 1, SIZES)
    places, powers = np.nonzero(sizes)
    if not len(powers):
        return {"type": "numerical", "min": TODO, "max": TODO} | nullable
    low, high = _edge(int(powers.min()), least=True), _edge(int(powers.max()), least=False)
    most = int(places.max())
    decimals = {"decimals": 0 if look == "whole" else most} if look == "whole" or most < DECIMALS else {}
    if "decimals" in decimals:
        low, high = math.floor(low), math.ceil(high)
    high = high if high > low else low + 1
    return {"type": "numerical", "min": short(float(low)), "max": short(float(high))} | decimals | nullable


def _edge(size: int, *, least: bool) -> float:
    """The end of a power of two that lies outwards."""
    if size == POWERS:
        return 0.0
    power = size - POWERS - 1 if size > POWERS else POWERS - 1 - size
    outward = (size > POWERS) != least
    edge = 2.0 ** (power + LEAST + outward)
    return edge if size > POWERS else -edge


def _count_values(column: pa.ChunkedArray, held: Counter[str]) -> int:
    """Add up how many rows hold each value; gives how many are missing."""
    missing = 0
    for chunk in column.chunks:
        for entry in plain(chunk).value_counts().to_pylist():
            if is_missing(entry["values"]):
                missing += entry["counts"]
            else:
                held[key(entry["values"])] += entry["counts"]
    return missing
