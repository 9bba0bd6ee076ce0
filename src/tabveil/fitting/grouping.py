"""Columns with very many values: a first noisy count decides which values are learnt on their own.

The rest share a code, or the codes of their declared groups, while the table is fitted, so that
memory and noise stay bounded; behind a shared code, values come as often as their noisy counts say.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from scipy.special import erfcx

from tabveil.columns import Categorical, CategoryCodec
from tabveil.curator import Curator
from tabveil.fitting.ranks import onto_simplex
from tabveil.fitting.spending import Purchase, counted
from tabveil.privacy import Protection
from tabveil.schema import Schema
from tabveil.shapes import Float
from tabveil.tables.table import Codec, Grouping

SHARE = Fraction(1, 20)  # of the whole budget
LARGE = 128  # a column with more values is grouped
MOST = 64  # values that are then learnt on their own
CLEARLY = 6  # standard deviations of the noise that such a value must stand above it


def large_columns(schema: Schema) -> list[str]:
    """The columns whose values are grouped: by the schema, or too many for cross-tables. Public."""
    return [name for name, c in schema.categories.items() if c.groups or c.declared > LARGE]


def grouping_cost(schema: Schema, rho: Fraction) -> Fraction:
    """What of a whole budget is spent on grouping; nothing where no list is long. Public."""
    return rho * SHARE if large_columns(schema) else Fraction(0)


def grouping_spending(
    schema: Schema, rho: Fraction, protection: Protection
) -> tuple[Purchase, ...]:
    """The same as a purpose of the budget."""
    lists = len(large_columns(schema))
    asked = f"values of {lists} long lists"
    return counted("grouping", asked, grouping_cost(schema, rho), protection, lists)


def learn_groupings(curator: Curator, schema: Schema, rho: Fraction) -> dict[str, Grouping]:
    """Count the values of all large columns once, with noise, and group them by these counts."""
    names = large_columns(schema)
    if not names:
        return {}
    domain = Codec(schema).domain
    axes = [schema.categorical.index(name) for name in names]
    counts, scale = curator.categories(axes, domain, rho)
    return {
        name: grouped(schema.categories[name], c, scale)
        for name, c in zip(names, counts, strict=True)
    }


def widest(schema: Schema) -> Schema:
    """The schema of the fitted table if counts let as many values as may be stand alone. Public."""
    codecs = {name: schema.categories[name] for name in large_columns(schema)}
    return reduced(schema, {n: grouped(c, np.ones(len(c.labels)), 0.0) for n, c in codecs.items()})


def grouped(codec: CategoryCodec, counts: np.ndarray, scale: float) -> Grouping:
    """Which values share a code, from the schema's groups or from noisy counts."""
    labels = codec.labels
    shared = {label: name for name, together in codec.groups.items() for label in together}
    if not codec.groups:
        declared = np.arange(codec.declared)
        ranked = declared[np.argsort(-counts[declared], kind="stable")]
        own = {labels[code] for code in ranked[:MOST] if counts[code] > CLEARLY * scale}
        shared = {labels[code]: "rare values" for code in declared if labels[code] not in own}
    codes: dict[tuple[str, str], int] = {}
    # What a name is the name of is part of it: a group may be called like a value.
    declared_labels, rest = labels[: codec.declared], labels[codec.declared :]
    belongs = [
        (shared[label], "group") if label in shared else (label, "value")
        for label in declared_labels
    ]
    belongs += [(label, "no value") for label in rest]  # OTHER and missing keep their own codes
    group = np.array([codes.setdefault(name, len(codes)) for name in belongs], np.int32)
    names: list[str] = []
    for name, _ in codes:
        while name in names:
            name += "'"
        names.append(name)
    weights = np.empty(len(counts))
    for code in range(len(names)):
        together = group == code
        weights[together] = expected(counts[together].astype(float), scale)
    return Grouping(tuple(names), group, weights)


def expected(counts: Float[np.ndarray, " values"], scale: float) -> Float[np.ndarray, " values"]:
    """Noisy counts as they are expected to be, where few values are common and many are rare.

    Small counts are mostly noise. If true ones fall off exponentially, with the mean that the noisy
    ones have, then each is normal around x − σ²/mean and cut off at zero. They still add up to
    what they added up to.
    """
    total = float(counts.sum())
    if total <= 0 or scale == 0:
        return onto_simplex(counts, total)
    around = counts - scale**2 / (total / len(counts))
    # φ(z)/Φ(z) at z = around / scale, which neither vanishes nor overflows.
    found = around + scale * math.sqrt(2 / math.pi) / erfcx(-around / scale / math.sqrt(2))
    return np.maximum(found, 0.0) * (total / np.maximum(found, 0.0).sum())


def reduced(schema: Schema, groupings: Mapping[str, Grouping]) -> Schema:
    """The schema of the table that is fitted: learnt columns alone, codes of groups for values."""
    if not groupings:
        return schema
    columns = {
        name: Categorical(values=groupings[name].names) if name in groupings else rule
        for name, rule in schema.columns.items()
        if rule.codec is not None
    }
    totals = [total for total in schema.totals if not set(total["columns"]) & set(groupings)]
    return schema.replaced(columns=columns, constraints=(), totals=totals, found=None)
