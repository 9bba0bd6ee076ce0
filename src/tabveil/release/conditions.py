"""Conditions on synthetic rows, such as sex = F and age from 30 to 40."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabveil.columns import CategoryCodec
from tabveil.columns.words import did_you_mean, shown
from tabveil.errors import InvalidInput
from tabveil.schema import Schema, kind_axis
from tabveil.schema.constraints import Compares, Constraint, Missing, OneOf, code_of
from tabveil.tables.numbers import RelaxedNumbers
from tabveil.tables.placement import Placement
from tabveil.tables.table import Codec

HINT = "For example sex=F, sex=F|M, age=30..40 or wage=missing."


@dataclass(frozen=True)
class Condition:
    """What one column must be: some codes, a range of numbers, or missing."""

    column: str
    codes: frozenset[int] = frozenset()
    low: float = 0.0  # on the line that the column is compared on
    high: float = 0.0
    missing: bool = False


def conditions_of(where: Mapping[str, Any] | None, schema: Schema) -> tuple[Condition, ...]:
    """The conditions in a mapping from columns to a value, a list of values or (low, high)."""
    return tuple(_condition(name, wanted, schema) for name, wanted in (where or {}).items())


def spelled_conditions(texts: Sequence[str], schema: Schema) -> dict[str, Any]:
    """The mapping behind texts such as sex=F, age=30..40 and wage=missing."""
    where: dict[str, Any] = {}
    for text in texts:
        name, sign, wanted = text.partition("=")
        name = name.strip()
        if not sign or name not in schema.columns:
            raise InvalidInput(f"The condition {shown(text)} names no column of the release.", HINT)
        wanted = wanted.strip()
        if name in where:
            raise InvalidInput(
                f"There are two conditions on {shown(name)}.", "Give one per column."
            )
        declared = name in schema.categories
        low, dots, high = wanted.partition("..")
        if wanted == "missing" and schema.columns[name].nullable:
            where[name] = None
        elif declared:
            where[name] = wanted.split("|") if "|" in wanted else wanted
        else:
            where[name] = (low, high) if dots else wanted
    return where


def _condition(name: str, wanted: Any, schema: Schema) -> Condition:
    codec = schema.codecs.get(name)
    if codec is None:
        raise InvalidInput(
            f"The condition on {shown(str(name))} names no column that was learnt.",
            did_you_mean(str(name), schema.learnt),
        )
    if wanted is None or (isinstance(wanted, str) and codec.tokens.stand_for(wanted.encode())):
        if not codec.nullable:
            raise InvalidInput(
                f"{shown(name)} is never missing in this release.", "Drop the condition."
            )
        return Condition(name, missing=True)
    if isinstance(codec, CategoryCodec):
        values = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
        return Condition(name, codes=frozenset(code_of(name, codec, value) for value in values))
    ends = wanted if isinstance(wanted, tuple | list) else (wanted, wanted)
    low, high = (codec.quantity(end) for end in ends) if len(ends) == 2 else (np.nan, np.nan)
    if not low <= high:
        raise InvalidInput(
            f"The condition on {shown(name)} is not a range from a number to a larger one.", HINT
        )
    return Condition(name, low=low, high=high)


def claims_of(conditions: Sequence[Condition], schema: Schema) -> list[Constraint]:
    """What every row must then obey, also after repairs."""
    claims: list[Constraint] = []
    for condition in conditions:
        name, text = condition.column, f"the condition on {condition.column}"
        if schema.columns[name].nullable:
            claims.append(Constraint(text, (), Missing(name, empty=condition.missing)))
        if condition.codes:
            claims.append(Constraint(text, (), OneOf(name, condition.codes)))
        elif not condition.missing:
            claims.append(Constraint(text, (), Compares(name, ">=", condition.low)))
            claims.append(Constraint(text, (), Compares(name, "<=", condition.high)))
    return claims


class Chances:
    """How likely each relaxed row meets the conditions, and what it then looks like."""

    def __init__(
        self,
        conditions: Sequence[Condition],
        codec: Codec,
        placement: Placement,
        probabilities: np.ndarray,
        numbers: RelaxedNumbers,
        weights: np.ndarray | None = None,
    ) -> None:
        self.codec, self.placement = codec, placement
        self.probabilities = probabilities.astype(np.float64) if conditions else probabilities
        self.numbers = numbers
        self.weights = np.ones(probabilities.shape[1]) if weights is None else weights
        self.allowed: dict[str, np.ndarray] = {}  # weights of values behind codes of groups
        for condition in conditions:
            self.weights = self.weights * self._met(condition)

    @property
    def effective_rows(self) -> float:
        """(Σw)²/Σw²: how many equally likely relaxed rows the conditions leave."""
        total = self.weights.sum()
        return float(total**2 / (self.weights**2).sum()) if total > 0 else 0.0

    def shares(self, name: str) -> np.ndarray:
        """Which share of all rows each code of a categorical column will have."""
        start, size = self._place(name)
        part = self.probabilities[start : start + size]
        whole = np.maximum(part.sum(axis=0), 1e-300)
        codes = part / whole @ (self.weights / self.weights.sum())
        grouping = self.codec.groupings.get(name)
        if grouping is None:
            return codes
        inside = grouping.chances * self.allowed.get(name, 1.0)
        groups = np.bincount(grouping.group, inside, minlength=size)[grouping.group]
        return codes[grouping.group] * inside / np.maximum(groups, 1e-300)

    def scale(self, name: str, factors: np.ndarray) -> None:
        """Make each code of a categorical column so many times as frequent as it was."""
        self.probabilities = self.probabilities.astype(np.float64, copy=False)
        grouping = self.codec.groupings.get(name)
        if grouping is not None:
            before = grouping.chances * self.allowed.get(name, 1.0)
            self.allowed[name] = self.allowed.get(name, 1.0) * factors
            after = grouping.chances * self.allowed[name]
            sums = [np.bincount(grouping.group, w, len(grouping.names)) for w in (after, before)]
            factors = sums[0] / np.maximum(sums[1], 1e-300)
        self.weights = self.weights * self._scaled(name, factors[:, None])

    def _met(self, condition: Condition) -> np.ndarray:
        schema = self.codec.schema
        if condition.codes:
            return self._one_of(condition)
        if condition.missing:
            declared = condition.column in schema.categories
            axis = condition.column if declared else kind_axis(condition.column)
            return self._only(axis, [self._size(axis) - 1])
        return self._between(condition)

    def _one_of(self, condition: Condition) -> np.ndarray:
        name = condition.column
        grouping = self.codec.groupings.get(name)
        if grouping is None:
            return self._only(name, condition.codes)
        self.allowed[name] = np.isin(np.arange(len(grouping.group)), list(condition.codes))
        whole = np.bincount(grouping.group, grouping.chances, minlength=len(grouping.names))
        inside = np.bincount(
            grouping.group, grouping.chances * self.allowed[name], minlength=len(grouping.names)
        )
        return self._scaled(name, (inside / whole)[:, None])

    def _between(self, condition: Condition) -> np.ndarray:
        name, schema = condition.column, self.codec.schema
        codec = schema.number_codecs[name]
        rule = codec.rule
        low, high = codec.line.numbers(np.array([condition.low, condition.high])).tolist()
        column = self.codec.domain.numerical.index(name)
        start, stop = self.placement.span(column, max(low, rule.min), min(high, rule.max))
        share, self.numbers = self.numbers.between(column, start, stop)
        if not (low <= rule.max and high >= rule.min):
            share = np.zeros_like(share)
        if not (rule.special_values or rule.nullable):
            return share
        kinds = [share, *(np.full_like(share, low <= s <= high) for s in rule.special_values)]
        kinds += [np.zeros_like(share)] * rule.nullable
        return self._scaled(kind_axis(name), np.array(kinds))

    def _only(self, axis: str, codes: Any) -> np.ndarray:
        return self._scaled(axis, np.isin(np.arange(self._size(axis)), list(codes))[:, None])

    def _scaled(self, axis: str, factors: np.ndarray) -> np.ndarray:
        """Scale the probabilities of an axis; gives what is left of each row's whole."""
        start, size = self._place(axis)
        part = slice(start, start + size)
        before = self.probabilities[part].sum(axis=0)
        self.probabilities[part] *= factors
        return self.probabilities[part].sum(axis=0) / np.maximum(before, 1e-12)

    def _size(self, axis: str) -> int:
        return self._place(axis)[1]

    def _place(self, axis: str) -> tuple[int, int]:
        """Where the cells of an axis begin, and how many there are."""
        domain = self.codec.domain
        place = [a.name for a in domain.axes].index(axis)
        return domain.offsets[place], domain.sizes[place]
