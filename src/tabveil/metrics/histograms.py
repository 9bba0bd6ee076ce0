"""How far two tables' cross-tables are apart, cell by cell; for metrics that count categories."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.tables.table import Domain, Table

# Above this many cells, only the cells that occur are counted.
DENSE_CELLS = 1 << 18


@dataclass(frozen=True)
class Gap:
    """Absolute differences of two normalised cross-tables, summed and at worst, over `cells`."""

    total: float
    worst: float
    cells: int

    @property
    def total_variation(self) -> float:
        """Half the sum: the share of rows that would have to change cells."""
        return self.total / 2


def gaps(
    real: Table, synthetic: Table, domain: Domain, cliques: Iterable[Sequence[int]]
) -> list[Gap]:
    """The gap between the two tables on each clique of categorical axes."""
    # Column-major copies: each clique reads a few whole columns.
    ours, theirs = (np.asfortranarray(table.codes.astype(np.int64)) for table in (real, synthetic))
    return [
        gap(ours[:, list(axes)], theirs[:, list(axes)], [domain.sizes[a] for a in axes])
        for axes in cliques
    ]


def gap(real: NDArray[np.int64], synthetic: NDArray[np.int64], sizes: Sequence[int]) -> Gap:
    """The gap between two blocks of codes whose columns have the given sizes."""
    _, apart = differences(real, synthetic, sizes)
    cells = int(np.prod(sizes, dtype=np.int64))
    return Gap(total=float(apart.sum()), worst=float(apart.max()), cells=cells)


def differences(
    real: NDArray[np.int64], synthetic: NDArray[np.int64], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cells of a cross-table, all that occur among them, and how far their shares are apart."""
    ours, theirs = cell_of(real, sizes), cell_of(synthetic, sizes)
    if np.prod(sizes, dtype=np.int64) > DENSE_CELLS:
        cells, seen = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
        ours, theirs = seen[: len(ours)], seen[len(ours) :]
    else:
        cells = np.arange(1 + max(ours.max(), theirs.max()))
    shares = [np.bincount(keys, minlength=len(cells)) / len(keys) for keys in (ours, theirs)]
    return cells, np.abs(shares[0] - shares[1])


def cell_of(codes: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """The number of the cell each row falls into."""
    cell = codes[:, 0]
    for column, size in enumerate(sizes[1:], start=1):
        cell = cell * size + codes[:, column]
    return cell
