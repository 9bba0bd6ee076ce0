"""The types of columns, one file each: how a rule is checked, how cells become codes or numbers,
and back."""

from tabveil.columns.categorical import MISSING, OTHER, Boolean, Categorical, CategoryCodec
from tabveil.columns.ids import Drop, Id
from tabveil.columns.moments import Date, Datetime, Duration, DurationCodec, MomentCodec
from tabveil.columns.numerical import NumberCodec, Numerical
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


def figures_of(rule: Column) -> NumberCodec | None:
    """How a column that is learnt as numbers is read and written; None for other columns."""
    match rule:
        case Numerical():
            return NumberCodec(rule)
        case Datetime():
            return MomentCodec(rule)
        case Duration():
            return DurationCodec(rule)
    return None


__all__ = [
    "MISSING",
    "OTHER",
    "RULES",
    "Boolean",
    "Categorical",
    "CategoryCodec",
    "Column",
    "Date",
    "Datetime",
    "Drop",
    "Duration",
    "DurationCodec",
    "Id",
    "MomentCodec",
    "NumberCodec",
    "Numerical",
    "figures_of",
]
