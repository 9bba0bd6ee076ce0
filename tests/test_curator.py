"""The curator charges before it looks, noises every cell once, and lets nothing else out."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noises import Spy
from samples import curator_of, random_table
from tabveil.curator import Curator, TableCount, Workload, count
from tabveil.errors import BudgetExceeded
from tabveil.privacy import Allowance, Budget, Ledger, Relation
from tabveil.queries import marginals_with_targets, random_linear_thresholds
from tabveil.schema import Schema
from tabveil.tables.placement import Lattice, MinMax
from tabveil.tables.table import Domain, Table

HALF = Fraction(1, 2)


class WatchedRows:
    """Rows that note how much had been charged each time they were looked at."""

    def __init__(self, table: Table, allowance: Allowance) -> None:
        self.table, self.allowance = table, allowance
        self.looks: list[Fraction] = []

    def total(self, count: TableCount, columns: Sequence[str] | None = None) -> list[np.ndarray]:
        self.looks.append(self.allowance.spent)
        return count(self.table)

    def count(self) -> int:
        self.looks.append(self.allowance.spent)
        return self.table.rows


@pytest.fixture
def workload(schema: Schema, domain: Domain) -> Workload:
    families = (
        marginals_with_targets(domain, 1000)[0],
        random_linear_thresholds(domain, 50, np.random.default_rng(0)),
    )
    return Workload(families, MinMax.of(schema), domain)


@pytest.fixture(params=Relation)
def door(
    request: pytest.FixtureRequest, domain: Domain
) -> tuple[Curator, WatchedRows, Spy, Allowance]:
    relation = request.param
    allowance = Ledger.in_memory(relation).allowance(Fraction(2), "test")
    rows, noise = WatchedRows(random_table(domain, 500, seed=0), allowance), Spy()
    return curator_of(rows, allowance, relation, noise=noise), rows, noise, allowance


def test_every_look_is_charged_before_it_is_taken(door, workload: Workload) -> None:
    marginals, _ = workload.families
    curator, rows, _, allowance = door
    curator.measure(workload, marginals, np.array([0, 1]), HALF)
    assert rows.looks and all(spent >= HALF for spent in rows.looks)
    assert allowance.spent == HALF


def test_what_cannot_be_paid_is_not_looked_at(door, workload: Workload) -> None:
    marginals, _ = workload.families
    curator, rows, _, allowance = door
    with pytest.raises(BudgetExceeded):
        curator.measure(workload, marginals, np.array([0]), Fraction(3))
    with pytest.raises(BudgetExceeded):
        curator.select(
            workload,
            marginals,
            marginals.tally.nothing(),
            1,
            Fraction(3),
            np.array([]),
            np.zeros(6, int),
        )
    assert rows.looks == [] and allowance.spent == 0


def test_every_measured_cell_is_noised_exactly_once(door, workload: Workload) -> None:
    curator, _, noise, allowance = door
    for family in workload.families:
        curator.measure(workload, family, np.array([0, 2]), Fraction(1, 8))
    cells = sum(int(f.take(np.array([0, 2])).filled.sum()) for f in workload.families)
    assert noise.noised == cells == sum(c.details["cells"] for c in allowance.charges)


def test_measured_counts_are_the_true_counts_plus_noise(door, workload: Workload) -> None:
    _, thresholds = workload.families
    curator, rows, _, _ = door
    answer = curator.measure(workload, thresholds, np.array([3, 4]), HALF)
    assert (answer.counts == count(workload, rows.table)[1][[3, 4]]).all()


def test_rows_are_counted_once_for_a_workload(door, workload: Workload) -> None:
    marginals, thresholds = workload.families
    curator, rows, _, _ = door
    answer = curator.measure(workload, thresholds, np.array([3]), Fraction(1, 8))
    looks = len(rows.looks)
    curator.measure(workload, marginals, np.array([0]), Fraction(1, 8))
    assert len(rows.looks) == looks and not answer.derived
    curator.measure(replace(workload), marginals, np.array([0]), Fraction(1, 8))
    assert len(rows.looks) > looks  # another workload is counted anew


def test_noise_follows_the_sensitivity_of_the_relation(workload: Workload, domain: Domain) -> None:
    _, thresholds = workload.families
    scales = {}
    for relation in Relation:
        noise, allowance = Spy(), Ledger.in_memory(relation).allowance(Fraction(2), "test")
        curator = curator_of(
            WatchedRows(random_table(domain, 50, 0), allowance), allowance, relation, noise=noise
        )
        curator.measure(workload, thresholds, np.arange(10), HALF)
        curator.select(
            workload,
            thresholds,
            thresholds.tally.nothing(),
            10,
            HALF,
            np.array([]),
            np.zeros(50, int),
        )
        scales[relation] = noise.scales
    # K = 10 queries, ρ = 1/2: σ = √(K/2ρ) and β = √(K/2ρ); a substituted row moves √2 and 2 as far.
    assert scales[Relation.ADD_REMOVE] == pytest.approx([np.sqrt(10), np.sqrt(10)])
    assert scales[Relation.SUBSTITUTE] == pytest.approx([np.sqrt(20), 2 * np.sqrt(10)])


def test_selection_takes_the_worst_queries_that_were_not_asked_before(
    door, workload: Workload
) -> None:
    _, thresholds = workload.families
    curator, rows, _, _ = door
    truth = count(workload, rows.table)[1]
    expected = truth.copy()
    expected[[5, 9, 11], 0] += np.array([300, 200, 100])
    found = curator.select(
        workload, thresholds, expected, 2, HALF, np.array([5]), np.zeros(50, np.int64)
    )
    assert found.tolist() == [9, 11]


@given(candidates=st.integers(1, 50), picks=st.integers(1, 50), groups=st.integers(1, 60))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_group_of_candidates_gives_its_share_of_the_picks(
    door, workload: Workload, candidates: int, picks: int, groups: int
) -> None:
    _, thresholds = workload.families
    curator, _, noise, allowance = door
    picks = min(picks, candidates)
    before, price = len(noise.scales), Fraction(1, 10**6)
    left_out = np.arange(candidates, 50)
    expected = thresholds.tally.nothing()
    found = curator.select(workload, thresholds, expected, picks, price, left_out, groups=groups)
    assert len(set(found.tolist())) == picks and found.max() < candidates
    shares = np.bincount(found % groups, minlength=min(groups, candidates))
    assert shares.max() - shares.min() <= 1  # dealt out like cards
    whole = curator.select(workload, thresholds, expected, picks, price, left_out)
    assert (
        len(set(noise.scales[before:])) == 1 and len(whole) == picks
    )  # the same noise as in one group
    assert allowance.charges[-1].rho == allowance.charges[-2].rho == price


def test_public_bias_is_taken_off_the_score(door, workload: Workload) -> None:
    _, thresholds = workload.families
    curator, rows, _, _ = door
    expected = count(workload, rows.table)[1].copy()
    expected[[5, 9], 0] += np.array([300, 200])
    bias = np.zeros(50, np.int64)
    bias[5] = 250
    found = curator.select(workload, thresholds, expected, 1, HALF, np.array([]), bias)
    assert found.tolist() == [9]


def test_errors_within_the_slack_do_not_count(door, workload: Workload) -> None:
    marginals, _ = workload.families
    curator, rows, _, _ = door
    expected = count(workload, rows.table)[0].copy()
    expected[0][marginals.filled[0]] += 90  # many small errors
    expected[1, 0] += 150  # a large one
    for slack, worst in ((0, 0), (100, 1)):
        found = curator.select(workload, marginals, expected, 1, HALF, np.array([]), slack=slack)
        assert found.tolist() == [worst]


@pytest.mark.parametrize("relation", Relation)
def test_the_score_of_a_query_moves_no_further_than_charged(
    relation: Relation, workload: Workload, domain: Domain
) -> None:
    random = np.random.default_rng(1)
    table = random_table(domain, 31, seed=2)
    kept = np.r_[1:30] if relation is Relation.ADD_REMOVE else np.r_[30, 1:30]
    for family, queries in enumerate(workload.families):
        expected = random.integers(0, 20, (len(queries), queries.width)) * queries.filled
        tables = (
            Table(table.codes[0:30], table.numbers[0:30]),
            Table(table.codes[kept], table.numbers[kept]),
        )
        scores = [np.abs(count(workload, t)[family] - expected).sum(axis=1) for t in tables]
        allowed = 1 if relation is Relation.ADD_REMOVE else queries.cells_moved
        assert np.abs(scores[0] - scores[1]).max() <= allowed


def test_the_row_count_is_public_or_paid_for(door) -> None:
    curator, rows, noise, allowance = door
    assert curator.total(Fraction(1, 100)) == rows.table.rows
    paid = Fraction(1, 100) if noise.noised else Fraction(0)
    assert allowance.spent == paid
    assert (noise.noised == 1) == (allowance.ledger.relation is Relation.ADD_REMOVE)


def test_a_table_without_rows_is_counted_like_any_other(workload: Workload, domain: Domain) -> None:
    marginals, _ = workload.families
    allowance = Ledger.in_memory(Relation.ADD_REMOVE).allowance(Budget(1, 1e-9).rho, "test")
    nobody = WatchedRows(random_table(domain, 0, seed=0), allowance)
    curator = curator_of(nobody, allowance, Relation.ADD_REMOVE, noise=Spy())
    assert curator.total(allowance.total / 2) == 1
    assert (
        curator.measure(workload, marginals, np.array([0]), allowance.total / 2).counts == 0
    ).all()


def test_a_curator_shows_nothing_of_its_rows(door) -> None:
    curator, *_ = door
    assert repr(curator) in {"Curator(relation=add-remove)", "Curator(relation=substitute)"}


def test_runs_of_points_are_counted_column_by_column(door, schema: Schema) -> None:
    curator, rows, noise, allowance = door
    lattice = Lattice.of(schema)
    asked = [np.array([[0, 50], [50, 101]]), np.zeros((0, 2), int)]
    found = curator.intervals(lattice, asked, HALF)
    young = int((rows.table.numbers[:, 0] < 49.5).sum())
    assert [counts.tolist() for counts in found.counts] == [[young, 500 - young], []]
    assert noise.scales == [found.scale] and noise.noised == 2
    # One column is asked about: ρ = 1/2 buys σ = 1, or √2 where a row leaves one run and enters
    # another.
    assert found.scale == pytest.approx(
        1 if allowance.ledger.relation is Relation.ADD_REMOVE else 2**0.5
    )
    assert [(m.family, m.query, m.counts.tolist()) for m in curator.published] == [
        ("distributions", lattice.names[0], [young, 500 - young])
    ]
    looks = len(rows.looks)
    curator.intervals(lattice, asked, Fraction(1, 4))
    assert len(rows.looks) == looks  # counted once, kept inside


@pytest.mark.parametrize(
    "runs", [[[0, 60], [50, 101]], [[50, 101], [0, 50]], [[-1, 5]], [[0, 102]]]
)
def test_runs_that_overlap_or_leave_the_column_are_refused_before_they_are_paid(
    door, schema: Schema, runs: list
) -> None:
    curator, rows, _, allowance = door
    with pytest.raises(ValueError, match="must not overlap"):
        curator.intervals(Lattice.of(schema), [np.array(runs), np.zeros((0, 2), int)], HALF)
    assert allowance.spent == 0 and rows.looks == []


def test_categories_of_some_axes_are_counted_alone(door, domain: Domain) -> None:
    curator, rows, noise, allowance = door
    found = curator.categories([0, 1], domain, HALF)
    codes = rows.table.codes
    expected = [
        np.bincount(codes[:, axis], minlength=domain.sizes[axis]).tolist() for axis in (0, 1)
    ]
    assert [counts.tolist() for counts in found.counts] == expected
    assert noise.noised == sum(domain.sizes[:2]) == allowance.charges[0].details["cells"]
    moved = 1 if allowance.ledger.relation is Relation.ADD_REMOVE else 2
    assert found.scale == pytest.approx((2 * moved) ** 0.5)
    assert [(m.query, m.counts.tolist()) for m in curator.published] == [
        (domain.axes[axis].name, expected[axis]) for axis in (0, 1)
    ]


@pytest.mark.parametrize("relation", Relation)
def test_noise_grows_with_the_rows_that_one_person_may_have(
    relation: Relation, workload: Workload, schema: Schema, domain: Domain
) -> None:
    marginals, thresholds = workload.families
    scales = []
    for each in (1, 3):
        noise, allowance = Spy(), Ledger.in_memory(relation).allowance(Fraction(9), "test")
        rows = WatchedRows(random_table(domain, 50, 0), allowance)
        curator = curator_of(rows, allowance, relation, noise, each)
        curator.total(HALF)
        curator.measure(workload, marginals, np.arange(2), HALF)
        curator.select(
            workload,
            thresholds,
            thresholds.tally.nothing(),
            2,
            HALF,
            np.array([]),
            np.zeros(50, int),
        )
        curator.intervals(Lattice.of(schema), [np.array([[0, 9]]), np.array([[0, 9]])], HALF)
        curator.categories([0], domain, HALF)
        scales.append(noise.scales)
    assert scales[1] == pytest.approx([3 * scale for scale in scales[0]])
    assert len(scales[0]) == (5 if relation is Relation.ADD_REMOVE else 4)


def test_every_charge_names_its_mechanism_and_its_scale(
    door, workload: Workload, domain: Domain
) -> None:
    marginals, thresholds = workload.families
    curator, _, noise, allowance = door
    curator.total(Fraction(1, 8))
    curator.measure(workload, marginals, np.arange(2), Fraction(1, 8))
    curator.select(
        workload,
        thresholds,
        thresholds.tally.nothing(),
        2,
        HALF,
        np.array([]),
        np.zeros(50, int),
    )
    charged = [(c.mechanism, c.details["scale"]) for c in allowance.charges]
    mechanisms = ["discrete Gaussian", "discrete Gaussian", "noisy top-K"][-len(charged) :]
    assert charged == list(zip(mechanisms, noise.scales, strict=True))
    assert allowance.charges[-1].what == "selecting 2 of linear thresholds"
    assert allowance.charges[-1].details["candidates"] == 50
    assert curator.private is False
    if allowance.ledger.relation is Relation.ADD_REMOVE:
        assert (
            allowance.charges[0].what == "row count" and allowance.charges[0].details["cells"] == 1
        )
        assert curator.published[0].counts == 500


def test_every_column_must_be_asked_about(door, schema: Schema) -> None:
    curator, rows, _, allowance = door
    with pytest.raises(ValueError, match="zip"):
        curator.intervals(Lattice.of(schema), [np.array([[0, 9]])], HALF)
    assert allowance.spent == 0 and rows.looks == []
