"""Tables as arrays: every cell becomes a code or a number the schema allows, and back.

Encoding is total and row-wise: no cell content raises, and what a row becomes depends on that row
alone.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabveil.columns import MISSING
from tabveil.columns.cells import Codes, Numbers
from tabveil.schema import Schema, kind_axis
from tabveil.shapes import Float, Int


@dataclass(frozen=True)
class Axis:
    """One categorical column of an encoded table; code i stands for the label at place i.

    >>> Axis("sex", ("F", "M")).size
    2
    """

    name: str
    labels: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.labels)


@dataclass(frozen=True)
class Domain:
    """The shape of encoded tables; it follows from the schema alone.

    >>> domain = Domain((Axis("sex", ("F", "M")), Axis("city", ("a", "b", "c"))), ("age",), (0,))
    >>> domain.sizes, domain.offsets, domain.cells
    ((2, 3), (0, 2), 5)
    """

    axes: tuple[Axis, ...]
    numerical: tuple[str, ...]
    targets: tuple[int, ...]  # places in `axes`
    strata: tuple[int, ...] = ()  # likewise

    @property
    def crossed(self) -> tuple[int, ...]:
        """The columns that all others are crossed with first: targets and strata."""
        return tuple(dict.fromkeys((*self.targets, *self.strata)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each axis has."""
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each axis starts when all one-hot codes stand side by side."""
        return tuple(itertools.accumulate(self.sizes, initial=0))[:-1]

    @property
    def cells(self) -> int:
        """How wide all one-hot codes are side by side."""
        return sum(self.sizes)

    @cached_property
    def kinds(self) -> tuple[int | None, ...]:
        """For each number, the axis that tells apart its special and missing values, if any."""
        places = {axis.name: place for place, axis in enumerate(self.axes)}
        return tuple(places.get(kind_axis(name)) for name in self.numerical)

    def special(self, number: int) -> tuple[str, ...]:
        """What the special and missing values of a number are called beside its ordinary ones."""
        axis = self.kinds[number]
        labels = () if axis is None else self.axes[axis].labels[1:]
        return tuple(label if label == MISSING else f"special {label}" for label in labels)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows as codes and numbers."""

    codes: Int[np.ndarray, "rows axes"]
    numbers: Float[np.ndarray, "rows numerical"]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    def __repr__(self) -> str:
        # The number of rows may be private, so it is not shown.
        return f"Table({self.codes.shape[1]} axes, {self.numbers.shape[1]} numerical columns)"


@dataclass(frozen=True, eq=False)
class Grouping:
    """Values of one column that share codes, and how often each stands behind its code. Public.

    >>> grouping = Grouping(("a", "rare"), np.array([0, 1, 1], np.int32), np.array([9.0, 3, 1]))
    >>> grouping.drawn(np.array([1, 1, 1, 1]), np.random.default_rng(0)).tolist().count(1)
    3
    """

    names: tuple[str, ...]  # of the codes
    group: Codes  # [values]: the code of each value
    weights: Numbers  # [values]

    def to_dict(self) -> dict:
        """A form for JSON."""
        return {
            "names": list(self.names),
            "group": self.group.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Mapping) -> "Grouping":
        """The grouping that `to_dict` wrote."""
        group, weights = np.array(content["group"], np.int32), np.array(content["weights"], float)
        return cls(tuple(map(str, content["names"])), group, weights)

    def fits(self, values: Sequence[str]) -> bool:
        """Whether this is a whole grouping of so many values; a file may say anything."""
        inside = self.group.shape == self.weights.shape == (len(values),)
        return (
            inside
            and set(self.group.tolist()) == set(range(len(self.names)))
            and bool(np.isfinite(self.weights).all())
        )

    @property
    def chances(self) -> Numbers:
        """How often each value comes, among those of its code; never nothing for a whole code."""
        weights = np.maximum(self.weights, 0.0)
        whole = np.bincount(self.group, weights, minlength=len(self.names))
        return np.where(whole[self.group] > 0, weights, 1.0)

    def drawn(
        self, codes: Codes, random: np.random.Generator, allowed: NDArray[np.bool_] | None = None
    ) -> Codes:
        """A value behind each code, as often as the weights say; only an allowed one, if told."""
        found = np.zeros(len(codes), np.int32)
        chances = self.chances if allowed is None else self.chances * allowed
        for code in np.unique(codes):
            rows = np.nonzero(codes == code)[0]
            values = np.nonzero(self.group == code)[0]
            below = np.cumsum(chances[values])
            # Evenly spread, so that each value comes as often as its weight says, up to rounding.
            levels = (
                random.permutation((np.arange(len(rows)) + random.random()) / len(rows)) * below[-1]
            )
            found[rows] = values[
                np.minimum(np.searchsorted(below, levels, "right"), len(values) - 1)
            ]
        return found


class Codec:
    """Translates between Arrow tables and encoded tables, by the schema alone.

    Columns with more values than can be crossed with everything are given a `Grouping`: a public
    map from their values to fewer codes, and how often each value stands behind its code.
    """

    def __init__(self, schema: Schema, groupings: Mapping[str, Grouping] | None = None) -> None:
        self.schema = schema
        self.groupings = groupings or {}
        self._categories, self._numbers = schema.categories, schema.number_codecs
        self.domain = self._domain()

    def _domain(self) -> Domain:
        declared = [
            Axis(name, self.groupings[name].names if name in self.groupings else codec.labels)
            for name, codec in self._categories.items()
        ]
        kinds = [
            Axis(kind_axis(name), codec.labels)
            for name, codec in self._numbers.items()
            if codec.labels
        ]
        names = list(self._categories)
        targets, strata = (
            tuple(map(names.index, named)) for named in (self.schema.targets, self.schema.strata)
        )
        return Domain((*declared, *kinds), tuple(self._numbers), targets, strata)

    def encode(self, arrow: pa.Table) -> Table:
        """Codes and numbers of a table that has at least the columns that are learnt."""
        codes = [self._codes(name, arrow.column(name)) for name in self._categories]
        numbers = []
        for name, codec in self._numbers.items():
            kinds, column = codec.encode(arrow.column(name))
            numbers.append(column)
            if codec.labels:
                codes.append(kinds)
        rows = arrow.num_rows
        return Table(_side_by_side(codes, rows, np.int32), _side_by_side(numbers, rows, np.float64))

    def _codes(self, name: str, column: pa.ChunkedArray) -> Codes:
        codes = self._categories[name].encode(column)
        return self.groupings[name].group[codes] if name in self.groupings else codes

    def settled(self, table: Table) -> Table:
        """The same rows with every number as it would be written: inside its bounds, rounded."""
        numbers = [
            codec.settle(table.numbers[:, place])
            for place, codec in enumerate(self._numbers.values())
        ]
        return Table(table.codes, _side_by_side(numbers, table.rows, np.float64))

    def grouped(self, table: Table) -> Table:
        """The same rows, each value as the code of its group."""
        codes = table.codes.copy()
        for place, name in enumerate(self._categories):
            if name in self.groupings:
                codes[:, place] = self.groupings[name].group[codes[:, place]]
        return Table(codes, table.numbers)

    def ungrouped(
        self, table: Table, random: np.random.Generator, allowed: Mapping[str, NDArray[np.bool_]]
    ) -> Table:
        """The same rows, a value drawn behind each code of a group; only allowed ones, if told."""
        codes = table.codes.copy()
        for place, name in enumerate(self._categories):
            if name in self.groupings:
                codes[:, place] = self.groupings[name].drawn(
                    codes[:, place], random, allowed.get(name)
                )
        return Table(codes, table.numbers)

    def decode(self, table: Table, random: np.random.Generator | None = None) -> pa.Table:
        """The Arrow table in schema order, of rows without groups; types follow from the schema.

        What the schema leaves open, such as new ids, is drawn from `random`.
        """
        random = random or np.random.default_rng()
        columns: dict[str, pa.Array] = {}
        for place, (name, codec) in enumerate(self._categories.items()):
            columns[name] = codec.decode(table.codes[:, place], random)
        for place, (name, numbers) in enumerate(self._numbers.items()):
            axis = self.domain.kinds[place]
            kinds = np.zeros(table.rows, np.int32) if axis is None else table.codes[:, axis]
            columns[name] = numbers.decode(kinds, table.numbers[:, place])
        for name, rule in self.schema.columns.items():
            new = rule.generated(table.rows, random)
            if new is not None:
                columns[name] = new
        followed = {name: rule.following(columns) for name, rule in self.schema.columns.items()}
        columns |= {name: cells for name, cells in followed.items() if cells is not None}
        return pa.table(
            {
                name: rule.signed(columns[name])
                for name, rule in self.schema.columns.items()
                if name in columns
            }
        )


def _side_by_side(columns: Sequence[NDArray], rows: int, dtype: type) -> NDArray:
    # Columns are read one by one, so each is kept together.
    matrix: NDArray = np.empty((rows, len(columns)), dtype, order="F")
    for place, column in enumerate(columns):
        np.copyto(matrix[:, place], column, casting="same_kind")  # a fraction is no code
    return matrix
