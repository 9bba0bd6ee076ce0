"""Table: pick a file; only its header and its size are shown until the owner asks for more."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tabveil.errors import InvalidInput, TabveilError
from tabveil.schema import key
from tabveil.schema.drafts import draft_of_names, taken_over
from tabveil.sources import Source, opened
from tabveil.sources.address import Address
from tabveil.sources.files import READABLE, opener_of
from tabveil.sources.formats import FORMATS
from tabveil.sources.formats.csv import CsvFile
from tabveil.studio.projects import InDoubt, OtherMark, require_names
from tabveil.studio.steps import open_step
from tabveil.studio.visit import Studio, Visit, answered

LARGEST_UPLOAD = 1_000_000_000  # bytes; a larger file is named by its path and stays where it is
# What may be declared about a CSV file, and the signs that may stand between cells.
WRITTEN = ("separator", "decimal", "encoding")
SEPARATORS = {",": "comma", ";": "semicolon", "tab": "tab", "|": "bar |"}
LOOKED_AT = 10  # rows of an owner's look
LONGEST_CELL = 60


def pick(visit: Visit) -> Response:
    """The first screen: which table?"""
    return visit.render(
        "pick.html",
        here="",
        path=visit.form.text("path") or visit.asked.text("path"),
        in_doubt=isinstance(visit.problem, InDoubt),
        other_mark=visit.problem.mark if isinstance(visit.problem, OtherMark) else "",
        written={name: visit.form.text(name) for name in WRITTEN},
        separators=SEPARATORS,
        formats=", ".join(FORMATS),
        largest=LARGEST_UPLOAD,
        folder=str(visit.studio.workplace.folder),
        tables=visit.studio.workplace.tables(),
    )


def open_table(visit: Visit) -> Response:
    """Open what was picked."""
    path = visit.form.text("path")
    if not path:
        raise InvalidInput("No file was named.", READABLE)
    header = visit.form.text("header") == "yes"
    address = Address.of(path)
    address = replace(address, declared=address.declared | _declared(visit))
    visit.project = visit.studio.workplace.open_table(str(address), header=header)
    return visit.go("table")


def _declared(visit: Visit) -> dict[str, str]:
    """How a CSV file is written, as far as that was said."""
    return {name: text for name in WRITTEN if (text := visit.form.text(name))}


def rewritten(visit: Visit) -> Response:
    """Read the header again, with what is now said about how the file is written."""
    with visit.project.change(visit.form.version) as state:
        state.data = str(replace(Address.of(state.data), declared=_declared(visit)))
        names = opened(state.data).names
        require_names(names, state.data)
        state.draft = taken_over(draft_of_names(names), state.draft)
    return visit.go("table")


async def upload(request: Request) -> Response:
    """Keep a file that was dropped, in the folder of the studio; answers with its path there."""
    studio: Studio = request.app.state.studio
    try:
        path = _new_place(studio.workplace.folder / "dropped", request.query_params.get("name", ""))
        await _keep(request, path)
    except TabveilError as problem:
        return PlainTextResponse(str(problem), 422)
    return PlainTextResponse(str(path))


def _new_place(folder: Path, name: str) -> Path:
    """Where a dropped file is kept: under its own name, with nothing of a path in it."""
    plain = re.sub(r"[^\w. -]+", "-", name.replace("\\", "/").split("/")[-1]).strip(" .-")[-100:]
    if opener_of(plain) is None:
        raise InvalidInput("A file of this kind cannot be read.", READABLE)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    names = [plain, *(f"{number}-{plain}" for number in range(2, 1000))]
    return next(folder / name for name in names if not (folder / name).exists())


async def _keep(request: Request, path: Path) -> None:
    too_large = InvalidInput(
        f"The file is larger than {LARGEST_UPLOAD / 1e9:g} GB.",
        "Give its path instead: then it stays where it is.",
    )
    announced = request.headers.get("content-length", "0")
    if not announced.isdigit() or int(announced) > LARGEST_UPLOAD:
        raise too_large
    if int(announced) > shutil.disk_usage(path.parent).free * 0.9:
        raise InvalidInput("The disk has no room for a copy.", "Give the path of the file instead.")
    held = 0
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            async for piece in request.stream():
                held += len(piece)
                if held > LARGEST_UPLOAD:
                    raise too_large
                file.write(piece)
    except (TabveilError, OSError, ClientDisconnect):
        path.unlink()
        raise


def show(visit: Visit) -> Response:
    """What is known of the table without a look at its cells."""
    state = visit.project.state()
    return visit.screen(
        "table",
        state,
        [open_step(state)],
        names=list(state.draft["columns"]),
        bytes=_size(Address.of(state.data)),
        is_text=opener_of(Address.of(state.data).local.name) is CsvFile,
        separators=SEPARATORS,
        folder=str(visit.project.folder),
        unfold=visit.asked.text("written") == "yes",
    )


def _size(address: Address) -> int | None:
    """How large the file is, or all files of a folder; none if it is gone, or on a server."""
    path = address.local
    if path.is_dir():
        return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
    return path.stat().st_size if path.exists() else None


def look(visit: Visit) -> Response:
    """The owner's look: some rows as they are. NOT private."""
    state = visit.project.state()
    if visit.form.text("owner") != "yes":
        raise InvalidInput(
            "Rows are shown to the owner of the table only.", "Tick the box if that is you."
        )
    reader = opened(state.data)
    reader.in_doubt = False
    source = Source.whole(reader)
    rows = next(iter(source.batches(LOOKED_AT))).slice(0, LOOKED_AT)
    cells = [[_cell(value) for value in column.to_pylist()] for column in rows.columns]
    return visit.screen(
        "look", state, [], names=list(source.columns), rows=list(zip(*cells, strict=True))
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    try:
        return key(value)[:LONGEST_CELL]
    except TypeError:
        return str(value)[:LONGEST_CELL]


ROUTES = [
    Route("/", answered(pick)),
    Route("/open", answered(open_table, pick), methods=["POST"]),
    Route("/upload", upload, methods=["POST"]),
    Route("/{table}/table", answered(show)),
    Route("/{table}/written", answered(rewritten, show), methods=["POST"]),
    Route("/{table}/look", answered(look, show), methods=["POST"]),
]
