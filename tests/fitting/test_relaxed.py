"""Relaxed tables: rows of the paper settle on places, rows of a mixture stay soft."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabveil.fitting.presets.default import soft_rows
from tabveil.fitting.projection import Annealing, Measured, misfit, project
from tabveil.fitting.relaxed import LOGIT_LIMIT, OF_STRATA, Mixture, Relaxed, Table, prices_in
from tabveil.queries import GRID, Hard, Pairs
from tabveil.tables.table import Domain

EDGES = [np.array([9000, 30000]), np.array([20000, 20500, 50000])]
STEPS = Annealing(stages=2, steps=60, tolerance=0.0, learning_rate=0.1)


@pytest.fixture
def pairs(domain: Domain) -> Pairs:
    return Pairs.over(domain, EDGES, 1000)


@pytest.fixture
def mixture(pairs: Pairs, domain: Domain) -> Mixture:
    return soft_rows(pairs, domain, {}, 60, seed=0)


@pytest.fixture(params=["positions", "mixture"])
def table(request: pytest.FixtureRequest, mixture: Mixture, domain: Domain) -> Table:
    settled = Relaxed.random(domain, 60, jax.random.key(0))
    return settled if request.param == "positions" else mixture


def evidence(pairs: Pairs, truth: Table) -> Measured:
    """All cross-tables of a table, as if they had been measured without noise."""
    picks = np.arange(len(pairs))
    counts = np.asarray(pairs.tally.of(truth.rows()))
    shares = np.asarray(pairs.tally.cells_in(counts, picks)) / truth.logits.shape[1]
    weights = pairs.filled.astype(np.float32)
    measured = Measured.reserve((pairs,), (len(pairs),))
    return measured.learn(pairs, picks, shares.astype(np.float32), weights)


def test_every_row_has_one_category_of_each_axis_and_one_place(table: Table, pairs: Pairs) -> None:
    rows = table.rows()
    cells = np.asarray(pairs.tables.cells_of(rows, Hard()))
    owner = np.asarray(pairs.tables.owner)
    for column in range(len(pairs.layout.columns)):
        np.testing.assert_allclose(cells[owner == column].sum(axis=0), 1, rtol=1e-5)
    assert np.asarray(rows.values).min() >= 0 and np.asarray(rows.values).max() <= GRID


def test_a_step_never_leaves_the_domain(table: Table) -> None:
    far = table.moved(tuple(p + 1000.0 for p in table.parameters))
    assert np.abs(far.logits).max() <= LOGIT_LIMIT
    chances = np.asarray(far.probabilities)
    assert np.isfinite(chances).all() and (chances > 0).all()
    assert all(np.isfinite(array).all() for array in far.numbers().to_arrays().values())


def test_what_is_drawn_has_the_shares_that_queries_see(table: Table, pairs: Pairs) -> None:
    copies = 400
    rows = np.repeat(np.arange(60), copies)
    random = np.random.default_rng(0)
    drawn = table.numbers().drawn(rows, np.ones(60), lambda: random.random(len(rows)), random)
    seen = np.asarray(pairs.tables.cells_of(table.rows(), Hard())).mean(axis=1)
    for number, between in enumerate(EDGES):
        # A row without room lies just where the paper's rows lie, on the grid that queries see.
        bins = np.searchsorted(between, np.rint(drawn[:, number] * GRID), "right")
        column = pairs.layout.columns[pairs.categorical + number]
        found = np.bincount(bins, minlength=len(between) + 1) / len(bins)
        assert found == pytest.approx(seen[column.cells], abs=0.01)


def test_a_mixture_explains_the_cross_tables_of_another(
    pairs: Pairs, mixture: Mixture, domain: Domain
) -> None:
    hidden = soft_rows(pairs, domain, {}, 30, seed=5)
    truth = hidden.moved(tuple(3 * p for p in hidden.parameters))
    measured = evidence(pairs, truth)
    _, progress = project(mixture, measured, STEPS)
    assert float(progress.misfit) < 0.05 * float(misfit(mixture, measured, Hard()))


def test_rows_know_less_the_more_it_costs(pairs: Pairs, mixture: Mixture, domain: Domain) -> None:
    hidden = soft_rows(pairs, domain, {}, 30, seed=5)
    measured = evidence(pairs, hidden.moved(tuple(3 * p for p in hidden.parameters)))
    known = [
        float(project(mixture, measured, Annealing(stages=1, steps=80, tolerance=0.0,
        learning_rate=0.1, softness=price))[0].information())
        for price in (0.0, 1e-3, 1e-1)
    ]  # fmt: skip
    assert known[0] > known[1] > known[2] >= 0 and known[2] < 0.5 * known[0]


def test_what_is_insisted_on_comes_closer_at_the_same_price(
    pairs: Pairs, mixture: Mixture, domain: Domain
) -> None:
    hidden = soft_rows(pairs, domain, {}, 30, seed=5)
    measured = evidence(pairs, hidden.moved(tuple(3 * p for p in hidden.parameters)))
    dear = replace(STEPS, softness=1e-2)
    table, asked_once = project(mixture, measured, dear)
    insisting = measured
    for _ in range(3):
        insisting = insisting.insisting(table, 1.0)
        table, asked_again = project(table, insisting, dear)
    # What is reported is how far the table is from the answers, not from what is asked for.
    assert float(asked_again.misfit) == pytest.approx(
        float(misfit(table, measured, Hard())), rel=0.01
    )
    assert float(asked_again.misfit) < 0.5 * float(asked_once.misfit)


def test_rows_that_are_all_alike_know_nothing(mixture: Mixture) -> None:
    alike = mixture.moved(tuple(jnp.zeros_like(p) + p[:, :1] for p in mixture.parameters))
    assert float(alike.information()) == pytest.approx(0, abs=1e-5)
    assert float(mixture.information()) > 0.1


def test_to_know_a_stratum_counts_for_more(domain: Domain) -> None:
    rows = soft_rows(Pairs.over(domain, EDGES, 1000), domain, {}, 60, seed=0)
    place = domain.targets[0]
    strata = replace(domain, strata=(place,), targets=())
    dearer = replace(rows, prices=prices_in(strata))
    cells = slice(domain.offsets[place], domain.offsets[place] + domain.sizes[place])
    chances = np.asarray(rows.probabilities)[cells]
    known = (chances * np.log(chances / chances.mean(axis=1, keepdims=True))).sum(axis=0).mean()
    more = float(dearer.information()) - float(rows.information())
    assert more == pytest.approx((OF_STRATA - 1) * known, rel=1e-3)
