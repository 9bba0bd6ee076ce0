"""Evidence in tiles says the same as evidence in one large table, and takes what it needs of
memory."""

import jax
import numpy as np
import pytest

import tabveil as tv
from tabveil.fitting.relaxed import Relaxed
from tabveil.queries import GRID, Hard, Pairs, Soft, Step
from tabveil.queries.pairs import TiledTables, WholeTables
from tabveil.queries.tiles import SIDE, Tiles
from tabveil.tables.table import Codec, Domain


@pytest.fixture
def domain() -> Domain:
    columns = {f"c{i}": {"type": "categorical", "values": list(range(2 + 9 * i))} for i in range(4)}
    columns |= {
        f"x{i}": {"type": "numerical", "min": 0, "max": 9, "nullable": i == 0} for i in range(2)
    }
    return Codec(tv.Schema.from_dict({"columns": columns, "targets": ["c0", "c1"]})).domain


@pytest.fixture
def pairs(domain: Domain) -> Pairs:
    edges = np.linspace(0, GRID, SIDE + 4)[1:-1].round().astype(int)
    return Pairs.over(domain, [edges, edges[::3]], most_cells=2**14)


def noisy(pairs: Pairs, picks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    shares = random.random((len(picks), pairs.width)).astype(np.float32)
    return shares, pairs.take(picks).filled * random.random((len(picks), 1)).astype(np.float32)


@pytest.mark.parametrize("step", [Soft(8.0), Hard()], ids=["soft", "hard"])
def test_tiles_have_the_misfit_and_the_gradient_of_the_whole(
    domain: Domain, pairs: Pairs, step: Step
) -> None:
    table = Relaxed.random(domain, 60, jax.random.key(0))
    picks = np.random.default_rng(1).permutation(len(pairs))
    empty = (WholeTables.empty(pairs), TiledTables(pairs, Tiles.room_for(1)))
    known = [evidence.learn(picks, *noisy(pairs, picks)) for evidence in empty]
    known = [evidence.owed(0.5 * evidence.shortfall(table.rows())) for evidence in known]
    found = [jax.value_and_grad(lambda t, k=k: k.misfit(t.rows(), step))(table) for k in known]
    # The whole is a little rounded (`quick_products_within`).
    assert float(found[0][0]) == pytest.approx(float(found[1][0]), rel=1e-3)
    for one, other in zip(jax.tree.leaves(found[0][1]), jax.tree.leaves(found[1][1]), strict=True):
        np.testing.assert_allclose(one, other, atol=0.01 * np.abs(other).max())


def test_nothing_falls_short_where_nothing_is_known(domain: Domain, pairs: Pairs) -> None:
    rows, picks = (
        Relaxed.random(domain, 60, jax.random.key(0)).rows(),
        np.array([3, len(pairs) - 1]),
    )
    for empty in (WholeTables.empty(pairs), TiledTables(pairs, Tiles.room_for(1))):
        known = empty.learn(picks, *noisy(pairs, picks))
        short = np.asarray(known.shortfall(rows))
        weights = known.weights if isinstance(known, WholeTables) else known.tiles.weights
        assert (short[np.asarray(weights) == 0] == 0).all()
        assert np.count_nonzero(short) == pytest.approx(np.count_nonzero(weights), rel=0.05)


def test_room_grows_without_losing_what_was_learnt(pairs: Pairs) -> None:
    known = TiledTables(pairs, Tiles.room_for(1))
    room = len(known.tiles.first)
    for pick in range(len(pairs)):
        known = known.learn(np.array([pick]), *noisy(pairs, np.array([pick])))
    assert len(known.tiles.first) > room
    assert (known.tiles.weights > 0).sum() == pairs.cells.sum()


def test_few_of_many_tables_are_kept_in_tiles_and_most_of_them_whole(pairs: Pairs) -> None:
    assert isinstance(pairs.evidence(2), TiledTables)
    assert isinstance(pairs.evidence(len(pairs)), WholeTables)
