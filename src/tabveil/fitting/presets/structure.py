"""Columns alone: names, types, missing cells and single distributions, at a very small ε.

For writing code outside a secure room. Columns are independent in what is drawn: whatever joins two
of them was neither measured nor learnt.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from tabveil.curator import Answer, Curator, Workload
from tabveil.errors import InvalidInput
from tabveil.fitting.presets.preset import Task, Watch
from tabveil.fitting.projection import Measured
from tabveil.fitting.ranks import learn_ranks, onto_simplex, ranks_spending
from tabveil.fitting.rappp import Result, Status
from tabveil.fitting.relaxed import Mixture, prices_in
from tabveil.fitting.spending import Spending, counted, row_count
from tabveil.privacy import DELTA, Relation
from tabveil.queries import Marginals
from tabveil.queries.bins import Bins
from tabveil.tables.placement import Lattice
from tabveil.tables.table import Domain

RAREST = 1e-9  # the chance of a category that noise hides: none has a chance of exactly zero


@final
@dataclass(frozen=True)
class Structure:
    """Shares of the budget: rows are counted first, then numbers, then categories."""

    count_share: Fraction = Fraction(1, 20)
    number: int = 2  # what a number costs, level by level, where a list of categories costs 1
    most_cells: int = 10**7

    takes_public: ClassVar[bool] = False

    def check(self, domain: Domain) -> None:
        """Refuse a schema whose categories would not fit into memory."""
        if domain.cells > self.most_cells:
            raise InvalidInput(
                f"This schema declares {domain.cells:,} categories; {self.most_cells:,} are the "
                "most.",
                "Declare fewer categories with `other: true`.",
            )

    def default_delta(self, rows: int | None) -> float:
        """The same for every table."""
        return DELTA

    def spending(self, task: Task, rows: int) -> Spending:
        """The row count, the distribution of each number, and each list of categories."""
        count, ranks, alone = self._costs(task)
        numbers, lists = len(task.domain.numerical), len(_categorical(task.domain))
        protection = task.protection
        bought = (
            *row_count(count, protection),
            *ranks_spending(numbers, ranks, protection),
            *counted("columns", f"{lists} categorical columns", alone, protection, lists),
        )
        return Spending(bought, rounds=0)

    def __call__(self, curator: Curator, task: Task, watch: Watch) -> Result:
        """Learn every column alone; what numbers leave unspent goes to categories."""
        domain = task.domain
        self.check(domain)
        count, for_ranks, alone = self._costs(task)
        total = curator.total(count)
        ranks, special, _, unspent, *_ = learn_ranks(
            curator, Lattice.of(task.schema), for_ranks, total
        )
        axes, answers = _categorical(domain), list[Answer]()
        families = (Marginals.over([(axis,) for axis in axes], domain),) if axes else ()
        workload = Workload(families, ranks, domain)
        counts = {
            axis: np.array([total - apart.sum(), *apart])
            for axis, apart in zip(domain.kinds, special, strict=True)
            if axis is not None
        }
        for lists in families:
            answers.append(curator.measure(workload, lists, np.arange(len(axes)), alone + unspent))
            counts |= dict(zip(axes, answers[-1].counts, strict=True))
        table = one_row(domain, counts)
        watch(Status(1, 1, 0.0, 0))
        return Result(workload, table, total, tuple(answers), Measured(()))

    def _costs(self, task: Task) -> tuple[Fraction, Fraction, Fraction]:
        """ρ for the number of rows, for numbers, and for categories."""
        domain = task.domain
        counted = task.relation is Relation.ADD_REMOVE  # else their number is public
        count = task.rho * self.count_share if counted else Fraction(0)
        numbers = self.number * len(domain.numerical)
        ranks = (task.rho - count) * numbers / (numbers + len(_categorical(domain)))
        return count, ranks, task.rho - count - ranks


def one_row(domain: Domain, counts: dict[int, np.ndarray]) -> Mixture:
    """A single relaxed row: every axis as often as counted, every number even over rank space."""
    chances = np.ones((domain.cells, 1), np.float32)
    for axis, (start, size) in enumerate(zip(domain.offsets, domain.sizes, strict=True)):
        shares = onto_simplex(counts[axis][:size] / max(1, counts[axis][:size].sum()), 1.0)
        chances[start : start + size, 0] = np.maximum(shares, RAREST)
    bins = Bins.between([np.zeros(0, int)] * len(domain.numerical))
    within = np.zeros((len(bins.number), 1), np.float32)
    prices = prices_in(domain)
    return Mixture(np.log(chances), within, bins, domain.sizes, len(domain.numerical), prices)


def _categorical(domain: Domain) -> list[int]:
    """The axes that are columns of their own, and not kinds of a number."""
    return [axis for axis in range(len(domain.axes)) if axis not in domain.kinds]
