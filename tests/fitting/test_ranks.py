"""Rank space is learnt level by level: exact where there is no noise, close where there is, and
paid for."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noises import Fixed, Spy
from samples import curator_of
from tabveil.curator import Curator
from tabveil.fitting.ranks import (
    FIRST_RUNS,
    LEVELS,
    SHORT_LOOK,
    Refining,
    learn_ranks,
    thinning_out,
)
from tabveil.privacy import Allowance, Ledger, Noise, OpenDPNoise, Relation
from tabveil.queries import GRID
from tabveil.schema import Schema
from tabveil.tables.placement import Lattice, Ranks
from tabveil.tables.table import Codec, Table
from test_curator import WatchedRows

WHOLE = {"min": 0, "max": 99, "decimals": 0}
FINE = {"min": 0, "max": 1_000_000, "decimals": 0}

PARTS = 51  # of a run at most: the cube root of 2^20 points cut into 8


def lattice_of(*rules: dict) -> Lattice:
    columns = {f"x{number}": {"type": "numerical", **rule} for number, rule in enumerate(rules)}
    columns["c"] = {"type": "categorical", "values": [0]}
    return Lattice.of(Schema.from_dict({"columns": columns}))


def table_of(*columns: np.ndarray) -> Table:
    numbers = np.column_stack([np.asarray(column, float) for column in columns])
    return Table(np.zeros((len(numbers), 1), np.int32), numbers)


def door(
    table: Table,
    rho: Fraction,
    relation: Relation = Relation.ADD_REMOVE,
    noise: Noise | None = None,
) -> tuple[Curator, Allowance]:
    """A curator without noise unless told otherwise, and what it may spend."""
    allowance = Ledger.in_memory(relation).allowance(rho, "test")
    return curator_of(
        WatchedRows(table, allowance), allowance, relation, noise=noise or Spy()
    ), allowance


def share_below(lattice: Lattice, ranks: Ranks, column: int, numbers: np.ndarray) -> np.ndarray:
    """The true share of rows below the start of each run, and of all rows at the end."""
    points = np.sort(
        np.clip(np.rint((numbers - lattice.low[column]) / lattice.step[column]), 0, None)
    )
    starts = np.append(ranks.starts[column], lattice.sizes[column])
    return np.searchsorted(points, starts, "left") / len(points)


def heavy_tail(rows: int) -> np.ndarray:
    """A third zeros, a heap at 40,000, and a tail over five orders of magnitude."""
    random = np.random.default_rng(0)
    wage = np.minimum(random.lognormal(9, 2, rows).round(), 1_000_000)
    return np.select([random.random(rows) < 0.33, random.random(rows) < 0.1], [0, 40_000], wage)


def ages(rows: int) -> np.ndarray:
    return np.random.default_rng(1).normal(45, 18, rows).round().clip(0, 99)


# -- without noise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(2)])
def test_without_noise_every_height_up_to_the_thin_ends_is_the_true_share(rho: Fraction) -> None:
    lattice, columns = lattice_of(WHOLE, FINE), (ages(5000), heavy_tail(5000))
    curator, _ = door(table_of(*columns), rho)
    ranks, _, [scale, _], *_ = learn_ranks(curator, lattice, rho, 5000)
    for column, numbers in enumerate(columns):
        assert ranks.starts[column][0] == 0 and (np.diff(ranks.starts[column]) > 0).all()
        assert ranks.heights[column][0] == 0 and ranks.heights[column][-1] == 1
        assert (np.diff(ranks.heights[column]) >= 0).all()
        truth = share_below(lattice, ranks, column, numbers)
        sure = slice(*np.searchsorted(truth, [0.05, 0.95]))
        # Rows are expected far out, and differences smoothed, where noise would have hidden them.
        np.testing.assert_allclose(
            ranks.heights[column][sure], truth[sure], rtol=0, atol=0.51 / GRID + 8 * scale / 5000
        )
        assert ranks.heights[column] == pytest.approx(truth, abs=0.01 + 8 * scale / 5000)


def test_far_out_noise_does_not_add_up_to_rows() -> None:
    noise = 20.0
    random = np.random.default_rng(0)
    runs = np.arange(0, 204)[:, None] + [0, 1]
    counts = np.concatenate([[5000.0, 4000.0, 300.0], np.zeros(201)]) + random.normal(0, noise, 204)
    kept = np.maximum(counts, 0)[3:].sum()
    found, heard = thinning_out(counts, runs, 0, noise)
    assert (found[:3] == counts[:3]).all() and heard == (0, 3)
    assert (np.diff(found[3:]) <= 1e-9).all() and (found[3:] >= 0).all()
    assert kept > 1000 and found[3:].sum() < 300


def test_many_rows_far_out_are_not_explained_away() -> None:
    noise = 20.0
    runs = np.arange(0, 104)[:, None] + [0, 1]
    counts = np.concatenate([[5000.0, 300.0], np.full(102, 2 * noise)])
    found, _ = thinning_out(counts, runs, 0, noise)  # none of them clear, but all together
    assert found[2:].sum() > 0.6 * counts[2:].sum()


def test_what_counts_lack_is_not_put_far_out() -> None:
    column = Refining.start(size=10_000, every=10_000, zero=0, pieces=8, total=7000)
    near = column.runs[:, 1] <= 1000
    noise = np.where(near, 0.0, [0, 0, 0, 0, -60.0, 50.0, -40.0, 30.0])
    held = np.array([200.0, 300.0, 3500.0, 2500.0, 0, 0, 0, 0]) + noise  # 500 are missing
    column.refine(held, 100.0, level=0, following=1e9)
    masses = np.array([mass for _, _, mass in sorted(column.done)])
    assert masses.sum() == pytest.approx(7000)
    assert masses[~near].sum() < 0.35 * 500  # in equal parts it would be half
    assert masses[-1] < 0.002 * 500 and (np.diff(masses[~near]) < 0).all()


@pytest.mark.parametrize("rule, draw", [(FINE, heavy_tail), (FINE, lambda rows: ages(rows) * 3)])
def test_means_stay_near_where_noise_hides_all_that_is_far_out(rule: dict, draw) -> None:
    rows, lattice, off = draw(5000), lattice_of(rule), []
    for seed in range(20):
        curator, _ = door(table_of(rows), Fraction(1, 5000), noise=Fixed(seed))
        learnt = learn_ranks(curator, lattice, Fraction(1, 5000), len(rows))
        drawn = learnt.ranks.numbers(((np.arange(GRID) + 0.5) / GRID)[:, None])
        off.append((drawn.mean() - rows.mean()) / rows.std())
    assert np.abs(off).mean() < 1.0


def test_a_column_of_noise_alone_is_left_as_it_is() -> None:
    counts = np.array([3.0, -2.0, 5.0, 1.0])
    found, heard = thinning_out(counts, np.arange(4)[:, None] + [0, 1], 0, 20.0)
    assert (found == counts).all() and heard == (0, 4)


def test_a_point_that_stands_above_the_noise_becomes_a_run_of_its_own() -> None:
    wage = heavy_tail(5000)
    curator, _ = door(table_of(wage), Fraction(1))
    ranks, *_ = learn_ranks(curator, lattice_of(FINE), Fraction(1), 5000)
    # A run is cut on while it holds more than three times the noise of the next level, which is at
    # most σ = √(1 / (2 ρ · 3/20)) = 1.8 here, into up to two parts for each σ: 13 of them end at
    # single points, so that any point of more than 24 rows is reached.
    for point in np.nonzero(np.bincount(wage.astype(int)) > 24)[0]:
        assert {point, point + 1} <= {*ranks.starts[0].tolist(), 1_000_001}


def test_a_pile_of_rows_is_a_run_of_its_own_however_many_points_there_are() -> None:
    lattice = lattice_of({"min": -524_288, "max": 524_287, "decimals": 0})
    numbers = np.where(np.arange(4000) % 4 == 0, 77, np.linspace(-500_000, 500_000, 4000).round())
    curator, _ = door(table_of(numbers), Fraction(1, 100))
    ranks, *_ = learn_ranks(
        curator, lattice, Fraction(1, 100), 4000
    )  # few runs at first, of 2^17 points
    drawn = ranks.numbers(((np.arange(GRID) + 0.5) / GRID)[:, None])[:, 0]
    assert (drawn == 77).mean() == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("runs", [[[0, 10], [5, 20]], [[10, 20], [0, 5]], [[0, 10], [0, 10]]])
def test_runs_that_overlap_are_refused_before_anything_is_charged(runs: list[list[int]]) -> None:
    curator, allowance = door(table_of(ages(100)), Fraction(1))
    with pytest.raises(ValueError, match="overlap"):
        curator.intervals(lattice_of(WHOLE), [np.array(runs)], Fraction(1, 2))
    assert allowance.spent == 0


def test_what_holds_few_rows_is_not_cut_further() -> None:
    curator, _ = door(table_of(heavy_tail(5000)), Fraction(1, 1000))
    ranks, *_ = learn_ranks(curator, lattice_of(FINE), Fraction(1, 1000), 5000)
    assert len(ranks.starts[0]) < FIRST_RUNS + 4 * PARTS


# -- with noise ------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", Relation)
def test_with_noise_the_distribution_is_close_to_the_truth(relation: Relation) -> None:
    rows, rho = 20_000, Fraction(1, 4)
    lattice, columns = lattice_of(WHOLE, FINE), (ages(rows), heavy_tail(rows))
    curator, allowance = door(table_of(*columns), rho, relation, OpenDPNoise())
    ranks, *_ = learn_ranks(curator, lattice, rho, rows)
    # A height sums at most k noises on each level, of standard deviation σ√k; each level gets six
    # of those.
    levels = zip(allowance.charges, (FIRST_RUNS, PARTS, PARTS, PARTS), strict=True)
    off = sum(6 * charge.details["scale"] * parts**0.5 for charge, parts in levels)
    for column, numbers in enumerate(columns):
        gap = np.abs(ranks.heights[column] - share_below(lattice, ranks, column, numbers)).max()
        assert gap <= off / rows < 0.06


@pytest.mark.parametrize(
    "rule, draw, rho", [(WHOLE, ages, Fraction(1, 500)), (FINE, heavy_tail, Fraction(1, 50))]
)
def test_bins_are_about_as_noisy_as_is_told_of_them(rule: dict, draw, rho: Fraction) -> None:
    rows, tries, lattice = draw(20_000), 30, lattice_of(rule)
    ordered, off, told = np.sort(rows), [], []
    for seed in range(tries):
        curator, _ = door(table_of(rows), rho, noise=Fixed(seed))
        learnt = learn_ranks(curator, lattice, rho, len(rows))
        [edges] = learnt.ranks.bins(16)
        ends = np.concatenate([[0], edges, [GRID]])
        held = np.searchsorted(ordered, [i.high for i in learnt.ranks.intervals(0, edges)], "right")
        off.append(np.diff(ends) / GRID * len(rows) - np.diff(held, prepend=0))
        told.append(learnt.noise_in_bins(0, edges))
    # Counts of a whole and of its parts correct each other, so a bit less than told.
    assert 0.6 < np.sqrt(np.mean(np.square(off))) / np.mean(told) < 1.2


def test_with_noise_a_spike_still_comes_back_exactly() -> None:
    numbers = np.where(np.arange(20_000) % 2, 40, ages(20_000))
    curator, _ = door(table_of(numbers), Fraction(1, 10), noise=OpenDPNoise())
    ranks, *_ = learn_ranks(curator, lattice_of(WHOLE), Fraction(1, 10), 20_000)
    drawn = ranks.numbers(((np.arange(GRID) + 0.5) / GRID)[:, None])[:, 0]
    assert (drawn == 40).mean() == pytest.approx((numbers == 40).mean(), abs=0.01)


# -- what it costs ---------------------------------------------------------------------------------

TABLES = {
    "ages": (WHOLE, ages(3000)),
    "heavy tail": (FINE, heavy_tail(3000)),
    "one point": (FINE, np.full(3000, 777)),
    "the lowest point": (FINE, np.zeros(3000)),
    "the highest point": (FINE, np.full(3000, 1_000_000)),
    "one row": (FINE, np.array([123_456])),
    "no rows": (FINE, np.zeros(0)),
    "three points": ({"min": 0, "max": 2, "decimals": 0}, np.arange(3000) % 3),
    "two points, one of them empty": ({"min": 0, "max": 1, "decimals": 0}, np.zeros(3000)),
    "no decimals declared": ({"min": -1, "max": 1}, np.sin(np.arange(3000))),
}


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rho", [Fraction(1, 7_000_001), Fraction(1, 300), Fraction(3)])
def test_what_was_charged_and_what_is_left_add_up_exactly(
    relation: Relation, name: str, rho: Fraction
) -> None:
    rule, numbers = TABLES[name]
    curator, allowance = door(table_of(numbers), rho, relation)
    ranks, _, [first_scale], left, *_ = learn_ranks(curator, lattice_of(rule), rho, len(numbers))
    assert allowance.spent + left == rho and left >= 0
    assert 1 <= len(allowance.charges) <= len(LEVELS)
    *before, last = [charge.rho for charge in allowance.charges]
    planned = [rho * share for share in LEVELS]
    assert before == planned[: len(before)]
    # Single points are refined no further, so that nothing is saved for that.
    assert last == planned[len(before)] or (before and left == 0)
    assert first_scale == allowance.charges[0].details["scale"]
    places = ranks.positions(table_of(numbers))
    assert ((places >= 0) & (places < GRID)).all()


def test_levels_never_cost_more_than_the_whole() -> None:
    assert sum(LEVELS) == 1 and all(share > 0 for share in LEVELS)


def test_tables_without_numbers_cost_nothing() -> None:
    schema = Schema.from_dict({"columns": {"c": {"type": "categorical", "values": [0]}}})
    curator, allowance = door(Table(np.zeros((5, 1), np.int32), np.zeros((5, 0))), Fraction(1))
    ranks, _, scale, left, *_ = learn_ranks(curator, Lattice.of(schema), Fraction(1), 5)
    assert (ranks.starts, len(scale), left, allowance.spent) == ((), 0, 1, 0)


# -- tables of any shape ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["one point", "the lowest point", "the highest point"])
def test_when_all_rows_are_alike_every_place_means_their_number(name: str) -> None:
    rule, numbers = TABLES[name]
    curator, _ = door(table_of(numbers), Fraction(1))
    ranks, *_ = learn_ranks(curator, lattice_of(rule), Fraction(1), len(numbers))
    assert (ranks.numbers(np.linspace(0, 1, 1001)[:, None]) == numbers[0]).mean() > 0.995


@pytest.mark.parametrize("total", [0, 1, 500])
@pytest.mark.parametrize("noise", [Spy, OpenDPNoise])
def test_a_table_without_rows_gives_a_usable_scale(total: int, noise: type) -> None:
    curator, _ = door(table_of(np.zeros(0)), Fraction(1, 10), noise=noise())
    ranks, *_ = learn_ranks(curator, lattice_of(WHOLE), Fraction(1, 10), total)
    heights = ranks.heights[0]
    assert heights[0] == 0 and heights[-1] == 1 and (np.diff(heights) >= 0).all()
    numbers = ranks.numbers(np.linspace(0, 1, 101)[:, None])
    assert ((numbers >= 0) & (numbers <= 99)).all()


def test_fewer_points_than_runs_are_all_told_apart() -> None:
    curator, _ = door(table_of(np.arange(3000) % 3), Fraction(1))
    lattice = lattice_of({"min": 0, "max": 2, "decimals": 0})
    ranks, *_ = learn_ranks(curator, lattice, Fraction(1), 3000)
    assert ranks.starts[0].tolist() == [0, 1, 2]
    assert ranks.heights[0] == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1 / GRID)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(0, 60),
    size=st.integers(2, 5000),
    total=st.integers(0, 2000),
    exponent=st.integers(-5, 2),
)
def test_any_counts_make_a_distribution(
    seed: int, rows: int, size: int, total: int, exponent: int
) -> None:
    random, rho = np.random.default_rng(seed), Fraction(10) ** exponent
    curator, allowance = door(table_of(random.integers(0, size, rows)), rho, noise=OpenDPNoise())
    lattice = lattice_of({"min": 0, "max": size - 1, "decimals": 0})
    ranks, _, _, left, *_ = learn_ranks(curator, lattice, rho, total)
    assert ranks.heights[0][0] == 0 and ranks.heights[0][-1] == 1
    assert (np.diff(ranks.heights[0]) >= 0).all() and (np.diff(ranks.starts[0]) > 0).all()
    assert ranks.starts[0][0] == 0 and ranks.starts[0][-1] < size
    assert allowance.spent + left == rho


# -- sensitivity -----------------------------------------------------------------------------------


def disjoint_runs(random: np.random.Generator, size: int, most: int) -> np.ndarray:
    """Some of the runs between random cuts, [runs, 2]; perhaps none."""
    ends = np.unique(random.integers(0, size + 1, 2 * int(random.integers(0, most + 1))))
    runs = np.stack([ends[:-1], ends[1:]], 1) if len(ends) > 1 else np.zeros((0, 2), int)
    return runs[random.random(len(runs)) < 0.8]


@pytest.mark.parametrize("relation", Relation)
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 100_000), rows=st.integers(1, 30), columns=st.integers(1, 4))
def test_no_neighbour_moves_counts_of_runs_past_what_was_charged(
    relation: Relation, seed: int, rows: int, columns: int
) -> None:
    random = np.random.default_rng(seed)
    lattice = lattice_of(*[{"min": 0, "max": 30, "decimals": 0}] * columns)
    asked = [disjoint_runs(random, 31, 6) for _ in range(columns)]
    asked[0] = asked[0] if len(asked[0]) else np.array([[0, 31]])
    numbers = random.integers(-5, 40, (rows + 1, columns)).astype(
        float
    )  # some of them out of bounds
    kept = range(1, rows) if relation is Relation.ADD_REMOVE else [rows, *range(1, rows)]
    found = []
    for chosen in (range(rows), kept):
        table = table_of(*numbers[list(chosen)].T)
        curator, allowance = door(table, Fraction(1, 2), relation)
        found.append(curator.intervals(lattice, asked, Fraction(1, 2)))
    moved = 1 if relation is Relation.ADD_REMOVE else 2
    changes = [a - b for a, b in zip(found[0].counts, found[1].counts, strict=True)]
    for change in changes:
        assert np.abs(change).sum() <= moved
        assert (change**2).sum() <= moved
    charged = sum(len(runs) > 0 for runs in asked) * moved
    assert sum((change**2).sum() for change in changes) <= charged
    assert (
        found[0].scale == allowance.charges[0].details["scale"] == pytest.approx(charged**0.5)
    )  # ρ = 1/2


@pytest.mark.parametrize(
    ("relation", "moved"), [(Relation.ADD_REMOVE, 1), (Relation.SUBSTITUTE, 2)]
)
def test_the_noise_of_runs_follows_columns_and_relation(relation: Relation, moved: int) -> None:
    lattice, rho = lattice_of(WHOLE, WHOLE, FINE), Fraction(1, 50)
    some, none = np.array([[0, 10], [10, 20], [50, 51]]), np.zeros((0, 2), int)
    table = table_of(ages(100), ages(100), heavy_tail(100))
    for asked, columns in (
        ([some, some, some], 3),
        ([some, none, some], 2),
        ([none, some, none], 1),
    ):
        noise = Spy()
        curator, allowance = door(table, rho, relation, noise)
        counts, scale = curator.intervals(lattice, asked, rho)
        assert scale == pytest.approx((columns * moved / (2 * float(rho))) ** 0.5, rel=1e-12)
        assert Fraction(scale) ** 2 >= columns * moved / (
            2 * rho
        )  # rounded against the data's user
        assert noise.scales == [scale] and noise.noised == sum(map(len, asked))
        assert [len(c) for c in counts] == [len(runs) for runs in asked]
        assert allowance.charges[0].details["cells"] == noise.noised


def test_counts_of_runs_are_the_rows_inside_them() -> None:
    lattice, numbers = lattice_of(WHOLE), ages(500)
    runs = np.array([[0, 30], [30, 31], [60, 100]])
    curator, _ = door(table_of(numbers), Fraction(1))
    counts, _ = curator.intervals(lattice, [runs], Fraction(1))
    assert counts[0].tolist() == [((numbers >= a) & (numbers < b)).sum() for a, b in runs]


def test_special_and_missing_values_are_counted_apart_and_leave_rank_space_to_the_numbers() -> None:
    rule = {"type": "numerical", **WHOLE, "special_values": [-1], "nullable": True}
    schema = Schema.from_dict({"columns": {"x": rule}})
    numbers = np.concatenate(
        [np.full(3000, 50.0), np.full(1000, -1.0), np.full(500, np.nan), np.full(500, 7)]
    )
    table = Codec(schema).encode(pa.table({"x": pa.array(numbers, from_pandas=True)}))
    curator, _ = door(table, Fraction(1))
    learnt = learn_ranks(curator, Lattice.of(schema), Fraction(1), len(numbers))
    assert learnt.special[0].tolist() == pytest.approx([1000, 500], rel=0.01)
    shares = np.array([[0.1], [0.5], [0.9]])
    assert learnt.ranks.numbers(shares)[:, 0].tolist() == [7, 50, 50]  # 500 and 3,000 of 3,500
    first = curator.published[0]
    assert first.sides[0].parts[-2:] == ("special -1", "missing")
    assert first.counts[-2:].tolist() == [1000, 500]


def test_parts_correct_the_whole_that_they_were_cut_from() -> None:
    column = Refining.start(size=8, every=8, zero=-1000, pieces=4, total=100)
    column.refine(np.array([40.0, 60.0]), 3.0, level=0, following=1.0)
    assert column.wholes.tolist() == [40.0, 60.0]
    column.refine(np.array([5.0] * 4 + [20.0] * 4), 3.0, level=1, following=100.0)
    masses = [mass for _, _, mass in sorted(column.done)]
    # Four parts add up to four times the variance of the whole, so they count a fifth.
    assert sum(masses[:4]) == pytest.approx(40 + (20 - 40) / 5)
    assert sum(masses) == pytest.approx(100)


def test_rows_with_special_values_are_as_many_as_counted_where_noise_hides_the_others() -> None:
    column = Refining.start(size=8, every=9, zero=-1000, pieces=8, total=900)
    ordinary = np.array([60.0, 50.0, 40.0, 50.0, 60.0, 50.0, 40.0, 40.0])  # of 30 of noise each
    column.refine(np.append(ordinary, 501.0), 30.0, level=0, following=1000.0)
    masses = [mass for _, _, mass in sorted(column.done)]
    # Nine rows are missing from the total, and nine counts may lack them.
    assert masses[-1] == pytest.approx(502.0) and sum(masses) == pytest.approx(900)


def test_what_would_refine_single_points_further_is_spent_on_them() -> None:
    rho = Fraction(1, 300)
    curator, allowance = door(table_of(ages(20_000)), rho, noise=OpenDPNoise())
    _, _, _, left, *_ = learn_ranks(curator, lattice_of(WHOLE), rho, 20_000)
    assert left == 0 and len(allowance.charges) == 2
    assert allowance.charges[-1].rho == rho * (1 - LEVELS[0])


# -- beside a public table -------------------------------------------------------------------------


def below(numbers: np.ndarray) -> np.ndarray:
    """The share of public rows below each of a hundred whole numbers, and all of them."""
    counts = np.bincount(numbers.astype(int), minlength=100)
    return np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])


def test_columns_that_a_public_table_tells_cost_a_short_look_and_others_the_usual_one() -> None:
    rho, people = Fraction(1, 100), ages(5000)
    curator, allowance = door(table_of(people, people), rho)
    public = [below(people), below(99 - people / 4)]  # as they are, and all of them old
    learnt = learn_ranks(curator, lattice_of(WHOLE, WHOLE), rho, 5000, public)
    looks = [measurement.sides[0].name for measurement in curator.published]
    assert looks[:3] == ["x0", "x1", "x1"]  # at once again where the public table was wrong
    assert learnt.noise[0] > 2 * learnt.noise[1]
    assert allowance.spent + learnt.unspent == rho
    # One of two columns was left at a fifth of its price.
    assert learnt.unspent == rho / 2 * (1 - SHORT_LOOK)


def test_a_misleading_public_table_leaves_as_little_noise_as_none() -> None:
    rho, people = Fraction(1, 100), ages(5000)
    alone, misled = (
        learn_ranks(door(table_of(people), rho)[0], lattice_of(WHOLE), rho, 5000, public)
        for public in (None, [below(99 - people / 4)])
    )
    assert misled.noise == pytest.approx(alone.noise)
    assert misled.unspent == alone.unspent
    for ours, theirs in zip(alone.ranks.heights, misled.ranks.heights, strict=True):
        np.testing.assert_allclose(ours, theirs)
