"""What may be known about a table before anyone looks at it: columns, values, bounds, targets."""

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationInfo,
    model_validator,
)

from tabveil.columns import RULES, CategoryCodec, CellCodec, Column, Follows, NumberCodec
from tabveil.columns.codec import NumberRule
from tabveil.columns.rule import Missing, Rule, Value, plain_list, plain_lists, text_keys
from tabveil.columns.words import check_text, did_you_mean, shown
from tabveil.errors import InvalidInput
from tabveil.machine.files import atomic_write
from tabveil.schema.constraints import Constraint, parse_constraints
from tabveil.schema.totals import Total, parse_totals, spelled

NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
TODO = "TODO"  # what `schema init` leaves for the owner to fill in
LARGEST_FILE = 10_000_000  # bytes
MOST_REPEATED = 100_000  # values that the aliases of a YAML file may repeat, all together
LONGEST_NUMBER = 400  # signs; longer ones are no finite number, and PyYAML takes long to read them
DEEPEST = 50  # levels of lists and mappings in each other


def _columns(columns: object, known: ValidationInfo) -> dict[str, Column]:
    if not isinstance(columns, Mapping):
        raise InvalidInput(
            "columns must be a mapping from column names to rules.",
            "age: {type: numerical, min: 16, max: 99}",
        )
    if not columns:
        raise InvalidInput("The schema declares no column.", "Declare at least one under columns.")
    tokens = known.data.get("missing", ())
    rules = {_name(name): column_rule(name, rule, tokens) for name, rule in columns.items()}
    for name, rule in rules.items():
        if kind_axis(name) in rules and isinstance(rule.codec, NumberCodec):
            raise InvalidInput(
                f"Column {shown(kind_axis(name))}: the name is kept for the special values of "
                f"{shown(name)}.",
                "Rename the column.",
            )
    if all(rule.codec is None for rule in rules.values()):
        raise InvalidInput(
            "The schema declares no column to learn.", "Ids and dropped columns are not learnt."
        )
    return rules


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"Column name {name} is not text.", "Put the name in quotes.")
    if not name:
        raise InvalidInput(
            "A column has an empty name.", "Give it a name in the data and in the schema."
        )
    check_text(name, "a column name")
    return name


def column_rule(name: str, rule: object, tokens: tuple[Value, ...] = ()) -> Column:
    """The rule of one column, read from a plain mapping, or one line that says what is wrong."""
    column = f"Column {shown(name)}"
    declared = rule if isinstance(rule, Column) else _declared(column, rule)
    try:
        return declared.reading(tokens)
    except InvalidInput as error:
        raise InvalidInput(f"{column}: {error.message}", error.hint) from None


def _declared(column: str, rule: object) -> Column:
    if not isinstance(rule, Mapping):
        raise InvalidInput(
            f"{column}: its rule must be a mapping.",
            "For example {type: numerical, min: 16, max: 99}.",
        )
    _check_type(column, rule)
    wants = RULES[rule["type"]].wants
    for entry, value in rule.items():
        if not isinstance(entry, str):
            raise InvalidInput(
                f"{column}: {entry} is not a known key.", "Keys are words such as min or values."
            )
        if value in (TODO, [TODO]):
            others = (
                " For names, dates or free text, write type: id, date or drop."
                if entry == "values"
                else ""
            )
            raise InvalidInput(
                f"{column}: {entry} is still TODO; fill in {wants(entry, 'a value')}.",
                f"Take it from public knowledge, not from the data.{others}",
            )
    try:
        return RULES[rule["type"]](**rule)
    except InvalidInput as error:
        raise InvalidInput(f"{column}: {error.message}", error.hint) from None


def _check_type(column: str, rule: Mapping[Any, Any]) -> None:
    allowed = f"Write one of the types {', '.join(RULES)}."
    if "type" not in rule:
        raise InvalidInput(f"{column}: type is missing.", allowed)
    kind = rule["type"]
    if kind == "text":
        raise InvalidInput(
            f"{column}: free text cannot be learnt.",
            "Write type: drop to leave it out, or recode it to a categorical column with public "
            "values.",
        )
    if not isinstance(kind, str) or kind not in RULES:
        hint = did_you_mean(kind, RULES) if isinstance(kind, str) else ""
        raise InvalidInput(f"{column}: type {shown(str(kind))} is not known.", hint or allowed)


class Privacy(Rule):
    """Whom the promise protects: everything one person brings, cut to so many rows."""

    unit: StrictStr  # the column that says which rows belong together
    max_rows: Annotated[StrictInt, Field(ge=1, le=1_000_000)]


def _fraction(text: object) -> object:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,400}(/[1-9][0-9]{0,400})?", text):
        raise ValueError("not a fraction")
    return text


def rule_mark(rule: Column | Mapping[str, Any]) -> str:
    """A short text that changes whenever the rule of a column does."""
    rule = rule if isinstance(rule, Column) else RULES[rule["type"]](**rule)
    spelled = json.dumps(rule.spelled(), sort_keys=True, default=str)
    return hashlib.sha256(spelled.encode()).hexdigest()[:12]


class Found(Rule):
    """What finding parts of this schema in the data cost, and which parts these are."""

    epsilon: Annotated[float, Field(gt=0)]
    delta: Annotated[float, Field(gt=0, lt=1)]
    rho: Annotated[StrictStr, BeforeValidator(_fraction)]
    relation: StrictStr = "add-remove"  # what the search protected
    unit: StrictStr = "one row"  # and whom
    # What lists of values used up; else half of δ.
    delta_used: Annotated[float, Field(ge=0, lt=1)] | None = None
    charges: tuple[StrictStr, ...] = ()  # what the ledger calls them
    # Rules as they were found, by their mark.
    columns: dict[str, StrictStr] = Field(default_factory=dict)
    private: StrictBool = True  # false where the noise was seeded for a test

    @property
    def used(self) -> float:
        """The δ that naming values used up."""
        return self.delta / 2 if self.delta_used is None else self.delta_used


class Schema(Rule):
    """Everything about a table that is public: its columns, their values or bounds, the targets."""

    missing: Missing = ()  # what stands for a missing cell; before columns, which are read with it
    columns: Annotated[dict[str, SerializeAsAny[Column]], BeforeValidator(_columns)]
    targets: Annotated[tuple[StrictStr, ...], BeforeValidator(plain_list)] = ()
    strata: Annotated[tuple[StrictStr, ...], BeforeValidator(plain_list)] = ()
    privacy: Annotated[Privacy | None, BeforeValidator(text_keys)] = None
    constraints: Annotated[tuple[StrictStr | dict[str, Any], ...], BeforeValidator(plain_list)] = ()
    totals: Annotated[tuple[dict[str, Any], ...], BeforeValidator(plain_list)] = ()
    found: Annotated[Found | None, BeforeValidator(text_keys)] = None

    @model_validator(mode="after")
    def _check_targets(self) -> Self:
        self._check_named("Target", "targets", self.targets)
        self._check_named("Stratum", "strata", self.strata)
        return self

    def _check_named(self, one: str, many: str, names: Sequence[str]) -> None:
        """Refuse what is no categorical column, or stands twice in a list."""
        categorical, seen = set(self.categorical), set[str]()
        for name in names:
            if name not in self.columns:
                raise InvalidInput(
                    f"{one} {shown(name)} is not a declared column.",
                    did_you_mean(name, self.columns) or "Name a categorical column of the schema.",
                )
            if name not in categorical:
                raise InvalidInput(
                    f"{one} {shown(name)} is {self.columns[name].type}, "
                    f"and {many} must be categorical.",
                    "Declare the column as categorical with its values.",
                )
            if name in seen:
                raise InvalidInput(
                    f"{one} {shown(name)} is named twice.", f"Name each {one.lower()} once."
                )
            seen.add(name)

    @model_validator(mode="after")
    def _check_columns_together(self) -> Self:
        for name, rule in self.columns.items():
            try:
                rule.check_beside(self.columns)
            except InvalidInput as error:
                raise InvalidInput(f"Column {shown(name)}: {error.message}", error.hint) from None
        return self

    @model_validator(mode="after")
    def _check_unit(self) -> Self:
        unit = self.privacy and self.privacy.unit
        if unit in self.columns and self.columns[unit].codec is not None:
            raise InvalidInput(
                f"Column {shown(unit)} says whose row it is, so it cannot be learnt.",
                "Declare it as type: id, or leave it out of columns.",
            )
        return self

    @model_validator(mode="after")
    def _check_constraints(self) -> Self:
        parse_constraints(self.constraints, self.columns)
        return self

    @model_validator(mode="after")
    def _check_totals(self) -> Self:
        parse_totals(self.totals, self.categories)
        return self

    @property
    def parsed_totals(self) -> tuple[Total, ...]:
        """What is published of some columns, as shares."""
        return parse_totals(self.totals, self.categories)

    @property
    def parsed_constraints(self) -> tuple[Constraint, ...]:
        """The constraints, ready to be checked and repaired."""
        return parse_constraints(self.constraints, self.columns)

    @property
    def bought(self) -> tuple[str, ...]:
        """Names of the columns whose rules were found in the data and are still as found."""
        marks = self.found.columns if self.found else {}
        return tuple(
            name for name, rule in self.columns.items() if marks.get(name) == rule_mark(rule)
        )

    @property
    def codecs(self) -> dict[str, CellCodec]:
        """How the columns that are learnt become codes and numbers, in schema order."""
        found = {name: rule.codec for name, rule in self.columns.items()}
        return {name: codec for name, codec in found.items() if codec is not None}

    @property
    def categories(self) -> dict[str, CategoryCodec]:
        """The columns that are learnt as categories."""
        return {n: codec for n, codec in self.codecs.items() if isinstance(codec, CategoryCodec)}

    @property
    def number_codecs(self) -> dict[str, NumberCodec]:
        """The columns that are learnt as numbers."""
        return {n: codec for n, codec in self.codecs.items() if isinstance(codec, NumberCodec)}

    @property
    def numbers(self) -> dict[str, NumberRule]:
        """The columns that are learnt as numbers, each as a rule about these numbers."""
        return {name: codec.rule for name, codec in self.number_codecs.items()}

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the columns that are learnt as categories, in schema order."""
        return tuple(self.categories)

    @property
    def numerical(self) -> tuple[str, ...]:
        """Names of the columns that are learnt as numbers, in schema order."""
        return tuple(self.numbers)

    @property
    def learnt(self) -> tuple[str, ...]:
        """Names of the columns that are read: all but ids and what is dropped."""
        return tuple(self.codecs)

    @property
    def maps_to_buy(self) -> dict[str, Follows]:
        """The columns whose values follow from others in a way that nobody declared."""
        rules = {n: rule for n, rule in self.columns.items() if isinstance(rule, Follows)}
        return {name: rule for name, rule in rules.items() if rule.bought is not None}

    def with_targets(self, names: Iterable[str]) -> "Schema":
        """The same schema with other targets."""
        targets: Any = names if isinstance(names, str) else list(names)
        return self.replaced(targets=targets)

    def with_totals(self, totals: Iterable[Mapping[str, Any]]) -> "Schema":
        """The same schema with more published totals."""
        return self.replaced(totals=[*self.totals, *totals])

    def replaced(self, **changes: Any) -> "Schema":
        """The same schema with some parts changed, checked again."""
        return Schema(**{name: getattr(self, name) for name in type(self).model_fields} | changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, with defaults left out."""
        document: dict[str, Any] = {"missing": list(self.missing)} if self.missing else {}
        document["columns"] = {name: self._spelled(rule) for name, rule in self.columns.items()}
        if self.targets:
            document["targets"] = list(self.targets)
        if self.strata:
            document["strata"] = list(self.strata)
        if self.privacy:
            document["privacy"] = self.privacy.model_dump()
        if self.constraints:
            document["constraints"] = list(self.constraints)
        if self.totals:
            document["totals"] = [spelled(total) for total in self.totals]
        if self.found:
            document["found"] = plain_lists(self.found.model_dump(exclude_defaults=True))
        return document

    def _spelled(self, rule: Column) -> dict[str, Any]:
        """A rule, without the signs for missing cells where these are the table's."""
        its_own = not self.missing or rule.missing != self.missing
        return (rule if its_own else rule.model_copy(update={"missing": None})).spelled()

    @classmethod
    def from_dict(cls, document: object) -> "Schema":
        """The schema that a plain dictionary spells out."""
        if not isinstance(document, Mapping):
            raise InvalidInput(
                "A schema must be a mapping with the key columns.", "columns: {age: {...}}"
            )
        for entry in document:
            if not isinstance(entry, str):
                raise InvalidInput(f"{entry} is not a known key.", "Known keys: columns, targets.")
        return cls(**document)

    @classmethod
    def infer(cls, data: object, **terms: Any) -> "Schema":
        """Find values and bounds in the data, for a price: see `tabveil.discovery.infer_schema`."""
        # People look for it here. It stands above this room, so it is fetched when it is asked for.
        found: Schema = import_module("tabveil.discovery").infer_schema(data, **terms)
        return found

    @classmethod
    def load(cls, path: str | Path) -> "Schema":
        """Read a .yaml, .yml or .json schema file."""
        document = read_document(path)
        try:
            return cls.from_dict(document)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error.message}", error.hint) from None

    def save(self, path: str | Path) -> None:
        """Write a .yaml, .yml or .json schema file."""
        save_document(self.to_dict(), path)

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of schema files, for editors and other programs."""
        document = type(self).model_json_schema()
        rules = [rule.model_json_schema() for rule in RULES.values()]
        document["properties"]["columns"]["additionalProperties"] = {"anyOf": rules}
        return document


def read_document(path: str | Path) -> object:
    """What a .yaml, .yml or .json file spells, read as safely as a schema."""
    path = Path(path)
    return _parse(path, _text(path))


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


def _format(path: Path) -> str:
    formats = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}
    if path.suffix.lower() not in formats:
        raise InvalidInput(
            f"{path} is not a schema file.", "Use a name that ends in .yaml, .yml or .json."
        )
    return formats[path.suffix.lower()]


def _text(path: Path) -> str:
    if path.is_dir():
        raise InvalidInput(
            f"{path} is a folder, not a schema file.", "Name the .yaml or .json file inside."
        )
    _format(path)
    if not path.is_file():
        raise InvalidInput(
            f"The schema file {path} does not exist.", "Draft one with: tabveil schema init DATA"
        )
    if path.stat().st_size > LARGEST_FILE:
        raise InvalidInput(
            f"{path} is larger than 10 MB.", "Shorten the lists of values; other: true helps."
        )
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError:
        raise InvalidInput(f"{path} cannot be opened.", "Check its permissions.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text.", "Save it again as UTF-8.") from None


def _parse(path: Path, text: str) -> object:
    name = _format(path).upper()
    try:
        document = _from_json(text) if name == "JSON" else _Loader(text).get_single_data()
        _require_shallow(document)
        return document
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", error.hint) from None
    except RecursionError:
        raise InvalidInput(f"{path} is nested too deeply.", "A schema needs few levels.") from None
    except yaml.MarkedYAMLError as error:
        where = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        hint = (
            error.problem
            if isinstance(error, _NotAllowed)
            else "Check indentation, colons and quotes."
        )
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


def _require_shallow(document: object) -> None:
    """Refuse what is nested so deeply that even showing it would fail."""
    level = [document]
    for _ in range(DEEPEST):
        lists = [value for value in level if isinstance(value, dict | list)]
        level = [inner for v in lists for inner in (v.values() if isinstance(v, dict) else v)]
        if not level:
            return
    raise RecursionError


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses repeated keys, which would otherwise overwrite each other in silence.

    Aliases may share lists between columns. Aliases of aliases grow exponentially, so what they
    spell is counted before any of it is made.
    """

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:
        if self.flow_level > DEEPEST:  # reading on would take seconds for every thousand brackets
            raise RecursionError
        super().fetch_flow_collection_start(TokenClass)

    def get_single_data(self) -> Any:
        node = self.get_single_node()
        if node is None:
            return None
        sizes: dict[int, int] = {}
        if _spelled_out(node, sizes) - len(sizes) > MOST_REPEATED:
            raise InvalidInput(
                f"its aliases repeat more than {MOST_REPEATED:,} values.",
                "Columns may share a list of values by an alias; a list of such lists grows too "
                "fast.",
            )
        return self.construct_document(node)

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


def _spelled_out(node: yaml.Node, sizes: dict[int, int]) -> int:
    """How many values a node holds with every alias written out; `sizes`: of nodes seen before."""
    if id(node) not in sizes:
        sizes[id(node)] = 0  # which it has only while it is being counted
        inner = node.value if isinstance(node, yaml.CollectionNode) else []
        if isinstance(node, yaml.MappingNode):
            inner = [part for pair in inner for part in pair]
        sizes[id(node)] = 1 + sum(_spelled_out(part, sizes) for part in inner)
        if node.tag in NUMBERS and len(node.value) > LONGEST_NUMBER:
            raise InvalidInput(
                f"a number has more than {LONGEST_NUMBER} signs.", "Quote it if it is a text."
            )
    elif sizes[id(node)] == 0:
        raise InvalidInput("an alias stands inside what it names.", "Write out what it stands for.")
    return sizes[id(node)]


def _from_json(text: str) -> object:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for name, value in pairs:
            if name in entries:
                raise InvalidInput(f"The key {shown(name)} appears twice.", "Keep one of the two.")
            entries[name] = value
        return entries

    return json.loads(text, object_pairs_hook=unique)
