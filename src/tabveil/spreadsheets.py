"""CSV cells that a spreadsheet would run as formulas, made harmless."""

import pyarrow as pa
import pyarrow.compute as pc

# What spreadsheets take for the start of a formula, unless it is a plain number such as -5 or +1.2e3.
FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def harmless(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text and every name that could be run."""
    columns = [_harmless(table.column(place)) for place in range(table.num_columns)]
    names = _harmless(pa.chunked_array([table.column_names], pa.string())).to_pylist()
    return pa.Table.from_arrays(columns, names)


def _harmless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    runs = pc.and_(
        pc.match_substring_regex(column, FORMULA), pc.invert(pc.match_substring_regex(column, NUMBER))
    )
    if not pc.any(runs).as_py():
        return column
    return pc.if_else(
        runs, pc.binary_join_element_wise(pa.scalar("'", kind), column, pa.scalar("", kind)), column
    )
