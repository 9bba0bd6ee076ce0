"""Cells in the few types that every program knows."""

import pyarrow as pa
import pyarrow.compute as pc

from tabveil.release.spreadsheets import plain_cells


def simple_cells(table: pa.Table, *, moments: bool) -> pa.Table:
    """The table with truths, numbers and texts alone; dates and times too, if `moments`."""
    plain = plain_cells(table, raw=True)
    for place, field in enumerate(plain.schema):
        kind, column = field.type, plain.column(place)
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
            column = column.cast(kind)
        if pa.types.is_floating(kind):
            column = pc.if_else(pc.is_finite(column), column, None)
        elif not (
            pa.types.is_boolean(kind)
            or pa.types.is_integer(kind)
            or (moments and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)))
        ):
            column = column.cast(pa.string())
        plain = plain.set_column(place, field.name, column)
    return plain
