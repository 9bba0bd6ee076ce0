"""Exact cross-tables of real rows by counting codes: many columns at once, and no floating point.

A row belongs to one cell of each column, so all cross-tables of some columns follow from how often
each combination of their codes occurs. Small columns are packed together into one code, and every
two packs are counted together with the classes of the targets: a few additions per pair of packs
and row, where a product of one-hot rows needs the square of all cells.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, isqrt, prod

import numpy as np

ROOMS = (*((32, 2**power) for power in range(15, 5, -1)), (8, 2**5))
"""Most classes told apart together, and most cells of one count (2^15 stay in a processor's cache).

Large packs are quick to count, and hold much that nobody asks for: many columns get smaller ones.
"""
MOST_FOLDED = 2**23
"""Cells of all counts, where a smaller room allows it: 64 MB, and every thread holds two."""

Pass = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""Targets told apart together, and packs of other columns; every two packs are counted together."""


@dataclass(frozen=True)
class Piece:
    """One count: columns whose codes are combined, and where its cells are in the folded counts."""

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    start: int

    @property
    def stop(self) -> int:
        return self.start + prod(self.shape)


@dataclass(frozen=True)
class Counting:
    """How to count all pairs of columns, for all rows and within each class of each target."""

    sizes: tuple[int, ...]  # cells of each column
    targets: tuple[int, ...]

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """Targets that are told apart together, and at least two packs of the other columns."""
        for most_classes, most_cells in ROOMS:
            passes = self._packed(most_classes, most_cells)
            if self._folded(passes) <= MOST_FOLDED:
                break
        return passes

    def _packed(self, most_classes: int, most_cells: int) -> tuple[Pass, ...]:
        """The passes in so much room; a column that is larger stands alone."""
        found = []
        for together in packed(self.targets, self.sizes, most_classes) or [[]]:
            others = [column for column in range(len(self.sizes)) if column not in together]
            packs = packed(others, self.sizes, isqrt(most_cells // self._width(together)))
            packs += [[]] * (2 - len(packs))
            found.append((tuple(together), tuple(map(tuple, packs))))
        return tuple(found)

    def _folded(self, passes: Sequence[Pass]) -> int:
        """How many cells these passes count."""
        cells = 0
        for together, packs in passes:
            widths = [self._width(pack) for pack in packs]
            pairs = (sum(widths) ** 2 - sum(width**2 for width in widths)) // 2
            cells += self._width(together) * pairs
        return cells

    @cached_property
    def pieces(self) -> tuple[tuple[Piece, ...], ...]:
        """The counts of each pass: every two packs together with the classes."""
        start, found = 0, []
        for together, packs in self.passes:
            line = []
            for one, other in combinations(packs, 2):
                columns = (*together, *one, *other)
                line.append(Piece(columns, tuple(self.sizes[c] for c in columns), start))
                start = line[-1].stop
            found.append(tuple(line))
        return tuple(found)

    @property
    def counts(self) -> int:
        """How many counts every row takes part in."""
        return sum(comb(len(packs), 2) for _, packs in self.passes)

    @property
    def cells(self) -> int:
        """How many numbers the folded counts are."""
        return self.pieces[-1][-1].stop

    def folded(self, codes: Sequence[np.ndarray], rows: int) -> np.ndarray:
        """How often each combination occurs among so many rows, given the codes of each column.

        >>> three = Counting(sizes=(2, 3, 2), targets=(2,))
        >>> three.passes  # the classes of the third are told apart, the others are one pack
        (((2,), ((1, 0), ())),)
        >>> codes = [np.array([0, 1, 1]), np.array([2, 0, 0]), np.array([1, 1, 0])]
        >>> three.folded(codes, 3).reshape(2, 3, 2)[1]  # rows of class 1, by the second and first
        array([[0, 1],
               [0, 0],
               [1, 0]])
        """
        found = np.zeros(self.cells, np.int64)
        index = np.empty(rows, np.int64)
        for (together, packs), pieces in zip(self.passes, self.pieces, strict=True):
            inner = self._combined(codes, together, rows)
            outer = [self._combined(codes, pack, rows) for pack in packs]
            widths = [self._width(pack) for pack in packs]
            begun = [inner * width + code for width, code in zip(widths, outer, strict=True)]
            for (one, other), piece in zip(combinations(range(len(packs)), 2), pieces, strict=True):
                np.multiply(begun[one], widths[other], out=index)
                np.add(index, outer[other], out=index)
                cells = piece.stop - piece.start
                found[piece.start : piece.stop] = np.bincount(index, minlength=cells)
        return found

    def _width(self, columns: Sequence[int]) -> int:
        """How many combinations of these columns there are."""
        return prod(self.sizes[column] for column in columns)

    def _combined(
        self, codes: Sequence[np.ndarray], columns: Sequence[int], rows: int
    ) -> np.ndarray:
        """One code for the combination of several columns."""
        combined = np.zeros(rows, np.int64)
        for column in columns:
            combined *= self.sizes[column]
            combined += codes[column]
        return combined

    def blocks(self, folded: np.ndarray) -> Iterator[tuple[int | None, int, int, np.ndarray]]:
        """Every target (None: all rows) and two columns, with counts [classes, cells, cells]."""
        all_rows: list[int | None] = [None]  # from the first pass alone
        for (together, _), pieces in zip(self.passes, self.pieces, strict=True):
            targets, all_rows = [*all_rows, *together], []
            for piece, (one, other) in _first_with_each_pair(pieces):
                table = folded[piece.start : piece.stop].reshape(piece.shape)
                # All targets at once: far smaller than the piece, and summed over again.
                small, columns = _summed(table, piece.columns, {one, other, *together})
                for target in targets:
                    yield target, one, other, self._block(small, columns, target, one, other)

    def _block(
        self, table: np.ndarray, columns: Sequence[int], target: int | None, one: int, other: int
    ) -> np.ndarray:
        axes = [one, other] if target is None else [target, one, other]
        counts, left = _summed(table, columns, set(axes))
        if len(left) == len(axes):
            block = counts.transpose([left.index(axis) for axis in axes])
            return block if target is not None else block[None]
        place = dict(zip(left, np.ogrid[tuple(map(slice, counts.shape))], strict=True))
        layer = 0 if target is None else place[target]
        classes = 1 if target is None else self.sizes[target]
        block = np.zeros((classes, self.sizes[one], self.sizes[other]), np.int64)
        block[layer, place[one], place[other]] = counts  # the same column twice fills a diagonal
        return block


def _first_with_each_pair(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, tuple[int, int]]]:
    """Every two columns that stand in a piece together, with the first such piece."""
    done: set[tuple[int, int]] = set()
    for piece in pieces:
        for pair in combinations_with_itself(piece.columns):
            if pair not in done:
                done.add(pair)
                yield piece, pair


def _summed(
    table: np.ndarray, columns: Sequence[int], wanted: Collection[int]
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Counts of the wanted columns alone, and the order in which they stand."""
    over = tuple(axis for axis, column in enumerate(columns) if column not in wanted)
    return table.sum(axis=over), tuple(column for column in columns if column in wanted)


def packed(columns: Sequence[int], sizes: Sequence[int], room: int) -> list[list[int]]:
    """Columns together as long as their combinations fit the room; a larger one stays alone."""
    packs: list[list[int]] = []
    widths: list[int] = []
    for column in sorted(columns, key=lambda c: -sizes[c]):
        for place, width in enumerate(widths):
            if width * sizes[column] <= room:
                packs[place].append(column)
                widths[place] *= sizes[column]
                break
        else:
            packs.append([column])
            widths.append(sizes[column])
    return packs


def combinations_with_itself(columns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """All pairs of these columns, smaller number first, and each with itself."""
    for one in columns:
        for other in columns:
            if one <= other:
                yield one, other
