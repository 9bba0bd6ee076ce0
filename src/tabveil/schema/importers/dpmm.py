"""dpmm's domain: a mapping from columns to {lower, upper} or {categories}."""

from collections.abc import Mapping
from typing import Any

from tabveil.schema import Schema
from tabveil.schema.importers.tool import Document, Tool, declared_values, mapping, numerical


def read(document: Mapping[str, Any]) -> Document:
    """A draft from a domain; bounds may also stand as a pair."""
    return {
        "columns": {
            name: _rule(name, column) for name, column in mapping(document, "The domain").items()
        }
    }


def _rule(name: str, column: object) -> Document:
    if isinstance(column, list | tuple) and len(column) == 2:
        return _numbers(*column)
    parts = mapping(column, name)
    if "categories" in parts:
        values = list(parts["categories"])
        known = [value for value in values if value is not None]
        return {"type": "categorical", "values": known} | (
            {"nullable": True} if known != values else {}
        )
    return _numbers(parts.get("lower"), parts.get("upper"))


def _numbers(low: Any, high: Any) -> Document:
    whole = isinstance(low, int) and isinstance(high, int)
    return numerical(low, high, whole=whole)


def write(schema: Schema) -> Document:
    """A domain; dpmm finds out by itself where cells are missing."""
    domain: Document = {}
    for name in schema.learnt:
        if name in schema.categories:
            domain[name] = {"categories": declared_values(schema.categories[name])}
        else:
            number = schema.numbers[name]
            bounds = (
                (int(number.min), int(number.max))
                if number.decimals == 0
                else (number.min, number.max)
            )
            domain[name] = {"lower": bounds[0], "upper": bounds[1]}
    return domain


TOOL = Tool("dpmm", read, write)
