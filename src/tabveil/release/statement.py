"""The promise of a release in words and numbers: all it cost, and all that counts as public."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from tabveil.privacy import Budget, Door, Mechanism, Promise, Relation, epsilon_of, rounded_up
from tabveil.schema import Schema, shown

PUBLIC = (
    "whether columns came as categories; other types, which readers guess from cells, are not kept",
    "targets, preset, seed, ε, δ and the neighbour relation",
    "the software and its versions",
)
DECLARED = "types, category lists, bounds, decimals and nullability"


def statement(
    promise: Promise, door: Door, schema: Schema, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """What `privacy.json` says. Where the schema was bought, its cost is part of every number.

    ρ of the fit and of the schema add up; what naming values used up of δ comes on top of the δ at
    which ρ is turned into ε (docs/proofs/discovery.md).
    """
    budget, protection, found = promise.budget, promise.protection, schema.found
    for_schema, used = (Fraction(found.rho), found.used) if found else (Fraction(0), 0.0)
    spent = for_schema + door.allowance.spent
    everything = promise
    if found:
        epsilon = epsilon_of(for_schema + budget.rho, budget.delta)
        delta = Fraction(budget.delta) + Fraction(used)
        everything = Promise(Budget(rounded_up(Fraction(epsilon)), rounded_up(delta)), protection)
    private = door.private and (found is None or found.private)
    place, mechanisms = door.allowance.ledger.place, {c.mechanism for c in door.allowance.charges}
    return {
        "private": private,
        "promise": str(everything)
        if private
        else "NOT PRIVATE: the noise of this release was seeded for a test.",
        "epsilon": everything.budget.epsilon,
        "delta": everything.budget.delta,
        "relation": protection.relation.value,
        "unit": protection.unit,
        "max_rows": protection.rows_per_person,
        "rho": str(for_schema + budget.rho),
        "rho_spent": str(spent),
        # `epsilon_of` rounds up; what was spent is within the budget, so ε itself holds too.
        "epsilon_spent": min(everything.budget.epsilon, epsilon_of(spent, budget.delta)),
        "delta_used": used,  # of δ; the rest is where ρ is turned into ε
        "fit": {"epsilon": budget.epsilon, "delta": budget.delta, "rho": str(budget.rho)},
        "schema": found and found.model_dump(include={"epsilon", "delta", "rho"}),
        "bought": list(schema.bought),  # columns whose rules were found in the data
        "mechanisms": sorted({*mechanisms, Mechanism.THRESHOLD.value} if found else mechanisms),
        "assumed_public": [
            *assumed_public(schema, protection.relation),
            *map(_public_table, settings.get("public_tables", ())),
        ],
        "ledger": place and place._asdict(),  # `tabveil ledger verify` compares it with the file
        **settings,
    }


def assumed_public(schema: Schema, relation: Relation) -> list[str]:
    """What was taken as known, and is therefore not protected; what was bought is not among it."""
    bought = schema.bought
    declared = [name for name in schema.columns if name not in bought]
    names = ", ".join(map(shown, declared[:20])) + (", ..." if len(declared) > 20 else "")
    columns = f"column names, {DECLARED} (from the schema)" if not bought else "column names"
    counted = any(total.rows for total in schema.parsed_totals)
    return [
        columns,
        *([f"{DECLARED} of {names} (from the schema)"] if bought and declared else []),
        *PUBLIC,
        *(f"published totals of {total.name}" for total in schema.parsed_totals),
        *(["the number of rows"] if relation is Relation.SUBSTITUTE or counted else []),
    ]


def _public_table(about: Mapping[str, Any]) -> str:
    return f"every row of {about['name']} ({about['rows']:,} rows), which its owner declared public"


def charge_for_schema(schema: Schema) -> list[dict[str, Any]]:
    """What finding the schema cost, as a line of the release's ledger; none if it was declared."""
    if not schema.found:
        return []
    found = schema.found
    return [
        {
            "what": "finding the schema in the data",
            "rho": found.rho,
            "mechanism": Mechanism.THRESHOLD.value,
            "delta": found.used,
            "for": f"A schema with ε = {found.epsilon:g}",
        }
    ]
