"""One column: its type and what is public about it, with every choice explained."""

from contextlib import suppress
from typing import Any

import yaml
from starlette.responses import Response
from starlette.routing import Route

from tabveil.columns import RULES
from tabveil.errors import InvalidInput
from tabveil.schema import TODO
from tabveil.schema.drafts import NAMING
from tabveil.studio.fields import fields_of, rule_from, typed
from tabveil.studio.projects import State
from tabveil.studio.screens.columns import LISTED, Rule, keep, lines_of, set_named
from tabveil.studio.steps import Step, command
from tabveil.studio.visit import Visit, answered
from tabveil.studio.words import TYPES

NOT_CARRIED = ("type", "version", "then", *NAMING)  # from one type to the next


def edit(visit: Visit) -> Response:
    """One column, with every choice explained."""
    state = visit.project.state()
    place, name = _column(visit, state)
    columns, texts = state.draft["columns"], visit.form.last
    kept, kind = columns[name], texts.get("type") or visit.asked.text("type")
    fields, rule = fields_of(kept), kept
    if kind in RULES and (texts or kind != kept["type"]):
        texts = _begun_map(texts, columns)
        fields, rule = typed(kind, texts), {"type": kind}
        with suppress(InvalidInput):  # what was typed may make no sense yet
            rule = rule_from(kind, texts)
    lines, shown = lines_of(state), {*NOT_CARRIED, *(field.name for field in fields)}
    waiting = [line.place for line in lines if line.origin in ("open", "wrong")]
    return visit.screen(
        "column",
        state,
        [_yaml_step(name, rule)],
        place=place,
        name=name,
        rule=rule,
        types=TYPES,
        fields=fields,
        carried={n: t for n, t in texts.items() if n not in shown},
        others=[other for other in columns if other != name],
        listed=rule["type"] in LISTED,
        note=lines[place].note if lines[place].origin == "wrong" and rule is kept else "",
        named={
            part: texts.get(part) == "yes" if texts else name in state.draft.get(part, ())
            for part in NAMING
        },
        waiting=len([one for one in waiting if one != place]),
        last=len(columns) - 1,
    )


def _begun_map(texts: dict[str, str], columns: dict[str, Rule]) -> dict[str, str]:
    """The map of a column that follows from a list of values, begun with these values."""
    values = columns.get(texts.get("of", ""), {}).get("values", TODO)
    if texts.get("type") != "follows" or texts.get("map", "").strip() or values == TODO:
        return texts
    return texts | {"map": "".join(f"{value}: \n" for value in values)}


def save(visit: Visit) -> Response:
    """Keep what was said about one column; what cannot be is refused and nothing changes."""
    form = visit.form
    with visit.project.change(form.version) as state:
        place, name = _column(visit, state)
        keep(state, {name: rule_from(form.text("type"), form.last)})
        for part in NAMING:
            set_named(state, part, name, form.text(part) == "yes")
    if form.text("then") == "next":
        return visit.go("columns", _next_open(state, place))
    return visit.go("columns", f"#column-{place}")


def _next_open(state: State, after: int) -> str:
    waiting = [line.place for line in lines_of(state) if line.origin in ("open", "wrong")]
    later = [place for place in waiting if place > after] or waiting
    return f"/{later[0]}" if later else "#whom"


def _column(visit: Visit, state: State) -> tuple[int, str]:
    place, names = visit.request.path_params["place"], list(state.draft["columns"])
    if place >= len(names):
        raise InvalidInput("There is no such column.", "Choose one from the list.")
    return place, names[place]


def _yaml_step(name: str, rule: dict[str, Any]) -> Step:
    text = yaml.safe_dump(
        {"columns": {name: rule}}, sort_keys=False, allow_unicode=True, default_flow_style=None
    )
    check = command("schema", "check", "DATA", "--schema", "schema.yaml")
    return Step(
        f"# in schema.yaml:\n{text}\n{check}",
        f"rules = {{{name!r}: {rule!r}}}\nschema = tv.Schema.from_dict({{'columns': rules}})",
    )


ROUTES = [
    Route("/{table}/columns/{place:int}", answered(edit)),
    Route("/{table}/columns/{place:int}", answered(save, edit), methods=["POST"]),
    Route("/{table}/columns/{place:int}/as", answered(edit), methods=["GET", "POST"]),
]
