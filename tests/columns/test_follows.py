"""Columns that another one decides."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from tabveil.tables.table import Codec, Table

REGION = {"type": "categorical", "values": ["north", 2], "nullable": True}
AGE = {"type": "numerical", "min": 0, "max": 99, "decimals": 0, "nullable": True}
DENSITY = {"type": "follows", "of": "region", "map": {"north": 12.5, 2: 80}}
GROUP = {"type": "follows", "of": "age", "cuts": [18, 65], "values": ["child", "adult", "old"]}


def schema(**columns: dict[str, Any]) -> tv.Schema:
    return tv.Schema.from_dict({"columns": {"region": REGION, "age": AGE, **columns}})


def test_synthetic_rows_get_what_the_rule_says_and_missing_where_nothing_is_said() -> None:
    codec = Codec(schema(density=DENSITY, group=GROUP))
    table = Table(np.array([[0, 0], [1, 0], [2, 1]], np.int32), np.array([[17.0], [18], [99]]))
    rows = codec.decode(table).to_pylist()
    assert [row["density"] for row in rows] == [12.5, 80.0, None]
    assert [row["group"] for row in rows] == ["child", "adult", None]


def test_a_column_that_follows_is_not_read_and_need_not_be_there() -> None:
    declared = schema(density=DENSITY)
    frame = pd.DataFrame({"region": ["north", "2"] * 50, "age": [3, 40] * 50})
    made = tv.RAPpp(declared, 5.0).fit(frame).sample(40, seed=0)
    assert declared.learnt == ("region", "age") and [*made] == ["region", "age", "density"]
    known = made.dropna(subset="region")
    assert (known.density == known.region.map({"north": 12.5, "2": 80.0})).all()


def test_a_column_with_groups_or_a_long_list_can_be_followed() -> None:
    codes = list(range(200))
    long = {"type": "categorical", "values": codes}
    grouped = {"type": "categorical", "values": codes[:9], "groups": {"rest": codes[3:9]}}
    by_code = {"type": "follows", "map": {code: code % 2 for code in codes}}
    columns = {
        "long": long,
        "grouped": grouped,
        "odd": {**by_code, "of": "long"},
        "too": {**by_code, "of": "grouped"},
    }
    frame = pd.DataFrame({"long": codes * 4, "grouped": [code % 9 for code in codes] * 4})
    declared = tv.Schema.from_dict({"columns": columns})
    made = tv.RAPpp(declared, 5.0).fit(frame).sample(100, seed=0)
    assert (made.odd == made.long % 2).all() and (made.too == made.grouped % 2).all()


def test_the_rule_survives_a_file() -> None:
    declared = schema(density=DENSITY, group=GROUP)
    assert tv.Schema.from_dict(declared.to_dict()) == declared


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"of": "region"}, "Column x: it needs a map, or cuts and values"),
        ({"of": "regoin", "map": {"north": 1, 2: 2}}, "Column x: regoin, which it follows, is"),
        ({"of": "x", "map": {"north": 1}}, "Column x: x, which it follows, is not a column"),
        ({"of": "region", "map": {"north": 1}}, "Column x: the map says nothing of 2"),
        ({"of": "region", "map": {2: 1, "2": 3, "north": 1}}, "Column x: the map names a value"),
        ({"of": "region", "cuts": [1], "values": [1, 2]}, "Column x: region is categorical"),
        ({"of": "age", "map": {"1": 2}}, "Column x: age is numerical, and a map needs"),
        ({"of": "age", "cuts": [1, 2], "values": [1, 2]}, "Column x: 2 cuts need 3 values, not 2."),
        ({"of": "age", "cuts": [2, 1], "values": [1, 2, 3]}, "Column x: cuts must grow."),
        (
            {"of": "region", "map": {"north": 1, 2: 2}, "values": [1]},
            "Column x: values go without a map",
        ),
        ({"of": "region", "map": [1, 2]}, "Column x: map must be a mapping from values"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_in_one_line(rule: dict[str, Any], says: str) -> None:
    with pytest.raises(tv.InvalidInput) as refused:
        schema(x={"type": "follows", **rule})
    assert str(refused.value).startswith(says), refused.value
