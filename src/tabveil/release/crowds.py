"""Rows that are not alone: every combination of some columns comes several times in the output."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from tabveil.columns.words import did_you_mean, shown
from tabveil.errors import InvalidInput

FIRST, MOST = 2, 64  # times the rows that were asked for are drawn to choose from


def crowded(
    draw: Callable[[int], pa.Table], rows: int, columns: Sequence[str], least: int
) -> pa.Table:
    """So many rows, each of whose combinations of these columns comes at least so often.

    As many of the commonest combinations stay as can; they keep their proportions, and rows with
    rarer ones give way to theirs.
    """
    factor = FIRST
    while factor <= MOST:
        pool = draw(rows * factor)
        combination = _combinations(pool, columns)
        quotas = _quotas(np.bincount(combination), rows, least)
        if quotas.sum() == rows:
            return pool.take(np.nonzero(_nth(combination) < quotas[combination])[0])
        factor *= 2
    raise InvalidInput(
        f"Too few of {rows:,} rows share {', '.join(map(shown, columns))} with {least - 1} others.",
        "Ask for more rows, fewer columns, or a smaller number; or cut numbers into categories.",
    )


def _quotas(found: np.ndarray, rows: int, least: int) -> np.ndarray:
    """How often each combination shall come, from how often each was found; all 0 if too few."""
    order = np.argsort(-found, kind="stable")
    ordered, together = found[order], np.cumsum(found[order])
    (enough,) = np.nonzero((rows * ordered >= least * together) & (together >= rows))
    quotas = np.zeros(len(found), np.int64)
    if len(enough):
        kept = slice(0, enough[-1] + 1)
        exact = rows * ordered[kept] / together[enough[-1]]
        whole = exact.astype(np.int64)
        rest = np.argsort(whole - exact, kind="stable")[: rows - whole.sum()]
        whole[rest] += 1
        quotas[order[kept]] = whole
    return quotas


def _nth(combination: np.ndarray) -> np.ndarray:
    """For each row, how many with the same combination come before it."""
    order = np.argsort(combination, kind="stable")
    ordered = combination[order]
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered, "left")
    return places


def require_columns(columns: Sequence[str], least: int, known: Sequence[str]) -> None:
    """Refuse what cannot be kept before anything is drawn."""
    if least < 1 or not columns:
        raise InvalidInput(
            f"At least {least} rows alike were asked for, on {len(columns)} columns.",
            "Give a number of at least 1, and the columns, such as --at-least 3 --on age,sex.",
        )
    for name in columns:
        if name not in known:
            raise InvalidInput(
                f"There is no column {shown(name)} in this release.", did_you_mean(name, known)
            )


def _combinations(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """A number for each row, the same where all these columns are the same."""
    found = np.zeros(table.num_rows, np.int64)
    for name in columns:
        codes = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        values = codes.indices.to_numpy(zero_copy_only=False)
        _, found = np.unique(found * (values.max(initial=0) + 1) + values, return_inverse=True)
    return found
