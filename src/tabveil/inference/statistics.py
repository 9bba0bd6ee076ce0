"""Statistics of a table, with the influence that each row has on them."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tabveil.errors import InvalidInput
from tabveil.machine.packages import required
from tabveil.schema import did_you_mean, shown

Read = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Ranked:
    """Numbers of a column, where there are any, and the ranks that are asked for."""

    numbers: np.ndarray
    there: np.ndarray
    levels: np.ndarray

    def reached(self, values: np.ndarray) -> np.ndarray:
        """The shares of rows up to these values."""
        ordered = np.sort(self.numbers[self.there])
        return np.searchsorted(ordered, values, "right") / len(ordered)

    def influence(self, values: np.ndarray) -> np.ndarray:
        """What every row adds to the shares up to these values, [rows, values]."""
        below = self.numbers[:, None] <= values
        own = np.where(self.there[:, None], below - self.reached(values), 0.0)
        return own / self.there.mean()


@dataclass(frozen=True)
class Statistic:
    """Values with a name each, what every row adds to them, and the columns they are made of.

    If the rows had other weights, the values would be `read` at the mean of the influence.
    """

    names: tuple[str, ...]
    influence: np.ndarray  # [rows, values]; over all rows its mean is zero
    columns: frozenset[str]
    read: Read
    ranked: Ranked | None = None  # of quantiles: more is known than the influence says

    @classmethod
    def smooth(
        cls,
        names: Sequence[str],
        values: np.ndarray,
        influence: np.ndarray,
        columns: Collection[str],
    ) -> "Statistic":
        """Values that move as much as the mean of the influence does."""
        return cls(
            tuple(names), influence, frozenset(columns), lambda shifts: np.asarray(values) + shifts
        )

    @property
    def values(self) -> np.ndarray:
        """What the table itself says."""
        return self.read(np.zeros(len(self.names)))

    def minus(self, other: "Statistic", names: Sequence[str]) -> "Statistic":
        """The differences between these values and others of the same table."""
        return Statistic.smooth(
            names,
            self.values - other.values,
            self.influence - other.influence,
            self.columns | other.columns,
        )


def mean(frame: pd.DataFrame, column: str, among: "Rows | None" = None) -> Statistic:
    """The mean of a column of numbers, missing ones left out."""
    numbers, there = _numbers(frame, column)
    there = there & among.inside if among else there
    _require_rows(there, column)
    found = numbers[there].mean()
    influence = np.where(there, numbers - found, 0.0) / there.mean()
    return _named(
        Statistic.smooth([column], np.array([found]), influence[:, None], {column}), among
    )


def shares(frame: pd.DataFrame, columns: Sequence[str], among: "Rows | None" = None) -> Statistic:
    """The share of each combination of values that occurs."""
    names = [_require(frame, column) for column in columns]
    codes, cells = _cells(frame, names)
    order = np.argsort(np.asarray(cells, str), kind="stable")
    there = among.inside if among else np.ones(len(frame), bool)
    _require_rows(there, names[0])
    inside = (codes[:, None] == order) & there[:, None]
    found = inside[there].mean(axis=0)
    influence = np.where(there[:, None], inside - found, 0.0) / there.mean()
    labels = [f"{' × '.join(names)}: {cells[place]}" for place in order]
    return _named(Statistic.smooth(labels, found, influence, names), among)


def quantiles(frame: pd.DataFrame, column: str, levels: Sequence[float]) -> Statistic:
    """Quantiles of a column of numbers; an interval of ranks is read off as one of numbers."""
    numbers, there = _numbers(frame, column)
    wrong = [level for level in levels if not 0 < level < 1]
    if wrong:
        raise InvalidInput(
            f"{wrong[0]:g} is no level of a quantile.", "Give levels between 0 and 1, such as 0.5."
        )
    ranked = Ranked(numbers, there, np.asarray(levels, float))
    ordered = np.sort(numbers[there])
    names = tuple(f"{column}, {level:g} quantile" for level in levels)
    # More rows below than thought: the quantile lies at a lower rank of these rows.
    return Statistic(
        names,
        -ranked.influence(_at(ordered, ranked.levels)),
        frozenset({column}),
        lambda shifts: _at(ordered, ranked.levels + shifts),
        ranked,
    )


def correlation(frame: pd.DataFrame, one: str, other: str) -> Statistic:
    """Pearson's correlation of two numbers, where neither is missing."""
    (first, has_first), (second, has_second) = _numbers(frame, one), _numbers(frame, other)
    there = has_first & has_second
    _require_rows(there, one)
    first, second = (
        (x - x[there].mean()) / max(float(x[there].std()), 1e-300) for x in (first, second)
    )
    found = (first * second)[there].mean()
    own = first * second - found * (first**2 + second**2) / 2
    influence = np.where(there, own, 0.0) / there.mean()
    return Statistic.smooth(
        [f"{one} with {other}"], np.array([found]), influence[:, None], {one, other}
    )


def linear(frame: pd.DataFrame, formula: str) -> Statistic:
    """Coefficients of a linear regression, by least squares."""
    return _regression(
        frame, formula, lambda outcome, design, formulas: formulas.OLS(outcome, design)
    )


def logistic(frame: pd.DataFrame, formula: str) -> Statistic:
    """Coefficients of a logistic regression."""
    return _regression(
        frame,
        formula,
        lambda outcome, design, formulas: formulas.GLM(
            outcome, design, family=formulas.families.Binomial()
        ),
    )


@dataclass(frozen=True)
class Rows:
    """Some rows of a table: those with one value of a column."""

    column: str
    value: Any
    inside: np.ndarray

    @property
    def name(self) -> str:
        return f"{self.column} = {self.value}"


def groups(frame: pd.DataFrame, column: str) -> list[Rows]:
    """The rows of each value of a column, in order; missing cells are in none."""
    cells = frame[_require(frame, column)]
    values = sorted(cells.dropna().unique().tolist(), key=lambda value: (str(type(value)), value))
    return [
        Rows(column, value, (cells == value).to_numpy(bool, na_value=False)) for value in values
    ]


def is_number(frame: pd.DataFrame, column: str) -> bool:
    """Whether means of a column make sense."""
    cells = frame[_require(frame, column)]
    return pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)


def _regression(frame: pd.DataFrame, formula: str, model: Callable[..., Any]) -> Statistic:
    """Coefficients with the influence H⁻¹ x (y − μ), H the mean of the second derivatives."""
    api = required("statsmodels.api", "inference", "Formulas need")
    patsy = required("patsy", "inference", "Formulas need")
    try:
        outcome, design = patsy.dmatrices(formula, _coded(frame), return_type="dataframe")
    except patsy.PatsyError as problem:
        raise InvalidInput(
            f"The formula {shown(formula)} cannot be read: {str(problem).splitlines()[0]}.",
            f'Write e.g. "{frame.columns[0]} ~ {frame.columns[-1]}", with columns of the release.',
        ) from None
    if outcome.shape[1] > 2:
        raise InvalidInput(
            f"The left side of {shown(formula)} has more than two values.",
            "Put a number there, or a comparison such as I(work == 'public').",
        )
    observed = outcome.iloc[:, -1]  # of two categories, or of true and false, the last
    fitted = model(observed, design, api).fit()
    x = np.asarray(design)
    left = np.asarray(observed - fitted.fittedvalues)
    family = getattr(fitted, "family", None)
    curve = np.ones(len(x)) if family is None else family.variance(np.asarray(fitted.fittedvalues))
    bread = np.linalg.pinv((x * curve[:, None]).T @ x / len(x))
    influence = np.zeros((len(frame), x.shape[1]))
    influence[frame.index.get_indexer(design.index)] = (x * left[:, None]) @ bread
    used = {name for name in frame.columns if re.search(rf"\b{re.escape(str(name))}\b", formula)}
    return Statistic.smooth(
        list(design.columns), np.asarray(fitted.params), influence * len(frame) / len(x), used
    )


def _coded(frame: pd.DataFrame) -> pd.DataFrame:
    """The same, with texts as categories, which a formula reads much faster."""
    texts = frame.select_dtypes(["object", "string"])
    return frame.assign(**{str(name): texts[name].astype("category") for name in texts})


def _cells(frame: pd.DataFrame, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Which cell of a cross-table each row is in, and what the cells that occur are called."""
    codes, cells = np.zeros(len(frame), np.int64), [""]
    for name in names:
        own, values = pd.factorize(frame[name].astype("string").fillna("missing"))
        both, codes = np.unique(codes * len(values) + own, return_inverse=True)
        before, last = np.divmod(both, len(values))
        cells = [
            f"{cells[one]} × {values[other]}" if cells[one] else str(values[other])
            for one, other in zip(before.tolist(), last.tolist(), strict=True)
        ]
    return codes, cells


def _named(found: Statistic, among: "Rows | None") -> Statistic:
    """The same, told apart by which rows it is about."""
    if among is None:
        return found
    names = tuple(f"{name} | {among.name}" for name in found.names)
    return replace(found, names=names, columns=found.columns | {among.column})


def _numbers(frame: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a column, and where there are any."""
    if not is_number(frame, column):
        raise InvalidInput(
            f"{shown(column)} is no column of numbers.", "Ask for the shares of its values."
        )
    numbers = frame[column].to_numpy(float, na_value=np.nan)
    return np.nan_to_num(numbers), ~np.isnan(numbers)


def _require(frame: pd.DataFrame, column: str) -> str:
    if column not in frame.columns:
        raise InvalidInput(
            f"There is no column {shown(column)} in this release.",
            did_you_mean(column, list(frame.columns)),
        )
    return column


def _require_rows(there: np.ndarray, column: str) -> None:
    if not there.any():
        raise InvalidInput(
            f"No synthetic row has a value of {shown(column)} here.", "Ask about more of the rows."
        )


def _at(ordered: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The numbers at these ranks."""
    places = np.ceil(np.clip(levels, 0, 1) * len(ordered)).astype(int) - 1
    return ordered[np.clip(places, 0, len(ordered) - 1)]
