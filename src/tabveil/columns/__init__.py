"""Column types, one file each: how rules are checked, cells become codes or numbers, and back."""

from tabveil.columns.categorical import Boolean, Categorical
from tabveil.columns.codec import MISSING, OTHER, CategoryCodec, CellCodec, NumberCodec
from tabveil.columns.follows import Follows
from tabveil.columns.ids import Drop, Id
from tabveil.columns.moments import Date, Datetime, Duration
from tabveil.columns.numerical import Numerical
from tabveil.columns.points import Point
from tabveil.columns.rule import Column

RULES: dict[str, type[Column]] = {
    "categorical": Categorical,
    "boolean": Boolean,
    "numerical": Numerical,
    "datetime": Datetime,
    "date": Date,
    "duration": Duration,
    "point": Point,
    "follows": Follows,
    "id": Id,
    "drop": Drop,
}

__all__ = [
    "MISSING",
    "OTHER",
    "RULES",
    "Boolean",
    "Categorical",
    "CategoryCodec",
    "CellCodec",
    "Column",
    "Date",
    "Datetime",
    "Drop",
    "Duration",
    "Follows",
    "Id",
    "NumberCodec",
    "Numerical",
    "Point",
]
