"""Counting codes gives the same bits as the product of one-hot rows, for tables of every shape."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samples import random_table
from tabveil.curator import Workload, WorkloadCounts, count
from tabveil.queries import GRID, Pairs, QueryFamily
from tabveil.queries import counting as counting_module
from tabveil.queries.counting import MOST_FOLDED, Counting, packed
from tabveil.queries.family import counted_in_batches
from tabveil.schema import Schema
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Codec, Domain, Table


def by_products(
    family: QueryFamily, table: Table, positions: np.ndarray, domain: Domain
) -> np.ndarray:
    """Counted in batches, as every family can."""
    return counted_in_batches(family.tally, table.codes, positions, domain)


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 7), max_size=5),
    cuts=st.lists(st.integers(1, 6), max_size=3),
    targets=st.integers(0, 3),
    special=st.integers(0, 2),
    rows=st.integers(0, 60),
    seed=st.integers(0, 100),
)
def test_counting_codes_and_multiplying_one_hot_rows_agree_in_every_bit(
    sizes, cuts, targets, special, rows, seed
):
    if not sizes and not cuts:
        return
    columns: dict = {
        f"c{i}": {"type": "categorical", "values": list(range(k))} for i, k in enumerate(sizes)
    }
    number = {"type": "numerical", "min": 0, "max": 100}
    columns |= {
        f"x{i}": {**number, "special_values": [-1, -2][: special * i]} for i in range(len(cuts))
    }
    schema = Schema.from_dict(
        {"columns": columns, "targets": [f"c{i}" for i in range(len(sizes))][:targets]}
    )
    domain = Codec(schema).domain
    random = np.random.default_rng(seed)
    edges = [np.sort(random.choice(np.arange(1, GRID), k - 1, replace=False)) for k in cuts]
    columns_in_all = len(sizes) + len(cuts)
    within = random.permutation(columns_in_all)[: random.integers(columns_in_all + 1)].tolist()
    pairs = Pairs.over(domain, edges, 10**6, within=None if targets else within)
    table = random_table(domain, rows, seed)
    positions = MinMax.of(schema).positions(table)
    positions[: len(positions) // 2] = [
        edge[0] if len(edge) else GRID for edge in edges
    ]  # on the line
    folded = pairs.tally.folded(table.codes, positions, domain)
    assert folded.dtype == np.int64
    whose = np.ix_(
        range(len(pairs.tally.nothing())), *[np.flatnonzero(pairs.tables.owner >= 0)] * 2
    )  # cells of a column
    assert (pairs.tally.unfold(folded) == by_products(pairs, table, positions, domain))[whose].all()


@pytest.mark.parametrize("most_classes", [1, 2, 6, 32])
@pytest.mark.parametrize("most_cells", [4, 64, 2**15])
def test_how_columns_are_packed_changes_no_count(
    most_classes: int,
    most_cells: int,
    schema: Schema,
    domain: Domain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting_module, "ROOMS", [(most_classes, most_cells)])
    pairs = Pairs.over(domain, [np.array([9000, 30000]), np.array([GRID // 2])], 10**6)
    table = random_table(domain, 300, seed=3)
    positions = MinMax.of(schema).positions(table)
    folded = pairs.tally.folded(table.codes, positions, domain)
    assert (pairs.tally.unfold(folded) == by_products(pairs, table, positions, domain)).all()


def test_folded_counts_of_parts_add_up_to_those_of_the_whole(
    schema: Schema, domain: Domain
) -> None:
    workload = Workload(
        (Pairs.over(domain, [np.array([100])] * 2, 10**6),), MinMax.of(schema), domain
    )
    table = random_table(domain, 500, seed=1)
    parts = [
        Table(table.codes[a:b], table.numbers[a:b])
        for a, b in [(0, 1), (1, 77), (77, 77), (77, 500)]
    ]
    folded = [WorkloadCounts(workload)(part)[0] for part in parts]
    assert (workload.families[0].tally.unfold(sum(folded)) == count(workload, table)[0]).all()


def test_packs_hold_every_column_once_and_stay_within_their_room() -> None:
    sizes = (9, 24, 5, 2, 9, 5, 2, 100)
    packs = packed(range(len(sizes)), sizes, 32)
    assert sorted(column for pack in packs for column in pack) == list(range(len(sizes)))
    assert all(np.prod([sizes[c] for c in pack]) <= 32 for pack in packs if len(pack) > 1)
    assert Counting(sizes, (3, 6)).cells == sum(
        piece.stop - piece.start for line in Counting(sizes, (3, 6)).pieces for piece in line
    )


@pytest.mark.parametrize("targets", [0, 1, 5])
def test_counts_of_many_columns_take_little_more_memory_than_their_cross_tables(
    targets: int,
) -> None:
    sizes = (8,) * 100 + (14,) * 99 + (2,) * targets
    counting = Counting(sizes, tuple(range(199, 199 + targets)))
    pairs = sum(a * b for a, b in combinations(sizes, 2))
    assert counting.cells <= max(MOST_FOLDED, (1 + 2 * targets + 1) * pairs)
    few = Counting((4,) * 20 + (2,) * targets, tuple(range(20, 20 + targets)))
    assert any(
        len(pack) > 1 for _, packs in few.passes for pack in packs
    )  # packed where there is room
