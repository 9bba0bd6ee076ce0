"""A table checked for its owner: cells against the rules of columns, rows against constraints."""

from dataclasses import replace

from tabveil.release.repair import EditableRows, Repair
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.sources.checking import UNFORESEEN, check
from tabveil.sources.reader import explained
from tabveil.tables.table import Codec


def check_table(data: object, schema: Schema) -> list[str]:
    """For the owner's eyes: which columns and which constraints are broken, no value, no count."""
    return [*check(data, schema), *_broken_constraints(data, schema)]


def _broken_constraints(data: object, schema: Schema) -> list[str]:
    """The constraints that some rows break, cells read as `fit` reads them."""
    if not schema.constraints:
        return []
    repair, codec, found = Repair(schema), Codec(schema), set[str]()
    everything = replace(Source.of(data, schema), bound=None)
    with explained("the table could not be checked.", UNFORESEEN):
        for table in everything.batches():
            rows = EditableRows(schema, codec.encode(table))
            found |= {c.text for c in repair.constraints if repair.broken(rows, c).any()}
    written = dict.fromkeys(constraint.text for constraint in repair.constraints)
    return [f"Constraint {text!r}: some rows break it." for text in written if text in found]
