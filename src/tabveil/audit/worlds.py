"""Neighbouring tables that are as easy to tell apart as can be: all rows alike, and one that is not."""

from dataclasses import dataclass

import pandas as pd

from tabveil.privacy import Relation
from tabveil.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "group": {"type": "categorical", "values": ["usual", "rare"], "other": True},
            "answer": {"type": "categorical", "values": ["no", "yes"]},
            "amount": {"type": "numerical", "min": 0, "max": 7, "decimals": 0, "nullable": True},
        },
        "targets": ["answer"],
    }
)
Row = tuple[str, str, float | None]
USUAL: Row = ("usual", "no", 3.0)


@dataclass(frozen=True)
class World:
    """A table of `usual` equal rows, and the one row that an attacker looks for."""

    name: str
    usual: int
    target: Row

    def tables(self, relation: Relation) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The table without the target and its neighbour with it."""
        without = [USUAL] * max(self.usual, relation is Relation.SUBSTITUTE)
        kept = without if relation is Relation.ADD_REMOVE else without[1:]
        return _frame(without), _frame([*kept, self.target])


def _frame(rows: list[Row]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(SCHEMA.columns))
    return frame.astype({"group": "object", "answer": "object", "amount": "float64"})


WORLDS = (
    World("a lone category", 20, ("nobody else's", "yes", 5.0)),
    World("a lone extreme value", 20, ("rare", "yes", 1e308)),
    World("a lone missing value", 20, ("rare", "yes", None)),
    World("one row against none", 0, ("rare", "yes", 5.0)),
)
