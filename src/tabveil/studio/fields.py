"""Rules of columns as forms, made from the list of column types: new types have one at once."""

import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import UnionType
from typing import Any

from tabveil.columns import RULES
from tabveil.errors import InvalidInput
from tabveil.schema import TODO
from tabveil.schema.drafts import alike, code_list
from tabveil.studio.words import Words, words_for

RARE = ("groups", "timezone", "format")  # shown last
# Not asked: it follows from the type.
NOT_ASKED = {"boolean": ("values", "other", "ordered", "groups")}
DECIMAL_COMMA = re.compile(r"-?\d+,\d+")


@dataclass(frozen=True)
class Field:
    """One entry of a rule as a form shows it."""

    name: str
    kind: str  # flag, choice, list, groups, map, column, or line
    words: Words
    text: str
    needed: bool
    choices: tuple[str, ...] = ()


def fields_of(rule: Mapping[str, Any]) -> list[Field]:
    """The fields of a rule's type, filled in with what it says."""
    declared = RULES.get(str(rule.get("type")))
    if declared is None:
        return []
    fields = []
    for name, about in declared.model_fields.items():
        kind, choices = _kind(name, about.annotation)
        if name in ("type", *NOT_ASKED.get(str(rule["type"]), ())) or kind == "fixed":
            continue
        words = words_for(rule["type"], name, declared.wants(name, "given"))
        default = "" if about.is_required() else about.get_default(call_default_factory=True)
        value = rule.get(name, default)
        needed = about.is_required()
        fields.append(Field(name, kind, words, _text(kind, value), needed, choices))
    return sorted(fields, key=lambda field: (not field.needed, field.name in RARE))


def typed(kind: str, texts: Mapping[str, str]) -> list[Field]:
    """The fields of a type with what was typed into them, sense or not."""
    return [
        # A box that was not ticked is not sent.
        replace(field, text=texts.get(field.name, "" if field.kind == "flag" else field.text))
        for field in fields_of({"type": kind})
    ]


def rule_from(kind: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """The rule that a filled-in form spells; fields left empty stay open, or at their default."""
    if kind not in RULES:
        return {"type": TODO}
    rule: dict[str, Any] = {"type": kind}
    for field in fields_of({"type": kind}):
        text = texts.get(field.name, "").strip()
        if field.kind == "flag":
            rule |= {field.name: True} if text else {}
        elif text and (field.needed or text != field.text):
            value = READ[field.kind](text)
            rule |= {} if value == {} else {field.name: value}
        elif field.needed:
            rule[field.name] = TODO
    return rule | ({"style": "pattern"} if "pattern" in rule else {})


def _kind(name: str, annotation: Any) -> tuple[str, tuple[str, ...]]:
    """How a field is shown, from the type that its rule declares."""
    parts = (
        typing.get_args(annotation)
        if typing.get_origin(annotation) in (typing.Union, UnionType)
        else (annotation,)
    )
    inner = next((part for part in parts if part is not type(None)), None)
    if typing.get_origin(inner) is typing.Annotated:
        inner = typing.get_args(inner)[0]
    origin = typing.get_origin(inner) or inner
    if inner is None:
        return "fixed", ()
    if origin is bool:
        return "flag", ()
    if origin is typing.Literal:
        choices = typing.get_args(inner)
        return ("choice" if len(choices) > 1 else "fixed"), choices
    if origin is dict:
        many = typing.get_origin(typing.get_args(inner)[1]) is tuple
        return ("groups" if many else "map"), ()
    kinds: dict[Any, str] = {tuple: "list", list: "list", str: "column" if name == "of" else "line"}
    return kinds.get(origin, "line"), ()


def _text(kind: str, value: Any) -> str:
    if value is None or value == TODO:
        return ""
    if kind == "flag":
        return "yes" if value else ""
    if kind == "list":
        return "\n".join(_spelled(entry) for entry in value)
    if kind == "groups":
        return "\n".join(
            f"{name}: {', '.join(map(_spelled, held))}" for name, held in value.items()
        )
    if kind == "map":
        return "\n".join(f"{name}: {_spelled(one)}" for name, one in value.items())
    return _spelled(value)


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _groups(text: str) -> dict[str, Any]:
    hint = "Such as north: Oslo, Bergen."
    lines = _with_colons(text, "A group has a name, a colon and values.", hint)
    return {name: code_list(values) for name, values in lines}


def _map(text: str) -> dict[str, Any]:
    hint = "Such as north: 12.5."
    lines = _with_colons(text, "Each line has a value of the other column, a colon, and one.", hint)
    lines = [line for line in lines if line[1]]  # one that was begun says nothing yet
    return dict(zip([name for name, _ in lines], alike([one for _, one in lines]), strict=True))


def _with_colons(text: str, wanted: str, hint: str) -> list[tuple[str, str]]:
    """What stands before and behind the colon of each line."""
    lines = [line.partition(":") for line in text.splitlines() if line.strip()]
    if not all(colon for _, colon, _ in lines):
        raise InvalidInput(wanted, hint)
    return [(name.strip(), rest.strip()) for name, _, rest in lines]


def _line(text: str) -> Any:
    [value] = alike([text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text) else text])
    return value


READ: dict[str, Callable[[str], Any]] = {
    "list": code_list,
    "groups": _groups,
    "map": _map,
    "line": _line,
    "column": str,
    "choice": str,
}


def in_one_line(rule: Mapping[str, Any]) -> str:
    """What a rule says is public, for a line of a table."""
    said = {
        name: value for name, value in rule.items() if name not in ("type", "nullable", "other")
    }
    low, high = said.pop("min", None), said.pop("max", None)
    parts = []
    if low is not None or high is not None:
        both_open = low == high == TODO
        parts.append("bounds open" if both_open else f"{_or_open(low)} to {_or_open(high)}")
    if "values" in said:
        parts.append(_shortened(said.pop("values"), bool(rule.get("other"))))
    signs = said.pop("missing", ())
    parts += [f"{name.replace('_', ' ')} {_plain(value)}" for name, value in said.items()]
    parts += [f"{_plain(signs)} means missing"] if signs else []
    return "; ".join(parts)


def _shortened(values: Any, other: bool) -> str:
    if values == TODO or not isinstance(values, list):
        return "values open"
    shown = ", ".join(_spelled(value) for value in values[:6])
    more = f" and {len(values) - 6} more" if len(values) > 6 else ""
    return shown + more + (", others" if other else "")


def _or_open(value: Any) -> str:
    return "open" if value in (TODO, None) else _spelled(value)


def _plain(value: Any) -> str:
    """A value as people write it, cut where it is long."""
    text = _text("map", value) if isinstance(value, dict) else str(value)
    text = _text("list", value) if isinstance(value, list) else text
    return text.replace("\n", ", ")[:80]
