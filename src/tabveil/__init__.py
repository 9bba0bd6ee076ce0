"""Differentially private synthetic tables, with numbers that stay numbers.

>>> import tabveil as tv
>>> model = tv.RAPpp(schema, epsilon=1.0, targets=["income"]).fit(frame)  # doctest: +SKIP
>>> synthetic = model.sample(10_000)  # doctest: +SKIP
"""

from tabveil import plot
from tabveil.errors import BudgetExceeded, InvalidInput, LedgerDamaged, TabveilError
from tabveil.metrics import evaluate
from tabveil.privacy import Budget, Ledger, Relation
from tabveil.release import Release
from tabveil.schema import Categorical, Numerical, Schema
from tabveil.synthesizer import RAP, RAPpp

load = Release.load

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
