"""What constraints rule out: cells that are known to be empty, and rows that come out so."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import tabveil as tv
from tabveil.fitting.zeros import Impossible
from tabveil.queries import GRID, Pairs
from tabveil.tables.placement import Interval
from tabveil.tables.table import Codec, Grouping

COLUMNS: dict[str, Any] = {
    "job": {"type": "categorical", "values": ["none", "cook", "clerk"], "nullable": True},
    "town": {"type": "categorical", "values": ["a", "b"]},
    "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0, "nullable": True},
    "wage": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
}
BINS = [Interval(0, 14), Interval(15, 40), Interval(41, 99)]


def zeros_of(*constraints: str, groupings: dict[str, Grouping] | None = None) -> dict[str, Any]:
    schema = tv.Schema.from_dict({"columns": COLUMNS, "constraints": [*constraints]})
    domain = Codec(schema, groupings).domain
    edges = [np.array([GRID // 3, GRID // 2])] * 2
    pairs = Pairs.over(domain, edges, 1000, [BINS, BINS], within=(1,))
    found = Impossible(schema, groupings or {}).zeros(pairs, 0.01, 4.0)
    tables = {}
    for pick, cells in zip(found.picks, found.cells, strict=True):
        sides = pairs.take(np.array([pick])).sides(0, domain)
        shape = [len(side.parts) for side in sides]
        name = " × ".join(side.column for side in sides)
        tables[name] = cells[: np.prod(shape)].reshape(shape)
    return tables


def test_cells_that_no_row_can_be_in_are_found() -> None:
    found = zeros_of("if age < 15 then job is missing", "wage <= age")
    young = found["job × age"]  # age: missing, then three bins
    assert young[:3, 1].all() and young.sum() == 3
    assert np.argwhere(found["age × wage"]).tolist() == [[1, 1], [1, 2], [2, 2]]


def test_a_cell_is_only_ruled_out_if_every_value_in_it_is() -> None:
    assert zeros_of("if age < 14 then job is missing") == {}
    assert zeros_of("if age != 3 then job == none", "wage == age") == {}  # not decided by ends


def test_three_columns_are_ruled_out_where_there_is_a_table_of_them() -> None:
    found = zeros_of("if town == a and age < 15 then job is missing")
    [table] = found.values()
    assert table[0, :3, 1].all() and table.sum() == 3


def test_a_group_is_ruled_out_if_all_of_its_values_are() -> None:
    grouping = Grouping(("none", "works", "?"), np.array([0, 1, 1, 2], np.int32), np.ones(4))
    young = "if age < 15 then job not in [cook, clerk]"
    assert zeros_of(young, groupings={"job": grouping})["job × age"][1, 1]
    assert zeros_of("never age < 15 and job == cook", groupings={"job": grouping}) == {}


def test_bins_are_cut_where_a_constraint_turns() -> None:
    schema = tv.Schema.from_dict(
        {"columns": COLUMNS, "constraints": ["if age < 15 then wage <= 3", "wage != 50"]}
    )
    frame = pd.DataFrame({"job": "cook", "town": "a", "age": np.arange(100), "wage": 0})
    model = tv.RAPpp(schema, 5.0).fit(pd.concat([frame] * 20))
    ranks = model.release_.placement
    turning = Impossible(schema, {}).turning_points(ranks)
    assert len(turning[0]) == 1 and len(turning[1]) == 3
    edges = ranks.bins(8, turning)
    [below] = [part for part in ranks.intervals(0, edges[0]) if part.high == 14]
    assert below.low <= 14


def test_rows_come_out_consistent_before_any_repair() -> None:
    random = np.random.default_rng(0)
    age = random.integers(0, 100, 4000)
    frame = pd.DataFrame({"age": age, "town": random.choice(["a", "b"], 4000), "wage": age // 2})
    frame["job"] = np.where(age < 15, None, random.choice(["none", "cook", "clerk"], 4000))

    def broken(*constraints: str) -> float:
        schema = tv.Schema.from_dict({"columns": COLUMNS, "constraints": [*constraints]})
        release = tv.RAPpp(schema, 0.5, seed=1).fit(frame).release_
        unrepaired = replace(release, schema=schema.replaced(constraints=()))
        rows = unrepaired.sample(4000, seed=0)
        return float(((rows.age < 15) & rows.job.notna()).mean())

    assert broken("if age < 15 then job is missing") < 0.7 * broken()


def test_without_constraints_nothing_is_ruled_out() -> None:
    assert zeros_of() == {}
