"""Totals that are published already: how many rows each value, or combination of values, has.

    totals:
      - {columns: [sex], counts: {F: 50210, M: 48911}}
      - {columns: [region, sex], shares: {north: {F: 0.2, M: 0.3}, south: {F: 0.3, M: 0.2}}}

`counts` are of this very table, and make its number of rows public. `counts_elsewhere` are of
another year or place: only their proportions are taken. What is not named holds nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tabveil.columns import CategoryCodec
from tabveil.columns.words import did_you_mean, shown
from tabveil.errors import InvalidInput
from tabveil.schema.constraints import code_of

KINDS = ("counts", "shares", "counts_elsewhere")
HINT = (
    "Write {columns: [sex], shares: {F: 0.51, M: 0.49}}, with counts for shares if you have them."
)
MISSING = "missing"  # stands for a missing cell, where a column has such
MOST_CELLS = 100_000
ROUNDED = 0.005  # how far published shares may be from adding up
APART = 0.002  # how far two totals may be apart, and what they fix of a whole


@dataclass(frozen=True, eq=False)
class Total:
    """What is published of some columns together."""

    columns: tuple[str, ...]
    shares: np.ndarray  # one axis a column
    rows: int | None = None  # of this table, where counts say so

    @property
    def name(self) -> str:
        """Its columns in words."""
        return " and ".join(map(shown, self.columns))

    def margin(self, columns: Sequence[str]) -> np.ndarray:
        """The same of some of its columns, in the order asked for."""
        kept = [self.columns.index(column) for column in columns]
        others = tuple(axis for axis in range(len(self.columns)) if axis not in kept)
        ordered = np.argsort(np.argsort(kept))
        summed = self.shares.sum(axis=others)
        return np.asarray(np.moveaxis(summed, ordered, np.arange(len(kept))))


def parse_totals(
    totals: Sequence[Mapping[str, Any]], categories: Mapping[str, CategoryCodec]
) -> tuple[Total, ...]:
    """The totals of a schema, each understood and no two in contradiction."""
    found = tuple(_total(total, categories) for total in totals)
    for one, other in combinations(found, 2):
        _require_agreement(one, other, categories)
    return found


def _total(total: Mapping[str, Any], categories: Mapping[str, CategoryCodec]) -> Total:
    columns = total.get("columns") if isinstance(total, Mapping) else None
    kinds = [kind for kind in KINDS if isinstance(total, Mapping) and kind in total]
    right = isinstance(columns, list | tuple) and columns and len(kinds) == 1
    if not right or set(total) - {"columns", *kinds}:
        raise InvalidInput(f"The total {shown(str(total)[:80])} is not understood.", HINT)
    assert isinstance(columns, list | tuple)
    for name in columns:
        if name not in categories:
            raise InvalidInput(
                f"Totals are of categorical columns, and {shown(str(name))} is none.",
                did_you_mean(str(name), categories) or "Name categorical columns of the schema.",
            )
    if len(set(columns)) < len(columns):
        raise InvalidInput("A total names a column twice.", "Name each once.")
    codecs = [categories[name] for name in columns]
    shape = [len(codec.labels) for codec in codecs]
    what = " and ".join(map(shown, columns))
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise InvalidInput(
            f"The total of {what} has more than {MOST_CELLS:,} cells.", "Give coarser ones."
        )
    cells = np.zeros(shape)
    for codes, number in _cells(total[kinds[0]], list(zip(columns, codecs, strict=True))):
        if (
            not isinstance(number, int | float)
            or isinstance(number, bool)
            or not 0 <= number < 1e15
        ):
            raise InvalidInput(
                f"The total of {what} holds {shown(str(number))}.", "Give numbers from 0 on."
            )
        cells[codes] += number
    whole = cells.sum()
    if whole <= 0 or (kinds == ["shares"] and abs(whole - 1) > ROUNDED):
        raise InvalidInput(
            f"The {kinds[0]} of {what} add up to {whole:g}.",
            "Shares must add up to 1; counts that are of other rows are `counts_elsewhere`.",
        )
    return Total(tuple(columns), cells / whole, round(whole) if kinds == ["counts"] else None)


def _cells(
    numbers: Any, columns: Sequence[tuple[str, CategoryCodec]]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Codes of the named values, and the number that stands behind them."""
    if not columns:
        yield (), numbers
        return
    (name, codec), *rest = columns
    if not isinstance(numbers, Mapping):
        raise InvalidInput(f"A total of {shown(name)} gives no numbers by its values.", HINT)
    for value, inside in numbers.items():
        missing = codec.missing if value in (None, MISSING) else None
        code = code_of(name, codec, value) if missing is None else missing
        for codes, number in _cells(inside, rest):
            yield (code, *codes), number


def spelled(total: Any) -> Any:
    """A total that every kind of file can hold."""
    if not isinstance(total, Mapping):
        return list(total) if isinstance(total, tuple) else total
    return {MISSING if key is None else key: spelled(value) for key, value in total.items()}


def _counts(number: object) -> bool:
    return isinstance(number, int | float) and 0 <= number < 1e15


def _require_agreement(one: Total, other: Total, categories: Mapping[str, CategoryCodec]) -> None:
    """Refuse totals that say different things about the same columns, or numbers of rows."""
    if one.rows and other.rows and abs(one.rows - other.rows) > 1:
        raise InvalidInput(
            f"The counts of {one.name} add up to {one.rows:,} rows, and those of {other.name} "
            f"to {other.rows:,}.",
            "Write counts_elsewhere for those that are not of this table.",
        )
    shared = [column for column in one.columns if column in other.columns]
    if not shared:
        return
    first, second = one.margin(shared), other.margin(shared)
    gaps = np.abs(first - second)
    if gaps.max() > APART:
        cell = np.unravel_index(int(gaps.argmax()), gaps.shape)
        named = zip(shared, cell, strict=True)
        where = ", ".join(f"{shown(c)} = {shown(categories[c].labels[v])}" for c, v in named)
        raise InvalidInput(
            f"The totals of {one.name} and of {other.name} contradict each other: {where} is "
            f"{first[cell]:.4g} of all rows in one and {second[cell]:.4g} in the other.",
            "Correct one of them, or leave it out.",
        )
