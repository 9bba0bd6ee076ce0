"""Public rows that get weights: as near to the public table as the noisy answers allow."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tabveil as tv
from tabveil.curator import Answer
from tabveil.fitting.weighted import Known, Pool, WeightedRows, tilted, worth
from tabveil.queries import GRID, Pairs
from tabveil.tables.placement import Lattice, Ranks
from tabveil.tables.table import Codec, Table

COLUMNS: dict[str, Any] = {
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "town": {"type": "categorical", "values": ["a", "b", "c"]},
    "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
}
TOTAL = 10_000
NOISE = 0.1  # in a share


def pool(rows: int = 600, sources: int = 1, seed: int = 0) -> Pool:
    schema = tv.Schema.from_dict({"columns": COLUMNS, "targets": ["sex"]})
    domain, random = Codec(schema).domain, np.random.default_rng(seed)
    lattice = Lattice.of(schema)
    ranks = Ranks(lattice, (np.arange(0, 100, 10),), (np.linspace(0, 1, 11),))
    pairs = Pairs.over(domain, [np.array([GRID // 2])], 1000)
    codes = np.stack([random.integers(0, n, rows) for n in domain.sizes], 1).astype(np.int32)
    table = Table(codes, random.integers(0, 100, (rows, 1)).astype(float))
    return Pool(pairs, domain, ranks, table, np.arange(rows) % sources)


def answer(rows: Pool, pick: int, shares: np.ndarray, scale: float = 1.0) -> Answer:
    counts = np.zeros((1, rows.pairs.width), np.int64)
    counts[0, : shares.size] = np.rint(shares.ravel() * TOTAL)
    return Answer(rows.pairs, np.array([pick]), counts, scale)


def shares_of(rows: Pool, weights: np.ndarray, pick: int) -> np.ndarray:
    return np.bincount(rows.cells(pick), weights, int(rows.pairs.cells[pick]))


def test_a_tally_of_weighted_rows_is_the_sum_of_their_weights_in_every_cell() -> None:
    rows = pool(5000)  # more than one batch
    weights = np.random.default_rng(1).dirichlet(np.ones(5000))
    tally = rows.tally(weights)
    for pick in range(len(rows.pairs)):
        cells = rows.pairs.tally.cells_in(tally, np.array([pick]))[0]
        expected = shares_of(rows, weights, pick)
        np.testing.assert_allclose(cells[: len(expected)], expected, atol=1e-6)


def test_weights_agree_with_answers_that_hardly_carry_noise() -> None:
    rows = pool()
    wanted = np.array([0.7, 0.2, 0.1])
    [pick] = rows.pairs.alone([1])
    start = WeightedRows.start(rows, TOTAL, 0.0, NOISE)
    found = start.learnt([answer(rows, pick, wanted)], rows.tally(start.weights)).settled()
    np.testing.assert_allclose(shares_of(rows, found.weights, pick), wanted, atol=2e-3)
    assert np.isclose(found.weights.sum(), 1) and (found.weights > 0).all()


def test_what_no_answer_speaks_of_stays_as_in_the_public_table() -> None:
    rows = pool(30_000)
    sex, town = rows.pairs.alone([0, 1])
    start = WeightedRows.start(rows, TOTAL, 0.0, NOISE)
    told = [answer(rows, town, np.array([0.8, 0.1, 0.1]))]
    found = start.learnt(told, rows.tally(start.weights))
    before, after = (shares_of(rows, w, sex) for w in (start.weights, found.weights))
    np.testing.assert_allclose(after, before, atol=0.02)


@settings(deadline=None, max_examples=25)
@given(noise=st.floats(0.001, 0.3), likeness=st.floats(5, 5000))
def test_tilted_weights_are_a_minimum_of_their_objective(noise: float, likeness: float) -> None:
    rows = pool(60)
    [pick] = rows.pairs.alone([1])
    members = rows.memberships([int(pick)])
    known = Known([int(pick)], np.array([0.6, 0.3, 0.1]), np.full(3, noise), np.ones(3, bool))
    even = np.full(60, 1 / 60)

    def objective(weights: np.ndarray) -> float:
        gap = (members.T @ weights - known.shares) / noise
        return float(likeness * (weights * np.log(weights / even)).sum() + gap @ gap / 2)

    weights, _ = tilted(even, members, known, likeness, np.zeros(3), 60)
    random = np.random.default_rng(0)
    for _ in range(20):
        other = weights * np.exp(0.05 * random.standard_normal(60))
        assert objective(weights) <= objective(other / other.sum()) + 1e-6


def test_a_table_is_worth_more_the_nearer_answers_are_to_it() -> None:
    expected = np.full(40, 1 / 40)
    random = np.random.default_rng(2)
    found = []
    for rows in (30, 300, 3000):
        gaps = random.standard_normal(40) * np.sqrt(expected / rows)
        known = Known(list(range(10)), expected + gaps, np.full(40, 1e-4), np.ones(40, bool))
        found.append(worth(expected, known, np.full(10, 4)))
    assert found[0] < found[1] < found[2]
    assert all(0.2 < f / r < 5 for f, r in zip(found, (30, 300, 3000), strict=True))


def test_of_several_public_tables_the_one_that_is_alike_takes_part_most() -> None:
    rows = pool(4000, sources=2)
    codes = rows.rows.codes.copy()
    codes[rows.source == 1, 1] = 2  # everybody in town c
    rows = Pool(rows.pairs, rows.domain, rows.ranks, Table(codes, rows.rows.numbers), rows.source)
    [town] = rows.pairs.alone([1])
    start = WeightedRows.start(rows, TOTAL, 0.0, NOISE)
    told = [answer(rows, town, np.full(3, 1 / 3), scale=100.0)]
    found = start.learnt(told, rows.tally(start.weights))
    assert found.weights[rows.source == 0].sum() > 0.9


@pytest.mark.parametrize(("towards", "trusted"), [("public", 1.0), ("relaxed", 0.0)])
def test_whoever_foretells_answers_better_is_trusted(towards: str, trusted: float) -> None:
    rows = pool(4000)
    start = WeightedRows.start(rows, TOTAL, 0.0, NOISE)
    public, relaxed = rows.tally(start.weights), rows.tally(_tilted_by_sex(rows))
    truth = public if towards == "public" else relaxed
    [sex] = rows.pairs.alone([0])
    cells = rows.pairs.tally.cells_in(truth, np.array([sex]))[0][:2]
    found = start.learnt([answer(rows, int(sex), np.asarray(cells), scale=50.0)], relaxed)
    assert found.trust == pytest.approx(trusted, abs=0.02)


def test_a_public_table_is_believed_until_something_speaks_against_it() -> None:
    assert WeightedRows.start(pool(), TOTAL, 0.0, NOISE).trust == 1.0


@pytest.mark.parametrize(("noise", "heard"), [(0.001, False), (0.1, True)])
def test_public_rows_have_a_say_in_what_is_asked_where_noise_is_strong(
    noise: float, heard: bool
) -> None:
    rows = pool(4000)
    found = WeightedRows.start(rows, TOTAL, 0.0, noise)
    relaxed = rows.tally(_tilted_by_sex(rows))
    np.testing.assert_allclose(
        found.blended(relaxed), rows.tally(found.weights) if heard else relaxed
    )


def test_the_number_of_rows_is_told_by_tables_too() -> None:
    rows = pool()
    [town] = rows.pairs.alone([1])
    start = WeightedRows.start(rows, TOTAL // 2, count_noise=5000.0, noise=NOISE)
    told = [answer(rows, town, np.full(3, 1 / 3), scale=10.0)]
    found = start.learnt(told, rows.tally(start.weights))
    assert found.total == pytest.approx(TOTAL, rel=0.01)


def _tilted_by_sex(rows: Pool) -> np.ndarray:
    weights = np.where(rows.rows.codes[:, 0] == 0, 4.0, 1.0)
    return np.asarray(weights / weights.sum())


def test_bins_that_no_row_has_are_given_to_as_many_as_are_common() -> None:
    rows = pool(4000)
    old = replace(rows, rows=Table(rows.rows.codes, 50 + rows.rows.numbers // 2))
    [alone] = rows.pairs.alone([2])
    [(column, common)] = old.lacking(answer(old, int(alone), np.array([0.7, 0.3])), TOTAL)
    assert (column, common.tolist()) == (2, [0.7, 0.0])
    given = old.given(column, common)
    np.testing.assert_allclose(np.bincount(given.cells(int(alone))) / 4000, [0.7, 0.3], atol=0.03)
    assert np.array_equal(given.rows.codes, old.rows.codes)
    assert len(np.unique(given.rows.numbers[given.rows.numbers < 50])) == 50
