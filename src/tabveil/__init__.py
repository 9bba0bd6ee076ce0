"""Differentially private synthetic tables, with numbers that stay numbers.

>>> import tabveil as tv
>>> model = tv.RAPpp(schema, epsilon=1.0, targets=["income"]).fit(frame)  # doctest: +SKIP
>>> synthetic = model.sample(10_000)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tabveil.errors import BudgetExceeded, InvalidInput, LedgerDamaged, TabveilError
    from tabveil.fitting.synthesizer import RAP, RAPpp
    from tabveil.metrics import evaluate
    from tabveil.privacy import Budget, Ledger, Relation
    from tabveil.release import Release
    from tabveil.report import plot
    from tabveil.schema import Categorical, Numerical, Schema

    load = Release.load

ROOMS = {
    "errors": ("BudgetExceeded", "InvalidInput", "LedgerDamaged", "TabveilError"),
    "fitting.synthesizer": ("RAP", "RAPpp"),
    "metrics": ("evaluate",),
    "privacy": ("Budget", "Ledger", "Relation"),
    "release": ("Release",),
    "schema": ("Categorical", "Numerical", "Schema"),
}
"""Where public names live. They are loaded when they are first used, so that a device can be woken
before."""


def __getattr__(name: str) -> Any:
    if name == "load":
        return import_module("tabveil.release").Release.load
    if name == "plot":
        return import_module("tabveil.report.plot")
    for room, names in ROOMS.items():
        if name in names:
            return getattr(import_module(f"tabveil.{room}"), name)
    raise AttributeError(f"tabveil has no {name}.")


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "RAP",
    "Budget",
    "BudgetExceeded",
    "Categorical",
    "InvalidInput",
    "Ledger",
    "LedgerDamaged",
    "Numerical",
    "RAPpp",
    "Relation",
    "Release",
    "Schema",
    "TabveilError",
    "evaluate",
    "load",
    "plot",
]
