"""A table checked for its owner: cells against the rules of columns, rows against constraints."""

from collections import Counter
from dataclasses import replace

from tabveil.release.repair import EditableRows, Repair
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.sources.checking import UNFORESEEN, Finding, findings
from tabveil.sources.reader import explained
from tabveil.tables.table import Codec


def check_table(data: object, schema: Schema) -> list[str]:
    """For the owner's eyes: which columns and which constraints are broken, no value, no count."""
    return [finding.text for finding in table_findings(data, schema)]


def table_findings(data: object, schema: Schema) -> list[Finding]:
    """For the owner's eyes: which columns and constraints are broken, in which share of rows."""
    return [*findings(data, schema), *_broken_constraints(data, schema)]


def _broken_constraints(data: object, schema: Schema) -> list[Finding]:
    """The constraints that some rows break, cells read as `fit` reads them."""
    if not schema.constraints:
        return []
    repair, codec, found = Repair(schema), Codec(schema), Counter[str]()
    everything, held = replace(Source.of(data, schema), bound=None), 0
    with explained("the table could not be checked.", UNFORESEEN):
        for table in everything.batches():
            held += table.num_rows
            rows = EditableRows(schema, codec.encode(table))
            for constraint in repair.constraints:
                found[constraint.text] += int(repair.broken(rows, constraint).sum())
    return [
        Finding(f"Constraint {text!r}: some rows break it.", min(1.0, broken / held))
        for text, broken in found.items()
        if broken
    ]
