"""Run: what will be spent, asked once more; then progress, stop and go on."""

from pathlib import Path

from starlette.responses import Response
from starlette.routing import Route

from tabveil.errors import InvalidInput, TabveilError
from tabveil.privacy import Budget, Ledger, Promise, Protection, Relation, delta_warning
from tabveil.report.words import promised
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.studio.fits import Fit, fit_named, fits_in, next_fit
from tabveil.studio.pictures import curve
from tabveil.studio.projects import State
from tabveil.studio.screens.columns import whole_trouble
from tabveil.studio.screens.ledger import account_of, after
from tabveil.studio.screens.plan import outlook_of, use_of
from tabveil.studio.steps import fit_step, fit_words
from tabveil.studio.visit import Visit, answered


def show(visit: Visit) -> Response:
    """The last page before spending, and the fits that were begun."""
    state = visit.project.state()
    fits = fits_in(visit.project.folder)
    trouble = whole_trouble(state)
    ready = trouble is None
    refusal = None if trouble else _refusal(state)
    outlook = outlook_of(state) if ready else None
    account = None
    try:
        account = account_of(state)
    except TabveilError as problem:
        visit.problem = visit.problem or problem
    return visit.screen(
        "run",
        state,
        [fit_step(state)],
        trouble=trouble,
        refusal=refusal,
        warning=delta_warning(state.delta, state.rows),
        account=account,
        after=after(state) if visit.problem is None else None,
        promise=_promise(state) if ready else "",
        found=outlook.found if outlook else None,
        use=use_of(outlook.found.error) if outlook and outlook.found.expected else "",
        guess=outlook.guess if outlook else None,
        fits=[(fit, fit.progress()) for fit in fits],
        running=any(fit.running for fit in fits),
        curve=curve,
    )


def _refusal(state: State) -> TabveilError | None:
    """Why a fit of this schema would be refused, by header and ledger alone; none if it is not."""
    schema, budget = Schema.from_dict(state.draft), Budget(state.epsilon, state.delta)
    try:
        Source.of(state.data, schema)
        if Path(state.ledger).exists():
            unit = Protection.of(Relation.ADD_REMOVE, schema.privacy).unit
            Ledger.read(state.ledger).allowance(budget.rho, "This fit", unit=unit)
    except TabveilError as problem:
        return problem
    return None


def _promise(state: State) -> str:
    privacy = Schema.from_dict(state.draft).privacy
    budget = Budget(state.epsilon, state.delta)
    promise = Promise(budget, Protection.of(Relation.ADD_REMOVE, privacy))
    return str(promise).replace(f"{state.delta:g}", promised(state.delta))


def begin(visit: Visit) -> Response:
    """Spend: write down the schema as it is, and start the fit."""
    with visit.project.change(visit.form.version) as state:
        problem = whole_trouble(state) or _refusal(state)
        if problem:
            raise problem
        if visit.form.text("sure") != "yes":
            raise InvalidInput("The box was not ticked, so nothing was spent.", "Tick it to spend.")
        if any(fit.running for fit in fits_in(visit.project.folder)):
            raise InvalidInput("A fit is running on this table.", "Wait for it, or stop it.")
        fit = next_fit(visit.project.folder)
        Schema.from_dict(state.draft).save(fit.schema)
        fit.start(fit_words(state, fit.schema.name, fit.name))
    return visit.go("run", f"#{fit.name}")


def stop(visit: Visit) -> Response:
    """Interrupt a fit."""
    _fit(visit).stop()
    return visit.go("run", f"#{_fit(visit).name}")


def go_on(visit: Visit) -> Response:
    """Run the same command again: answers that were paid for are not paid for twice."""
    _fit(visit).start()
    return visit.go("run", f"#{_fit(visit).name}")


def progress(visit: Visit) -> Response:
    """How far one fit has come."""
    fit = _fit(visit)
    state = visit.project.state()
    return visit.render(
        "_progress.html",
        fit=fit,
        progress=fit.progress(),
        key=visit.project.key,
        state=state,
        curve=curve,
    )


def _fit(visit: Visit) -> Fit:
    return fit_named(visit.project.folder, visit.request.path_params["name"])


ROUTES = [
    Route("/{table}/run", answered(show)),
    Route("/{table}/run", answered(begin, show), methods=["POST"]),
    Route("/{table}/run/{name}/progress", answered(progress)),
    Route("/{table}/run/{name}/stop", answered(stop, show), methods=["POST"]),
    Route("/{table}/run/{name}/go-on", answered(go_on, show), methods=["POST"]),
]
