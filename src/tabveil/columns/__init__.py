"""The types of columns, one file each: how a rule is checked, how cells become codes or numbers, and back."""

from tabveil.columns.categorical import MISSING, OTHER, Boolean, Categorical, Labels
from tabveil.columns.ids import Drop, Id
from tabveil.columns.moments import Date, Datetime, Duration, Moments, Spans
from tabveil.columns.numerical import Figures, Numerical
from tabveil.columns.rule import Column

RULES: dict[str, type[Column]] = {
    "categorical": Categorical,
    "boolean": Boolean,
    "numerical": Numerical,
    "datetime": Datetime,
    "date": Date,
    "duration": Duration,
    "id": Id,
    "drop": Drop,
}


def figures_of(rule: Column) -> Figures | None:
    """How a column that is learnt as numbers is read and written; None for other columns."""
    match rule:
        case Numerical():
            return Figures(rule)
        case Datetime():
            return Moments(rule)
        case Duration():
            return Spans(rule)
    return None


__all__ = [
    "MISSING",
    "OTHER",
    "RULES",
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Datetime",
    "Drop",
    "Duration",
    "Figures",
    "Id",
    "Labels",
    "Moments",
    "Numerical",
    "Spans",
    "figures_of",
]
