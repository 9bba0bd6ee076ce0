"""The graphical model keeps what it promises: exact tables, and the same fit as package mbi."""

import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabveil.baselines.beliefs import (
    Evidence,
    Structure,
    implicit_step,
    measured_shares,
    settled,
    shares,
)
from tabveil.baselines.graphical import Graphical, evenly_drawn, exact_shares
from tabveil.baselines.junction import bags, cells, junction_tree
from tabveil.tables.table import Axis, Domain

SIZES = (3, 4, 2, 5, 3)
TRIPLES = list(itertools.combinations(range(len(SIZES)), 3))


def domain(sizes: tuple[int, ...] = SIZES) -> Domain:
    axes = [Axis(f"a{i}", tuple(map(str, range(size)))) for i, size in enumerate(sizes)]
    return Domain(tuple(axes), (), ())


def some_marginals(seed: int, count: int = 4) -> list[tuple[int, ...]]:
    random = np.random.default_rng(seed)
    wanted = [(axis,) for axis in range(len(SIZES))]
    return wanted + [TRIPLES[place] for place in random.choice(len(TRIPLES), count, replace=False)]


def joint_of(structure: Structure, potentials: np.ndarray) -> np.ndarray:
    """The share of every row there can be, one by one."""
    height = np.zeros(structure.sizes)
    for axes, piece in zip(structure.measured, structure.pieces(potentials), strict=True):
        height = height + piece.reshape([s if a in axes else 1 for a, s in enumerate(SIZES)])
    share = np.exp(height - height.max())
    return share / share.sum()


def sums_over(joint: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return joint.sum(tuple(axis for axis in range(joint.ndim) if axis not in axes))


def size_of(structure: Structure) -> int:
    return sum(cells(SIZES, axes) for axes in structure.measured)


@pytest.fixture
def mbi():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("mbi")


@pytest.mark.parametrize("seed", range(8))
def test_a_junction_tree_holds_every_marginal_and_never_loses_a_column_on_the_way(seed):
    measured = some_marginals(seed)
    nodes = junction_tree(SIZES, measured)
    assert all(any(set(axes) <= set(node.axes) for node in nodes) for axes in measured)
    seen: set[int] = set()
    for place, node in enumerate(nodes):
        assert node.parent < place
        assert set(node.shared) == set(node.axes) & seen
        seen |= set(node.axes)
    assert seen == set(range(len(SIZES)))


@pytest.mark.parametrize("seed", range(8))
def test_a_model_is_as_large_as_mbi_says(mbi, seed):
    known = mbi.Domain(tuple(range(len(SIZES))), SIZES)
    size = mbi.junction_tree.hypothetical_model_size(known, some_marginals(seed))
    ours = sum(cells(SIZES, bag) for bag in bags(SIZES, some_marginals(seed)))
    assert ours * 8 / 2**20 == pytest.approx(size)


@pytest.mark.parametrize("seed", range(8))
def test_the_tables_of_a_tree_are_those_of_all_rows_one_by_one(seed):
    structure = Structure.of(SIZES, some_marginals(seed))
    potentials = np.random.default_rng(seed).normal(0, 2, size_of(structure))
    joint = joint_of(structure, potentials)
    for node, table in zip(structure.nodes, exact_shares(structure, potentials), strict=True):
        np.testing.assert_allclose(table, sums_over(joint, node.axes), atol=1e-12)
    found = measured_shares(structure, jnp.asarray(potentials, jnp.float32))
    for axes, piece in zip(structure.measured, structure.pieces(found), strict=True):
        np.testing.assert_allclose(piece, sums_over(joint, axes), atol=1e-5)


def test_chances_far_below_the_smallest_float_do_not_vanish_where_they_are_all_there_is():
    structure = Structure.of(SIZES, some_marginals(0))
    potentials = np.random.default_rng(0).normal(0, 500, size_of(structure)).astype(np.float32)
    joint = joint_of(structure, potentials.astype(float))
    for node, table in zip(
        structure.nodes, shares(structure, jnp.asarray(potentials), jnp), strict=True
    ):
        np.testing.assert_allclose(table, sums_over(joint, node.axes), atol=1e-3)


# Both minimise the same convex function of the measured marginals, and both stop a little before.
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_agrees_with_mbi(mbi, seed):
    random = np.random.default_rng(seed)
    total, scale = 2000, 20.0
    joint = random.dirichlet(np.full(np.prod(SIZES), 0.3)).reshape(SIZES)
    noisy = [
        (axes, total * sums_over(joint, axes) + random.normal(0, scale, [SIZES[a] for a in axes]))
        for axes in some_marginals(seed)
    ]
    model = Graphical(domain(), total, 4000, 80.0)
    model.learn(noisy, scale)
    for _ in range(4):  # each from where the one before ended
        model.learn([], scale)
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = mbi.estimation.MirrorDescent().estimate(
            mbi.Domain(tuple(range(len(SIZES))), SIZES),
            [mbi.LinearMeasurement(counts.ravel(), axes, scale) for axes, counts in noisy],
            known_total=float(total),
            iters=30_000,
        )
        off = [model.marginal(axes) - theirs.project(axes).datavector() for axes, _ in noisy]
    assert np.sqrt((np.concatenate(off) ** 2).mean()) < 0.05 * scale


@pytest.mark.parametrize("seed", range(3))
def test_a_search_ends_no_further_from_its_end_than_it_says(seed):
    random = np.random.default_rng(seed)
    structure = Structure.of(SIZES, some_marginals(seed))
    size = size_of(structure)
    counts = jnp.asarray(random.gamma(0.3, 100, size), jnp.float32)
    evidence = Evidence(counts, jnp.full(size, 1 / 20.0**2), jnp.float32(2000))
    start, penalty = jnp.zeros(size), jnp.float32(0.005)
    early, late = (
        implicit_step(structure, evidence, start, penalty, 5000, enough) for enough in (0.05, 0.001)
    )
    assert early.tried < late.tried < 5000
    shares_apart = measured_shares(structure, early.here) - measured_shares(structure, late.here)
    assert 2000 * np.sqrt((shares_apart**2).mean()) / 20 <= 0.051


def test_settled_potentials_make_the_same_model():
    structure = Structure.of(SIZES, some_marginals(1))
    potentials = np.random.default_rng(0).normal(0, 3, size_of(structure))
    kept = settled(structure, potentials)
    zeros = np.zeros(size_of(structure))
    same = [
        kept.get(axes, piece).ravel()
        for axes, piece in zip(structure.measured, structure.pieces(zeros), strict=True)
    ]
    np.testing.assert_allclose(
        joint_of(structure, np.concatenate(same)), joint_of(structure, potentials), atol=1e-12
    )


def test_what_one_marginal_adds_and_another_takes_away_is_settled():
    structure = Structure.of(SIZES, [(0, 1), (0, 3)])
    against = np.array([1e6, -2e6, 0.0])
    potentials = np.concatenate([np.repeat(against, 4), np.repeat(-against, 5)])
    for table in settled(structure, potentials).values():
        np.testing.assert_array_equal(table, 0)


@pytest.mark.parametrize("total", [1, 3, 40])
def test_a_model_of_next_to_no_rows_stays_finite(total):
    random = np.random.default_rng(total)
    model = Graphical(domain(), total, 1000, 80.0)
    for axes in some_marginals(total):
        for scale in (50.0, 0.5):
            shape = [SIZES[axis] for axis in axes]
            model.learn([(axes, random.normal(0, scale, shape))], scale)
    for axes in TRIPLES:
        counts = model.marginal(axes)
        assert np.isfinite(counts).all() and (counts >= 0).all()
        assert counts.sum() == pytest.approx(total)


def test_columns_come_in_any_order():
    counts = np.arange(24.0).reshape(2, 4, 3)
    one, other = (Graphical(domain(), 276, 50_000, 80.0) for _ in range(2))
    one.learn([((2, 1, 0), counts)], 1.0)
    other.learn([((0, 1, 2), counts.transpose(2, 1, 0))], 1.0)
    np.testing.assert_allclose(one.marginal((2, 1, 0)), counts.ravel(), atol=0.5)
    np.testing.assert_allclose(
        other.marginal((1, 0, 2)), counts.transpose(1, 2, 0).ravel(), atol=0.5
    )


def test_what_is_measured_twice_counts_by_its_precision():
    model = Graphical(domain(), 100, 50_000, 80.0)
    model.learn([((2,), np.array([80.0, 20.0]))], 2.0)
    model.learn([((2,), np.array([30.0, 70.0]))], 1.0)
    np.testing.assert_allclose(model.marginal((2,)), [40.0, 60.0], atol=0.1)
    assert model.cliques == [(2,)]


@pytest.fixture(scope="module")
def chain() -> Graphical:
    """Each column hangs on the one before."""
    random, model = np.random.default_rng(0), Graphical(domain(), 5000, 1000, 80.0)
    pairs = [(axis, axis + 1) for axis in range(len(SIZES) - 1)]
    shapes = [[SIZES[axis] for axis in pair] for pair in pairs]
    model.learn(
        [
            (p, random.dirichlet(np.full(np.prod(s), 0.5)) * 5000)
            for p, s in zip(pairs, shapes, strict=True)
        ],
        5.0,
    )
    return model


def test_columns_that_no_table_has_together_are_answered_all_the_same(chain):
    first, second = chain.marginal((0, 1)).reshape(3, 4), chain.marginal((1, 2)).reshape(4, 2)
    between = chain.marginal((1,))
    np.testing.assert_allclose(
        chain.marginal((0, 2)).reshape(3, 2), (first / between) @ second, rtol=1e-6
    )


def test_drawn_rows_have_the_marginals_of_the_model(chain):
    codes = chain.codes(100_000, np.random.default_rng(1))
    for axes in itertools.combinations(range(len(SIZES)), 2):
        shape = [SIZES[axis] for axis in axes]
        counts = np.bincount(
            np.ravel_multi_index(codes[:, list(axes)].T, shape), minlength=np.prod(shape)
        )
        np.testing.assert_allclose(counts / 100_000, chain.marginal(axes) / 5000, atol=0.01)


def test_answers_are_exact_inside_the_tree_and_close_outside(chain):
    inside, outside = chain.marginals([(0, 1), (0, 4)], np.random.default_rng(2))
    np.testing.assert_array_equal(inside, chain.marginal((0, 1)))
    assert np.abs(outside - chain.marginal((0, 4))).sum() < 0.01 * 5000


def test_a_model_has_room_for_what_it_holds_and_for_no_more_than_it_may(chain):
    assert chain.fits((1, 2), 0.0)
    assert not chain.fits((0, 4), 0.0)
    assert chain.fits((0, 4), 1.0)


def test_rows_are_drawn_as_evenly_as_whole_rows_can_be():
    weights = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 5.0], [3.0, 0.0, 1.0]])
    groups = np.repeat([0, 1, 2], [400, 7, 80])
    found = evenly_drawn(weights, groups, np.random.default_rng(0))
    counts = [np.bincount(found[groups == group], minlength=3) for group in range(3)]
    np.testing.assert_allclose(counts, [[100, 200, 100], [0, 0, 7], [60, 0, 20]], atol=1)
