"""How the cells of a learnt column become codes or numbers, and back, and how they are compared.

A column is learnt as categories (`CategoryCodec`) or as numbers (`NumberCodec`). A category is a
code. A number is a number, and where special or missing values are allowed also a code that says
its kind.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabveil.columns.cells import Codes, Numbers, blank_numbers, by_value, rounded
from tabveil.columns.tokens import Tokens
from tabveil.columns.words import key

OTHER = "OTHER"
MISSING = "missing"


class CellCodec(ABC):
    """What every learnt column can do; quantities are compared and added up on their own line."""

    labels: tuple[str, ...]  # what each code stands for
    nullable: bool  # whether the last code stands for missing cells
    tokens: Tokens = Tokens()  # what stands for a missing cell, beside the empty one
    ruler: str | None  # quantities with the same ruler can be compared; None where cells are none
    decimals: int | None  # of quantities; None where they are not rounded
    summable: bool  # whether quantities can be added up
    ordered: bool = False  # whether the values that cells can have are a list in order

    @property
    def levels(self) -> pa.Array | None:
        """The values that cells can have, where they are a list."""
        return None

    @property
    def missing(self) -> int | None:
        """The code of missing cells, if there can be any."""
        return len(self.labels) - 1 if self.nullable else None

    @abstractmethod
    def knows(self, value: object) -> bool:
        """Whether a value as people write it is one that cells can have."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """The least and the largest quantity."""

    @abstractmethod
    def quantity(self, value: object) -> float:
        """What a text or number of a constraint means on the line; nan if nothing."""

    @abstractmethod
    def on_line(self, codes: Codes, numbers: Numbers) -> Numbers:
        """Cells as quantities; nan where there is none."""

    @abstractmethod
    def from_line(self, quantities: Numbers) -> tuple[Codes, Numbers]:
        """The cells nearest to these quantities."""

    @abstractmethod
    def above(self, quantities: Numbers, *, strict: bool) -> Numbers:
        """The least quantity of the column that is not below (or is above) each of these."""

    @abstractmethod
    def below(self, quantities: Numbers, *, strict: bool) -> Numbers:
        """The largest quantity of the column that is not above (or is below) each of these."""

    @abstractmethod
    def broken(self, column: pa.ChunkedArray) -> dict[str, int]:
        """Which rules how many cells break, in words without values; for the owner's eyes."""


class CategoryCodec(CellCodec):
    """Cells as codes: first the declared ones, then perhaps OTHER, then perhaps missing.

    Unless a type says otherwise, cells are no quantities: constraints do not compare or add them.
    """

    declared: int  # how many codes stand for something declared
    # labels that are learnt together, by the name of their group
    groups: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    ruler: str | None = None
    decimals = 0
    summable = True

    @abstractmethod
    def encode(self, column: pa.ChunkedArray) -> Codes:
        """The code of every cell, whatever it holds; each by itself."""

    @abstractmethod
    def decode(self, codes: Codes, random: np.random.Generator) -> pa.Array:
        """Cells that these codes stand for."""

    @abstractmethod
    def declared_code(self, value: object) -> int | None:
        """The code of a value as people write it, if it is declared."""

    def knows(self, value: object) -> bool:
        return self.declared_code(value) is not None

    @property
    def bounds(self) -> tuple[float, float]:
        return math.nan, math.nan

    def quantity(self, value: object) -> float:
        return math.nan

    def on_line(self, codes: Codes, numbers: Numbers) -> Numbers:
        return np.full(len(codes), math.nan)

    def from_line(self, quantities: Numbers) -> tuple[Codes, Numbers]:
        return np.zeros(len(quantities), np.int32), quantities

    def above(self, quantities: Numbers, *, strict: bool) -> Numbers:
        return quantities

    def below(self, quantities: Numbers, *, strict: bool) -> Numbers:
        return quantities


class NumberRule(Protocol):
    """What is public about the numbers that a column is learnt as."""

    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def decimals(self) -> int | None: ...
    @property
    def special_values(self) -> tuple[float, ...]: ...
    @property
    def nullable(self) -> bool: ...


class NumberLine(ABC):
    """How cells are read as numbers and written, and where these lie on the line of quantities."""

    ruler: ClassVar[str]  # lines with the same ruler can be compared
    summable: ClassVar[bool] = True
    noun: str  # what cells are, in a message

    @abstractmethod
    def read(self, column: pa.ChunkedArray) -> Numbers:
        """The numbers that cells stand for; nan where there is none."""

    @abstractmethod
    def write(self, numbers: Numbers, missing: NDArray[np.bool_] | None) -> pa.Array:
        """Cells that stand for these numbers."""

    @abstractmethod
    def quantity(self, value: object) -> float:
        """What a text or number of a constraint means; nan if nothing."""

    @abstractmethod
    def words(self, low: float, high: float) -> str:
        """The numbers from `low` to `high` as a reader knows them."""

    def quantities(self, numbers: Numbers) -> Numbers:
        """Where these numbers lie on the line."""
        return numbers

    def numbers(self, quantities: Numbers) -> Numbers:
        """The numbers at these places of the line."""
        return quantities

    def above(self, quantities: Numbers, decimals: int | None, *, strict: bool) -> Numbers:
        """The least quantity with so many decimals that is not below (or is above) each."""
        if decimals is None:
            return np.nextafter(quantities, np.inf) if strict else quantities
        nearest = rounded(quantities, decimals)
        short = (nearest <= quantities) if strict else (nearest < quantities)
        return np.where(short, rounded(nearest + 10.0**-decimals, decimals), nearest)

    def below(self, quantities: Numbers, decimals: int | None, *, strict: bool) -> Numbers:
        """The largest quantity with so many decimals that is not above (or is below) each."""
        if decimals is None:
            return np.nextafter(quantities, -np.inf) if strict else quantities
        nearest = rounded(quantities, decimals)
        long = (nearest >= quantities) if strict else (nearest > quantities)
        return np.where(long, rounded(nearest - 10.0**-decimals, decimals), nearest)


class NumberCodec(CellCodec):
    """Cells as numbers, with kinds where the rule allows special or missing values.

    Kinds are 0 for an ordinary number, 1 and up for each special value, and last for missing.
    """

    def __init__(
        self, rule: NumberRule, line: NumberLine, stated: tuple[object, object], tokens: Tokens
    ) -> None:
        self.rule, self.line, self.tokens = rule, line, tokens
        self.stated = stated  # the bounds as the schema spells them
        self.nullable = rule.nullable
        self.ruler, self.decimals = line.ruler, rule.decimals
        self.summable = line.summable and rule.decimals is not None
        special = tuple(key(value) for value in rule.special_values)
        kinds = ("number", *special, *[MISSING] * rule.nullable)
        self.labels = kinds if len(kinds) > 1 else ()

    def encode(self, column: pa.ChunkedArray) -> tuple[Codes, Numbers]:
        """The kind and the number of every cell, whatever it holds; each by itself."""
        numbers = self.line.read(column)
        absent = np.isnan(numbers) | self._signs(column)
        numbers = np.where(absent, self.rule.min, numbers)
        settled = self.settle(numbers)
        kinds = self._kinds(settled)
        for kind, special in enumerate(self.rule.special_values, start=1):
            kinds[numbers == special] = kind  # what the cell itself says wins over what it became
        if self.missing is not None:
            kinds[absent] = self.missing
        return kinds, settled

    def decode(self, kinds: Codes, numbers: Numbers) -> pa.Array:
        """Cells that these numbers stand for."""
        numbers = self.settle(np.where(np.isnan(numbers), self.rule.min, numbers))
        for kind, special in enumerate(self.rule.special_values, start=1):
            numbers[kinds == kind] = special
        return self.line.write(numbers, kinds == self.missing if self.nullable else None)

    def _signs(self, column: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Which cells are signs for a missing one."""
        if not self.tokens:
            return np.zeros(len(column), bool)
        return by_value(column, self.tokens.among, False)

    def knows(self, value: object) -> bool:
        number = self.line.read(pa.chunked_array([pa.array([key(value)], pa.string())]))[0]
        within = self.rule.min <= number <= self.rule.max
        return bool(within or number in self.rule.special_values)

    def settle(self, numbers: Numbers) -> Numbers:
        """Numbers inside the bounds and rounded to the declared decimals.

        >>> from tabveil.columns import Numerical
        >>> Numerical(min=0, max=9, decimals=1).codec.settle(np.array([-3, 2.26, 50])).tolist()
        [0.0, 2.3, 9.0]
        """
        low, high = self.rule.min, self.rule.max
        settled = np.clip(rounded(np.clip(numbers, low, high), self.rule.decimals), low, high)
        return settled + 0.0  # -0.0 becomes 0.0

    def _kinds(self, numbers: Numbers) -> Codes:
        kinds = np.zeros(len(numbers), np.int32)
        for kind, special in enumerate(self.rule.special_values, start=1):
            kinds[numbers == special] = kind
        return kinds

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.line.quantities(np.array([self.rule.min, self.rule.max], float))
        return float(low), float(high)

    def quantity(self, value: object) -> float:
        return self.line.quantity(value)

    def on_line(self, codes: Codes, numbers: Numbers) -> Numbers:
        """A special value outside the bounds is a code for something else, so it is no quantity."""
        low, high = self.rule.min, self.rule.max
        values = numbers.copy()
        for kind, special in enumerate(self.rule.special_values, start=1):
            values[codes == kind] = special if low <= special <= high else np.nan
        if self.missing is not None:
            values[codes == self.missing] = np.nan
        return self.line.quantities(values)

    def from_line(self, quantities: Numbers) -> tuple[Codes, Numbers]:
        settled = self.settle(self.line.numbers(quantities))
        return self._kinds(settled), settled

    def above(self, quantities: Numbers, *, strict: bool) -> Numbers:
        return self.line.above(quantities, self.decimals, strict=strict)

    def below(self, quantities: Numbers, *, strict: bool) -> Numbers:
        return self.line.below(quantities, self.decimals, strict=strict)

    def broken(self, column: pa.ChunkedArray) -> dict[str, int]:
        rule, numbers, signs = self.rule, self.line.read(column), self._signs(column)
        absent = np.isnan(numbers) | signs
        blank = signs | (absent & by_value(column, blank_numbers, True))
        inside = numbers[~absent & ~np.isin(numbers, rule.special_values)]
        became, (low, high) = "missing" if rule.nullable else "min", self.stated
        broken = {
            "some cells are missing, and it is not nullable (they are read as min)": (
                0 if rule.nullable else blank.sum()
            ),
            f"some cells are not {self.line.noun} (they are read as {became})": (
                absent & ~blank
            ).sum(),
            f"some cells are below min {low} (they are read as min)": (inside < rule.min).sum(),
            f"some cells are above max {high} (they are read as max)": (inside > rule.max).sum(),
            "some numbers have more decimals than declared (they are rounded)": (
                rounded(inside, rule.decimals) != inside
            ).sum(),
        }
        return {text: int(cells) for text, cells in broken.items() if cells}
