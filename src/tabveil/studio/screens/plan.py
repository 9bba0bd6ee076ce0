"""Plan: what ε would mean for people and for the table, redrawn while it moves, without data."""

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from tabveil.errors import InvalidInput
from tabveil.fitting.forecast import ROWS, Forecast, epsilon_for, forecast
from tabveil.privacy import Budget, Risk, delta_warning, epsilon_within
from tabveil.report.words import level
from tabveil.schema import Schema
from tabveil.schema.drafts import NAMING, usable
from tabveil.studio.pictures import map_of_pairs, simulated
from tabveil.studio.projects import State
from tabveil.studio.steps import plan_step
from tabveil.studio.visit import Form, Visit, answered

WISHES = ("error", "risk")  # from which an ε can follow
SMALLEST, LARGEST = 0.05, 20.0  # the ends of the slider
STEPS = 120
# What an expected error of cross-tables is good for.
USES = (
    (0.03, "Close: counts, cross-tables and models come out much like those of the real table."),
    (0.10, "Usable: large groups come out well, small ones are noisy."),
    (0.20, "Rough: only the main shapes and the strongest connections will be there."),
    (
        math.inf,
        "Mostly noise. More rows help, or fewer and coarser columns, or fewer rows kept of each "
        "person; or a larger ε.",
    ),
)


@dataclass(frozen=True)
class Outlook:
    """Everything that the moving part of the screen shows."""

    epsilon: float
    level: str
    advice: str
    guess: float
    caught: float
    found: Forecast
    schema: Schema
    left_out: int
    warning: str


def show(visit: Visit) -> Response:
    """The whole screen, with an ε that was asked for; it is proposed, and not kept yet."""
    state = visit.project.state()
    steps, kept = [plan_step(state)], state.epsilon
    asked = visit.asked if visit.problem is None else Form()
    if asked.text("by"):
        state.epsilon = _wanted(state, asked)
    outlook = None if _schema(_described(state)) is None else outlook_of(state)
    return visit.screen(
        "plan",
        state,
        steps,
        slider=position(state.epsilon),
        last=STEPS,
        proposed=asked.text("by"),
        kept=kept,
        wished={by: asked.text("wanted") if asked.text("by") == by else "" for by in WISHES},
        **_drawn(outlook, visit.asked),
    )


def picture(visit: Visit) -> Response:
    """The moving part alone, for the ε under the slider."""
    state = _moved(visit.project.state(), visit.asked)
    return visit.render("_plan.html", state=state, **_drawn(outlook_of(state), visit.asked))


def save(visit: Visit) -> Response:
    """Keep ε and what the plan assumes."""
    with visit.project.change(visit.form.version, in_passing=visit.is_fragment) as state:
        moved = _moved(state, visit.form)
        Budget(moved.epsilon, moved.delta)
        state.epsilon, state.rows, state.delta = moved.epsilon, moved.rows, moved.delta
    if visit.is_fragment:
        steps = [plan_step(state)]
        return visit.render("_kept.html", state=state, steps=steps, key=visit.project.key)
    return visit.go("plan")


def _wanted(state: State, asked: Form) -> float:
    """The other way round: the ε for a wanted error or a tolerated risk."""
    wanted = asked.number("wanted", "What you wish for") / 100
    if asked.text("by") == "risk":
        return epsilon_within(state.delta, lambda risk: risk.guess <= wanted)
    schema = _planned(_described(state))
    return epsilon_for(schema, wanted, rows=state.rows, delta=state.delta).epsilon


def position(epsilon: float) -> int:
    """Where the slider stands for an ε: equal steps are equal factors."""
    share = math.log(max(epsilon, SMALLEST) / SMALLEST) / math.log(LARGEST / SMALLEST)
    return round(STEPS * min(1.0, share))


def epsilon_at(position: int) -> float:
    """The ε where the slider stands, with two digits."""
    exact = SMALLEST * (LARGEST / SMALLEST) ** (position / STEPS)
    return float(f"{exact:.2g}")


def _moved(state: State, form: Form) -> State:
    """The state as the form would have it; the number counts unless only the slider was moved."""
    if form.text("epsilon"):
        state.epsilon = form.number("epsilon", "ε")
    elif form.text("slider"):
        state.epsilon = epsilon_at(int(form.number("slider", "The slider")))
    if form.text("rows"):
        state.rows = form.whole("rows", "The number of rows")
    if form.text("delta"):
        state.delta = form.number("delta", "δ")
    return state


def _drawn(picture: Outlook | None, asked: Form) -> dict[str, Any]:
    """What the template of the moving part wants to know."""
    expected = picture.found.expected if picture else None
    text = asked.text("column")
    columns = sorted(expected.columns, key=lambda column: -column.error) if expected else []
    look = columns[0] if columns else None
    if expected and text.isdigit() and int(text) < len(columns):
        look = expected.columns[int(text)]
    return {
        "assumed": ROWS,
        "picture": picture,
        "expected": expected,
        "use": use_of(expected.error) if expected else "",
        "columns": columns[:12],
        "worst_pair": max(expected.pairs, key=lambda pair: pair.error, default=None)
        if expected
        else None,
        "worst": max((column.error for column in columns), default=1.0),
        "look": look,
        "bars": simulated(picture.schema, look) if picture and look else [],
        "map": map_of_pairs(expected) if expected else None,
    }


def use_of(error: float) -> str:
    """What cross-tables with such an error are good for."""
    return next(words for most, words in USES if error <= most)


def outlook_of(state: State) -> Outlook:
    """What an ε would mean, for the columns that are described so far."""
    schema = _planned(_described(state))
    budget = Budget(state.epsilon, state.delta)
    risk = Risk.of_spending(budget.rho, state.epsilon, state.delta)
    return Outlook(
        state.epsilon,
        *level(state.epsilon),
        risk.guess,
        risk.caught(0.01),
        _forecast(_described(state), state.epsilon, state.delta, state.rows),
        schema,
        len(state.draft["columns"]) - len(schema.columns),
        delta_warning(state.delta, state.rows),
    )


def _described(state: State) -> str:
    """What a plan goes by, in one text that tells drafts apart."""
    parts = ("columns", *NAMING, "privacy")
    return json.dumps({part: state.draft[part] for part in parts if part in state.draft})


def _planned(described: str) -> Schema:
    schema = _schema(described)
    if schema is None:
        raise InvalidInput("No column is described yet.", "Begin on the screen Columns.")
    return schema


@lru_cache(maxsize=16)  # every move of the slider asks for the same one
def _schema(described: str) -> Schema | None:
    """What can be planned for: the columns that are described; none if there is none yet."""
    try:
        return Schema.from_dict(usable(json.loads(described)))
    except InvalidInput:
        return None


@lru_cache(maxsize=8)  # each holds every pair of columns
def _forecast(described: str, epsilon: float, delta: float, rows: int) -> Forecast:
    return forecast(_planned(described), epsilon, delta=delta, rows=rows)


ROUTES = [
    Route("/{table}/plan", answered(show, show)),
    Route("/{table}/plan", answered(save, show), methods=["POST"]),
    Route("/{table}/plan/picture", answered(picture)),
]
