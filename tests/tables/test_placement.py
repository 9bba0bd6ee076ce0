"""A scale keeps the order of numbers, looks at one row at a time, and gives back what it was
given."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.queries import GRID
from tabveil.schema import Schema
from tabveil.tables.placement import Lattice, MinMax, Placement, Ranks, placement_from_dict
from tabveil.tables.table import Codec, Table

EXTREMES: dict[str, dict] = {
    "wide, with decimals": {"min": 0, "max": 1e12, "decimals": 2},
    "wide on both sides": {"min": -1e12, "max": 1e12, "decimals": 2},
    "as wide as floats go": {"min": -8e307, "max": 8e307},
    "narrow": {"min": 0, "max": 1e-9},
    "narrow and far from zero": {"min": 1e15, "max": 1e15 + 2},
    "not a sum of its parts": {"min": 0.1, "max": 0.7},
    "negative": {"min": -7.5, "max": -2.5, "decimals": 1},
    "any decimals": {"min": -3, "max": 11},
    "many decimals": {"min": 0, "max": 1, "decimals": 9},
    "two points": {"min": 0, "max": 1, "decimals": 0},
}


def schema_of(*rules: dict, values: int = 0) -> Schema:
    """Numerical columns, and one categorical column if it has values."""
    columns: dict = {
        f"x{number}": {"type": "numerical", **rule} for number, rule in enumerate(rules)
    }
    if values:
        columns["c"] = {"type": "categorical", "values": list(range(values))}
    return Schema.from_dict({"columns": columns})


def table_of(numbers: np.ndarray, codes: np.ndarray | None = None) -> Table:
    """A table of one number per row, and of one code per row if there are any."""
    column = np.asarray(numbers, float)[:, None]
    return Table(np.zeros((len(column), 0), np.int32) if codes is None else codes[:, None], column)


def ranks_of(schema: Schema, starts: list[int], heights: list[float]) -> Ranks:
    """Rank space of one column."""
    return Ranks(Lattice.of(schema), (np.array(starts, np.int64),), (np.array(heights, float),))


def even_ranks(schema: Schema, runs: int = 8) -> Ranks:
    """Rank space of columns whose rows are spread evenly."""
    lattice = Lattice.of(schema)
    starts = [
        np.unique(np.linspace(0, size, runs, endpoint=False).astype(np.int64))
        for size in lattice.sizes
    ]
    return Ranks(lattice, tuple(starts), tuple(np.linspace(0, 1, len(s) + 1) for s in starts))


@st.composite
def any_ranks(draw: st.DrawFn, on_grid: bool = False) -> tuple[Schema, Ranks]:
    """Runs of any length, many of them single points, with any mass; heights are grid positions if
    asked."""
    size, low, decimals = (
        draw(st.integers(2, 400)),
        draw(st.integers(-500, 500)),
        draw(st.integers(0, 3)),
    )
    high = round(low + (size - 1) / 10**decimals, decimals)
    schema = schema_of({"min": low, "max": high, "decimals": decimals})
    assert Lattice.of(schema).sizes == (size,)
    starts = sorted({0, *draw(st.lists(st.integers(0, size - 1), max_size=40))})
    masses = np.array(
        draw(st.lists(st.integers(0, 99), min_size=len(starts), max_size=len(starts))), float
    )
    masses[draw(st.integers(0, len(starts) - 1))] += 1
    heights = np.concatenate([[0.0], np.cumsum(masses) / masses.sum()])
    heights = np.rint(heights * GRID) / GRID if on_grid else np.minimum(heights, 1.0)
    heights[-1] = 1.0
    return schema, ranks_of(schema, starts, heights.tolist())


def run_of(ranks: Ranks, numbers: np.ndarray) -> np.ndarray:
    """Which run each number lies in."""
    return np.searchsorted(ranks.starts[0], ranks.lattice.points(numbers)[:, 0], "right") - 1


# -- order and place -------------------------------------------------------------------------------


@settings(deadline=None)
@given(case=any_ranks(), seed=st.integers(0, 10_000))
def test_places_lie_on_the_grid_in_the_order_of_the_numbers(
    case: tuple[Schema, Ranks], seed: int
) -> None:
    schema, ranks = case
    random = np.random.default_rng(seed)
    points = np.arange(ranks.lattice.sizes[0])
    table = table_of(ranks.lattice.at(0, points), random.integers(0, 1000, len(points), np.int32))
    scales: tuple[Placement, ...] = (ranks, MinMax.of(schema))
    for scale in scales:
        places = scale.positions(table)[:, 0]
        assert places.dtype == np.int32 and places.min() >= 0 and places.max() <= GRID
        assert (np.diff(places) >= 0).all()


@pytest.mark.parametrize("scale", [MinMax.of, even_ranks])
def test_numbers_outside_the_bounds_lie_at_the_ends(scale) -> None:
    schema = schema_of({"min": -5, "max": 5, "decimals": 1})
    outside, ends = table_of(np.array([-1e9, 1e9])), table_of(np.array([-5.0, 5.0]))
    assert (scale(schema).positions(outside) == scale(schema).positions(ends)).all()


@settings(deadline=None)
@given(case=any_ranks(), shares=st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_every_place_means_a_number_of_the_lattice_inside_the_bounds(
    case: tuple[Schema, Ranks], shares: list[float]
) -> None:
    schema, ranks = case
    rule = schema.columns["x0"]
    numbers = ranks.numbers(np.array(shares)[:, None])
    assert (numbers == ranks.lattice.numbers(ranks.lattice.points(numbers))).all()
    assert numbers.min() >= rule.min and numbers.max() <= rule.max + 1e-9
    decoded = (
        Codec(schema).decode(Table(np.zeros((len(shares), 0), np.int32), numbers))["x0"].to_numpy()
    )
    np.testing.assert_allclose(decoded, numbers[:, 0], rtol=0, atol=1e-9)
    assert (decoded >= rule.min).all() and (decoded <= rule.max).all()
    assert (np.round(decoded.astype(float), rule.decimals) == decoded).all()


@settings(deadline=None)
@given(case=any_ranks(), shares=st.lists(st.floats(0, 1), min_size=2, max_size=50))
def test_larger_places_never_mean_smaller_numbers(
    case: tuple[Schema, Ranks], shares: list[float]
) -> None:
    schema, ranks = case
    ordered = np.sort(np.array(shares))[:, None]
    for scale in (ranks, MinMax.of(schema)):
        assert (np.diff(scale.numbers(ordered)[:, 0]) >= 0).all()


# -- points that many rows share -------------------------------------------------------------------

SPIKES = {
    "forty hours": ({"min": 0, "max": 99, "decimals": 0}, 40, [0, 40, 41], [0, 0.25, 0.75, 1]),
    "no wages": ({"min": 0, "max": 999_999, "decimals": 0}, 0, [0, 1], [0, 0.625, 1]),
    "the highest poverty ratio": (
        {"min": 0, "max": 501, "decimals": 0},
        501,
        [0, 501],
        [0, 0.75, 1],
    ),
    "everyone": ({"min": 0, "max": 10, "decimals": 1}, 3.7, [0, 37, 38], [0, 0, 1, 1]),
}


@pytest.mark.parametrize("spike", SPIKES)
def test_a_point_that_many_rows_share_comes_back_exactly(spike: str) -> None:
    rule, number, starts, heights = SPIKES[spike]
    schema = schema_of(rule, values=5000)
    ranks = ranks_of(schema, starts, heights)
    at = starts.index(int(ranks.lattice.points(np.array([[number]]))[0, 0]))
    table = table_of(np.full(5000, number), np.arange(5000, dtype=np.int32))
    places = ranks.positions(table)
    assert (places >= heights[at] * GRID).all() and (places < heights[at + 1] * GRID).all()
    assert (ranks.numbers(places / GRID) == ranks.lattice.numbers(np.array([[starts[at]]]))).all()
    anywhere = np.linspace(heights[at], heights[at + 1], 1001, endpoint=False)[:, None]
    assert Codec(schema).decode(Table(np.zeros((1001, 1), np.int32), ranks.numbers(anywhere)))[
        "x0"
    ].unique().to_pylist() == [number]


def test_rows_that_share_a_number_fill_its_piece_evenly() -> None:
    schema = schema_of({"min": 0, "max": 99, "decimals": 0}, values=5000)
    ranks = ranks_of(schema, [0, 40, 41], [0, 0.25, 0.75, 1])
    places = ranks.positions(table_of(np.full(5000, 40.0), np.arange(5000, dtype=np.int32)))[:, 0]
    even = np.linspace(0.25, 0.75, 5000)
    # Kolmogorov's bound at one in a million for 5,000 rows is 0.038 of the piece, which is half as
    # wide.
    assert np.abs(np.sort(places) / GRID - even).max() < 0.038 / 2


# -- there and back --------------------------------------------------------------------------------


@settings(deadline=None)
@given(case=any_ranks(on_grid=True), seed=st.integers(0, 10_000))
def test_a_row_comes_back_in_its_own_run(case: tuple[Schema, Ranks], seed: int) -> None:
    _, ranks = case
    random = np.random.default_rng(seed)
    numbers = ranks.lattice.at(0, random.integers(0, ranks.lattice.sizes[0], 200))
    table = table_of(numbers, random.integers(0, 1000, 200, np.int32))
    before = run_of(ranks, table.numbers)
    massive = (
        np.diff(ranks.heights[0])[before] > 0
    )  # a run without mass owns no place to come back from
    after = run_of(ranks, ranks.numbers(ranks.positions(table) / GRID))
    assert (before[massive] == after[massive]).all()


@settings(deadline=None)
@given(case=any_ranks(), seed=st.integers(0, 10_000))
def test_rounding_to_the_grid_moves_a_row_out_of_its_run_only_at_the_very_edge(
    case: tuple[Schema, Ranks], seed: int
) -> None:
    _, ranks = case
    random = np.random.default_rng(seed)
    numbers = ranks.lattice.at(0, random.integers(0, ranks.lattice.sizes[0], 200))
    table = table_of(numbers, random.integers(0, 1000, 200, np.int32))
    places = ranks.positions(table)
    before, after = run_of(ranks, table.numbers), run_of(ranks, ranks.numbers(places / GRID))
    from_edge = np.abs(places / GRID - ranks.heights[0][None, :]).min(axis=1)
    assert ((before == after) | (from_edge <= 1 / GRID)).all()


def test_rows_keep_their_distribution_through_rank_space_and_back() -> None:
    schema = schema_of({"min": 0, "max": 499, "decimals": 0}, values=4000)
    random = np.random.default_rng(0)
    numbers = np.where(random.random(4000) < 0.3, 40, random.exponential(60, 4000).round()).clip(
        0, 499
    )
    counts = np.bincount(numbers.astype(int), minlength=500)
    heights = np.concatenate([[0.0], np.cumsum(counts) / 4000])
    ranks = ranks_of(schema, list(range(500)), heights.tolist())
    places = ranks.positions(table_of(numbers, np.arange(4000, dtype=np.int32)))
    assert (ranks.numbers((places + 1) / GRID - 1e-12)[:, 0] == numbers).mean() > 0.99
    # Even places, as a fitted table has them, give each point as often as it was counted.
    drawn = ranks.numbers(((np.arange(4000) + 0.5) / 4000)[:, None])[:, 0]
    assert np.abs(np.bincount(drawn.astype(int), minlength=500) - counts).max() <= 1


# -- one row at a time -----------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.integers(0, 60), max_size=5))
def test_a_row_has_the_same_place_alone_and_in_any_batch_and_order(
    seed: int, cuts: list[int]
) -> None:
    schema = schema_of({"min": -10, "max": 90, "decimals": 1}, {"min": 0, "max": 1e6}, values=50)
    random = np.random.default_rng(seed)
    numbers = np.column_stack([random.normal(40, 30, 60).round(1), random.lognormal(8, 3, 60)])
    table = Table(random.integers(0, 50, (60, 1), np.int32), numbers)
    order = random.permutation(60)
    for scale in (MinMax.of(schema), even_ranks(schema)):
        together = scale.positions(table)
        parts = [
            scale.positions(Table(table.codes[part], table.numbers[part]))
            for part in np.split(order, sorted(cuts))
        ]
        assert (np.concatenate(parts) == together[order]).all()
        row = int(order[0])
        alone = scale.positions(Table(table.codes[[row]], table.numbers[[row]]))
        assert (alone == together[[row]]).all()


# -- bins ------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(case=any_ranks(), wanted=st.integers(2, 20))
def test_bins_are_in_order_and_never_cut_a_single_point(
    case: tuple[Schema, Ranks], wanted: int
) -> None:
    _, ranks = case
    (edges,) = ranks.bins(wanted)
    assert (np.diff(edges) > 0).all() and (edges > 0).all() and (edges < GRID).all()
    single = np.diff(np.append(ranks.starts[0], ranks.lattice.sizes[0])) == 1
    low, high = ranks.heights[0][:-1][single] * GRID, ranks.heights[0][1:][single] * GRID
    # An edge is a whole grid position, so it may be half of one away from where the point's piece
    # ends.
    assert not ((edges[:, None] > low + 0.5) & (edges[:, None] < high - 0.5)).any()
    # A point with much mass is a bin of its own; there are fewer than 2 · wanted, each with two
    # edges.
    assert len(edges) + 1 <= 4 * wanted


@settings(deadline=None)
@given(case=any_ranks(), wanted=st.integers(2, 20))
def test_points_with_much_mass_are_bins_of_their_own(
    case: tuple[Schema, Ranks], wanted: int
) -> None:
    _, ranks = case
    (edges,) = ranks.bins(wanted)
    ends = np.concatenate([[0], edges, [GRID]])
    single = np.diff(np.append(ranks.starts[0], ranks.lattice.sizes[0])) == 1
    for run in np.nonzero(single & (np.diff(ranks.heights[0]) > 0.5 / wanted))[0]:
        for height in ranks.heights[0][run : run + 2]:
            assert np.abs(ends - height * GRID).min() <= 0.5


@pytest.mark.parametrize("wanted", [2, 6, 13, 20])
def test_evenly_spread_rows_are_cut_into_equal_bins(wanted: int) -> None:
    ranks = even_ranks(
        schema_of({"min": 0, "max": 9999, "decimals": 0}, {"min": 0, "max": 1}), runs=100
    )
    for edges in ranks.bins(wanted):
        assert np.diff([0, *edges, GRID]) == pytest.approx(GRID / wanted, abs=1)


@pytest.mark.parametrize("wanted", [6, 10, 20])
def test_a_few_spikes_at_most_double_the_number_of_bins(wanted: int) -> None:
    masses = np.full(100, 0.4 / 94)
    masses[[0, 20, 40, 50, 60, 99]] = 0.1
    heights = np.concatenate([[0.0], np.cumsum(masses)])
    heights[-1] = 1.0
    ranks = ranks_of(
        schema_of({"min": 0, "max": 99, "decimals": 0}), list(range(100)), heights.tolist()
    )
    (edges,) = ranks.bins(wanted)
    assert len(edges) + 1 <= 2 * wanted


def test_numbers_heaped_at_round_values_at_most_double_the_number_of_bins() -> None:
    masses = np.full(200, 0.05 / 181)
    masses[5:195:10] = 0.05  # 19 round numbers hold 95 % of the rows
    heights = np.concatenate([[0.0], np.cumsum(masses) / masses.sum()])
    heights[-1] = 1.0
    ranks = ranks_of(
        schema_of({"min": 0, "max": 199, "decimals": 0}), list(range(200)), heights.tolist()
    )
    assert len(ranks.bins(10)[0]) + 1 <= 2 * 10 + 1


def test_points_that_fill_a_bin_leave_the_other_bins_to_the_rest() -> None:
    # Two fifths of all rows at zero, as with wages; the others spread over 1 to 400.
    schema = schema_of({"min": 0, "max": 400, "decimals": 0})
    [edges] = ranks_of(schema, [0, 1], [0.0, 0.4, 1.0]).bins(21)
    shares = np.diff([0, *edges, GRID]) / GRID
    assert shares[0] == pytest.approx(0.4, abs=1e-4)
    assert shares[1:] == pytest.approx(np.full(20, 0.03), abs=1e-4)
    [edges] = ranks_of(schema, [0, 1], [0.0, 0.95, 1.0]).bins(20)
    assert np.diff([*edges, GRID]).min() >= 0.024 * GRID  # half of a twentieth, no finer


# -- to a file and back ----------------------------------------------------------------------------


@settings(deadline=None)
@given(case=any_ranks(), seed=st.integers(0, 10_000))
def test_a_scale_survives_json_to_the_last_bit(case: tuple[Schema, Ranks], seed: int) -> None:
    schema, ranks = case
    random = np.random.default_rng(seed)
    table, shares = table_of(random.normal(0, 300, 50)), random.random((50, 1))
    for scale in (ranks, MinMax.of(schema)):
        again = placement_from_dict(
            json.loads(json.dumps(scale.to_dict(), allow_nan=False)), schema
        )
        assert type(again) is type(scale)
        assert (again.positions(table) == scale.positions(table)).all()
        assert (again.numbers(shares) == scale.numbers(shares)).all()


# -- odd columns -----------------------------------------------------------------------------------


def test_tables_without_numbers_have_empty_scales() -> None:
    schema = schema_of(values=3)
    table = Table(np.zeros((7, 1), np.int32), np.zeros((7, 0)))
    lattice = Lattice.of(schema)
    for scale in (MinMax.of(schema), Ranks(lattice, (), ())):
        assert scale.positions(table).shape == scale.numbers(np.zeros((7, 0))).shape == (7, 0)
        again = placement_from_dict(json.loads(json.dumps(scale.to_dict())), schema)
        assert again.positions(table).shape == (7, 0)
    assert Ranks(lattice, (), ()).bins(10) == []


def test_tables_without_rows_have_no_places() -> None:
    schema = schema_of({"min": 0, "max": 1}, {"min": 0, "max": 5, "decimals": 0}, values=3)
    empty = Table(np.zeros((0, 1), np.int32), np.zeros((0, 2)))
    for scale in (MinMax.of(schema), even_ranks(schema)):
        assert scale.positions(empty).shape == scale.numbers(np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("scale", [MinMax.of, even_ranks])
def test_extreme_bounds_are_no_obstacle(scale, extreme: str) -> None:
    rule = EXTREMES[extreme]
    schema = schema_of(rule)
    low, high = float(rule["min"]), float(rule["max"])
    made = scale(schema)
    places = made.positions(table_of(np.linspace(low, high, 101)))[:, 0]
    assert (np.diff(places) >= 0).all() and places[0] < GRID / 2 < places[-1] <= GRID
    numbers = made.numbers(np.linspace(0, 1, 101)[:, None])
    decoded = Codec(schema).decode(Table(np.zeros((101, 0), np.int32), numbers))["x0"].to_numpy()
    assert decoded[0] == low and decoded[-1] == high
    assert (
        (decoded >= low).all()
        and (decoded <= high).all()
        and (np.diff(decoded.astype(float)) >= 0).all()
    )
    rounding = 0.51 * 10.0 ** -rule.get("decimals", 30)
    rounding = rounding if scale == MinMax.of else 0.0  # ranks give points that need none
    rounding = max(rounding, 1e-9 * max(abs(low), abs(high)))
    np.testing.assert_allclose(decoded, numbers[:, 0], rtol=0, atol=rounding)


@pytest.mark.parametrize("extreme", EXTREMES)
def test_the_points_of_a_lattice_are_few_enough_and_come_back(extreme: str) -> None:
    lattice = Lattice.of(schema_of(EXTREMES[extreme]))
    (size,) = lattice.sizes
    assert 2 <= size <= 2**20 + 1
    points = np.unique(np.linspace(0, size - 1, 1000).astype(np.int64))[:, None]
    if extreme != "narrow and far from zero":  # there, floats themselves are too coarse
        assert (lattice.points(lattice.numbers(points)) == points).all()


def test_bounds_closer_than_a_float_can_be_cut_are_no_obstacle() -> None:
    assert Lattice.of(schema_of({"min": 0, "max": 5e-324})).sizes[0] >= 2


def test_a_coarse_lattice_still_holds_round_numbers() -> None:
    lattice = Lattice.of(schema_of({"min": 0, "max": 5_000_000, "decimals": 0}))
    assert lattice.step[0] == 5
    back = lattice.numbers(lattice.points(np.array([[0.0], [40_000.0], [50_000.0], [5_000_000.0]])))
    assert back.ravel().tolist() == [0, 40_000, 50_000, 5_000_000]


@pytest.mark.parametrize(
    ("rule", "piled_up"),
    [
        (
            {"min": -19_998, "max": 4_209_995, "decimals": 0},
            [0, 40_000, -5_000, -19_998, 4_209_995],
        ),
        ({"min": -10_000.5, "max": 999_999.99}, [0, 12_000, -250, -10_000.5, 999_999.99]),
        ({"min": -1 / 3, "max": 2 / 3}, [0, 0.25, 0.1, 0.3, -1 / 3, 2 / 3]),
        ({"min": 0.5, "max": 9.5, "decimals": 1}, [0.5, 0.7, 3.0, 9.5]),
    ],
)
def test_zero_and_round_numbers_are_points_wherever_the_bounds_are(
    rule: dict, piled_up: list
) -> None:
    lattice = Lattice.of(schema_of(rule))
    back = lattice.numbers(lattice.points(np.array(piled_up, float)[:, None]))
    assert back.ravel().tolist() == piled_up


def test_an_early_release_keeps_the_points_that_it_was_made_with() -> None:
    schema = schema_of(
        {"min": -19_998, "max": 4_209_995, "decimals": 0}, {"min": -1 / 3, "max": 2 / 3}
    )
    early = {"kind": "ranks", "starts": [[0, 7], [0, 9]], "heights": [[0, 0.5, 1], [0, 0.5, 1]]}
    lattice = placement_from_dict(early, schema).lattice
    assert lattice.numbers(np.array([[4000, 3]])).tolist() == [[2, -1 / 3 + 3 / 2**20]]
    again = placement_from_dict(
        Ranks(Lattice.of(schema), *[(np.array([0]),) * 2] * 2).to_dict(), schema
    ).lattice
    assert again.numbers(again.points(np.zeros((1, 2)))).tolist() == [[0, 0]]
