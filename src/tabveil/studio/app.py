"""The application: which address leads to which screen."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from tabveil.studio.guard import Guard, Keys
from tabveil.studio.projects import Workplace
from tabveil.studio.screens import column, columns, ledger, plan, release, run, table
from tabveil.studio.tabs import Tabs
from tabveil.studio.visit import Studio, TooLarge, templates

STATIC = {
    path.name: path for path in sorted((Path(__file__).parent / "static").iterdir())
}  # the files themselves, so that no name can lead elsewhere


def application(workplace: Workplace, keys: Keys, tabs: Tabs) -> Guard:
    """The studio behind its guard."""
    app = Starlette(
        routes=[
            Route("/tab", tab, methods=["POST"]),
            Route("/static/{name}", static),
            Route("/favicon.ico", icon),
            *table.ROUTES,
            *columns.ROUTES,
            *column.ROUTES,
            *plan.ROUTES,
            *ledger.ROUTES,
            *run.ROUTES,
            *release.ROUTES,
        ],
        exception_handlers={404: nowhere, 405: nowhere, TooLarge: too_large, Exception: failed},
    )
    app.state.studio = Studio(workplace, tabs, templates())
    return Guard(app, keys)


async def tab(request: Request) -> Response:
    """A tab says that it is there, or that it goes."""
    tabs: Tabs = request.app.state.studio.tabs
    name = request.query_params.get("name", "")[:64]
    (tabs.gone if "gone" in request.query_params else tabs.here)(name)
    return Response(status_code=204)


async def static(request: Request) -> Response:
    """Style, script and picture of the screens."""
    path = STATIC.get(request.path_params["name"])
    return FileResponse(path) if path else await nowhere(request, Exception())


async def icon(request: Request) -> Response:
    """What browsers ask for on pages that name no icon."""
    return FileResponse(STATIC["veil.svg"])


async def nowhere(request: Request, error: Exception) -> Response:
    """An address that leads nowhere."""
    return PlainTextResponse("There is no such page.\nHint: begin at /", 404)


async def too_large(request: Request, error: Exception) -> Response:
    """More was sent than is taken."""
    return PlainTextResponse("That is more than a form can hold.\nHint: name a file instead.", 413)


async def failed(request: Request, error: Exception) -> Response:
    """The text of an unforeseen error may quote a cell, so only its type is shown."""
    text = f"Unexpected {type(error).__name__}; what is spent stays spent.\nHint: please report it."
    return PlainTextResponse(text, 500)
