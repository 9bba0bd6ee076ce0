"""SmartNoise's YAML: database, schema, table, columns with types and bounds; no lists of values."""

from collections.abc import Mapping
from typing import Any

from tabveil.columns import Boolean, Datetime, Id
from tabveil.errors import InvalidInput
from tabveil.schema import TODO, Schema
from tabveil.schema.importers.tool import Document, Tool, mapping, numerical

FOR_THE_TABLE = ("rows", "row_privacy", "max_ids", "max_contrib", "sample_max_ids", "censor_dims")


def read(document: Mapping[str, Any]) -> Document:
    """A draft from the only table of a file; its private id becomes the privacy unit."""
    inner: Mapping[str, Any] = document
    for level in ("A database", "A schema", "A table"):
        inner = mapping(inner, level)
        if len(inner) != 1:
            raise InvalidInput(
                f"The file describes {len(inner)} things where one was expected.", "Keep one table."
            )
        inner = next(iter(inner.values()))
    table = mapping(inner, "The table")
    columns = {
        n: mapping(c, n)
        for n, c in table.items()
        if n not in FOR_THE_TABLE and isinstance(c, Mapping)
    }
    draft: Document = {"columns": {name: _rule(column) for name, column in columns.items()}}
    people = [
        name for name, column in columns.items() if column.get("private_id") or column.get("is_key")
    ]
    if people and not table.get("row_privacy"):
        most = table.get("max_ids", table.get("max_contrib", 1))
        draft["privacy"] = {"unit": people[0], "max_rows": most}
    return draft


def _rule(column: Mapping[str, Any]) -> Document:
    if column.get("private_id") or column.get("is_key"):
        return {"type": "id"}
    nullable = {"nullable": True} if column.get("nullable") else {}
    low, high = column.get("lower", column.get("min")), column.get("upper", column.get("max"))
    match column.get("type"):
        case "int" | "float":
            return numerical(low, high, whole=column["type"] == "int") | nullable
        case "boolean":
            return {"type": "boolean"} | nullable
        case "datetime":
            return {"type": "datetime", "min": TODO, "max": TODO} | nullable
        case "string":
            return {"type": "categorical", "values": TODO} | nullable
    return {"type": "drop"}


def write(schema: Schema) -> Document:
    """A file with one table; lists of values have no place in it."""
    unit = schema.privacy.unit if schema.privacy else None
    table: Document = (
        {"max_ids": schema.privacy.max_rows} if schema.privacy else {"row_privacy": True}
    )
    for name, rule in schema.columns.items():
        if name in schema.numbers and not isinstance(rule, Datetime):
            number = schema.numbers[name]
            kind = "int" if number.decimals == 0 else "float"
            table[name] = {
                "type": kind,
                "lower": number.min,
                "upper": number.max,
                "nullable": rule.nullable,
            }
        elif isinstance(rule, Boolean | Datetime):
            kind = "boolean" if isinstance(rule, Boolean) else "datetime"
            table[name] = {"type": kind, "nullable": rule.nullable}
        elif name in schema.categories:
            labels = len(schema.categories[name].labels)
            table[name] = {"type": "string", "cardinality": labels, "nullable": rule.nullable}
        elif isinstance(rule, Id) and name != unit:
            table[name] = {"type": "string"}
    if unit is not None:
        table[unit] = {"type": "string", "private_id": True}
    return {"": {"schema": {"table": table}}}


TOOL = Tool("smartnoise", read, write)
