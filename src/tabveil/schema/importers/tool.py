"""What every other tool's schema promises to be: read into a draft, written from a schema."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tabveil.columns import CategoryCodec
from tabveil.errors import InvalidInput
from tabveil.schema import TODO, Schema

Document = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """One tool: `read` puts `TODO` if a file says too little, `write` omits what it cannot say."""

    name: str
    read: Callable[[Mapping[str, Any]], Document]
    write: Callable[[Schema], Document]


def mapping(value: object, what: str) -> Mapping[str, Any]:
    """The value, if it is a mapping with texts as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput(f"{what} must be a mapping.", "Is this a file of that tool?")
    return value


def numerical(low: Any, high: Any, *, whole: bool, nullable: bool = False) -> Document:
    """A numerical rule; bounds that are not there are left to be filled in."""
    rule: Document = {
        "type": "numerical",
        "min": TODO if low is None else low,
        "max": TODO if high is None else high,
    }
    return rule | ({"decimals": 0} if whole else {}) | ({"nullable": True} if nullable else {})


def declared_values(codec: CategoryCodec) -> list[Any]:
    """The values that a column lists; of one that lists none, the labels of its codes."""
    values = codec.labels if codec.levels is None else codec.levels.to_pylist()
    return list(values[: codec.declared])
