"""One request on its way through a screen: its form, its table, and the page that answers it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tabveil.errors import InvalidInput, TabveilError
from tabveil.report.words import amount, duration, few, percent, promised, size
from tabveil.sources.address import Address
from tabveil.studio.projects import Project, State, Workplace
from tabveil.studio.steps import Step
from tabveil.studio.tabs import Tabs

LARGEST_FORM = 10_000_000  # bytes
MOST_FIELDS = 20_000
OPTION = re.compile(r"(?<!\S)(--?[a-z-]+)")
SCREENS = ("table", "columns", "plan", "ledger", "run", "release")


@dataclass(frozen=True)
class Form:
    """What was filled in, as texts."""

    fields: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, sent: bytes) -> "Form":
        """The form that a browser sent."""
        try:
            text = sent.decode("utf-8")
            return cls(parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except ValueError:  # no text, or far too many fields
            raise InvalidInput(
                "This is not a form of the studio.", "Load the page again."
            ) from None

    def text(self, name: str, otherwise: str = "") -> str:
        """One field without blanks around it."""
        return self.fields.get(name, [otherwise])[-1].strip()

    @property
    def last(self) -> dict[str, str]:
        """Every field, with the last of what was given for it."""
        return {name: texts[-1] for name, texts in self.fields.items()}

    def texts(self, name: str) -> list[str]:
        """All fields of one name."""
        return list(self.fields.get(name, []))

    def number(self, name: str, label: str) -> float:
        """A field that holds a number."""
        text = self.text(name).replace(",", ".") or "nothing"
        try:
            return float(text)
        except ValueError:
            raise InvalidInput(f"{label} is {text[:40]}, but must be a number.", "") from None

    def whole(self, name: str, label: str, least: int = 1) -> int:
        """A field that holds a whole number that is not too small."""
        number = self.number(name, label)
        if not (least <= number < 1e15 and number.is_integer()):
            raise InvalidInput(f"{label} must be a whole number of {least} or more.", "")
        return int(number)

    @property
    def version(self) -> int | None:
        """Which version of the table the form was made from."""
        text = self.text("version")
        return int(text) if text.isdigit() else None


@dataclass(frozen=True)
class Studio:
    """What all screens share: where files are, and which tabs are open."""

    workplace: Workplace
    tabs: Tabs
    templates: Environment


@dataclass
class Visit:
    """One request, read and ready for a screen."""

    request: Request
    studio: Studio
    form: Form = field(default_factory=Form)
    problem: TabveilError | None = None

    @property
    def asked(self) -> Form:
        """What the address asks for after its question mark."""
        return Form.of(self.request.scope["query_string"])

    @cached_property
    def project(self) -> Project:
        """The table that the address names."""
        return self.studio.workplace.project(self.request.path_params["table"])

    @property
    def is_fragment(self) -> bool:
        """Whether a script of the page asks for a part of it."""
        return "x-fragment" in self.request.headers

    def render(self, template: str, /, **known: Any) -> Response:
        """A page, or a part of one."""
        status = 200 if self.problem is None else 422
        text = self.studio.templates.get_template(template).render(
            problem=self.problem, fragment=self.is_fragment, **known
        )
        return HTMLResponse(text, status)

    def screen(self, screen: str, state: State, steps: list[Step], /, **known: Any) -> Response:
        """One of the screens of a table."""
        return self.render(
            f"{screen}.html",
            here=screen,
            key=self.project.key,
            state=state,
            steps=steps,
            screens=SCREENS,
            file=Address.of(state.data),
            **known,
        )

    def go(self, screen: str, more: str = "") -> Response:
        """Off to a screen of this table, so that a reload repeats nothing."""
        return RedirectResponse(f"/{quote(self.project.key)}/{screen}{more}", 303)


Screen = Callable[[Visit], Response]


def answered(screen: Screen, on_refusal: Screen | None = None) -> Callable[[Request], Any]:
    """An endpoint around a screen; a refusal is shown on the screen where it happened."""

    async def endpoint(request: Request) -> Response:
        sent = await _sent(request)
        return await run_in_threadpool(shown, Visit(request, request.app.state.studio), sent)

    def shown(visit: Visit, sent: bytes) -> Response:
        try:
            visit.form = Form.of(sent)
            return screen(visit)
        except TabveilError as problem:
            visit.problem = problem
        try:
            return (on_refusal or refused)(visit)
        except TabveilError as problem:  # the screen itself cannot be shown
            visit.problem = problem
            return refused(visit)

    return endpoint


def refused(visit: Visit) -> Response:
    """A page that says what went wrong, and what to do."""
    return visit.render("refused.html")


async def _sent(request: Request) -> bytes:
    """What came with a request, up to a limit."""
    held = bytearray()
    async for piece in request.stream():
        held += piece
        if len(held) > LARGEST_FORM:
            raise TooLarge
    return bytes(held)


class TooLarge(Exception):
    """More was sent than a form can hold."""


def templates() -> Environment:
    """The pages; every text in them is escaped."""
    environment = Environment(
        loader=PackageLoader("tabveil.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "amount": amount,
        "duration": duration,
        "few": few,
        "percent": percent,
        "promised": promised,
        "size": size,
        "with_options": _with_options,
    }
    return environment


def _with_options(command: str) -> Markup:
    """A command in which no line ends within an option, as browsers would have it at hyphens."""
    return Markup(OPTION.sub(r'<span class="option">\1</span>', str(escape(command))))
