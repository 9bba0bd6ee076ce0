"""A small public schema and random tables of it, for many tests."""

from typing import Any

import numpy as np

from tabveil.curator import Curator, PrivateRows
from tabveil.privacy import Allowance, Door, Noise, Protection, Relation
from tabveil.tables.table import Domain, Table

SMALL = {
    "columns": {
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "city": {"type": "categorical", "values": ["a", "b", "c"]},
        "job": {"type": "categorical", "values": ["x", "y", "z", "w"]},
        "income": {"type": "categorical", "values": ["low", "high"]},
        "employed": {"type": "categorical", "values": ["no", "yes", "unknown"]},
        "age": {"type": "numerical", "min": 0, "max": 100, "decimals": 0},
        "wage": {"type": "numerical", "min": 0, "max": 1000, "decimals": 1},
    },
    "targets": ["income", "employed"],
}

# So small that every row, and every pair of rows, can be tried.
TINY: dict[str, Any] = {
    "columns": {
        "a": {"type": "categorical", "values": [0, 1]},
        "b": {"type": "categorical", "values": [0, 1]},
        "x": {"type": "numerical", "min": 0, "max": 2, "decimals": 0},
    },
    "targets": ["b"],
}


def curator_of(
    rows: PrivateRows,
    allowance: Allowance,
    relation: Relation = Relation.ADD_REMOVE,
    noise: Noise | None = None,
    rows_per_person: int = 1,
) -> Curator:
    """A curator of some rows, whose door charges this allowance."""
    person = "who" if rows_per_person > 1 else None
    return Curator(rows, Door(allowance, Protection(relation, person, rows_per_person), noise))


def random_table(domain: Domain, rows: int, seed: int) -> Table:
    """Uniformly random codes and numbers between 0 and 100."""
    random = np.random.default_rng(seed)
    codes = np.empty((rows, len(domain.sizes)), np.int32)
    for axis, size in enumerate(domain.sizes):
        codes[:, axis] = random.integers(0, size, rows)
    return Table(codes, random.random((rows, len(domain.numerical))) * 100)
