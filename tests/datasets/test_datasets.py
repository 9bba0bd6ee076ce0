"""The shipped tables keep what they promise, whichever they are."""

import pandas as pd
import pytest

from tabveil.datasets import DATASETS, census
from tabveil.metrics import evaluate
from tabveil.schema import Categorical, Numerical
from tabveil.sources.checking import check


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return census.frame(20_000, 1)


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_is_listed_under_its_own_name(name):
    assert DATASETS[name].name == name
    assert DATASETS[name].title


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(dataset):
    first, again, other = dataset.frame(300, 5), dataset.frame(300, 5), dataset.frame(300, 6)
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


@pytest.mark.parametrize("rows", [0, 1, 257])
@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_a_dataset_has_as_many_rows_as_asked_and_the_columns_of_its_schema(dataset, rows):
    frame = dataset.frame(rows, 0)
    assert len(frame) == rows
    assert list(frame.columns) == list(dataset.schema().columns)


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_every_cell_is_what_the_schema_declares(dataset):
    frame = dataset.frame(5_000, 2)
    for name, column in dataset.schema().columns.items():
        if isinstance(column, Categorical):
            assert set(frame[name]) <= set(column.values)
        else:
            assert frame[name].between(column.min, column.max).all()
            assert frame[name].round(column.decimals or 0).equals(frame[name])
    assert check(frame, dataset.schema()) == []


def test_the_census_has_many_columns_of_both_kinds_and_three_targets():
    schema = census.schema()
    kinds = [type(column) for column in schema.columns.values()]
    assert kinds.count(Categorical) - len(schema.targets) >= 8
    assert kinds.count(Numerical) >= 5
    assert len(schema.targets) == 3


def test_every_declared_category_occurs(people):
    for name in census.schema().categorical:
        assert set(people[name]) == set(census.schema().columns[name].values)


def test_hours_spike_at_forty_and_wages_are_zero_or_heavy_tailed(people):
    working = people[people["weeks"] > 0]
    assert (working["hours"] == 40).mean() > 0.3
    assert (people["wage"] == 0).mean() > 0.2
    paid = people.loc[people["wage"] > 0, "wage"]
    assert paid.mean() > 1.2 * paid.median()
    assert (paid % 1000 == 0).mean() > 0.4


def test_those_without_work_have_no_hours_weeks_wage_or_commute(people):
    idle = people[people["occupation"] == "not working"]
    assert (idle[["weeks", "hours", "wage", "commute"]] == 0).all(axis=None)
    assert (idle["worker"] == "not working").all()


def test_targets_can_be_learnt_but_not_perfectly_and_some_need_more_than_lines():
    people = census.frame(10_000, 3)
    real, test = people[:7_000], people[7_000:]
    scores = evaluate(real, real, census.schema(), test=test).set_index(["metric", "subject"])[
        "value"
    ]
    linear, trees = scores["f1_linear_by_target"], scores["f1_trees_by_target"]
    assert linear.between(0.72, 0.92).all()
    assert trees.between(0.72, 0.95).all()
    assert (trees - linear).max() >= 0.02
