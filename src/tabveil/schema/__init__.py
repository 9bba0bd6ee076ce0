"""What may be known about a table before anyone looks at it: columns, values, bounds, targets, rules."""

from tabveil.schema.schema import (
    RULES,
    TODO,
    Categorical,
    Numerical,
    Privacy,
    Schema,
    closest,
    did_you_mean,
    key,
    kind_axis,
    read_document,
    rule_mark,
    save_document,
    short,
    shown,
)

__all__ = [
    "RULES",
    "TODO",
    "Categorical",
    "Numerical",
    "Privacy",
    "Schema",
    "closest",
    "did_you_mean",
    "key",
    "kind_axis",
    "read_document",
    "rule_mark",
    "save_document",
    "short",
    "shown",
]
