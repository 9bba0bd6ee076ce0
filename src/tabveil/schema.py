"""What may be known about a table before anyone looks at it: columns, values, bounds, targets."""

import datetime
import json
import math
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from tabveil.errors import InvalidInput
from tabveil.files import atomic_write

TODO = "TODO"  # what `schema init` leaves for the owner to fill in
LARGEST_FILE = 10_000_000  # bytes
MOST_DECIMALS = 12
NOT_YET = ("datetime", "id")
NOT_YET_KEYS = ("privacy", "constraints")

# What each key accepts, in the words of the error messages.
WANTED = {
    "values": "a list of texts, numbers or true/false",
    "other": "true or false",
    "nullable": "true or false",
    "min": "a number",
    "max": "a number",
    "decimals": f"a whole number from 0 to {MOST_DECIMALS}, or left out",
    "special_values": "a list of numbers",
    "targets": "a list of column names",
    "type": "categorical or numerical",
}


def key(value: object) -> str:
    """The canonical text of a category: 1, 1.0 and "1" are one category, and so are true and "true".

    >>> key(1.0), key(0.5), key(True), key("a"), key(datetime.date(2013, 1, 31))
    ('1', '0.5', 'true', 'a', '2013-01-31')
    """
    match value:
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int():
            return _whole(value)
        case float():
            return _whole(int(value)) if value.is_integer() else repr(float(value))
        case bytes() | bytearray():
            return bytes(value).decode("utf-8", "replace")
        case Decimal():
            small_enough = value.is_finite() and value.adjusted() < 400
            return _whole(int(value)) if small_enough and value == int(value) else key(float(value))
        case datetime.datetime() | datetime.date() | datetime.time():
            return _moment(value)
    raise TypeError(f"A {type(value).__name__} cannot be a category.")


def _whole(value: int) -> str:
    # Python refuses to write integers of more than 4,300 digits in base 10.
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _moment(value: datetime.date | datetime.time) -> str:
    """ISO text; times are in UTC, and midnight and trailing zeros are left out."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        text = value.isoformat(sep=" ").removesuffix(" 00:00:00")
    else:
        text = value.isoformat()
    return text.rstrip("0") if "." in text else text


class _Rule(BaseModel):
    """A pydantic model whose refusals are one line and a hint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise _refusal(error, type(self).model_fields) from None


def _refusal(error: ValidationError, known: Iterable[str]) -> InvalidInput:
    first = error.errors(include_url=False, include_input=False)[0]
    field = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return InvalidInput(f"{shown(field)} is not a known key.", did_you_mean(field, known))
    if first["type"] == "missing":
        return InvalidInput(f"{field} is missing.", f"It must be {WANTED.get(field, 'given')}.")
    return InvalidInput(f"{field} must be {WANTED.get(field, 'something else')}.", _field_hint(field))


def _field_hint(field: str) -> str:
    if field == "values":
        return "Quote dates and odd texts; for missing cells write nullable: true instead of a null value."
    return ""


def _plain_list(values: object) -> object:
    """Lists, tuples and arrays of numpy scalars as a list of Python values; others are left to be refused."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, list | tuple):
        raise ValueError("not a list")
    return [_plain(value) for value in values]


def _plain(value: object) -> object:
    if hasattr(value, "item"):  # numpy scalars
        value = value.item()
    return key(value) if isinstance(value, datetime.date) else value


def _plain_number(value: object) -> object:
    value = _plain(value)
    if isinstance(value, bool):
        raise ValueError("not a number")
    if isinstance(value, int) and abs(value) > 2**1023:
        return math.inf
    return value


Value = StrictBool | StrictInt | StrictFloat | StrictStr
Number = Annotated[float, BeforeValidator(_plain_number)]
Places = Annotated[int, Field(ge=0, le=MOST_DECIMALS), BeforeValidator(_plain_number)]
Flag = Annotated[StrictBool, BeforeValidator(_plain)]


class Categorical(_Rule):
    """A column with a public list of values."""

    type: Literal["categorical"] = "categorical"
    values: Annotated[tuple[Value, ...], BeforeValidator(_plain_list)]
    other: Flag = False  # undeclared values become OTHER
    nullable: Flag = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.values:
            raise InvalidInput("values is empty.", "List at least one value.")
        seen: set[str] = set()
        for value in self.values:
            _check_value(value)
            text = key(value)
            if text in seen:
                raise InvalidInput(
                    f"value {shown(text)} is declared twice.",
                    "1, 1.0 and '1' count as one value, as do true and 'true'.",
                )
            seen.add(text)
        if self.other and "OTHER" in seen:
            raise InvalidInput(
                "OTHER is declared as a value, and other: true adds it again.", "Leave it out of values."
            )
        return self


def _check_value(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"value {value} is not a finite number.", "Quote it if it is meant as a text.")
    if isinstance(value, str):
        _check_text(value, "a value")


def _check_text(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is not valid Unicode text.", "Retype it.") from None


class Numerical(_Rule):
    """A column of numbers inside public bounds."""

    type: Literal["numerical"] = "numerical"
    min: Number
    max: Number
    decimals: Places | None = None
    special_values: Annotated[tuple[Number, ...], BeforeValidator(_plain_list)] = ()
    nullable: Flag = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._check_finite()
        if not self.min < self.max:
            raise InvalidInput(
                f"min {short(self.min)} is not below max {short(self.max)}.", "Bounds must satisfy min < max."
            )
        if not math.isfinite(self.max - self.min):
            raise InvalidInput("the range from min to max is too wide.", "Choose bounds below 1e308.")
        for name, bound in (("min", self.min), ("max", self.max)):
            if self.decimals is not None and bound != round(bound, self.decimals):
                raise InvalidInput(
                    f"{name} {short(bound)} has more than {self.decimals} decimals.",
                    f"Round {name}, or raise decimals.",
                )
        if len(set(self.special_values)) < len(self.special_values):
            raise InvalidInput("a special value is declared twice.", "List each special value once.")
        return self

    def _check_finite(self) -> None:
        numbers = [
            ("min", self.min),
            ("max", self.max),
            *(("special_values", v) for v in self.special_values),
        ]
        for name, number in numbers:
            if not math.isfinite(number):
                raise InvalidInput(
                    f"{name} is not a finite number.", "Bounds are public numbers such as 0 or 99."
                )


RULES: dict[str, type[Categorical] | type[Numerical]] = {"categorical": Categorical, "numerical": Numerical}


def _columns(columns: object) -> dict[str, Categorical | Numerical]:
    if not isinstance(columns, Mapping):
        raise InvalidInput(
            "columns must be a mapping from column names to rules.",
            "age: {type: numerical, min: 16, max: 99}",
        )
    if not columns:
        raise InvalidInput("The schema declares no column.", "Declare at least one under columns.")
    rules = {_name(name): _rule(name, rule) for name, rule in columns.items()}
    for name, rule in rules.items():
        if kind_axis(name) in rules and isinstance(rule, Numerical):
            raise InvalidInput(
                f"Column {shown(kind_axis(name))}: the name is kept for the special values of {shown(name)}.",
                "Rename the column.",
            )
    return rules


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"Column name {name} is not text.", "Put the name in quotes.")
    if not name:
        raise InvalidInput("A column has an empty name.", "Give it a name in the data and in the schema.")
    _check_text(name, "a column name")
    return name


def _rule(name: str, rule: object) -> Categorical | Numerical:
    column = f"Column {shown(name)}"
    if isinstance(rule, Categorical | Numerical):
        return rule
    if not isinstance(rule, Mapping):
        raise InvalidInput(
            f"{column}: its rule must be a mapping.", "For example {type: numerical, min: 16, max: 99}."
        )
    _check_type(column, rule)
    for entry, value in rule.items():
        if not isinstance(entry, str):
            raise InvalidInput(
                f"{column}: {entry} is not a known key.", "Keys are words such as min or values."
            )
        if value in (TODO, [TODO]):
            raise InvalidInput(
                f"{column}: {entry} is still TODO; fill in {WANTED.get(entry, 'a value')}.",
                "Take it from public knowledge, not from the data.",
            )
    try:
        return RULES[rule["type"]](**rule)
    except InvalidInput as error:
        raise InvalidInput(f"{column}: {error.message}", error.hint) from None


def _check_type(column: str, rule: Mapping[Any, Any]) -> None:
    allowed = "Write type: categorical or type: numerical."
    if "type" not in rule:
        raise InvalidInput(f"{column}: type is missing.", allowed)
    kind = rule["type"]
    if not isinstance(kind, str):
        raise InvalidInput(f"{column}: type must be {WANTED['type']}.", allowed)
    if kind in NOT_YET:
        raise InvalidInput(
            f"{column}: type {kind} is not supported yet.", "Leave the column out of the schema."
        )
    if kind not in RULES:
        raise InvalidInput(
            f"{column}: type {shown(kind)} is not known.", did_you_mean(kind, RULES) or allowed
        )


class Schema(_Rule):
    """Everything about a table that is public: its columns, their values or bounds, and the targets."""

    columns: Annotated[
        dict[str, Annotated[Categorical | Numerical, Field(discriminator="type")]], BeforeValidator(_columns)
    ]
    targets: Annotated[tuple[StrictStr, ...], BeforeValidator(_plain_list)] = ()

    @model_validator(mode="after")
    def _check_targets(self) -> Self:
        for place, target in enumerate(self.targets):
            if target not in self.columns:
                raise InvalidInput(
                    f"Target {shown(target)} is not a declared column.", did_you_mean(target, self.columns)
                )
            if target not in self.categorical:
                raise InvalidInput(
                    f"Target {shown(target)} is numerical, and targets must be categorical.",
                    "Declare the column as categorical with its values.",
                )
            if target in self.targets[:place]:
                raise InvalidInput(f"Target {shown(target)} is named twice.", "Name each target once.")
        return self

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the categorical columns, in schema order."""
        return tuple(name for name, rule in self.columns.items() if isinstance(rule, Categorical))

    @property
    def numerical(self) -> tuple[str, ...]:
        """Names of the numerical columns, in schema order."""
        return tuple(name for name, rule in self.columns.items() if isinstance(rule, Numerical))

    def with_targets(self, names: Iterable[str]) -> "Schema":
        """The same schema with other targets."""
        targets: Any = names if isinstance(names, str) else list(names)
        return Schema(columns=self.columns, targets=targets)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, with defaults left out."""
        document: dict[str, Any] = {"columns": {name: _spelled(rule) for name, rule in self.columns.items()}}
        return document | ({"targets": list(self.targets)} if self.targets else {})

    @classmethod
    def from_dict(cls, document: object) -> "Schema":
        """The schema that a plain dictionary spells out."""
        if not isinstance(document, Mapping):
            raise InvalidInput("A schema must be a mapping with the key columns.", "columns: {age: {...}}")
        for entry in document:
            if entry in NOT_YET_KEYS:
                raise InvalidInput(
                    f"The key {entry} is not supported yet, and ignoring it would change the promise.",
                    "Remove it.",
                )
            if not isinstance(entry, str):
                raise InvalidInput(f"{entry} is not a known key.", "Known keys: columns, targets.")
        return cls(**document)

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """Read a .yaml, .yml or .json schema file."""
        path = Path(path)
        document = _parse(path, _text(path))
        try:
            return cls.from_dict(document)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error.message}", error.hint) from None

    def save(self, path: str | Path) -> None:
        """Write a .yaml, .yml or .json schema file."""
        save_document(self.to_dict(), path)

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of schema files, for editors and other programs."""
        return type(self).model_json_schema()


def save_document(document: dict[str, Any], path: str | Path) -> None:
    """Write a schema, or the draft of one, as .yaml, .yml or .json."""
    path = Path(path)
    if _format(path) == "json":
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        text = yaml.safe_dump(
            document, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110
        )
    atomic_write(path, text.encode())


def kind_axis(name: str) -> str:
    """The axis that says whether a number is ordinary, special or missing."""
    return f"{name}:kind"


def short(number: float) -> int | float:
    """Whole numbers without their .0."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def shown(name: str) -> str:
    """A name as it can stand in a one-line message."""
    name = name if name.isprintable() else ascii(name)
    return name if len(name) <= 80 else name[:77] + "..."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the closest known name, or the known names when there are few."""
    known = list(known)
    close = closest(name, known)
    if close:
        return f"Did you mean {shown(close)}?"
    return f"Known: {', '.join(map(shown, known))}." if len(known) <= 8 else ""


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that differs least, by case alone if there is one."""
    known = list(known)
    same = [other for other in known if other.strip().lower() == name.lower()]
    return next(iter(same or get_close_matches(name, known, n=1)), None)


def _spelled(rule: Categorical | Numerical) -> dict[str, Any]:
    spelled = {"type": rule.type} | rule.model_dump(exclude_defaults=True)
    for name in ("min", "max"):
        if name in spelled:
            spelled[name] = short(spelled[name])
    if "special_values" in spelled:
        spelled["special_values"] = [short(value) for value in spelled["special_values"]]
    if "values" in spelled:
        spelled["values"] = list(spelled["values"])
    return spelled


def _format(path: Path) -> str:
    formats = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
    if path.suffix.lower() not in formats:
        raise InvalidInput(f"{path} is not a schema file.", "Use a name that ends in .yaml, .yml or .json.")
    return formats[path.suffix.lower()]


def _text(path: Path) -> str:
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder, not a schema file.", "Name the .yaml or .json file inside.")
    _format(path)
    if not path.is_file():
        raise InvalidInput(
            f"The schema file {path} does not exist.", "Draft one with: tabveil schema init DATA"
        )
    if path.stat().st_size > LARGEST_FILE:
        raise InvalidInput(f"{path} is larger than 10 MB.", "Shorten the lists of values; other: true helps.")
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError:
        raise InvalidInput(f"{path} cannot be opened.", "Check its permissions.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text.", "Save it again as UTF-8.") from None


def _parse(path: Path, text: str) -> object:
    name = _format(path).upper()
    try:
        return _from_json(text) if name == "JSON" else _Loader(text).get_single_data()
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", error.hint) from None
    except RecursionError:
        raise InvalidInput(f"{path} is nested too deeply.", "A schema needs three levels.") from None
    except yaml.MarkedYAMLError as error:
        where = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        hint = error.problem if isinstance(error, _NotAllowed) else "Check indentation, colons and quotes."
        raise InvalidInput(f"{path} is not valid YAML{where}.", hint or "") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{path} is not valid JSON (line {error.lineno}).", "Check commas and quotes."
        ) from None
    except (yaml.YAMLError, ValueError):
        raise InvalidInput(
            f"{path} is not valid {name}.", "Quote dates, odd numbers and odd texts."
        ) from None


class _NotAllowed(yaml.MarkedYAMLError):
    """YAML that parses, and that a schema file must not contain."""


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses repeated keys, which would otherwise overwrite each other in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # nested merges grow exponentially
                raise _NotAllowed(
                    problem="Merge keys (<<) are not allowed.", problem_mark=key_node.start_mark
                )
            if isinstance(key_node, yaml.ScalarNode):
                if key_node.value in seen:
                    raise _NotAllowed(
                        problem=f"The key {shown(key_node.value)} appears twice.",
                        problem_mark=key_node.start_mark,
                    )
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)


def _from_json(text: str) -> object:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for name, value in pairs:
            if name in entries:
                raise InvalidInput(f"The key {shown(name)} appears twice.", "Keep one of the two.")
            entries[name] = value
        return entries

    return json.loads(text, object_pairs_hook=unique)
