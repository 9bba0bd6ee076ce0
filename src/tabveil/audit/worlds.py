"""Neighbouring tables as easy to tell apart as can be: all rows alike, and one that is not.

Together they hold every column type, special, missing and malformed cells, long lists of values,
people with several rows and people without a name, and types as pandas guesses them.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tabveil.columns import RULES
from tabveil.privacy import Relation
from tabveil.schema import Schema

Row = tuple[Any, ...]

PLAIN = Schema.from_dict(
    {
        "columns": {
            "group": {"type": "categorical", "values": ["usual", "rare"], "other": True},
            "answer": {"type": "categorical", "values": ["no", "yes"]},
            "amount": {"type": "numerical", "min": 0, "max": 7, "decimals": 0, "nullable": True},
        },
        "targets": ["answer"],
    }
)
USUAL: Row = ("usual", "no", 3.0)

MORE: dict[str, tuple[dict[str, Any], object, object]] = {
    "size": (
        {"type": "categorical", "values": ["S", "M", "L"], "ordered": True, "nullable": True},
        "S",
        None,
    ),
    "height": ({"type": "numerical", "min": 0, "max": 2, "decimals": 1}, 1.5, float("nan")),
    "weight": ({"type": "numerical", "min": 0, "max": 200}, 70.0, 1e308),
}
"""Rules beyond the example of each type, with a cell that follows them and one that does not."""

EVERY_TYPE = Schema.from_dict(
    {
        "columns": {
            **{name: {"type": name, **kind.example.rule} for name, kind in RULES.items()},
            **{name: rule for name, (rule, _, _) in MORE.items()},
        },
        "targets": ["categorical", "boolean"],
    }
)
TYPICAL: Row = (
    *(kind.example.usual for kind in RULES.values()),
    *(usual for _, usual, _ in MORE.values()),
)
ODD: Row = (
    *(kind.example.odd for kind in RULES.values()),
    *(odd for _, _, odd in MORE.values()),
)

LONG = Schema.from_dict(
    {
        "columns": {
            "place": {
                "type": "categorical",
                "values": [f"p{i}" for i in range(140)],
                "other": True,
            },
            "trade": {
                "type": "categorical",
                "values": ["a", "b", "c", "d"],
                "groups": {"rest": ["c", "d"]},
            },
            "answer": {"type": "categorical", "values": ["no", "yes"]},
        },
        "targets": ["answer"],
    }
)

PEOPLE = Schema.from_dict(
    {
        "columns": {"who": {"type": "id"}, **{n: r.spelled() for n, r in PLAIN.columns.items()}},
        "targets": ["answer"],
        "privacy": {"unit": "who", "max_rows": 2},
    }
)

WIDE = Schema.from_dict(
    {
        "columns": {
            **{f"c{i}": {"type": "categorical", "values": [0, 1]} for i in range(18)},
            **{f"n{i}": {"type": "numerical", "min": 0, "max": 7, "decimals": 0} for i in range(2)},
        },
        "targets": ["c0"],
    }
)


@dataclass(frozen=True)
class World:
    """A table of equal rows, and all rows of the one whom an attacker seeks; these come first."""

    name: str
    schema: Schema
    usual: tuple[Row, ...]
    target: tuple[Row, ...]
    fixed: bool = True  # the same types on both sides; else as pandas guesses them
    # Whether as many rows can be replaced; nobody can replace people without a name.
    substitute: bool = True

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations under which its two tables are neighbours."""
        return tuple(Relation) if self.substitute else (Relation.ADD_REMOVE,)

    def tables(self, relation: Relation) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The table without the target and its neighbour with it."""
        if relation is Relation.ADD_REMOVE:
            return self._frame(self.usual), self._frame((*self.target, *self.usual))
        usual = self.usual or (USUAL,)
        return self._frame(usual), self._frame((*self.target, *usual[len(self.target) :]))

    def _frame(self, rows: tuple[Row, ...]) -> pd.DataFrame:
        columns = list(self.schema.columns)
        if self.fixed:
            cells = zip(*rows, strict=True) if rows else ([] for _ in columns)
            return pd.DataFrame(
                {n: pd.Series(c, dtype=object) for n, c in zip(columns, cells, strict=True)}
            )
        return pd.DataFrame(list(rows), columns=columns)


def _people(*rows: tuple[str | None, Row]) -> tuple[Row, ...]:
    return tuple((who, *row) for who, row in rows)


RARE: Row = ("rare", "yes", 5.0)
CATEGORY = World("a lone category", PLAIN, (USUAL,) * 20, (("nobody else's", "yes", 5.0),))
EXTREME = World("a lone extreme value", PLAIN, (USUAL,) * 20, (("rare", "yes", 1e308),))
MISSING = World("a lone missing value", PLAIN, (USUAL,) * 20, (("rare", "yes", None),))
ALONE = World("one row against none", PLAIN, (), (RARE,))
COMMON = World("values that others have, too", PLAIN, (USUAL, RARE) * 10, (("rare", "no", 5.0),))
TYPES = World("every type of column", EVERY_TYPE, (TYPICAL,) * 20, (ODD,))
GUESSED = World(
    "types as they are guessed",
    PLAIN,
    (("usual", "no", 3),) * 20,
    (("rare", "yes", "?"),),
    fixed=False,
)
LISTS = World("long lists of values", LONG, (("p1", "a", "no"),) * 20, (("p9", "c", "yes"),))
SEVERAL = World(
    "a person with several rows",
    PEOPLE,
    _people(*((f"p{i // 3}", USUAL) for i in range(30))),
    _people(*[("target", RARE)] * 3),
)
NAMELESS = World(
    "a person without a name",
    PEOPLE,
    _people((None, USUAL), (None, USUAL), *((f"p{i // 3}", USUAL) for i in range(30))),
    _people(*[(None, RARE)] * 2),
    substitute=False,
)
MANY = World("many columns", WIDE, ((0,) * 20,) * 20_000, ((1,) * 20,))

WORLDS = (CATEGORY, EXTREME, MISSING, ALONE)  # simple ones, audited at every ε
OTHERS = (TYPES, GUESSED, LISTS, SEVERAL, NAMELESS)  # what else users bring
