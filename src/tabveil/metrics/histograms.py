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
    cells = int(np.prod(sizes, dtype=np.int64))
    ours, theirs = cell_of(real, sizes), cell_of(synthetic, sizes)
    if cells > DENSE_CELLS:
        _, seen = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
        ours, theirs = seen[: len(ours)], seen[len(ours) :]
    length = min(cells, max(ours.max(), theirs.max()) + 1)
    shares = [np.bincount(keys, minlength=length) / len(keys) for keys in (ours, theirs)]
    difference = np.abs(shares[0] - shares[1])
    return Gap(total=float(difference.sum()), worst=float(difference.max()), cells=cells)


def cell_of(codes: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """The number of the cell each row falls into."""
    cell = codes[:, 0]
    for column, size in enumerate(sizes[1:], start=1):
        cell = cell * size + codes[:, column]
    return cell
