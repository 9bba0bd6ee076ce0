"""Create, show and verify a ledger: what was spent on a dataset, and what is left."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table as Grid

import tabveil as tv
from tabveil.cli.consoles import out, say
from tabveil.cli.options import AsJson
from tabveil.machine.files import require_new
from tabveil.privacy import DELTA, Budget, Ledger, Place, Relation, epsilon_of
from tabveil.privacy.balance import balance, epsilons_so_far, purpose, stated_delta


def new_ledger(
    file: Annotated[Path, typer.Argument(help="The ledger file to create.")],
    epsilon: Annotated[
        float, typer.Option(help="The most that all fits on this data together may spend.")
    ],
    delta: Annotated[float, typer.Option(help="The δ of that promise.")] = DELTA,
    neighbours: Annotated[
        Relation, typer.Option(help="The relation all fits must use.")
    ] = Relation.ADD_REMOVE,
) -> None:
    """Create a ledger with a limit for all fits on one dataset together.

    Example: `tabveil ledger new people.ledger --epsilon 3`
    """
    require_new(file)
    Ledger.open(file, neighbours, limit=Budget(epsilon, delta)).close()
    out.print(
        f"Wrote {file}: all fits that name it may spend ε = {epsilon:g} together.", markup=False
    )


def show_ledger(
    file: Annotated[Path, typer.Argument(help="A ledger file.")],
    delta: Annotated[
        float | None,
        typer.Option(help="The δ at which to state ε. [default: the limit's, or 1e-9]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What was spent on a dataset, on what, and what is left.

    Example: `tabveil ledger show people.ledger`
    """
    ledger = Ledger.read(file)
    at = stated_delta(ledger) if delta is None else delta
    if as_json:
        print(json.dumps(_account(ledger, at)))
        return
    out.print(_charges(ledger, at))
    out.print(balance(ledger, at), markup=False)


def verify_ledger(
    file: Annotated[Path, typer.Argument(help="A ledger file.")],
    releases: Annotated[list[Path], typer.Argument(help="Releases that were charged to it.")],
    as_json: AsJson = False,
) -> None:
    """Check that a ledger still is the one releases were charged to: not cut, forked or replaced.

    Example: `tabveil ledger verify people.csv.ledger release-2025 release-2026`
    """
    ledger = Ledger.read(file)
    found = {str(path): _trouble(ledger, tv.load(path)) for path in releases}
    if as_json:
        print(json.dumps({"ok": not any(found.values()), "releases": found}))
    else:
        for path, trouble in found.items():
            held = "was charged to this ledger, which still shows it."
            say(f"{path}: {trouble or held}")
    if any(found.values()):
        raise typer.Exit(1)


def _trouble(ledger: Ledger, release: tv.Release) -> str:
    """Why a ledger cannot be the one that a release was charged to; empty if it can."""
    place = release.privacy.get("ledger")
    if not place:
        return "states no ledger file: it was charged in memory, or made by an older version."
    trouble = ledger.trouble_with(Place(place["first"], place["lines"], place["last"]))
    return trouble and f"this ledger {trouble}."


def _account(ledger: Ledger, delta: float) -> dict[str, Any]:
    """A ledger for programs."""
    return {
        "relation": ledger.relation.value,
        "limit": ledger.limit and {"epsilon": ledger.limit.epsilon, "delta": ledger.limit.delta},
        "rho_spent": str(ledger.spent),
        "rho_left": None if ledger.left is None else str(ledger.left),
        "epsilon_spent": epsilon_of(ledger.spent, ledger.delta_left(delta)),
        "delta": delta,
        "charges": [
            {"when": c.when, "what": c.what, "mechanism": c.mechanism, "rho": str(c.rho)}
            for c in ledger.charges
        ],
    }


def _charges(ledger: Ledger, delta: float) -> Grid:
    """A ledger for people, charge by charge."""
    grid = Grid("when (UTC)", "what", "mechanism", "ρ", "ε so far", box=SIMPLE)
    for charge, so_far in zip(ledger.charges, epsilons_so_far(ledger, delta), strict=True):
        grid.add_row(
            charge.when[:16].replace("T", " "),
            purpose(charge.what),
            charge.mechanism,
            f"{float(charge.rho):.3g}",
            f"{so_far:.4g}",
        )
    return grid
