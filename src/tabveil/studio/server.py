"""The server: on this machine alone, for as long as a tab is open or until Ctrl-C."""

import asyncio
import gc
import os
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import uvicorn

from tabveil.errors import InvalidInput
from tabveil.sources.address import Address
from tabveil.studio.app import application
from tabveil.studio.guard import Keys
from tabveil.studio.projects import InDoubt, OtherMark, Workplace
from tabveil.studio.tabs import Tabs

LOOPBACK = "127.0.0.1"


def serve(
    workplace: Workplace,
    data: str | None,
    schema: Path | None = None,
    *,
    port: int,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    """Open the studio, and return when it was closed."""
    home = "/" if data is None else _home(workplace, data, schema)
    with _listening(port) as place:
        keys = Keys(
            place.getsockname()[1],
            lambda link: say(f"To open it in another browser: {link}"),
            home=home,
        )
        tabs = Tabs()
        server = uvicorn.Server(
            uvicorn.Config(
                application(workplace, keys, tabs),
                access_log=False,  # addresses are nobody's business, not even a log's
                # a traceback may quote a cell
                log_level="error" if os.environ.get("TABVEIL_DEBUG") else "critical",
                server_header=False,
                proxy_headers=False,
                ws="none",
                lifespan="off",
                timeout_graceful_shutdown=2,
            )
        )
        say(f"tabveil studio: {keys.link}")
        say("Close its last tab or press Ctrl-C to end it; a fit that runs goes on all the same.")
        if browser:
            webbrowser.open(keys.link)
        gc.freeze()  # what is loaded stays; looking through it for garbage slows every page
        asyncio.run(_until_closed(server, tabs, place))


def _home(workplace: Workplace, data: str, schema: Path | None) -> str:
    """Where a browser that comes in begins: at the table that was named."""
    try:
        project = workplace.open_table(data, header=schema is not None)
        if schema is not None:
            project.take_over(schema)
        return f"/{project.key}/table"
    except (InDoubt, OtherMark):
        # The first screen will ask about it.
        return f"/?path={quote(str(Address.of(data).absolute()))}"


async def _until_closed(server: uvicorn.Server, tabs: Tabs, place: socket.socket) -> None:
    async def watch() -> None:
        while not tabs.all_closed:
            await asyncio.sleep(1)
        server.should_exit = True

    watching = asyncio.create_task(watch())
    await server.serve(sockets=[place])
    watching.cancel()


def _listening(port: int) -> socket.socket:
    """A socket on the loopback address, which other machines cannot reach."""
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((LOOPBACK, port))
    except OSError:
        place.close()
        raise InvalidInput(
            f"Port {port} is in use, perhaps by another studio.",
            "Leave --port out to take any free one.",
        ) from None
    place.listen()  # whoever follows the link at once waits instead of being turned away
    return place
