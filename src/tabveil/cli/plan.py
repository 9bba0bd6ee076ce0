"""Say what a fit would do, before there is any data."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import tabveil as tv
from tabveil.cli.consoles import out
from tabveil.cli.options import DEFAULT, AsJson, Delta, Preset, SchemaFile, Targets
from tabveil.errors import InvalidInput
from tabveil.machine.files import require_new
from tabveil.privacy import Relation


def plan(
    schema: SchemaFile,
    epsilon: Annotated[float | None, typer.Option(help="The privacy budget ε.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="About how many rows there are.")] = 10_000,
    delta: Delta = None,
    targets: Targets = None,
    preset: Preset = DEFAULT,
    neighbours: Annotated[Relation, typer.Option(help="What is protected.")] = Relation.ADD_REMOVE,
    want_error: Annotated[
        float | None,
        typer.Option("--want-error", help="Find the ε for this mean error instead, e.g. 0.01."),
    ] = None,
    max_advantage: Annotated[
        float | None,
        typer.Option(help="Find the largest ε that gives attackers no larger advantage, e.g. 0.1."),
    ] = None,
    max_tpr: Annotated[
        float | None,
        typer.Option(help="Find the largest ε at which no larger share is found out, e.g. 0.05."),
    ] = None,
    fpr: Annotated[
        float, typer.Option(help="For --max-tpr: the share of strangers who are accused.")
    ] = 0.01,
    file: Annotated[Path | None, typer.Option("-o", "--out", help="Also write a page.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a fit would measure, its noise, error, memory and time; opens no data.

    Example: `tabveil plan --schema schema.yaml --epsilon 1 --rows 50000`
    """
    from tabveil.fitting.forecast import epsilon_at_risk, epsilon_for, forecast, summary_tables

    at_risk = None if max_advantage is None and max_tpr is None else (max_advantage, max_tpr)
    if [epsilon, want_error, at_risk].count(None) != 2:
        raise InvalidInput(
            "A plan needs one of three things: an ε, a wanted error, or what may be risked.",
            "Give --epsilon, or --want-error, or --max-advantage and --max-tpr.",
        )
    if file:
        require_new(file)
    declared = tv.Schema.load(schema)
    declared = declared.with_targets(tuple(targets)) if targets else declared
    settings: dict[str, Any] = {
        "delta": delta,
        "rows": rows,
        "relation": neighbours,
        "preset": preset.value,
    }
    if want_error is not None:
        found = epsilon_for(declared, want_error, **settings)
    elif at_risk is not None:
        found = epsilon_at_risk(
            declared, advantage=max_advantage, caught=max_tpr, accused=fpr, **settings
        )
    else:
        found = forecast(declared, epsilon or 0.0, **settings)
    if file:
        from tabveil.fitting.forecast_page import forecast_page

        forecast_page(found).save(file)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    for part in summary_tables(found):
        out.print(part)
    if file:
        out.print(f"Wrote {file}. Open it in any browser.", markup=False)
