"""Create, show and verify a ledger: what was spent on a dataset, and what is left."""

import json
import math
from fractions import Fraction
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
    at = delta if delta is not None else ledger.limit.delta if ledger.limit else None
    at = DELTA + float(ledger.delta_spent) if at is None else at
    if as_json:
        print(json.dumps(_account(ledger, at)))
        return
    out.print(_charges(ledger, at))
    out.print(_balance(ledger, at), markup=False)


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
    rest, running = ledger.delta_left(delta), Fraction(0)
    for charge in ledger.charges:
        running += charge.rho
        grid.add_row(
            charge.when[:16].replace("T", " "),
            charge.what,
            charge.mechanism,
            f"{float(charge.rho):.3g}",
            f"{epsilon_of(running, rest):.4g}",
        )
    return grid


def _balance(ledger: Ledger, delta: float) -> str:
    """What was spent and what is left, in one sentence."""
    rest = ledger.delta_left(delta)
    spent = (
        f"ρ = {float(ledger.spent):.4g}, that is ε = {epsilon_of(ledger.spent, rest):.4g} at δ = "
        f"{delta:g}"
    )
    left = "no limit is set"
    if ledger.limit and ledger.left is not None:
        # In hundredths and rounded down, so that a fit with this ε is not refused.
        room = math.floor(epsilon_of(ledger.left, rest) * 100) / 100
        left = f"ρ = {float(ledger.left):.4g} is left of ε = {ledger.limit.epsilon:g}"
        left += f", enough for one more fit with ε = {room:g} at this δ" if room else ""
    return f"Spent so far: {spent}; neighbours {ledger.relation.value}; {left}."
