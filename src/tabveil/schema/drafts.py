"""Drafts of a schema: what is still open, what is wrong, and how others fill it in."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabveil.columns import Column
from tabveil.columns.words import shown
from tabveil.errors import InvalidInput
from tabveil.schema.schema import TODO, Schema, column_rule

Draft = dict[str, Any]
NAMING = ("targets", "strata")  # parts that name categorical columns

# What names say about columns in many tables. A wrong guess is seen and changed by the owner.
NAMED = {
    "id": re.compile(r"(?i)(^|_|\b)(id|uuid|guid|key)$|^id_"),
    "date": re.compile(r"(?i)(^|_|\b)(date|dob|born|birthday|day|datum)(_|$)|_on$"),
    "datetime": re.compile(r"(?i)(^|_)(timestamp|datetime|time)$|_at$"),
}
BOUNDS = {"min": TODO, "max": TODO}
STARTS: dict[str, dict[str, Any]] = {"id": {}, "date": BOUNDS, "datetime": BOUNDS}
WHOLE = re.compile(r"-?(0|[1-9]\d{0,15})")
DECIMAL = re.compile(r"-?(0|[1-9]\d{0,15})\.\d{1,12}")


def draft_of_names(names: Iterable[str]) -> Draft:
    """A draft from a header alone: ids and dates as names tell them, all else open."""
    return {"columns": {name: _named(name) for name in names}}


def _named(name: str) -> dict[str, Any]:
    found = next((kind for kind, pattern in NAMED.items() if pattern.search(name)), None)
    return {"type": TODO} if found is None else {"type": found, **STARTS[found]}


def is_open(rule: Mapping[str, Any]) -> bool:
    """Whether a rule leaves something to its owner."""
    return TODO in rule.values() or [TODO] in rule.values()


def trouble_in(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, InvalidInput]:
    """What is wrong with each rule that cannot be used, alone or beside the others."""
    rules: dict[str, Column] = {}
    trouble: dict[str, InvalidInput] = {}
    for name, rule in columns.items():
        try:
            rules[name] = column_rule(name, rule)
        except InvalidInput as problem:
            trouble[name] = problem
    for name, sound in rules.items():
        try:
            sound.check_beside(rules)
        except InvalidInput as problem:
            trouble[name] = InvalidInput(f"Column {shown(name)}: {problem.message}", problem.hint)
    return trouble


def usable(draft: Draft) -> Draft:
    """The part of a draft that can be used already: its sound columns, and lists of their names."""
    trouble = trouble_in(draft["columns"])
    columns = {name: rule for name, rule in draft["columns"].items() if name not in trouble}
    named = {part: [n for n in draft[part] if n in columns] for part in NAMING if part in draft}
    return draft | named | {"columns": columns}


def bought_columns(draft: Draft) -> set[str]:
    """Names of the columns whose rules were found in the data and are still as found."""
    found, columns = draft.get("found"), usable(draft)["columns"]
    if not found or not columns:
        return set()
    return set(Schema(columns=columns, found=found).bought)


def filled(draft: Draft, other: Draft) -> Draft:
    """The draft with what another one knows about columns that are open in it."""
    known = other["columns"]
    columns = {
        name: known[name] if is_open(rule) and name in known else rule
        for name, rule in draft["columns"].items()
    }
    rest: Draft = {part: other[part] for part in ("found", "targets") if part in other}
    return rest | draft | {"columns": columns}


def taken_over(draft: Draft, schema: Draft) -> Draft:
    """The draft with all that a schema says about its columns, and about the table."""
    known = schema["columns"]
    columns = {name: known.get(name, rule) for name, rule in draft["columns"].items()}
    return draft | schema | {"columns": columns}


CODE = re.compile(r"\t|=")  # between a code and its label


def code_list(text: str) -> list[Any]:
    """The values in a list as people paste it: one a line, or one line with commas between.

    Where every line has a tab or `=`, as in code books, the code stands before it.

    >>> code_list("F, M"), code_list("1 = male\\n2 = female"), code_list("01\\n02")
    (['F', 'M'], [1, 2], ['01', '02'])
    >>> code_list("1 = male, 2 = female"), code_list("1 = yes, often")
    ([1, 2], [1])
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        parts = [part.strip() for part in lines[0].split(",") if part.strip()]
        labelled = [CODE.search(part) is not None for part in parts]
        lines = parts if all(labelled) or not any(labelled) else lines
    if lines and all(CODE.search(line) for line in lines):
        lines = [CODE.split(line, maxsplit=1)[0].strip() for line in lines]
    return alike([_unquoted(line) for line in lines])


def alike(texts: Sequence[str]) -> list[Any]:
    """The texts as numbers or truths if all spell one in the usual way, so that 01 stays a text."""
    if texts and set(texts) <= {"true", "false"}:
        return [text == "true" for text in texts]
    if texts and all(WHOLE.fullmatch(text) for text in texts):
        return [int(text) for text in texts]
    if texts and all(WHOLE.fullmatch(text) or DECIMAL.fullmatch(text) for text in texts):
        return [float(text) for text in texts]
    return list(texts)


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text
