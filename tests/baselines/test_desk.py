"""The looks that baselines buy beside the curator's: no neighbour moves them past what was paid
for."""

import numpy as np
import pandas as pd
import pytest

from noises import Spy
from tabveil.baselines.aim import marginals_of, parts_of, shared_columns
from tabveil.baselines.binning import Binning, binning_for, discrete_workload
from tabveil.baselines.desk import Desk, Embedding, EmbeddingSums
from tabveil.baselines.merf import NORM, Waves
from tabveil.curator import count
from tabveil.errors import BudgetExceeded, InvalidInput
from tabveil.privacy import Budget, Relation, gaussian_scale, selection_scale
from tabveil.schema import Schema
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Codec, Table

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "a": {"type": "categorical", "values": ["p", "q", "r"]},
            "b": {"type": "categorical", "values": ["s", "t"]},
            "x": {"type": "numerical", "min": -1, "max": 1},
            "n": {"type": "numerical", "min": 0, "max": 30, "decimals": 0, "nullable": True},
        },
        "targets": ["b"],
    }
)
BUDGET = Budget(1.0, 1e-6)


def rows(count: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": random.choice(["p", "q", "r"], count),
            "b": random.choice(["s", "t"], count),
            "x": random.uniform(-1, 1, count),
            "n": np.where(random.random(count) < 0.2, np.nan, random.integers(0, 31, count)),
        }
    )


def neighbours(relation: Relation):
    """Pairs of small tables: one row more, or one row replaced."""
    for seed in range(40):
        table, other = rows(6, seed), rows(1, 1000 + seed)
        changed = table if relation is Relation.ADD_REMOVE else table[1:]
        yield table, pd.concat([changed, other], ignore_index=True)


def encoded(frame: pd.DataFrame) -> Table:
    import pyarrow as pa

    return Codec(SCHEMA).encode(pa.Table.from_pandas(frame))


@pytest.mark.parametrize("targets", [(), ("b",), ("a", "b")])
@pytest.mark.parametrize("relation", Relation)
def test_no_neighbour_moves_a_mean_embedding_further_than_it_says(relation, targets):
    schema = SCHEMA.with_targets(targets)
    waves = Waves.random(Codec(schema).domain, MinMax.of(schema), 16, np.random.default_rng(0))
    sums = EmbeddingSums(Embedding(waves, NORM))
    allowed = NORM * (1 if relation is Relation.ADD_REMOVE else 2)
    for table, neighbour in neighbours(relation):
        moved = sums(encoded(table))[0] - sums(encoded(neighbour))[0]
        assert (moved.astype(object) ** 2).sum() <= allowed**2


def test_features_of_a_row_are_the_same_bits_in_any_batch():
    waves = Waves.random(Codec(SCHEMA).domain, MinMax.of(SCHEMA), 16, np.random.default_rng(0))
    table = encoded(rows(200, 0))
    alone = [
        waves(Table(table.codes[i : i + 1], table.numbers[i : i + 1])) for i in range(table.rows)
    ]
    assert waves(table).dtype.kind == "i"
    np.testing.assert_array_equal(waves(table), np.concatenate(alone))


@pytest.mark.parametrize("relation", Relation)
def test_a_mean_embedding_is_noised_for_the_norm_and_the_relation(relation):
    noise = Spy()
    desk = Desk(rows(50, 0), SCHEMA, BUDGET, relation, noise)
    waves = Waves.random(desk.codec.domain, MinMax.of(SCHEMA), 8, np.random.default_rng(0))
    desk.mean(Embedding(waves, NORM), 50, desk.rho)
    moved = NORM * (1 if relation is Relation.ADD_REMOVE else 2)
    assert noise.scales == [gaussian_scale(desk.rho, moved**2)]
    assert desk.left == 0
    with pytest.raises(BudgetExceeded):
        desk.mean(Embedding(waves, NORM), 50, desk.rho)


@pytest.mark.parametrize("relation", Relation)
def test_no_neighbour_moves_a_weighted_score_further_than_the_noise_is_made_for(relation):
    binning = equal_bins()
    candidates = parts_of(binning.discrete, 3, 2**16)
    family, weights = marginals_of(candidates, binning.discrete), shared_columns(candidates)
    workload = discrete_workload(family, binning.discrete)
    random = np.random.default_rng(0)
    expected, bias = (
        random.integers(0, 5, family.filled.shape) * family.filled,
        np.zeros(len(family), np.int64),
    )
    rho, every = BUDGET.rho / 2, np.arange(len(family))
    moved = 1 if relation is Relation.ADD_REMOVE else 2
    scale = selection_scale(rho, 1, int(weights.max()) * moved)
    for table, neighbour in neighbours(relation):
        noise = Spy()
        for frame in (table, neighbour):
            desk = Desk(frame, SCHEMA, BUDGET, relation, noise)
            desk.pick(workload, binning, expected, bias, weights, every, rho)
            assert desk.spent == rho
        assert noise.scales == [scale, scale]
        assert np.abs(noise.seen[0] - noise.seen[1]).max() <= int(weights.max()) * moved


def test_marginals_of_different_order_count_as_they_should():
    binning = equal_bins()
    candidates = parts_of(binning.discrete, 3, 2**16)
    family = marginals_of(candidates, binning.discrete)
    table = binning(encoded(rows(100, 0)))
    counts = count(discrete_workload(family, binning.discrete), table)[0]
    assert (counts.sum(axis=1) == 100).all()
    for axes, cells, filled in zip(candidates, counts, family.filled, strict=True):
        shape = [binning.discrete.sizes[a] for a in axes]
        exact = np.bincount(
            np.ravel_multi_index(table.codes[:, list(axes)].T, shape), minlength=np.prod(shape)
        )
        np.testing.assert_array_equal(cells[filled], exact)


def test_binned_numbers_come_back_inside_their_bins():
    binning = equal_bins()
    table = encoded(rows(500, 1))
    back = binning.undone(binning(table).codes, np.random.default_rng(0))
    np.testing.assert_array_equal(binning(back).codes, binning(table).codes)
    np.testing.assert_array_equal(back.codes, table.codes)


def test_free_bins_leave_the_budget_and_give_common_values_bins_of_their_own():
    frame = rows(1000, 0).assign(n=np.r_[np.full(400, 7), np.full(300, 20), np.arange(300) % 31])
    desk = Desk(frame, SCHEMA, BUDGET, Relation.ADD_REMOVE)
    binning = binning_for(desk, 8, "free", 1000)
    assert desk.spent == 0
    starts = binning.starts[1].tolist()
    assert {7, 8, 20, 21} <= set(starts) and len(starts) <= 8
    held = np.bincount(binning(encoded(frame)).codes[:, -2], minlength=8)
    assert held.min() > 60  # of numbers without a common value, each bin holds its share


def test_baselines_refuse_to_protect_people_with_several_rows():
    schema = SCHEMA.replaced(privacy={"unit": "person", "max_rows": 2})
    with pytest.raises(InvalidInput, match="single rows"):
        Desk(rows(5, 0).assign(person=1), schema, BUDGET, Relation.ADD_REMOVE)


def equal_bins() -> Binning:
    return binning_for(Desk(rows(5, 0), SCHEMA, BUDGET, Relation.ADD_REMOVE), 4, "equal", 5)
