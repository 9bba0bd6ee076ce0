"""Published totals as tables: columns of the schema, and one that says how many."""

from typing import Any

from tabveil.columns.words import shown
from tabveil.errors import InvalidInput
from tabveil.schema import Schema
from tabveil.schema.totals import MISSING, MOST_CELLS
from tabveil.sources.reader import explained
from tabveil.sources.source import opened

HOW_MANY = {"count": "counts", "share": "shares", "count_elsewhere": "counts_elsewhere"}
HINT = f"Name columns of the schema, and one of: {', '.join(HOW_MANY)}."


def read_totals(data: object, schema: Schema) -> dict[str, Any]:
    """A total as a schema spells it, from a file such as sex,count / F,50210 / M,48911."""
    reader = opened(data)
    counted = [name for name in reader.names if name in HOW_MANY]
    columns = [name for name in reader.names if name not in HOW_MANY]
    unknown = [name for name in columns if name not in schema.columns]
    if len(counted) != 1 or not columns or unknown:
        what = f"has the column {shown(unknown[0])}" if unknown else "does not say how many"
        raise InvalidInput(f"The table of totals {reader.what} {what}.", HINT)
    numbers: dict[Any, Any] = {}
    with explained(f"{reader.what} could not be read to its end.", reader.advice):
        for batch in reader.batches(reader.names, MOST_CELLS, lambda share: None):
            for line in batch.to_pylist():
                cells = {name: _text(cell) for name, cell in line.items()}
                number = _number(cells[counted[0]], reader.what)
                _put(numbers, [cells[name] for name in columns], number)
    return {"columns": columns, HOW_MANY[counted[0]]: numbers}


def _put(numbers: dict[Any, Any], values: list[Any], number: float) -> None:
    *before, last = (MISSING if value in ("", None) else value for value in values)
    for value in before:
        numbers = numbers.setdefault(value, {})
    numbers[last] = numbers.get(last, 0) + number


def _text(cell: Any) -> Any:
    return cell.decode() if isinstance(cell, bytes) else cell


def _number(text: Any, what: str) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"The table of totals {what} holds {shown(str(text))}, which is no number.", HINT
        ) from None
