"""Metadata of SDV 1 (V1, SINGLE_TABLE_V1): names, sdtypes and keys; neither bounds nor values."""

import re
from collections.abc import Mapping
from typing import Any

from tabveil.columns import Boolean, Categorical, Datetime, Id
from tabveil.errors import InvalidInput
from tabveil.schema import TODO, Schema
from tabveil.schema.importers.tool import Document, Tool, mapping, numerical

PLACEHOLDER = re.compile(r"\[0-9\](?:\{(\d+)\})?|\\d(?:\{(\d+)\})?|\[A-Z\](?:\{(\d+)\})?")


def read(document: Mapping[str, Any]) -> Document:
    """A draft from the metadata of one table."""
    table = document
    if "tables" in document:
        tables = mapping(document["tables"], "tables")
        if len(tables) != 1:
            raise InvalidInput(
                f"The metadata describes {len(tables)} tables.",
                "Import the metadata of one table alone.",
            )
        table = mapping(next(iter(tables.values())), "The table")
    columns = mapping(table.get("columns"), "columns")
    return {"columns": {name: _rule(mapping(column, name)) for name, column in columns.items()}}


def _rule(column: Mapping[str, Any]) -> Document:
    match column.get("sdtype"):
        case "numerical":
            whole = str(column.get("computer_representation", "")).startswith(("Int", "UInt"))
            return numerical(None, None, whole=whole)
        case "categorical":
            return {"type": "categorical", "values": column.get("order", TODO)} | (
                {"ordered": True} if "order" in column else {}
            )
        case "boolean":
            return {"type": "boolean"}
        case "datetime":
            form = {"format": column["datetime_format"]} if "datetime_format" in column else {}
            return {"type": "datetime", "min": TODO, "max": TODO} | form
        case "id":
            return _id(str(column.get("regex_format", "")))
    return {"type": "drop"}  # texts, names, addresses and other things that nobody may learn


def _id(regex: str) -> Document:
    pattern = PLACEHOLDER.sub(_signs, regex)
    plain = (
        pattern
        and not re.search(r"[\[\]{}()\\|*+?^$]", pattern)
        and ("#" in pattern or "@" in pattern)
    )
    return {"type": "id", "style": "pattern", "pattern": pattern} if plain else {"type": "id"}


def _signs(found: re.Match[str]) -> str:
    times = int(next((group for group in found.groups() if group), 1))
    return ("@" if found[0].startswith("[A-Z]") else "#") * times


def write(schema: Schema) -> Document:
    """Metadata for one table called table."""
    columns: dict[str, Document] = {}
    for name, rule in schema.columns.items():
        match rule:
            case Boolean():
                columns[name] = {"sdtype": "boolean"}
            case Categorical():
                columns[name] = {"sdtype": "categorical"}
            case Datetime():
                columns[name] = {"sdtype": "datetime", "datetime_format": rule.format or _iso(rule)}
            case Id():
                columns[name] = {"sdtype": "id"} | (
                    {"regex_format": _regex(rule)} if rule.pattern else {}
                )
            case _:
                columns[name] = {"sdtype": "numerical" if name in schema.numbers else "text"}
    keys = [name for name, rule in schema.columns.items() if isinstance(rule, Id)]
    table: Document = {"columns": columns} | ({"primary_key": keys[0]} if keys else {})
    return {"METADATA_SPEC_VERSION": "V1", "tables": {"table": table}, "relationships": []}


def _iso(rule: Datetime) -> str:
    return "%Y-%m-%d" if rule.unit == "day" else "%Y-%m-%d %H:%M:%S"


def _regex(rule: Id) -> str:
    signs = {"#": "[0-9]", "@": "[A-Z]"}
    return "".join(signs.get(sign, re.escape(sign)) for sign in rule.pattern)


TOOL = Tool("sdv", read, write)
