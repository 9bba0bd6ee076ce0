"""Differentially private synthetic tables, with numbers that stay numbers.

>>> import tabveil as tv
>>> model = tv.RAPpp(schema, epsilon=1.0, targets=["income"]).fit(frame)  # doctest: +SKIP
>>> synthetic = model.sample(10_000)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what ROOMS says, for those who read types; `tests/test_names.py` compares them
    from tabveil.columns import Boolean as Boolean
    from tabveil.columns import Categorical as Categorical
    from tabveil.columns import Date as Date
    from tabveil.columns import Datetime as Datetime
    from tabveil.columns import Drop as Drop
    from tabveil.columns import Duration as Duration
    from tabveil.columns import Follows as Follows
    from tabveil.columns import Id as Id
    from tabveil.columns import Numerical as Numerical
    from tabveil.columns import Point as Point
    from tabveil.errors import BudgetExceeded as BudgetExceeded
    from tabveil.errors import InvalidInput as InvalidInput
    from tabveil.errors import LedgerDamaged as LedgerDamaged
    from tabveil.errors import TabveilError as TabveilError
    from tabveil.fitting.presets import Default as Default
    from tabveil.fitting.presets import Effort as Effort
    from tabveil.fitting.presets import Paper as Paper
    from tabveil.fitting.presets import PaperEffort as PaperEffort
    from tabveil.fitting.presets import Structure as Structure
    from tabveil.fitting.synthesizer import RAP as RAP
    from tabveil.fitting.synthesizer import RAPpp as RAPpp
    from tabveil.metrics import evaluate as evaluate
    from tabveil.privacy import Budget as Budget
    from tabveil.privacy import Ledger as Ledger
    from tabveil.privacy import Relation as Relation
    from tabveil.release import Release as Release
    from tabveil.release import load as load
    from tabveil.report import plot as plot
    from tabveil.schema import Schema as Schema

ROOMS = {
    "columns": (
        "Boolean",
        "Categorical",
        "Date",
        "Datetime",
        "Drop",
        "Duration",
        "Follows",
        "Id",
        "Numerical",
        "Point",
    ),
    "errors": ("BudgetExceeded", "InvalidInput", "LedgerDamaged", "TabveilError"),
    "fitting.presets": ("Default", "Effort", "Paper", "PaperEffort", "Structure"),
    "fitting.synthesizer": ("RAP", "RAPpp"),
    "metrics": ("evaluate",),
    "privacy": ("Budget", "Ledger", "Relation"),
    "release": ("Release", "load"),
    "report": ("plot",),
    "schema": ("Schema",),
}
"""Where public names live: loaded when first used, so that a device can be woken before."""

HOMES = {name: f"tabveil.{room}" for room, names in ROOMS.items() for name in names}
__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    if not name.startswith("_"):  # a type of column that was added to the list of types
        for kind in import_module("tabveil.columns").RULES.values():
            if kind.__name__ == name:
                return kind
    raise AttributeError(f"tabveil has no {name}.")


def __dir__() -> list[str]:
    return __all__
