"""Every family keeps the same promises: exact counts, declared sensitivity, one bit per row and
predicate."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samples import SMALL, TINY, random_table
from tabveil.curator import Workload, count
from tabveil.fitting.relaxed import Relaxed
from tabveil.privacy import Relation
from tabveil.queries import (
    FAMILIES,
    GRID,
    Hard,
    Marginals,
    Pairs,
    QueryFamily,
    Soft,
    marginals_with_targets,
    random_linear_thresholds,
    random_mixed_marginals,
    random_prefix_marginals,
    random_projected_histograms,
    real_rows,
)
from tabveil.queries.products import products_within, quick_products_within
from tabveil.schema import Schema
from tabveil.tables.placement import MinMax
from tabveil.tables.sides import cells_in_words, query_in_words
from tabveil.tables.table import Codec, Domain, Table


def one_to_three_way(domain: Domain) -> list[Marginals]:
    return [Marginals.over(itertools.combinations(range(4), k), domain) for k in (1, 2, 3)]


EXAMPLES: dict[str, Callable[[Domain], QueryFamily]] = {
    "1-way marginals": lambda d: one_to_three_way(d)[0],
    "2-way marginals": lambda d: one_to_three_way(d)[1],
    "3-way marginals": lambda d: one_to_three_way(d)[2],
    "marginals with targets": lambda d: marginals_with_targets(d, 1000)[0],
    "linear thresholds": lambda d: random_linear_thresholds(d, 60, np.random.default_rng(0)),
    "thresholds of all rows": lambda d: random_linear_thresholds(
        d, 60, np.random.default_rng(0), labels=[()]
    ),
    "mixed marginals": lambda d: random_mixed_marginals(d, 60, np.random.default_rng(0)),
    "two categories and a number": lambda d: random_mixed_marginals(
        d, 60, np.random.default_rng(0), labels=[(0, 1), (1, 3)], numbers=1
    ),
    "cross-tables": lambda d: Pairs.over(
        d, [np.array([9000, 30000]), np.array([20000])], most_cells=30
    ),
    "prefix marginals": lambda d: random_prefix_marginals(d, 60, np.random.default_rng(0)),
    "projected histograms": lambda d: random_projected_histograms(
        d, 60, 7, np.random.default_rng(0)
    ),
    "projected histograms of all rows": lambda d: random_projected_histograms(
        replace(d, targets=()), 60, 2, np.random.default_rng(0)
    ),
}


@pytest.fixture(params=EXAMPLES)
def family(request: pytest.FixtureRequest, domain: Domain) -> QueryFamily:
    return EXAMPLES[request.param](domain)


@pytest.fixture
def counts(family: QueryFamily, schema: Schema, domain: Domain) -> Callable[[Table], np.ndarray]:
    workload = Workload((family,), MinMax.of(schema), domain)
    return lambda table: family.tally.cells_in(count(workload, table)[0], np.arange(len(family)))


def test_every_family_has_an_example(domain: Domain) -> None:
    assert {type(example(domain)) for example in EXAMPLES.values()} == set(FAMILIES)


def test_a_row_is_counted_in_one_cell_of_a_query_at_most(
    counts: Callable[[Table], np.ndarray], domain: Domain
) -> None:
    table = random_table(domain, 200, seed=1)
    for row in range(0, 200, 7):
        alone = counts(_rows(table, [row]))
        assert alone.min() >= 0 and alone.sum(axis=1).max() <= 1


@pytest.mark.parametrize("relation", Relation)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 40))
def test_no_neighbour_moves_an_answer_past_its_sensitivity(
    relation: Relation, seed: int, size: int
) -> None:
    codec = Codec(Schema.from_dict(SMALL))
    domain, scale = codec.domain, MinMax.of(codec.schema)
    families = tuple(example(domain) for example in EXAMPLES.values())
    workload = Workload(families, scale, domain)
    table = random_table(domain, size + 1, seed)
    before = count(workload, _rows(table, range(size)))
    kept = range(1, size) if relation is Relation.ADD_REMOVE else [size, *range(1, size)]
    after = count(workload, _rows(table, kept))
    for queries, *tallies in zip(families, before, after, strict=True):
        a, b = (queries.tally.cells_in(tally, np.arange(len(queries))) for tally in tallies)
        assert (np.abs(a - b).sum(axis=1) == queries.tally.errors(*tallies)).all()
        moved = 1 if relation is Relation.ADD_REMOVE else queries.cells_moved
        assert (np.abs(a - b).sum(axis=1) <= moved).all()  # L1, what selection is charged for
        assert ((a - b) ** 2).sum() <= len(
            queries
        ) * moved  # L2 squared, what measuring all is charged for
        assert np.abs(a - b).max() <= 1
        for slack in (0, 1, 3):  # nor does a score move by more, whatever was expected
            expected = np.random.default_rng(seed).integers(0, 9, tallies[0].shape)
            scores = [queries.tally.errors(tally, expected, slack) for tally in tallies]
            assert (np.abs(scores[0] - scores[1]) <= moved).all()


@pytest.mark.parametrize("relation", Relation)
def test_no_neighbour_in_a_tiny_world_moves_an_answer_past_its_sensitivity(
    relation: Relation,
) -> None:
    schema = Schema.from_dict(TINY)
    domain = Codec(schema).domain
    random = np.random.default_rng(0)
    families = (
        marginals_with_targets(domain, 100)[0],
        random_linear_thresholds(domain, 30, random),
        random_mixed_marginals(domain, 30, random),
        random_prefix_marginals(domain, 30, random),
        random_projected_histograms(domain, 30, 5, random),
        Pairs.over(domain, [np.array([40000])], most_cells=100),
    )
    workload = Workload(families, MinMax.of(schema), domain)
    world = list(itertools.product([0, 1], [0, 1], [0, 1, 2]))
    alone = [
        count(workload, Table(np.array([r[:2]], np.int32), np.array([[float(r[2])]])))
        for r in world
    ]
    # Counts are sums over rows, so a neighbour moves them by one row's counts, or by a difference
    # of two.
    for number, queries in enumerate(families):
        moved = 1 if relation is Relation.ADD_REMOVE else queries.cells_moved
        pairs = alone if relation is Relation.ADD_REMOVE else itertools.product(alone, alone)
        for pair in pairs:
            change = (
                pair[number]
                if relation is Relation.ADD_REMOVE
                else pair[0][number] - pair[1][number]
            )
            change = queries.tally.cells_in(change, np.arange(len(queries)))
            assert (np.abs(change).sum(axis=1) <= moved).all()
            assert (change**2).sum() <= len(queries) * moved


def test_counts_are_the_sum_over_rows_in_any_batch_and_order(
    counts: Callable[[Table], np.ndarray], domain: Domain
) -> None:
    table = random_table(domain, 10_000, seed=2)
    order = np.random.default_rng(3).permutation(10_000)
    whole = counts(table)
    assert (counts(_rows(table, order)) == whole).all()
    parts = [counts(_rows(table, part)) for part in np.array_split(order, [1, 7, 5000])]
    assert (sum(parts) == whole).all()


def test_a_predicate_gives_the_same_bit_in_any_batch(schema: Schema, domain: Domain) -> None:
    family = random_linear_thresholds(domain, 200, np.random.default_rng(4))
    table = random_table(domain, 2000, seed=5)
    positions = MinMax.of(schema).positions(table)
    together = np.asarray(family.below(real_rows(table.codes, positions, domain), Hard()))
    for part in (slice(0, 1), slice(17, 18), slice(100, 777)):
        rows = real_rows(table.codes[part], positions[part], domain)
        assert (np.asarray(family.below(rows, Hard())) == together[:, part]).all()
    exact = np.asarray(family.directions, object) @ positions.T.astype(
        object
    )  # Python's own integers
    assert ((exact <= np.asarray(family.offsets, object)[:, None]) == together).all()


def test_random_directions_cannot_overflow_32_bits() -> None:
    for numbers in (1, 6, 200):
        domain = Domain((), tuple(f"x{i}" for i in range(numbers)), ())
        family = random_linear_thresholds(domain, 500, np.random.default_rng(0))
        reach = np.abs(np.asarray(family.directions, np.int64)).sum(axis=1) * GRID
        assert (reach < 2**30).all() and (
            np.abs(np.asarray(family.offsets, np.int64)) <= 2**30
        ).all()


def test_marginals_count_like_a_cross_table(schema: Schema, domain: Domain) -> None:
    table = random_table(domain, 300, seed=6)
    family = Marginals.over([(0, 2, 3)], domain)
    found = count(Workload((family,), MinMax.of(schema), domain), table)[0][0][family.filled[0]]
    names = family.columns(0, domain)
    places = [[axis.name for axis in domain.axes].index(name) for name in names]
    wanted = [
        (table.codes[:, places] == cell).all(axis=1).sum()
        for cell in itertools.product(*(range(domain.sizes[p]) for p in places))
    ]
    assert found.tolist() == wanted
    assert [side.name for side in family.sides(0, domain)] == names


def test_projected_histograms_count_rows_between_the_cuts_of_their_direction(
    schema: Schema, domain: Domain
) -> None:
    table = random_table(domain, 300, seed=7)
    family = random_projected_histograms(domain, 20, 6, np.random.default_rng(8))
    positions = MinMax.of(schema).positions(table)
    found = count(Workload((family,), MinMax.of(schema), domain), table)[0]
    names = [axis.name for axis in domain.axes]
    for query in range(20):
        cuts = family.first[query] + family.step[query] * np.arange(5)
        inside = np.searchsorted(cuts, positions @ family.directions[query].astype(np.int64))
        target = names.index(family.classes.sides(family.blocks[query])[0].column)
        expected = np.zeros((6, domain.sizes[target]), int)
        np.add.at(expected, (inside, table.codes[:, target]), 1)
        assert found[query][family.filled[query]].tolist() == expected.ravel().tolist()


def test_numbers_that_can_be_missing_take_no_part_in_a_direction() -> None:
    columns = {**SMALL["columns"], "age": {**SMALL["columns"]["age"], "nullable": True}}
    domain = Codec(Schema.from_dict({**SMALL, "columns": columns})).domain
    family = random_projected_histograms(domain, 9, 4, np.random.default_rng(0))
    age, wage = family.directions[:, domain.numerical.index("age")], family.directions[:, 1]
    assert not age.any() and wage.all()
    line = family.sides(0, domain)[0].name
    assert "·age" not in line and "·wage" in line


def test_mixed_marginals_count_rows_at_or_below_their_bounds(
    schema: Schema, domain: Domain
) -> None:
    table = random_table(domain, 300, seed=7)
    family = random_mixed_marginals(domain, 20, np.random.default_rng(8))
    positions = MinMax.of(schema).positions(table)
    found = count(Workload((family,), MinMax.of(schema), domain), table)[0]
    for query in range(20):
        column, bound = np.asarray(family.columns)[query], np.asarray(family.bounds)[query]
        below = (positions[:, column] <= bound).all(axis=1)
        target = domain.targets[
            [domain.axes[t].name for t in domain.targets].index(
                family.classes.sides(family.blocks[query])[0].column
            )
        ]
        wanted = [
            int((below & (table.codes[:, target] == c)).sum()) for c in range(domain.sizes[target])
        ]
        assert found[query][family.filled[query]].tolist() == wanted


def test_soft_answers_become_hard_answers_as_sharpness_grows(
    family: QueryFamily, domain: Domain
) -> None:
    rows = Relaxed.random(domain, 50, jax.random.key(0)).rows()
    hard = np.asarray(family.answers(rows, Hard()))
    gaps = [
        np.abs(np.asarray(family.answers(rows, Soft(s))) - hard).mean() for s in (10.0, 100.0, 1e6)
    ]
    assert gaps[2] < 0.05 and gaps[0] >= gaps[1] >= gaps[2]


def test_chunks_give_the_same_answers(
    family: QueryFamily, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Relaxed.random(domain, 64, jax.random.key(1)).rows()
    whole = np.asarray(family.answers(rows, Hard()))
    monkeypatch.setattr("tabveil.queries.family.ENTRIES", 64 * 40)
    found = family.tally.cells_in(np.asarray(family.tally.of(rows)), np.arange(len(family)))
    np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-5)


def test_padding_is_never_counted(
    counts: Callable[[Table], np.ndarray], family: QueryFamily, domain: Domain
) -> None:
    assert (counts(random_table(domain, 500, seed=9))[~family.filled] == 0).all()


def test_every_query_can_be_put_into_words(family: QueryFamily, domain: Domain) -> None:
    for query in range(len(family)):
        sides = family.sides(query, domain)
        assert query_in_words(sides)
        assert len(set(cells_in_words(sides))) == family.cells[query]


def test_two_hundred_thousand_queries_fit_in_memory_and_answer_in_chunks(
    domain: Domain, schema: Schema
) -> None:
    random = np.random.default_rng(0)
    for family in (
        random_linear_thresholds(domain, 200_000, random),
        random_mixed_marginals(domain, 200_000, random),
    ):
        found = count(
            Workload((family,), MinMax.of(schema), domain), random_table(domain, 100, seed=10)
        )[0]
        assert found.shape == (200_000, family.width) and found.max() <= 100


def test_large_marginals_are_left_out_by_the_schema_alone(domain: Domain) -> None:
    kept = marginals_with_targets(domain, 20)
    assert all(cells <= 20 for family in kept for cells in family.cells)
    assert marginals_with_targets(domain, 1) == []


def _rows(table: Table, rows: object) -> Table:
    chosen = np.array(list(rows), int)  # type: ignore[call-overload]
    return Table(table.codes[chosen], table.numbers[chosen])


def test_cross_tables_agree_with_marginals_and_bins(schema: Schema, domain: Domain) -> None:
    table = random_table(domain, 500, seed=11)
    family = Pairs.over(domain, [np.array([9000, 30000]), np.array([20000])], most_cells=1000)
    tally = count(Workload((family,), MinMax.of(schema), domain), table)[0]
    bins = [
        np.searchsorted(e, p, "right")
        for e, p in zip(([9000, 30000], [20000]), MinMax.of(schema).positions(table).T, strict=True)
    ]
    codes = np.column_stack([table.codes, *bins])
    names = [column.name for column in family.layout.columns]
    for query, (i, j, group) in enumerate(family.layout.queries):
        picked = [names.index(family.layout.groups[group][0])] if group else []
        picked += [i] if i == j else [i, j]
        sizes = [len(family.layout.columns[p].labels) for p in picked]
        wanted = [
            (codes[:, picked] == cell).all(axis=1).sum()
            for cell in itertools.product(*map(range, sizes))
        ]
        found = family.tally.cells_in(tally, np.array([query]))[0][family.filled[query]]
        assert found.tolist() == wanted, query_in_words(family.sides(query, domain))


def test_the_gradient_of_cross_tables_is_the_derivative(domain: Domain) -> None:
    cells, members = (
        jax.random.uniform(jax.random.key(k), shape) for k, shape in ((0, (7, 9)), (1, (3, 9)))
    )
    pull = jax.random.normal(jax.random.key(2), (3, 7, 7))
    pull += pull.swapaxes(1, 2)
    plain = lambda c, m: (jax.numpy.einsum("dn,kn,en->kde", c, m, c) * pull).sum()  # noqa: E731
    ours = lambda c, m: (quick_products_within(c, m) * pull).sum()  # noqa: E731
    for found, wanted in zip(
        jax.grad(ours, (0, 1))(cells, members), jax.grad(plain, (0, 1))(cells, members), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=0.01 * np.abs(wanted).max())


def test_quick_counts_of_cross_tables_are_off_by_little_of_what_ties_cells_together() -> None:
    random = np.random.default_rng(0)
    cells = random.dirichlet(np.ones(4), (12, 1000)).swapaxes(1, 2).reshape(48, 1000)
    cells[:4] = np.eye(4)[random.integers(0, 4, 1000)].T  # rows that are sure of a column
    cells[4:8] = [[0.85], [0.1], [0.04], [0.01]]  # of which no row knows more than others
    given = jax.device_put((cells.astype(np.float32), random.random((3, 1000), np.float32)))
    exact, quick = products_within(*given), quick_products_within(*given)
    off = np.abs(np.asarray(exact - quick))
    assert off.max() < 0.005 * 250  # cells of half of the rows, each with itself
    assert off[:, 4:, 4:].max() < 1000 * 2e-5  # rows that are not sure


@pytest.mark.parametrize("edges", [[5000, 100], [100, 100], [0], [GRID], [-5]])
def test_bins_that_would_overlap_are_refused(domain: Domain, edges: list[int]) -> None:
    with pytest.raises(ValueError, match="one bin only"):
        Pairs.over(domain, [np.array(edges), np.array([20000])], most_cells=30)


def test_a_number_and_its_special_values_are_one_column_of_a_cross_table() -> None:
    columns = {
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "wage": {"type": "numerical", "min": 0, "max": 9, "special_values": [0], "nullable": True},
    }
    domain = Codec(Schema.from_dict({"columns": columns})).domain
    pairs = Pairs.over(domain, [np.array([GRID // 2])], most_cells=100, names=[["low", "high"]])
    queries = [query_in_words(pairs.sides(query, domain)) for query in range(len(pairs))]
    assert queries == ["sex", "wage", "sex × wage"]
    assert cells_in_words(pairs.sides(1, domain)) == ["special 0", "missing", "low", "high"]
    kinds = np.array([0, 0, 1, 2, 2], np.int32)
    codes, positions = (
        np.stack([np.array([0, 1, 1, 0, 1]), kinds], 1),
        np.array([[1], [GRID], [1], [1], [1]]),
    )
    counts = pairs.tally.unfold(pairs.tally.folded(codes.astype(np.int32), positions, domain))
    assert pairs.tally.cells_in(counts, np.array([1]))[0, :4].tolist() == [1, 2, 1, 1]
