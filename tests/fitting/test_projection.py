"""The projection gets closer to noisy answers, forgets nothing better it has seen, and cannot see
rows."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from tabveil.fitting.projection import Annealing, Measured, misfit, project
from tabveil.fitting.relaxed import LOGIT_LIMIT, Relaxed
from tabveil.queries import Hard, Marginals, marginals_with_targets, random_linear_thresholds
from tabveil.tables.table import Domain

QUICK = Annealing(first_sharpness=4.0, stages=3, steps=60, tolerance=0.0, learning_rate=0.05)


def measured_from(domain: Domain, truth: Relaxed) -> Measured:
    """The exact answers of a hidden relaxed table, as if they had been measured."""
    families = (
        marginals_with_targets(domain, 1000)[0],
        random_linear_thresholds(domain, 40, np.random.default_rng(0)),
    )
    measured = Measured.reserve(families, (6, 40))
    for family, room in zip(families, (6, 40), strict=True):
        asked = family.take(np.arange(room))
        shares = np.asarray(asked.answers(truth.rows(), Hard())) / truth.positions.shape[1]
        measured = measured.learn(family, np.arange(room), shares, asked.filled)
    return measured


@pytest.fixture
def measured(domain: Domain) -> Measured:
    hidden = Relaxed.random(domain, 30, jax.random.key(5))
    return measured_from(domain, Relaxed(hidden.logits * 4, hidden.positions**3, hidden.sizes))


def test_the_projection_explains_the_answers_of_a_hidden_table(
    domain: Domain, measured: Measured
) -> None:
    start = Relaxed.random(domain, 100, jax.random.key(0))
    _, progress = project(start, measured, QUICK)
    assert float(progress.misfit) < 0.05 * float(misfit(start, measured, Hard()))
    assert int(progress.steps) == 180


def test_a_projection_never_ends_worse_than_it_began(domain: Domain, measured: Measured) -> None:
    table, good = project(Relaxed.random(domain, 100, jax.random.key(0)), measured, QUICK)
    wild = Annealing(first_sharpness=1.0, stages=2, steps=5, tolerance=0.0, learning_rate=5.0)
    again, after = project(table, measured, wild)
    assert float(after.misfit) <= float(good.misfit)
    assert float(misfit(again, measured, Hard())) == pytest.approx(float(after.misfit), rel=1e-4)


def test_relaxed_rows_stay_in_their_domain(domain: Domain, measured: Measured) -> None:
    rough = Annealing(first_sharpness=4.0, stages=1, steps=50, tolerance=0.0, learning_rate=10.0)
    table, _ = project(Relaxed.random(domain, 20, jax.random.key(0)), measured, rough)
    assert np.abs(table.logits).max() <= LOGIT_LIMIT
    assert table.positions.min() >= 0 and table.positions.max() <= 1
    starts = domain.offsets
    sums = np.add.reduceat(np.asarray(table.probabilities), starts, axis=0)
    np.testing.assert_allclose(sums, 1, rtol=1e-5)


def test_empty_places_do_not_pull_on_the_table(domain: Domain) -> None:
    family = Marginals.over([(0, 1), (1, 2)], domain)
    start = Relaxed.random(domain, 20, jax.random.key(0))
    assert float(misfit(start, Measured.reserve((family,), (2,)), Hard())) == 0


def test_a_stage_ends_when_the_gradient_is_small(domain: Domain, measured: Measured) -> None:
    start = Relaxed.random(domain, 20, jax.random.key(0))
    lazy = Annealing(first_sharpness=4.0, stages=2, steps=50, tolerance=1e9)
    assert int(project(start, measured, lazy)[1].steps) == 2


def test_sharpness_doubles_from_stage_to_stage_or_stays_fixed() -> None:
    assert [Annealing(2.0).sharpness(stage) for stage in range(4)] == [2, 4, 8, 16]
    assert Annealing.fixed(64.0, steps=10).sharpness(0) == 64


def test_one_program_serves_every_round(domain: Domain, measured: Measured) -> None:
    start = Relaxed.random(domain, 25, jax.random.key(0))
    before = project._cache_size()
    families = [evidence.family for evidence in measured.evidence]
    empty = Measured.reserve(families, (6, 40))
    for round_ in range(3):
        shares = np.zeros((1, families[0].width), np.float32)
        empty = empty.learn(families[0], np.array([round_]), shares, np.ones_like(shares))
        start, _ = project(
            start, empty, replace(QUICK, stages=round_ + 1, steps=5, learning_rate=0.01)
        )
    assert project._cache_size() == before + 1
