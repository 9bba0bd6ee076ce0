"""What constraints rule out, as evidence: cells of cross-tables that no row can be in.

A constraint is public, so this costs nothing. It is knowledge: rows that come out consistent need
no repair, and what they may not be says something of what they are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tabveil.queries import Pairs, QueryFamily
from tabveil.queries.layout import CutColumn
from tabveil.release.repair import EditableRows, Repair
from tabveil.schema import Schema, kind_axis
from tabveil.schema.constraints import AddsUp, Compares, Constraint, Determines
from tabveil.shapes import Bool, Float, Int, Shaped
from tabveil.tables.placement import Interval, Ranks
from tabveil.tables.table import Codec, Grouping, Table

MOST_EXAMPLES = 2**18  # rows that are tried for one constraint


ENDS: dict[str, Callable[[float, float], tuple[float, ...]]] = {
    "<": lambda below, through: (below,),
    ">=": lambda below, through: (below,),
    "<=": lambda below, through: (through,),
    ">": lambda below, through: (through,),
    "==": lambda below, through: (below, through),
    "!=": lambda below, through: (below, through),
}
"""Where a comparison turns, given the shares of rows below a number and up to it."""


class Examples(NamedTuple):
    """Cells of one column, and for each some values that all others in it lie between."""

    cell: np.ndarray
    code: np.ndarray
    number: np.ndarray


@dataclass(frozen=True)
class Impossible:
    """The constraints of a schema, asked of the cells of cross-tables."""

    schema: Schema
    groupings: Mapping[str, Grouping]

    def zeros(self, pairs: Pairs, push: float, weight: float) -> "Zeros":
        """The cells that no row can be in, asked to hold `push` less than nothing."""
        masks: dict[int, np.ndarray] = {}
        for constraint in self.schema.parsed_constraints:
            for place, mask in self._ruled_out(constraint, pairs):
                masks[place] = masks[place] | mask if place in masks else mask
        picks = np.array([place for place, mask in masks.items() if mask.any()], int)
        cells = np.zeros((len(picks), pairs.width), bool)
        for line, place in zip(cells, picks.tolist(), strict=True):
            line[: masks[place].size] = masks[place].ravel()
        return Zeros(pairs, picks, cells, push, weight)

    def turning_points(self, ranks: Ranks) -> dict[int, list[float]]:
        """For each number, the shares of rows at which a constraint begins or ends to hold."""
        found: dict[int, list[float]] = {}
        numbers = list(self.schema.numbers)
        for constraint in self.schema.parsed_constraints:
            for claim in (*constraint.conditions, constraint.claim):
                if isinstance(claim, Compares) and not isinstance(claim.other, str):
                    codec = self.schema.codecs[claim.column]
                    if claim.column in numbers:
                        _, [number] = codec.from_line(np.array([claim.other]))
                        below, through = ranks.span(numbers.index(claim.column), number, number)
                        ends = ENDS[claim.sign](below, through)
                        found.setdefault(numbers.index(claim.column), []).extend(ends)
        return found

    def _ruled_out(
        self, constraint: Constraint, pairs: Pairs
    ) -> Iterator[tuple[int, Bool[np.ndarray, "..."]]]:
        """The cross-table of a constraint's columns, if there is one, and which cells break it."""
        claims = (*constraint.conditions, constraint.claim)
        names = set().union(*(claim.columns for claim in claims))
        if not _decided_by_ends(constraint):
            return
        for place, query in enumerate(pairs.layout.queries):
            columns = pairs.columns_of(query)
            if {column.name for column in columns} != names:
                continue
            examples = [self._examples(column) for column in columns]
            if np.prod([len(e.cell) for e in examples], dtype=float) <= MOST_EXAMPLES:
                yield place, self._broken(constraint, columns, examples)
            return

    def _examples(self, column: CutColumn) -> Examples:
        """Every value of a category; special values of a number, and the ends of its bins."""
        if column.name in self.schema.categories:
            grouping = self.groupings.get(column.name)
            codes = np.arange(len(self.schema.categories[column.name].labels))
            cells = codes if grouping is None else grouping.group
            return Examples(cells, codes, np.zeros(len(codes)))
        bins = [part for part in column.labels if isinstance(part, Interval)]
        apart = len(column.labels) - len(bins)
        special, inside = np.arange(apart), np.arange(apart, len(column.labels))
        ends = np.array([end for part in bins for end in (part.low, part.high)])
        return Examples(
            np.concatenate([special, np.repeat(inside, 2)]),
            np.concatenate([special + 1, np.zeros(2 * len(bins), int)]),
            np.concatenate([np.zeros(apart), ends]),
        )

    def _broken(
        self, constraint: Constraint, columns: list[CutColumn], examples: list[Examples]
    ) -> Bool[np.ndarray, "..."]:
        """The cells in which every example breaks the constraint."""
        domain = Codec(self.schema).domain
        grid = np.meshgrid(*(np.arange(len(e.cell)) for e in examples), indexing="ij")
        which = [place.ravel() for place in grid]
        table = Table(
            np.zeros((len(which[0]), len(domain.axes)), np.int32),
            np.zeros((len(which[0]), len(domain.numerical))),
        )
        axes = {axis.name: place for place, axis in enumerate(domain.axes)}
        for column, found, chosen in zip(columns, examples, which, strict=True):
            axis = axes.get(column.name, axes.get(kind_axis(column.name)))
            if axis is not None:
                table.codes[:, axis] = found.code[chosen]
            if column.name in domain.numerical:
                table.numbers[:, domain.numerical.index(column.name)] = found.number[chosen]
        broken = Repair(self.schema).broken(EditableRows(self.schema, table), constraint)
        shape = tuple(len(column.labels) for column in columns)
        cells = tuple(found.cell[chosen] for found, chosen in zip(examples, which, strict=True))
        all_broken = np.ones(shape, bool)
        np.logical_and.at(all_broken, cells, broken)
        return all_broken


@dataclass(frozen=True)
class Zeros:
    """Cells that no row can be in. They are asked to hold a bit less than nothing.

    A square pulls hardly at all on what is nearly nothing; towards below nothing, it still does.
    """

    family: QueryFamily
    picks: Int[np.ndarray, " picks"]
    cells: Bool[np.ndarray, "picks width"]
    push: float  # below nothing, as a share of all rows
    weight: float

    @property
    def shares(self) -> Float[np.ndarray, "picks width"]:
        """What they are asked to hold."""
        return np.full(self.cells.shape, -self.push, np.float32)

    @property
    def weights(self) -> Float[np.ndarray, "picks width"]:
        """Nothing is said of other cells."""
        return self.cells * np.float32(self.weight)

    def imposed(
        self,
        picks: Int[np.ndarray, " asked"],
        shares: Float[np.ndarray, "asked width"],
        weights: Shaped[np.ndarray, "asked width"],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Measured shares and weights, but for these cells: of them more is known."""
        mine = {place: line for line, place in enumerate(self.picks.tolist())}
        known = [mine.get(pick, -1) for pick in np.asarray(picks).tolist()]
        cells = np.array(
            [self.cells[k] if k >= 0 else np.zeros_like(shares[0], bool) for k in known]
        )
        return np.where(cells, -self.push, shares), np.where(cells, self.weight, weights)


def _decided_by_ends(constraint: Constraint) -> bool:
    """Whether a cell whose ends all break it is broken throughout: what breaks it is convex."""
    unequal = any(isinstance(c, Compares) and c.sign == "!=" for c in constraint.conditions)
    claim = constraint.claim
    equal = isinstance(claim, Compares) and claim.sign == "=="
    return not (unequal or equal or isinstance(claim, AddsUp | Determines))
