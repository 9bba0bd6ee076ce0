"""Tables as arrays: every cell becomes a code or a number the schema allows, and back.

Encoding is total and row-wise: no cell content raises, and what a row becomes depends on that row alone.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabveil.schema import Categorical, Numerical, Schema, key, kind_axis

OTHER = "OTHER"
MISSING = "missing"
Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]

# Texts that YAML reads as true and false, so that `values: [yes, no]` means what it says.
TRUTHS = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}
EXACT = 2.0**51  # below this, a scaled number rounds to the same decimal every time


@dataclass(frozen=True)
class Axis:
    """One categorical column of an encoded table; code i stands for the label at place i."""

    name: str
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.labels)


@dataclass(frozen=True)
class Domain:
    """The shape of encoded tables; it follows from the schema alone."""

    axes: tuple[Axis, ...]
    numerical: tuple[str, ...]
    targets: tuple[int, ...]  # places in `axes`

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each axis has."""
        return tuple(axis.size for axis in self.axes)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each axis starts when all one-hot codes stand side by side."""
        return tuple(itertools.accumulate(self.sizes, initial=0))[:-1]

    @property
    def cells(self) -> int:
        """How wide all one-hot codes are side by side."""
        return sum(self.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows as codes [rows, axes] and numbers [rows, numerical]."""

    codes: Codes
    numbers: Numbers

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    def __repr__(self) -> str:
        # The number of rows may be private, so it is not shown.
        return f"Table({self.codes.shape[1]} axes, {self.numbers.shape[1]} numerical columns)"


class Codec:
    """Translates between Arrow tables and encoded tables, by the schema alone."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._labels: dict[str, Labels] = {}
        self._figures: dict[str, Figures] = {}
        for name, rule in schema.columns.items():
            if isinstance(rule, Categorical):
                self._labels[name] = Labels(rule)
            else:
                self._figures[name] = Figures(rule)
        self.domain = self._domain()

    def _domain(self) -> Domain:
        declared = [Axis(name, labels.names()) for name, labels in self._labels.items()]
        kinds = [
            Axis(kind_axis(name), figures.kind_names())
            for name, figures in self._figures.items()
            if figures.kinds
        ]
        names = list(self._labels)
        targets = tuple(names.index(target) for target in self.schema.targets)
        return Domain((*declared, *kinds), tuple(self._figures), targets)

    def encode(self, arrow: pa.Table) -> Table:
        """Codes and numbers of a table that has at least the schema's columns."""
        codes = [labels.encode(arrow.column(name)) for name, labels in self._labels.items()]
        numbers = []
        for name, figures in self._figures.items():
            column, kinds = figures.encode(arrow.column(name))
            numbers.append(column)
            if figures.kinds:
                codes.append(kinds)
        rows = arrow.num_rows
        return Table(_side_by_side(codes, rows, np.int32), _side_by_side(numbers, rows, np.float64))

    def decode(self, table: Table) -> pa.Table:
        """The Arrow table in schema order; its column types depend on the schema only."""
        columns = {
            name: labels.decode(table.codes[:, place])
            for place, (name, labels) in enumerate(self._labels.items())
        }
        kind_place = len(self._labels)
        for place, (name, figures) in enumerate(self._figures.items()):
            kinds = table.codes[:, kind_place] if figures.kinds else np.zeros(table.rows, np.int32)
            kind_place += bool(figures.kinds)
            columns[name] = figures.decode(table.numbers[:, place], kinds)
        return pa.table({name: columns[name] for name in self.schema.columns})


def _side_by_side(columns: list[NDArray], rows: int, dtype: type) -> NDArray:
    matrix: NDArray = np.empty((rows, len(columns)), dtype)
    for place, column in enumerate(columns):
        matrix[:, place] = column
    return matrix


class Labels:
    """A categorical column: codes are the declared values, then OTHER, then missing."""

    def __init__(self, rule: Categorical) -> None:
        self.rule = rule
        self.code_of = {key(value): code for code, value in enumerate(rule.values)}
        self.is_number = [
            isinstance(value, int | float) and not isinstance(value, bool) for value in rule.values
        ]
        self.is_truth = [isinstance(value, bool) for value in rule.values]
        self.size = len(rule.values) + rule.other + rule.nullable
        other, last = len(rule.values), self.size - 1
        self.missing = last if rule.nullable else other if rule.other else 0
        self.undeclared = other if rule.other else last if rule.nullable else 0

    def names(self) -> tuple[str, ...]:
        declared = (key(value) for value in self.rule.values)
        return (*declared, *[OTHER] * self.rule.other, *[MISSING] * self.rule.nullable)

    def encode(self, column: pa.ChunkedArray) -> Codes:
        return spread(
            column,
            lambda values: np.array([self.code(v) for v in values.to_pylist()], np.int32),
            self.missing,
        )

    def code(self, value: int | float | bytes | None) -> int:
        """The code of one plain value (see `plain`)."""
        code = self.declared(value)
        if code is not None:
            return code
        return self.missing if is_missing(value) else self.undeclared

    def declared(self, value: int | float | bytes | None) -> int | None:
        """The place of a plain value in the declared list, or None."""
        if value is None or value != value:
            return None
        text = key(value)
        if text in self.code_of:
            return self.code_of[text]
        if not isinstance(value, bytes):
            return None
        # A text that spells a declared number ("1.0" for 1) or truth ("True" for true).
        number = number_in(text)
        code = self.code_of.get(key(number)) if math.isfinite(number) else None
        if code is not None and self.is_number[code]:
            return code
        code = self.code_of.get(TRUTHS.get(text.lower(), ""))
        return code if code is not None and self.is_truth[code] else None

    def decode(self, codes: Codes) -> pa.Array:
        values = list(self.rule.values) + [OTHER] * self.rule.other + [None] * self.rule.nullable
        arrow_type = self._arrow_type()
        if arrow_type == pa.string():
            values = [None if value is None else key(value) for value in values]
        if arrow_type == pa.float64():
            values = [None if value is None else float(value) for value in values]
        return pa.array(values, arrow_type).take(pa.array(codes))

    def _arrow_type(self) -> pa.DataType:
        values = self.rule.values
        if self.rule.other:
            return pa.string()
        if all(self.is_truth):
            return pa.bool_()
        if not all(self.is_number) or any(abs(value) >= 2**63 for value in values):  # type: ignore[arg-type]
            return pa.string()
        return pa.int64() if all(isinstance(value, int) for value in values) else pa.float64()


class Figures:
    """A numerical column, with kinds where the schema allows special or missing values.

    Kinds are 0 for an ordinary number, 1 and up for each special value, and last for missing.
    """

    def __init__(self, rule: Numerical) -> None:
        self.rule = rule
        kinds = 1 + len(rule.special_values) + rule.nullable
        self.kinds = kinds if kinds > 1 else 0

    def kind_names(self) -> tuple[str, ...]:
        special = (key(value) for value in self.rule.special_values)
        return ("number", *special, *[MISSING] * self.rule.nullable)

    def encode(self, column: pa.ChunkedArray) -> tuple[Numbers, Codes]:
        numbers = numbers_in(column)
        missing = np.isnan(numbers)
        numbers = np.where(missing, self.rule.min, numbers)
        settled = self.settle(numbers)
        kinds = np.zeros(len(numbers), np.int32)
        for cells in (settled, numbers):  # what the cell itself says wins over what it became
            for kind, special in enumerate(self.rule.special_values, start=1):
                kinds[cells == special] = kind
        if self.rule.nullable:
            kinds[missing] = self.kinds - 1
        return settled, kinds

    def decode(self, numbers: Numbers, kinds: Codes) -> pa.Array:
        numbers = self.settle(np.where(np.isnan(numbers), self.rule.min, numbers))
        for kind, special in enumerate(self.rule.special_values, start=1):
            numbers[kinds == kind] = special
        whole = numbers.astype(np.int64) if self._is_whole() else numbers
        mask = (kinds == self.kinds - 1) if self.rule.nullable else None
        return pa.array(whole, mask=mask)

    def settle(self, numbers: Numbers) -> Numbers:
        """Numbers inside the bounds and rounded to the declared decimals."""
        low, high = self.rule.min, self.rule.max
        settled = np.clip(rounded(np.clip(numbers, low, high), self.rule.decimals), low, high)
        return settled + 0.0  # -0.0 becomes 0.0

    def _is_whole(self) -> bool:
        stated = (self.rule.min, self.rule.max, *self.rule.special_values)
        return self.rule.decimals == 0 and all(
            number.is_integer() and abs(number) < 2.0**63 for number in stated
        )


def rounded(numbers: Numbers, decimals: int | None) -> Numbers:
    """Each number at the nearest multiple of 10^-decimals; numbers too large to have decimals stay."""
    if decimals is None:
        return numbers
    with np.errstate(over="ignore"):
        scaled = numbers * 10.0**decimals
    return np.where(np.abs(scaled) < EXACT, np.rint(scaled) / 10.0**decimals, numbers)


def numbers_in(column: pa.ChunkedArray) -> Numbers:
    """The numbers of a column of any type; what is no number is nan."""
    chunks = [
        _as_numbers(plain(chunk)) if _is_number(chunk.type) else _spread_chunk(chunk, _as_numbers, math.nan)
        for chunk in column.chunks
    ]
    return np.concatenate([np.empty(0), *chunks])


def number_in(text: str) -> float:
    """The number that a text spells, or nan; true is 1 and false is 0."""
    try:
        return float(text) if "_" not in text else math.nan  # Python reads 1_000 as a number
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(text.lower(), math.nan)


def is_missing(value: int | float | bytes | None) -> bool:
    """Whether a plain value counts as a missing cell: null, nan or the empty text."""
    return value is None or value == b"" or value != value


def spread(column: pa.ChunkedArray, answer: Callable[[pa.Array], NDArray], missing: float) -> NDArray:
    """Answer once per distinct value and spread the answers over the rows."""
    chunks = [_spread_chunk(chunk, answer, missing) for chunk in column.chunks]
    return np.concatenate(chunks or [answer(pa.array([], pa.large_binary()))])


def _spread_chunk(chunk: pa.Array, answer: Callable[[pa.Array], NDArray], missing: float) -> NDArray:
    if not pa.types.is_dictionary(chunk.type):
        chunk = plain(chunk).dictionary_encode()
    answers = answer(plain(chunk.dictionary))
    places = chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    return np.append(answers, answers.dtype.type(missing))[places]  # place -1 is the last: missing


def plain(array: pa.Array) -> pa.Array:
    """The same cells as integers, float64 or bytes of text; cells of any other type are null."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if pa.types.is_integer(kind):
        return array
    if pa.types.is_floating(kind):
        return array.cast(pa.float64())
    if _is_text(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_boolean(kind):
        return array.cast(pa.large_string()).cast(pa.large_binary())
    if pa.types.is_decimal(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return _without_zeros(array.cast(pa.large_string()))
    if pa.types.is_timestamp(kind):
        return _without_zeros(array.cast(pa.timestamp(kind.unit)).cast(pa.large_string()))  # in UTC
    return pa.nulls(len(array), pa.large_binary())


def _is_text(kind: pa.DataType) -> bool:
    checks = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return any(check(kind) for check in checks)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _without_zeros(texts: pa.Array) -> pa.Array:
    """Decimals and times without trailing zeros, and dates without midnight, as `schema.key` writes them."""
    texts = pc.replace_substring_regex(texts, r"(\.\d*[1-9])0+$", r"\1")
    texts = pc.replace_substring_regex(texts, r"( 00:00:00)?(\.0+)?$", "")
    return texts.cast(pa.large_binary())


def _as_numbers(values: pa.Array) -> Numbers:
    """Plain values as float64, with nan where there is no number."""
    if _is_number(values.type):
        return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    texts = (b"" if text is None else text for text in values.to_pylist())
    return np.fromiter(
        (number_in(text.decode("utf-8", "replace")) for text in texts), np.float64, len(values)
    )
