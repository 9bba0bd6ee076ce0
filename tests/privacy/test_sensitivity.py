"""No pair of neighbours in a small world moves what any door hands to the noise further than was
paid for."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from noises import Spy
from samples import TINY, curator_of
from tabveil.audit.transcript import Draw
from tabveil.curator import TableCount, Workload
from tabveil.privacy import Ledger, Relation
from tabveil.queries import (
    Pairs,
    marginals_with_targets,
    random_linear_thresholds,
    random_mixed_marginals,
    random_prefix_marginals,
    random_projected_histograms,
)
from tabveil.schema import Schema
from tabveil.tables.placement import Lattice, MinMax
from tabveil.tables.table import Codec, Table

MAYBE = {"columns": {**TINY["columns"], "x": {**TINY["columns"]["x"], "nullable": True}}}
SCHEMA = Schema.from_dict({**TINY, **MAYBE})
DOMAIN = Codec(SCHEMA).domain
ROWS = [
    (a, b, *x) for a, b, x in itertools.product([0, 1], [0, 1], [(0, 0), (0, 1), (0, 2), (1, 0)])
]
RHO = Fraction(1, 8)
Few = tuple[int, ...]  # numbers of rows of the small world


class FewRows:
    """A table of a few rows of the small world."""

    def __init__(self, chosen: Few) -> None:
        rows = np.array([ROWS[number] for number in chosen], float).reshape(len(chosen), 4)
        self.table = Table(rows[:, :3].astype(np.int32), rows[:, 3:])

    def total(self, count: TableCount, columns: Sequence[str] | None = None) -> list[np.ndarray]:
        return count(self.table)

    def count(self) -> int:
        return len(self.table.codes)


def families() -> tuple:
    random = np.random.default_rng(0)
    return (
        marginals_with_targets(DOMAIN, 100)[0],
        random_linear_thresholds(DOMAIN, 12, random),
        random_mixed_marginals(DOMAIN, 12, random),
        random_prefix_marginals(DOMAIN, 12, random),
        random_projected_histograms(DOMAIN, 12, 3, random),
        Pairs.over(DOMAIN, [np.array([40000])], most_cells=100),
        Pairs.over(DOMAIN, [np.array([40000])], most_cells=100, within=(2, 0)),
    )


WORKLOAD = Workload(families(), MinMax.of(SCHEMA), DOMAIN)
LATTICE = Lattice.of(SCHEMA)
RUNS = [np.array([[0, 1], [1, 3], [3, 4]])]  # the last is missing values


SCORES = [(0, 0), (1, 0), (0, 1)]  # what is expected of every cell, and the slack
LOOKS = 1 + len(SCORES)  # at each family: measuring it, and choosing by each score


def everything_asked(chosen: Few, relation: Relation) -> list[Draw]:
    """What every door hands to the noise for this table: each family, each score, each kind of
    look."""
    noise = Spy()
    allowance = Ledger.in_memory(relation).allowance(Fraction(100), "test")
    curator = curator_of(FewRows(chosen), allowance, relation, noise)
    curator.total(RHO)
    curator.intervals(LATTICE, RUNS, RHO)
    curator.categories([0, 1], DOMAIN, RHO)
    for family in WORKLOAD.families:
        curator.measure(WORKLOAD, family, np.arange(len(family)), RHO)
        # A score whose error falls with a row, one whose error grows, and one that begins to grow.
        for expected, slack in SCORES:
            wanted = np.full_like(np.asarray(family.tally.nothing()), expected)
            picks, nothing = min(2, len(family)), np.array([], int)
            curator.select(WORKLOAD, family, wanted, picks, RHO, nothing, slack=slack)
    return noise.draws


def neighbours(relation: Relation) -> list[tuple[Few, Few]]:
    """All pairs of tables of at most two rows that differ by one row more, or in one row."""
    tables = [
        t
        for size in (0, 1, 2)
        for t in itertools.combinations_with_replacement(range(len(ROWS)), size)
    ]
    if relation is Relation.ADD_REMOVE:
        pairs = [
            (t, tuple(sorted((*t, row)))) for t in tables if len(t) < 2 for row in range(len(ROWS))
        ]
    else:
        pairs = [
            (t, tuple(sorted((*t[1:], row))))
            for t in tables
            if t
            for row in range(len(ROWS))
            if row != t[0]
        ]
    return pairs


@pytest.mark.parametrize("relation", Relation)
def test_no_neighbours_in_a_small_world_are_further_apart_than_was_paid_for(
    relation: Relation,
) -> None:
    pairs = neighbours(relation)
    asked = {
        table: everything_asked(table, relation) for table in {t for pair in pairs for t in pair}
    }
    kinds = len(next(iter(asked.values())))
    assert kinds == (1 if relation is Relation.ADD_REMOVE else 0) + 2 + LOOKS * len(
        WORKLOAD.families
    )
    dearest = [0.0] * kinds
    for one, other in pairs:
        for kind, (a, b) in enumerate(zip(asked[one], asked[other], strict=True)):
            dearest[kind] = max(dearest[kind], a.cost(b))
    assert max(dearest) <= float(RHO) * (1 + 1e-12)
    # Nor is noise wasted on counts: some pair of neighbours needs all of it.
    assert min(dearest[: kinds - LOOKS * len(WORKLOAD.families)]) >= float(RHO) * (1 - 1e-9)


@pytest.mark.parametrize("relation", Relation)
def test_picks_from_several_groups_together_cost_no_more_than_was_paid_for(
    relation: Relation,
) -> None:
    def picked(chosen: Few) -> list[list[Draw]]:
        found = []
        for family in WORKLOAD.families:
            noise = Spy()
            allowance = Ledger.in_memory(relation).allowance(Fraction(100), "test")
            curator = curator_of(FewRows(chosen), allowance, relation, noise)
            nothing, everyone = np.asarray(family.tally.nothing()), np.zeros(len(family), np.int64)
            picks = min(3, len(family))
            curator.select(
                WORKLOAD, family, nothing, picks, RHO, np.array([], int), everyone, groups=2
            )
            assert len(noise.draws) == min(2, picks)
            found.append(noise.draws)
        return found

    pairs = neighbours(relation)
    asked = {table: picked(table) for table in {t for pair in pairs for t in pair}}
    for one, other in pairs:
        for before, after in zip(asked[one], asked[other], strict=True):
            together = sum(a.cost(b) for a, b in zip(before, after, strict=True))
            assert together <= float(RHO) * (1 + 1e-12)
