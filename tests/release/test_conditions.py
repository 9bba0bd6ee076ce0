"""Rows of one sort on demand: drawn by weight, inside the condition, without a loop that throws
rows away."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabveil.errors import InvalidInput
from tabveil.fitting.grouping import grouped
from tabveil.release import Release
from tabveil.release.conditions import spelled_conditions
from tabveil.schema import Schema
from tabveil.tables.numbers import Binned, Positions, RelaxedNumbers
from tabveil.tables.placement import GRID, Lattice, MinMax, Ranks
from tabveil.tables.table import Codec

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "sex": {"type": "categorical", "values": ["F", "M"]},
            "job": {"type": "categorical", "values": ["x", "y", "z"], "nullable": True},
            "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
            "wage": {
                "type": "numerical", "min": 0, "max": 1000, "decimals": 0,
                "special_values": [0, -1], "nullable": True,
            },
            "seen": {"type": "date", "min": "2020-01-01", "max": "2020-12-31"},
        }
    }
)  # fmt: skip


def positions(columns: int, rows: int, random: np.random.Generator) -> Positions:
    places = (np.argsort(random.random((columns, rows)), axis=1) + 0.5) / rows
    return Positions(places, np.full_like(places, 1 / rows))


def bins(columns: int, rows: int, random: np.random.Generator) -> Binned:
    chances = np.exp(random.normal(0, 1.5, (7 * columns, rows)))
    for column in range(columns):
        chances[7 * column : 7 * column + 7] /= chances[7 * column : 7 * column + 7].sum(axis=0)
    return Binned.cut(chances, [np.arange(1, 7) * GRID // 8] * columns)


def release(
    schema: Schema = SCHEMA, rows: int = 200, seed: int = 0, numbers=positions, **more: object
) -> Release:
    random, domain = np.random.default_rng(seed), Codec(schema, more.get("groupings")).domain
    probabilities = np.exp(random.normal(0, 1.5, (domain.cells, rows)))
    for start, size in zip(domain.offsets, domain.sizes, strict=True):
        probabilities[start : start + size] /= probabilities[start : start + size].sum(axis=0)
    placed: RelaxedNumbers = numbers(len(domain.numerical), rows, random)
    lattice = Lattice.of(schema)
    starts = tuple(np.unique(np.linspace(0, s, 9)[:-1].astype(int)) for s in lattice.sizes)
    heights = tuple(np.linspace(0, 1, len(s) + 1) for s in starts)
    ranks = Ranks(lattice, starts, heights)
    return Release(schema, probabilities, placed, ranks, (), {}, [], **more)


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ({"sex": "F"}, lambda f: f.sex == "F"),
        ({"job": ["x", "z"]}, lambda f: f.job.isin(["x", "z"])),
        ({"job": None}, lambda f: f.job.isna()),
        ({"age": (30, 40)}, lambda f: f.age.between(30, 40)),
        ({"age": 17}, lambda f: f.age == 17),
        ({"wage": None}, lambda f: f.wage.isna()),
        ({"wage": (0, 10)}, lambda f: f.wage.between(0, 10)),
        ({"wage": (-1, -1)}, lambda f: f.wage == -1),
        ({"seen": ("2020-03-01", "2020-03-31")}, lambda f: pd.to_datetime(f.seen).dt.month == 3),
        (
            {"sex": "M", "age": (90, 99), "job": "y"},
            lambda f: (f.sex == "M") & (f.age >= 90) & (f.job == "y"),
        ),
    ],
    ids=lambda item: "" if callable(item) else str(item),
)
@pytest.mark.parametrize("numbers", [positions, bins])
def test_every_row_meets_the_condition(where, holds, numbers) -> None:
    made = release(numbers=numbers)
    frame = made.sample(500, seed=1, where=where)
    assert len(frame) == 500 and np.asarray(holds(frame), bool).all()
    assert 1 <= made.effective_rows(where) <= 200


@pytest.mark.parametrize("numbers", [positions, bins])
def test_the_rest_of_a_row_is_as_in_the_rows_that_meet_the_condition_anyway(numbers) -> None:
    made = release(rows=50, numbers=numbers)
    everyone = made.sample(400_000, seed=1)
    for where, chosen in (
        ({"sex": "F"}, everyone[everyone.sex == "F"]),
        ({"age": (20, 60)}, everyone[everyone.age.between(20, 60)]),
    ):
        few = made.sample(50_000, seed=2, where=where)
        gap = few.job.value_counts(normalize=True) - chosen.job.value_counts(normalize=True)
        # Shares of about 100,000 and 50,000 rows: 0.015 is more than five standard deviations.
        assert gap.abs().max() < 0.015 and abs(few.age.mean() - chosen.age.mean()) < 0.8


def test_the_effective_number_of_rows_is_that_of_the_weights() -> None:
    made = release()
    assert made.effective_rows() == pytest.approx(200)
    places = [axis.name for axis in Codec(SCHEMA).domain.axes].index("sex")
    share = made.probabilities[Codec(SCHEMA).domain.offsets[places]]
    assert made.effective_rows({"sex": "F"}) == pytest.approx(share.sum() ** 2 / (share**2).sum())


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ({"height": 3}, "names no column that was learnt"),
        ({"sex": "X"}, "X is not a declared value of sex"),
        ({"sex": None}, "sex is never missing"),
        ({"age": (40, 30)}, "is not a range"),
        ({"age": "old"}, "is not a range"),
        ({"age": (1, 2, 3)}, "is not a range"),
        ({"age": (200, 300)}, "No row of this release can meet the condition"),
    ],
    ids=str,
)
@pytest.mark.parametrize("numbers", [positions, bins])
def test_impossible_conditions_get_a_clear_answer(where, line, numbers) -> None:
    with pytest.raises(InvalidInput, match=line):
        release(numbers=numbers).sample(10, where=where)


def test_a_condition_against_the_constraints_gets_a_clear_answer() -> None:
    schema = SCHEMA.replaced(constraints=["never sex == F and job == x"])
    with pytest.raises(InvalidInput, match="No row was found that obeys"):
        release(schema).sample(10, where={"sex": "F", "job": "x"})
    assert (release(schema).sample(300, where={"job": "x"}).sex == "M").all()


def test_a_rare_class_can_be_drawn_as_often_as_wanted() -> None:
    made = release()
    place = Codec(SCHEMA).domain.offsets[0]
    made.probabilities[place], made.probabilities[place + 1] = 1e-4, 1 - 1e-4
    assert (made.sample(1000, seed=0).sex == "F").sum() <= 20
    assert (made.sample(1000, seed=0, where={"sex": "F"}).sex == "F").all()


def test_a_point_without_room_is_inside_or_outside() -> None:
    schema = Schema(columns={"n": {"type": "numerical", "min": 0, "max": 10, "decimals": 0}})
    flat = Release(
        schema,
        np.zeros((0, 2)),
        Positions(np.array([[0.2, 0.8]]), np.zeros((1, 2))),
        MinMax.of(schema),
        (),
        {},
        [],
    )
    assert flat.sample(5, where={"n": (0, 5)}).n.tolist() == [2] * 5
    with pytest.raises(InvalidInput, match="No row of this release"):
        flat.sample(5, where={"n": (4, 6)})


def test_conditions_on_values_that_were_learnt_together_draw_among_the_wanted() -> None:
    values = [f"v{i}" for i in range(300)]
    schema = Schema(
        columns={"v": {"type": "categorical", "values": values}, "sex": SCHEMA.columns["sex"]}
    )
    counts = np.zeros(300, np.int64)
    counts[:3] = [1000, 50, 50]
    grouping = grouped(schema.categories["v"], counts, scale=20.0)
    assert len(grouping.names) == 2
    made = release(schema, groupings={"v": grouping})
    assert set(made.sample(400, seed=0, where={"v": ["v1", "v2"]}).v) == {"v1", "v2"}
    nowhere = replace(grouping, weights=counts.astype(float))  # as in releases of before
    with pytest.raises(InvalidInput, match="No row of this release"):
        release(schema, groupings={"v": nowhere}).sample(400, seed=0, where={"v": "v77"})


def test_texts_spell_conditions() -> None:
    assert spelled_conditions(["sex=F", "age=30..40", "wage = missing", "job=x|y"], SCHEMA) == {
        "sex": "F",
        "age": ("30", "40"),
        "wage": None,
        "job": ["x", "y"],
    }
    for text in ("height=3", "sex"):
        with pytest.raises(InvalidInput, match="names no column"):
            spelled_conditions([text], SCHEMA)
