"""Release: the page about it, rows to take away, and the owner's comparison behind its own door."""

import io
import tempfile
import zipfile
from html import escape
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

import tabveil as tv
from tabveil.errors import InvalidInput, TabveilError, either
from tabveil.release.conditions import spelled_conditions
from tabveil.release.formats import SUFFIXES
from tabveil.release.output import write
from tabveil.report import internal_page, page
from tabveil.report.guarantee import promise
from tabveil.schema import Schema, save_document
from tabveil.studio.fits import Fit, fit_named, fits_in
from tabveil.studio.guard import BOXED
from tabveil.studio.screens.columns import whole_trouble
from tabveil.studio.steps import python_script, release_step, shell_script
from tabveil.studio.visit import Visit, answered

MOST_ROWS = 5_000_000


def show(visit: Visit) -> Response:
    """The newest release of the table, or the one that the address names."""
    state = visit.project.state()
    made = [fit for fit in fits_in(visit.project.folder) if fit.release.is_dir()]
    name = visit.request.path_params.get("name") or visit.asked.text("release")
    chosen = next((fit for fit in made if fit.name == name), made[0] if made else None)
    loaded = tv.load(chosen.release) if chosen else None
    return visit.screen(
        "release",
        state,
        [release_step()],
        made=made,
        chosen=chosen,
        promise=promise(loaded) if loaded else "",
        asked=visit.asked,
        names=list(loaded.schema.learnt) if loaded else [],
        suffixes=list(SUFFIXES),
        most=MOST_ROWS,
    )


def report(visit: Visit) -> Response:
    """The page about a release, in a box; it is made once and kept beside the release."""
    fit = _made(visit)
    file = fit.folder / f"{fit.name}-report.html"
    try:
        if not file.exists():
            page(tv.load(fit.release)).save(file)
    except TabveilError as missing:  # the packages for pages are an extra
        return _boxed(f"<!doctype html><title>No report</title><p>{escape(str(missing))}</p>")
    return _boxed(file.read_text(encoding="utf-8"))


def owner(visit: Visit) -> Response:
    """The owner's comparison with real rows. NOT private: shown once, and kept nowhere."""
    if visit.form.text("owner") != "yes":
        raise InvalidInput(
            "This comparison shows real rows' exact numbers, to their owner only.",
            "Tick the box if that is you.",
        )
    made = internal_page(tv.load(_made(visit).release), visit.project.state().data)
    return _boxed(made.html())


def _boxed(html: str) -> Response:
    return HTMLResponse(html, headers={"Content-Security-Policy": BOXED})


def rows(visit: Visit) -> Response:
    """Synthetic rows as a file; free, as often as one likes."""
    asked = visit.asked
    number = asked.whole("rows", "The number of rows")
    if number > MOST_ROWS:
        raise InvalidInput(
            f"{number:,} rows are more than a browser takes well.",
            "Use the command beside this screen.",
        )
    suffix = asked.text("format")
    if suffix not in SUFFIXES:
        raise InvalidInput("There is no such format.", f"Choose {either(SUFFIXES)}.")
    loaded = tv.load(_made(visit).release)
    where = spelled_conditions(
        [t.strip() for t in asked.texts("where") if t.strip()], loaded.schema
    )
    seed = asked.whole("seed", "The seed", least=0) if asked.text("seed") else None
    file = Path(tempfile.mkdtemp(prefix="tabveil-")) / f"synthetic{suffix}"
    write(loaded.sample(number, seed=seed, where=where, kind="arrow"), file)
    return FileResponse(file, filename=file.name, background=BackgroundTask(_forget, file))


def _forget(file: Path) -> None:
    file.unlink()
    file.parent.rmdir()


def packed(visit: Visit) -> Response:
    """The release as one file."""
    fit = _made(visit)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(fit.release.iterdir()):
            archive.write(file, f"{fit.name}/{file.name}")
    return _download(held.getvalue(), f"{fit.name}.zip", "application/zip")


def schema(visit: Visit) -> Response:
    """The schema that a release was made with."""
    return _download(_made(visit).schema.read_bytes(), "schema.yaml", "application/yaml")


def draft(visit: Visit) -> Response:
    """The schema as it stands now, with TODO where something is open."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "schema.yaml"
        save_document(visit.project.state().draft, file)
        return _download(file.read_bytes(), "schema.yaml", "application/yaml")


def script(visit: Visit) -> Response:
    """The whole session as a script that runs."""
    state = visit.project.state()
    problem = whole_trouble(state)
    if problem:
        raise problem
    document = Schema.from_dict(state.draft).to_dict()
    if visit.request.path_params["language"] == "sh":
        return _download(shell_script(state, document).encode(), "session.sh", "text/x-sh")
    return _download(python_script(state, document).encode(), "session.py", "text/x-python")


def _download(content: bytes, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


def _made(visit: Visit) -> Fit:
    fit = fit_named(visit.project.folder, visit.request.path_params["name"])
    if not fit.release.is_dir():
        raise InvalidInput("This fit has not ended yet.", "Look at its progress on the screen Run.")
    return fit


ROUTES = [
    Route("/{table}/release", answered(show)),
    Route("/{table}/schema.yaml", answered(draft)),
    Route("/{table}/session.{language:str}", answered(script)),
    Route("/{table}/release/{name}/report", answered(report)),
    Route("/{table}/release/{name}/owner", answered(owner, show), methods=["POST"]),
    Route("/{table}/release/{name}/rows", answered(rows, show)),
    Route("/{table}/release/{name}/zip", answered(packed)),
    Route("/{table}/release/{name}/schema.yaml", answered(schema)),
]
