"""Published totals as answers that cost nothing and carry no noise."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from tabveil.curator import Answer
from tabveil.queries import Pairs
from tabveil.schema.totals import Total

EXACT = 0.5
"""The noise that they are taken to have, in rows: that of rounding."""


def given_answers(totals: Sequence[Total], pairs: Pairs, rows: int) -> list[Answer]:
    """What totals say of cross-tables that may be asked, and of every column alone."""
    found: dict[int, np.ndarray] = {}
    for total in totals:
        for columns, place in _told(total, pairs):
            found.setdefault(place, total.margin(columns).ravel())
    if not found:
        return []
    counts = np.zeros((len(found), pairs.width), np.int64)
    for line, shares in zip(counts, found.values(), strict=True):
        line[: len(shares)] = np.rint(shares * rows)
    return [Answer(pairs, np.array(list(found)), counts, EXACT, derived=True)]


def _told(total: Total, pairs: Pairs) -> Iterator[tuple[list[str], int]]:
    """The cross-tables of some columns of a total, with the columns in their order."""
    asked = {
        frozenset(column.name for column in pairs.columns_of(query)): place
        for place, query in enumerate(pairs.layout.queries)
    }
    for many in range(1, len(total.columns) + 1):
        for columns in combinations(total.columns, many):
            place = asked.get(frozenset(columns))
            if place is not None:
                query = pairs.layout.queries[place]
                yield [column.name for column in pairs.columns_of(query)], place
