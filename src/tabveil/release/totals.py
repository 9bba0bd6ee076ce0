"""Published totals in every sample: values of few rows are changed until each total is met.

A share of so many rows is seldom a whole number: a cell may hold what comes before or after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabveil.schema.totals import Total

PASSES = 100
CANDIDATES = 256  # rows, or pairs of them, that are tried for a change


@dataclass(eq=False)
class Held:
    """One total, and where the rows stand in it."""

    axes: tuple[int, ...]
    strides: np.ndarray
    low: np.ndarray  # the fewest rows that a cell may hold, and the most
    high: np.ndarray
    cell: np.ndarray  # of each row
    counts: np.ndarray

    @classmethod
    def of(cls, total: Total, names: Sequence[str], codes: np.ndarray) -> "Held":
        """The total among these columns, which may be in any order."""
        axes = tuple(names.index(column) for column in total.columns)
        shape = total.shares.shape
        strides = np.array([int(np.prod(shape[k + 1 :])) for k in range(len(shape))])
        exact = total.shares.ravel() * len(codes)
        cell = codes[:, list(axes)].astype(np.int64) @ strides
        counts = np.bincount(cell, minlength=exact.size)
        return cls(axes, strides, np.floor(exact + 1e-6), np.ceil(exact - 1e-6), cell, counts)

    def off(self, cells: np.ndarray, more: int) -> np.ndarray:
        """How many rows too many or too few cells would hold, with so many more."""
        counts = self.counts[cells] + more
        return np.asarray(
            np.maximum(self.low[cells] - counts, 0) + np.maximum(counts - self.high[cells], 0)
        )

    def stride(self, axis: int) -> int:
        """How far cells lie apart that differ by one code on an axis."""
        return int(self.strides[self.axes.index(axis)])


class Totals:
    """Rows on their way to all totals at once."""

    def __init__(self, codes: np.ndarray, totals: Sequence[Held], random: np.random.Generator):
        self.codes, self.totals, self.random = codes, totals, random
        self.loss = 0  # rows by which totals may get worse in a change
        self.about = {
            axis: [held for held in totals if axis in held.axes]
            for axis in {axis for held in totals for axis in held.axes}
        }

    def off(self, totals: Sequence[Held] | None = None) -> int:
        """How many rows too many or too few all cells together hold."""
        held = self.totals if totals is None else totals
        return int(sum(h.off(np.arange(len(h.counts)), 0).sum() for h in held))

    def improve(self) -> bool:
        """One pass over the totals that are not met; whether anything moved."""
        moved = False
        for held in self.totals:
            lacking = np.flatnonzero(held.counts < held.low)
            crowded = np.flatnonzero(held.counts > held.high)
            for cell in self.random.permutation(np.concatenate([lacking, crowded])).tolist():
                moved |= self._mend(held, cell)
        return moved

    def _mend(self, held: Held, cell: int) -> bool:
        """Bring rows into a cell that lacks some, or out of one that is crowded, if it helps."""
        into = held.counts[cell] < held.low[cell]
        wanted = int(held.off(np.array([cell]), 0)[0])
        if not wanted:
            return False
        moved = False
        for axis, stride in zip(held.axes, held.strides, strict=True):
            code = cell // stride % self._size(held, axis)
            for other in self.random.permutation(self._size(held, axis)).tolist():
                if other == code or not wanted:
                    continue
                neighbour = cell + (other - code) * stride
                source = neighbour if into else cell
                rows = self._some(np.flatnonzero(held.cell == source))
                done = self._change(rows, axis, code if into else other, wanted)
                done += self._swap(rows, axis, code if into else other) if done < wanted else 0
                moved, wanted = moved or done > 0, wanted - done
        return moved

    def _size(self, held: Held, axis: int) -> int:
        place = held.axes.index(axis)
        above = held.strides[place - 1] if place else held.low.size
        return int(above // held.strides[place])

    def _some(self, rows: np.ndarray) -> np.ndarray:
        return self.random.permutation(rows)[:CANDIDATES]

    def _change(self, rows: np.ndarray, axis: int, code: int, most: int) -> int:
        """Give the best of these rows another value, one by one while totals gain by it."""
        done = 0
        while done < most and len(rows):
            gain = self._gain(rows, axis, np.full(len(rows), code))
            best = int(gain.argmax())
            if gain[best] <= 0 and gain[best] <= -self.loss:
                break
            self._put(rows[best], axis, code)
            rows, done = np.delete(rows, best), done + 1
        return done

    def _swap(self, rows: np.ndarray, axis: int, code: int) -> int:
        """Let one of these rows and one that has the value exchange it, if all totals gain."""
        others = self._some(np.flatnonzero(self.codes[:, axis] == code))
        size = min(len(rows), len(others))
        if not size:
            return 0
        rows, others = rows[:size], others[:size]
        gain = self._gain(rows, axis, self.codes[others, axis])
        gain += self._gain(others, axis, self.codes[rows, axis])
        for place in np.argsort(-gain)[:4].tolist():
            if gain[place] < -self.loss:
                break
            row, other = int(rows[place]), int(others[place])
            before, old, new = self._off(axis), self.codes[row, axis], self.codes[other, axis]
            self._put(row, axis, new)
            self._put(other, axis, old)
            after = self._off(axis)
            if after < before + self.loss:
                return 1
            self._put(row, axis, old)
            self._put(other, axis, new)
        return 0

    def _gain(self, rows: np.ndarray, axis: int, codes: np.ndarray) -> np.ndarray:
        """How much less off all totals were, if each row alone had another code."""
        gain = np.zeros(len(rows))
        for held in self.about[axis]:
            here = held.cell[rows]
            there = here + (codes.astype(np.int64) - self.codes[rows, axis]) * held.stride(axis)
            now = held.off(here, 0) + held.off(there, 0)
            then = held.off(here, -1) + held.off(there, 1)
            gain += np.where(here == there, 0, now - then)
        return gain

    def _off(self, axis: int) -> int:
        return self.off(self.about[axis])

    def _put(self, row: int, axis: int, code: int) -> None:
        for held in self.about[axis]:
            held.counts[held.cell[row]] -= 1
            held.cell[row] += (int(code) - int(self.codes[row, axis])) * held.stride(axis)
            held.counts[held.cell[row]] += 1
        self.codes[row, axis] = code


def holding(
    codes: np.ndarray, totals: Sequence[Total], names: Sequence[str], random: np.random.Generator
) -> np.ndarray:
    """Codes of rows, [rows, axes], few of them changed so that totals come out as published."""
    if not totals:
        return codes
    codes = codes.copy()
    rows = Totals(codes, [Held.of(total, list(names), codes) for total in totals], random)
    best, fewest = codes.copy(), rows.off()
    for _ in range(PASSES):
        if fewest == 0:
            break
        moved = rows.improve()
        # The last rows may have to take a way round, and it may lead through worse places.
        rows.loss = 0 if moved and not rows.loss else (rows.loss + 1) % 3
        if (off := rows.off()) < fewest:
            best, fewest = codes.copy(), off
    return best
