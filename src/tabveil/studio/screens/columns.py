"""Columns: what is public about each, where that comes from, and whom the promise protects."""

import json
from dataclasses import dataclass
from itertools import product
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from tabveil.checking import table_findings
from tabveil.discovery import DELTA, found_document
from tabveil.errors import InvalidInput
from tabveil.schema import TODO, Schema, read_document, shown
from tabveil.schema.drafts import NAMING, bought_columns, filled, is_open, trouble_in, usable
from tabveil.schema.importers import IMPORTERS
from tabveil.sources import opened
from tabveil.sources.drafting import draft_schema
from tabveil.sources.reader import Reader
from tabveil.studio.fields import fields_of, in_one_line, rule_from
from tabveil.studio.projects import Project, State
from tabveil.studio.screens.ledger import after
from tabveil.studio.steps import command, schema_step
from tabveil.studio.visit import Visit, answered
from tabveil.studio.words import TYPES, in_words

OURS = "tabveil"  # a schema file of our own
PRICE = 0.1  # ε of a search, unless the owner names another
KEEP = ""  # of a choice about many columns: leave it as it is
LISTED = ("categorical", "boolean")  # types of columns that can be targets and strata
TAGS = {"targets": "target", "strata": "stratum"}

Rule = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """One column as the list shows it."""

    place: int
    name: str
    type: str
    public: str
    missing: bool
    tags: tuple[str, ...]
    origin: str  # open, wrong, bought, or how it was declared
    note: str


@dataclass(frozen=True)
class Found:
    """What an owner's check found: of which column, if of one, in words, in which share of rows."""

    place: int | None
    text: str
    share: float


def show(visit: Visit, found: list[Found] | None = None) -> Response:
    """All columns, one line each; `found` is what an owner's check has found."""
    state = visit.project.state()
    lines = lines_of(state)
    kept = "\n".join(map(_spelled, state.draft.get("constraints", ())))
    return visit.screen(
        "columns",
        state,
        [schema_step(state)],
        lines=lines,
        open=sum(line.origin == "open" for line in lines),
        wrong=sum(line.origin == "wrong" for line in lines),
        trouble=whole_trouble(state),
        types=TYPES,
        tools=[OURS, *IMPORTERS],
        found=found,
        names=list(state.draft["columns"]),
        constraints=visit.form.text("constraints", kept),
        search=search_words(state),
        delta=DELTA,
    )


def lines_of(state: State) -> list[Line]:
    """The columns with where their rules come from, and what is wrong with them."""
    columns, bought = state.draft["columns"], bought_columns(state.draft)
    trouble = trouble_in(columns)
    origins = {name: state.origins.get(name, "declared") for name in columns}
    origins |= dict.fromkeys(bought, "bought")
    origins |= {name: "wrong" for name in trouble if not _waits(columns[name], columns)}
    origins |= {name: "open" for name, rule in columns.items() if is_open(rule)}
    named = {part: set(state.draft.get(part, ())) for part in NAMING}
    unit = (state.draft.get("privacy") or {}).get("unit")
    return [
        Line(
            place=place,
            name=name,
            type="" if rule["type"] == TODO else rule["type"],
            public=in_one_line(rule),
            missing=bool(rule.get("nullable")),
            tags=tuple(TAGS[part] for part in NAMING if name in named[part]),
            origin=origins[name],
            note=_note(rule, columns, trouble.get(name), unit=name == unit),
        )
        for place, (name, rule) in enumerate(columns.items())
    ]


def _note(rule: Rule, columns: dict[str, Rule], problem: InvalidInput | None, *, unit: bool) -> str:
    """What else is to be said of a column, in its line."""
    if problem and not is_open(rule):
        waits = f"waits for {rule.get('of')}"
        return waits if _waits(rule, columns) else plain(problem, rule).message.partition(": ")[2]
    if unit:
        return "says whose row it is"
    if rule["type"] == "follows" and not (rule.get("map") or rule.get("cuts")):
        return f"the fit buys which follows from {rule.get('of')}"
    alone = isinstance(rule.get("values"), list) and len(rule["values"]) == 1
    return "one value only: is that all?" if alone and not rule.get("other") else ""


def _waits(rule: Rule, columns: dict[str, Rule]) -> bool:
    """Whether a column follows from one that is not described yet."""
    return is_open(columns.get(rule.get("of", ""), {}))


def whole_trouble(state: State) -> InvalidInput | None:
    """What keeps the draft from being a schema; none if it is one, and all was asked."""
    if not state.people:
        return InvalidInput(
            "It is not said yet whether somebody can have several rows.",
            "Answer the question on the screen Columns: the promise depends on it.",
        )
    try:
        Schema.from_dict(state.draft)
    except InvalidInput as problem:
        return problem
    return None


def plain(problem: InvalidInput, rule: Rule) -> InvalidInput:
    """The same with the words of the form instead of those of the schema file."""
    return InvalidInput(*(in_words(text, rule["type"]) for text in (problem.message, problem.hint)))


def keep(state: State, rules: dict[str, Rule]) -> None:
    """Write down rules that are whole or still open; one that cannot be is refused."""
    columns = state.draft["columns"] | rules
    trouble = trouble_in(columns)
    for name, rule in rules.items():
        if name in trouble and not is_open(rule) and not _waits(rule, columns):
            raise plain(trouble[name], rule)
        if rule != state.draft["columns"][name]:
            state.origins.pop(name, None)
    state.draft["columns"] = columns


def save_many(visit: Visit) -> Response:
    """The same change to all columns that are ticked."""
    form = visit.form
    with visit.project.change(form.version) as state:
        names = list(state.draft["columns"])
        ticked = [names[int(place)] for place in form.texts("column") if place.isdigit()]
        if not ticked:
            raise InvalidInput("No column is ticked.", "Tick some, or open one by its name.")
        keep(state, {name: _changed(state.draft["columns"][name], visit) for name in ticked})
        for part, name in product(NAMING, ticked):
            answer = form.text(part)
            wanted = name in state.draft.get(part, ()) if answer == KEEP else answer == "yes"
            set_named(state, part, name, wanted)
    return visit.go("columns")


def _changed(rule: dict[str, Any], visit: Visit) -> dict[str, Any]:
    """A rule with what was said about many; what was not said stays as it is."""
    form = visit.form
    kind = form.text("type") or rule["type"]
    texts = {field.name: field.text for field in fields_of(rule)} if kind == rule["type"] else {}
    texts |= {
        name: text for name in ("values", "min", "max", "decimals") if (text := form.text(name))
    }
    for flag in ("nullable", "other"):
        if form.text(flag) != KEEP:
            texts[flag] = "yes" if form.text(flag) == "yes" else ""
    return rule_from(kind, texts)


def set_named(state: State, part: str, name: str, wanted: bool) -> None:
    """Put a column on a list, or take it off; only what has a list of values can stand there."""
    others = [other for other in state.draft.get(part, ()) if other != name]
    wanted = wanted and state.draft["columns"][name]["type"] in LISTED
    state.draft[part] = [*others, name] if wanted else others
    if not state.draft[part]:
        del state.draft[part]


def save_people(visit: Visit) -> Response:
    """Whom the promise protects; asked for, never assumed."""
    form = visit.form
    with visit.project.change(form.version) as state:
        if form.text("people") not in ("one", "many"):
            raise InvalidInput(
                "Neither answer was chosen.", "Choose one: the promise depends on it."
            )
        state.people = form.text("people")
        state.draft.pop("privacy", None)
        if state.people == "many":
            unit = form.text("unit")
            if unit not in state.draft["columns"]:
                raise InvalidInput(
                    "No column that tells people apart was named.", "Choose it from the list."
                )
            most = form.whole("max_rows", "The number of rows that are kept of each person")
            state.draft["privacy"] = {"unit": unit, "max_rows": most}
            if state.draft["columns"][unit]["type"] not in ("id", "drop"):
                state.draft["columns"][unit] = {"type": "id"}
    return visit.go("columns", "#whom")


def save_constraints(visit: Visit) -> Response:
    """What every row must obey, one rule a line."""
    lines = [_read(line) for line in visit.form.text("constraints").splitlines() if line.strip()]
    with visit.project.change(visit.form.version) as state:
        state.draft.pop("constraints", None)
        if lines:
            Schema.from_dict(usable(state.draft) | {"constraints": lines})
            state.draft["constraints"] = lines
    return visit.go("columns", "#constraints")


def _spelled(constraint: Any) -> str:
    """A rule as one line: a sentence, or a table of combinations as JSON."""
    return constraint if isinstance(constraint, str) else json.dumps(constraint, ensure_ascii=False)


def _read(line: str) -> Any:
    try:
        return json.loads(line) if line.lstrip().startswith("{") else line.strip()
    except ValueError:
        raise InvalidInput(
            "A rule in braces is not written as JSON.",
            'Such as {"columns": ["zip", "city"], "never": [[1, "Bern"]]}.',
        ) from None


def take_over(visit: Visit) -> Response:
    """Fill open columns from another tool's schema."""
    tool, text = visit.form.text("tool"), visit.form.text("document")
    if tool not in (OURS, *IMPORTERS) or not text:
        raise InvalidInput("No schema was given.", "Choose the tool, and paste its file.")
    suffix = "json" if text.startswith("{") else "yaml"
    file = visit.project.folder / f"imported-{tool}.{suffix}"
    file.write_text(text, encoding="utf-8")
    document = read_document(file)
    if not isinstance(document, dict):
        raise InvalidInput(f"This is not a schema of {tool}.", "Paste the whole file.")
    if tool == OURS:
        visit.project.take_over(file)
        return visit.go("columns")
    other = IMPORTERS[tool].read(document)
    _fill(visit.project, visit.form.version, other, f"imported from {tool}")
    return visit.go("columns")


def guess(visit: Visit) -> Response:
    """The owner's look at cells: guess types; values and bounds too, where they are public."""
    if visit.form.text("owner") != "yes":
        raise InvalidInput(
            "Only the owner of a table may have a look at it.", "Tick the box if that is you."
        )
    public = visit.form.text("public") == "yes"
    other = draft_schema(_reader(visit.project.state()), public=public)
    _fill(visit.project, visit.form.version, other, "copied from the data" if public else "guessed")
    return visit.go("columns")


def _fill(project: Project, version: int | None, other: dict[str, Any], origin: str) -> None:
    with project.change(version) as state:
        before = state.draft["columns"]
        state.draft = filled(state.draft, other)
        for name, rule in state.draft["columns"].items():
            if rule != before[name]:
                state.origins[name] = origin


def search_words(state: State) -> dict[str, Any] | None:
    """What a private search would do; none where nothing is open, or something was bought."""
    names = [name for name, rule in state.draft["columns"].items() if is_open(rule)]
    if not names or state.draft.get("found") or not state.people:
        return None
    chosen = [word for name in names for word in ("--column", name)]
    unit = state.draft.get("privacy")
    person = ["--unit", unit["unit"], "--max-rows", unit["max_rows"]] if unit else []
    words = "schema", "init", state.data, "--epsilon", PRICE, *chosen, *person, "-o", "found.yaml"
    return {
        "names": names,
        "count": len(names),
        "price": PRICE,
        "in_all": after(state, PRICE),
        "command": command(*words),
    }


def buy(visit: Visit) -> Response:
    """Find what is open in the data, with differential privacy, for the price that was shown."""
    epsilon = visit.form.number("epsilon", "ε")
    state = visit.project.state()
    search = search_words(state)
    if search is None:
        raise InvalidInput(
            "There is nothing to search for.",
            "A search is for open columns, after the question about people, and once a table.",
        )
    found = found_document(
        _reader(state),
        epsilon=epsilon,
        ledger=state.ledger,
        privacy=state.draft.get("privacy"),
        columns=search["names"],
    )
    _fill(visit.project, visit.form.version, found, "bought")
    return visit.go("columns")


def owners_check(visit: Visit) -> Response:
    """The owner's check: which columns hold cells that break their rules, without a value."""
    state = visit.project.state()
    problem = whole_trouble(state)
    if problem:
        raise problem
    columns = state.draft["columns"]
    places = {f"Column {shown(name)}": place for place, name in enumerate(columns)}
    rules = list(columns.values())
    found = []
    for finding in table_findings(_reader(state), Schema.from_dict(state.draft)):
        place = places.get(finding.text.split(": ")[0])
        said = finding.text if place is None else in_words(finding.text, rules[place]["type"])
        found.append(Found(place, said, finding.share))
    return show(visit, found)


def _reader(state: State) -> Reader:
    """The table, whose header the owner has seen and accepted."""
    reader = opened(state.data)
    reader.in_doubt = False
    return reader


ROUTES = [
    Route("/{table}/columns", answered(show)),
    Route("/{table}/columns/many", answered(save_many, show), methods=["POST"]),
    Route("/{table}/columns/people", answered(save_people, show), methods=["POST"]),
    Route("/{table}/columns/constraints", answered(save_constraints, show), methods=["POST"]),
    Route("/{table}/columns/import", answered(take_over, show), methods=["POST"]),
    Route("/{table}/columns/guess", answered(guess, show), methods=["POST"]),
    Route("/{table}/columns/buy", answered(buy, show), methods=["POST"]),
    Route("/{table}/columns/check", answered(owners_check, show), methods=["POST"]),
]
