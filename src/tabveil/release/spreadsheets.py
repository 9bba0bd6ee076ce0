"""Tables as texts that a spreadsheet may open: nothing in them is run as a formula."""

import pyarrow as pa
import pyarrow.compute as pc

from tabveil.columns.cells import spelled_durations, texts_in

# What spreadsheets take for the start of a formula, unless it is a plain number such as -5 or
# +1.2e3, a pair of them such as -33.9, 151.2, or a length of time such as -0:30:00.
FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
ONE = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
NUMBER = rf"^({ONE}(, {ONE})?|-\d+:\d\d:\d\d(\.\d+)?)$"


def plain_cells(table: pa.Table, raw: bool) -> pa.Table:
    """The table with durations and texts of any type as plain texts, harmless unless `raw`."""
    return _spelled(table) if raw else harmless(_spelled(table))


def _spelled(table: pa.Table) -> pa.Table:
    """Durations and texts of any type as plain texts; Arrow does not write all of them to CSV."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        is_length = pa.types.is_duration(column.type)
        texts = spelled_durations(column) if is_length else texts_in(column)
        if texts is not None:
            table = table.set_column(place, name, texts)
    return table


def harmless(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text and every name that could be run."""
    columns = [_harmless(table.column(place)) for place in range(table.num_columns)]
    names = _harmless(pa.chunked_array([table.column_names], pa.string())).to_pylist()
    return pa.Table.from_arrays(columns, names)


def _harmless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    texts = texts_in(column)
    if texts is None:
        return (
            column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        )
    runs = pc.and_(
        pc.match_substring_regex(texts, FORMULA), pc.invert(pc.match_substring_regex(texts, NUMBER))
    )
    if not pc.any(runs).as_py():
        return texts
    before, after = pa.scalar("'", texts.type), pa.scalar("", texts.type)
    return pc.if_else(runs, pc.binary_join_element_wise(before, texts, after), texts)
