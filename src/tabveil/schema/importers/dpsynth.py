"""google/dpsynth's domain.yaml: bounds and lists of values, under the names of the columns."""

from collections.abc import Mapping
from typing import Any

from tabveil.errors import InvalidInput
from tabveil.schema import TODO, Schema
from tabveil.schema.importers.tool import Document, Tool, declared_values, mapping, numerical


def read(document: Mapping[str, Any]) -> Document:
    """A draft from a domain."""
    columns = mapping(document.get("domain", document), "The domain")
    return {
        "columns": {name: _rule(name, mapping(column, name)) for name, column in columns.items()}
    }


def _rule(name: str, column: Mapping[str, Any]) -> Document:
    if "possible_values" in column:
        return {"type": "categorical", "values": column["possible_values"]}
    if "min_value" in column or "max_value" in column:
        whole = column.get("dtype") == "int"
        # Without clipping, what lies outside is kept apart there; missing cells are, here.
        nullable = column.get("clip_to_range", True) is False
        return numerical(
            column.get("min_value"), column.get("max_value"), whole=whole, nullable=nullable
        )
    if "default_value" in column or "public_possible_values" in column or not column:
        return {
            "type": "categorical",
            "values": column.get("public_possible_values") or TODO,
            "other": True,
        }
    if "max_tokens" in column:
        return {"type": "drop"}
    raise InvalidInput(
        f"Column {name} is no attribute of dpsynth that is known here.", "Write its rule by hand."
    )


def write(schema: Schema) -> Document:
    """A domain; missing and other values become values of their own."""
    domain: Document = {}
    for name, codec in schema.categories.items():
        values = declared_values(codec) if len(codec.labels) == codec.declared else codec.labels
        domain[name] = {"possible_values": list(values), "out_of_domain_index": 0}
    for name, number in schema.numbers.items():
        domain[name] = {
            "min_value": number.min,
            "max_value": number.max,
            "dtype": "int" if number.decimals == 0 else "float",
            "clip_to_range": not number.nullable,
        }
    return {name: domain[name] for name in schema.columns if name in domain}


TOOL = Tool("dpsynth", read, write)
