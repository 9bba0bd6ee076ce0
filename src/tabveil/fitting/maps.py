"""Columns that follow from others in a way that nobody declared: the map is bought.

How often values of both come together is counted once, with noise; each value of the column that
decides is given the one that it comes with most often. See docs/proofs/maps.md.
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from tabveil.columns import Follows
from tabveil.columns.rule import Value
from tabveil.curator import Curator, Workload
from tabveil.fitting.rows import EncodedRows
from tabveil.fitting.spending import Purchase, counted
from tabveil.privacy import Protection
from tabveil.queries import Marginals
from tabveil.schema import Schema
from tabveil.tables.measurement import Measurement
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Codec

SHARE = Fraction(1, 50)  # of the whole budget


def maps_cost(schema: Schema, rho: Fraction) -> Fraction:
    """What of a whole budget is spent on maps; nothing where all are declared. Public."""
    return rho * SHARE if schema.maps_to_buy else Fraction(0)


def maps_spending(schema: Schema, rho: Fraction, protection: Protection) -> tuple[Purchase, ...]:
    """The same as a purpose of the budget."""
    names = ", ".join(f"{rule.of} to {name}" for name, rule in schema.maps_to_buy.items())
    asked, maps = f"what follows from what: {names}", len(schema.maps_to_buy)
    return counted("maps", asked, maps_cost(schema, rho), protection, maps)


def with_maps(curator: Curator, rows: EncodedRows, schema: Schema, rho: Fraction) -> Schema:
    """The schema with every map, those that it lacks as the noisy counts of `rows` say."""
    unknown = schema.maps_to_buy
    if not unknown:
        return schema
    few = _read_for(schema, unknown)
    domain, axes = Codec(few).domain, list(few.categories)
    family = Marginals.over(
        [(axes.index(rule.of), axes.index(name)) for name, rule in unknown.items()], domain
    )
    curator.recode(rows.read_as(few))
    workload = Workload((family,), MinMax.of(few), domain)
    answer = curator.measure(workload, family, np.arange(len(family)), rho)
    curator.recode(rows)
    found: dict[str, Follows] = {}
    for query, (name, rule) in enumerate(unknown.items()):
        cells = answer.counts[query][family.filled[query]]
        table = Measurement.of(family.name, family.sides(query, domain), cells, answer.scale)
        curator.published.append(table)
        found[name] = rule.mapped(_likeliest(table, few, rule, name))
    return schema.replaced(columns={**schema.columns, **found})


def _read_for(schema: Schema, unknown: Mapping[str, Follows]) -> Schema:
    """The columns that decide, and those that follow with their own lists of values."""
    columns = {rule.of: schema.columns[rule.of] for rule in unknown.values()}
    columns |= {name: rule.bought for name, rule in unknown.items() if rule.bought}
    return schema.replaced(
        columns=columns, constraints=(), totals=(), targets=(), strata=(), found=None
    )


def _likeliest(table: Measurement, schema: Schema, rule: Follows, name: str) -> dict[str, Value]:
    """For each declared value of the column that decides, the one that it comes with most often."""
    names = [side.name for side in table.sides]
    counts = table.counts.transpose(names.index(rule.of), names.index(name))
    source = schema.categories[rule.of]
    chosen = counts[: source.declared, : len(rule.values)].argmax(axis=1).tolist()
    return {
        value: rule.values[place]
        for value, place in zip(source.labels[: source.declared], chosen, strict=True)
    }
