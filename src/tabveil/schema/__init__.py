"""What may be known about a table before a look at it: columns, values, bounds, targets, rules."""

from tabveil.columns import RULES, Categorical, Numerical
from tabveil.columns.words import closest, did_you_mean, key, short, shown
from tabveil.schema.schema import (
    TODO,
    Privacy,
    Schema,
    column_rule,
    kind_axis,
    read_document,
    rule_mark,
    save_document,
)

__all__ = [
    "RULES",
    "TODO",
    "Categorical",
    "Numerical",
    "Privacy",
    "Schema",
    "closest",
    "column_rule",
    "did_you_mean",
    "key",
    "kind_axis",
    "read_document",
    "rule_mark",
    "save_document",
    "short",
    "shown",
]
