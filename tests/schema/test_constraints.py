"""Constraints: understood or refused in one line, and obeyed by every synthetic row whatever was
learnt."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tabveil as tv
from tabveil.errors import InvalidInput
from tabveil.release import Release
from tabveil.release.repair import EditableRows, Repair, require_satisfiable
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.tables.numbers import Positions
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Codec, Table

COLUMNS = {
    "a": {"type": "numerical", "min": 0, "max": 9, "decimals": 0, "nullable": True},
    "b": {"type": "numerical", "min": -5, "max": 9.5, "decimals": 1, "special_values": [0, -99]},
    "c": {"type": "numerical", "min": 0, "max": 20, "decimals": 1},
    "x": {"type": "categorical", "values": ["u", "v", "w"]},
    "y": {"type": "categorical", "values": ["p", "q"], "nullable": True},
    "hour": {"type": "categorical", "values": [0, 1, 2, 3]},
    "from": {"type": "date", "min": "2020-01-01", "max": "2020-12-31"},
    "to": {"type": "date", "min": "2020-01-01", "max": "2021-01-31", "nullable": True},
}


def schema_with(*constraints: Any) -> Schema:
    return Schema.from_dict({"columns": COLUMNS, "constraints": list(constraints)})


def any_release(schema: Schema, seed: int, rows: int = 40, sharp: float = 3.0) -> Release:
    """A release such as any ε could have led to: arbitrary probabilities and numbers."""
    random, domain = np.random.default_rng(seed), Codec(schema).domain
    logits = random.normal(0, sharp, (domain.cells, rows))
    probabilities = np.exp(logits)
    for start, size in zip(domain.offsets, domain.sizes, strict=True):
        probabilities[start : start + size] /= probabilities[start : start + size].sum(axis=0)
    places = random.random((len(domain.numerical), rows))
    numbers = Positions(places, np.full_like(places, 0.02))
    return Release(schema, probabilities, numbers, MinMax.of(schema), (), {}, [])


def editable(frame: pd.DataFrame, schema: Schema) -> EditableRows:
    [batch] = Source.of(frame, schema).batches()
    return EditableRows(schema, Codec(schema).encode(batch))


def obeys(frame: pd.DataFrame, schema: Schema) -> bool:
    cells = EditableRows(schema, Codec(schema).encode(next(Source.of(frame, schema).batches())))
    return bool(Repair(schema).obeyed(cells).all())


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        ("a <= c", lambda f: f.a.isna() | (f.a <= f.c)),
        ("a < c", lambda f: f.a.isna() | (f.a < f.c)),
        ("c >= b", lambda f: (f.b == -99) | (f.c >= f.b)),
        ("c > b", lambda f: (f.b == -99) | (f.c > f.b)),
        ("c == a", lambda f: f.a.isna() | (f.a == f.c)),
        ("c != 3", lambda f: f.c != 3),
        ("c <= 5.5", lambda f: f.c <= 5.5),
        ("a + b == c", lambda f: f.a.isna() | (f.b == -99) | ((f.a + f.b - f.c).abs() < 0.01)),
        ("c == 4 * hour + a", lambda f: f.a.isna() | (f.c == 4 * f.hour + f.a)),
        ("if x == u then y == p", lambda f: (f.x != "u") | f.y.isna() | (f.y == "p")),
        ("if x in [u, v] then y is missing", lambda f: (f.x == "w") | f.y.isna()),
        ("if a > 5 then y is not missing", lambda f: f.a.isna() | (f.a <= 5) | f.y.notna()),
        ("if y is missing then a is missing", lambda f: f.y.notna() | f.a.isna()),
        ("if x == v and hour == 2 then c <= a",
         lambda f: ~((f.x == "v") & (f.hour == 2)) | f.a.isna() | (f.c <= f.a)),
        ("never x == u and y == q", lambda f: ~((f.x == "u") & (f.y == "q"))),
        ("never x == w", lambda f: f.x != "w"),
        ("x not in [u]", lambda f: f.x != "u"),
        ("from <= to", lambda f: f.to.isna() | (f["from"] <= f.to)),
        ("from < '2020-06-01'", lambda f: pd.to_datetime(f["from"]) < "2020-06-01"),
        ("x determines hour", lambda f: f.groupby("x").hour.nunique() == 1),
        ("x, hour determines c", lambda f: f.groupby(["x", "hour"]).c.nunique() == 1),
        ("x determines a", lambda f: f.groupby("x").a.nunique(dropna=False) == 1),
        ({"columns": ["x", "hour"], "only": [["u", 1], ["v", 2], ["v", 3]]},
         lambda f: (f.x + f.hour.astype(str)).isin(["u1", "v2", "v3"])),
        ({"columns": ["x", "y"], "never": [["u", "p"], ["v", "q"]]},
         lambda f: ~(f.x + f.y.astype(str)).isin(["up", "vq"])),
    ],
    ids=lambda item: "" if callable(item) else str(item),
)  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1])
def test_every_row_obeys(constraint: Any, holds: Any, seed: int) -> None:
    schema = schema_with(constraint)
    require_satisfiable(schema)
    frame = any_release(schema, seed).sample(2000, seed=seed)
    kept = frame.copy()
    for name in ("from", "to"):
        kept[name] = pd.to_datetime(kept[name])
    assert np.asarray(holds(kept), bool).all()
    assert obeys(frame, schema)


POOL = [
    "a <= c",
    "b < c",
    "from <= to",
    "if x == u then y is missing",
    "if y is missing then a is missing",
    "if a is missing then hour == 3",
    "never x == v and hour in [0, 1]",
    "x, y determines hour",
    "c == 2 * hour + a",
    {"columns": ["x", "hour"], "only": [["u", 1], ["v", 2], ["w", 3], ["w", 0]]},
]


@given(
    st.lists(st.sampled_from(POOL), unique_by=str, max_size=5),
    st.integers(0, 2**31),
    st.sampled_from([0.1, 9]),
)
@settings(max_examples=60, deadline=None)
def test_any_set_of_constraints_is_obeyed_by_every_row_or_refused(chosen, seed, sharp) -> None:
    schema = schema_with(*chosen)
    try:
        require_satisfiable(schema)
    except InvalidInput:
        return
    frame = any_release(schema, seed, sharp=sharp).sample(100, seed=seed)
    cells = EditableRows(schema, Codec(schema).encode(next(Source.of(frame, schema).batches())))
    lasting = [c for c in schema.parsed_constraints if not str(c.text).endswith("determines hour")]
    repair = Repair(schema)
    repair.constraints = tuple(lasting)
    assert repair.obeyed(cells).all()
    if len(lasting) < len(schema.parsed_constraints):
        assert (frame.groupby(["x", "y"], dropna=False).hour.nunique() == 1).all()


def test_rows_that_obey_are_left_alone() -> None:
    schema = schema_with("a <= c", "if x == u then y is missing")
    release = any_release(schema, 0)
    plain = any_release(schema_with(), 0)._drawn(
        500, plain_chances(release), np.random.default_rng(0)
    )
    cells = EditableRows(schema, plain)
    before = cells.take(np.arange(500))
    fine = Repair(schema).obeyed(cells)
    Repair(schema).apply(cells, np.random.default_rng(1))
    assert (cells.codes[fine] == before.codes[fine]).all() and (
        cells.numbers[fine] == before.numbers[fine]
    ).all()
    assert 0 < fine.sum() < 500


def plain_chances(release: Release) -> Any:
    return release._chances(())


def test_the_same_seed_gives_the_same_repaired_rows() -> None:
    release = any_release(schema_with("a < c", "x determines y", "never x == u and hour == 1"), 3)
    pd.testing.assert_frame_equal(release.sample(300, seed=5), release.sample(300, seed=5))


@pytest.mark.parametrize(
    ("constraint", "line"),
    [
        ("a ! b", "it cannot be read"),
        ("a <=", "it ends too early"),
        ("a <= wage", "wage is neither a column nor a value of a"),
        ("wage <= a", "wage is not a declared column"),
        ("x <= y", "x has values that are not numbers"),
        ("x < u", "compared by == and !="),
        ("x == z", "z is not a declared value of x"),
        ("c is missing", "c is not nullable"),
        ("if x == u", "the word then is missing"),
        ("a + b <= c", "can only be compared by =="),
        ("a + a == c", "twice"),
        ("b + c == a", "fewer decimals"),
        ("from <= c", "not the same kind of quantity"),
        ("a <= c c", "c stands at the end"),
        ("x determines x", "cannot determine itself"),
        ("never a + b == c", "sums cannot be forbidden"),
        ({"only": []}, "is not understood"),
        ({"columns": ["a"], "only": [[1]]}, "not a categorical column"),
        ({"columns": ["x"], "only": [["u", "v"]]}, "list of lists"),
        ("__import__('os')", "is not a declared column"),
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused_in_one_line(constraint: Any, line: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        schema_with(constraint)
    assert line in refusal.value.message and "\n" not in refusal.value.message


@pytest.mark.parametrize(
    "constraints",
    [
        ["a > 9"],
        ["c < 0"],
        ["a < c", "c < a"],
        ["a < c", "c < b", "b < a"],
        ["c <= 3", "c >= 4"],
        ["a <= 2", "c <= a", "c >= 5"],
    ],
    ids=str,
)
def test_contradictions_with_bounds_and_between_orders_are_refused_when_the_schema_is_read(
    constraints,
) -> None:
    with pytest.raises(InvalidInput):
        schema_with(*constraints)


def test_other_contradictions_are_refused_before_anything_is_spent() -> None:
    schema = schema_with("never x in [u, v]", "never x == w")
    with pytest.raises(InvalidInput, match="No row was found that obeys all of these: never x in"):
        tv.RAPpp(schema).fit(pd.DataFrame({name: [] for name in COLUMNS}))


def test_names_with_spaces_stand_in_backticks() -> None:
    columns = {"first day": COLUMNS["a"], "last day": COLUMNS["c"]}
    schema = Schema.from_dict({"columns": columns, "constraints": ["`first day` <= `last day`"]})
    frame = any_release(schema, 0).sample(200)
    assert (frame["first day"].isna() | (frame["first day"] <= frame["last day"])).all()


def test_constraints_are_kept_in_files(tmp_path) -> None:
    schema = schema_with("a <= c", {"columns": ["x", "hour"], "only": [["u", 1]]})
    schema.save(tmp_path / "schema.yaml")
    assert Schema.load(tmp_path / "schema.yaml") == schema
    any_release(schema, 0).save(tmp_path / "release")
    assert Schema.load(tmp_path / "release" / "schema.json") == schema


def test_a_table_of_one_row_is_repaired_too() -> None:
    schema = schema_with("a <= c", "if x == u then y == p", "x determines hour")
    for seed in range(20):
        assert len(any_release(schema, seed).sample(1, seed=seed)) == 1


def test_special_values_outside_the_bounds_are_codes_and_those_inside_are_numbers() -> None:
    schema = schema_with("b >= c")
    codec = Codec(schema)
    table = Table(
        np.zeros((2, len(codec.domain.sizes)), np.int32), np.zeros((2, len(codec.domain.numerical)))
    )
    kinds = [axis.name for axis in codec.domain.axes].index("b:kind")
    table.codes[:, kinds] = [1, 2]  # 0 and -99
    table.numbers[:, list(codec.domain.numerical).index("c")] = 5
    assert Repair(schema).obeyed(EditableRows(schema, table)).tolist() == [False, True]


def test_a_borrowed_cell_comes_from_a_row_that_is_alike_where_the_condition_is() -> None:
    schema = schema_with("if a >= 3 then y is not missing")
    ages = np.repeat(np.arange(10), 100)
    frame = pd.DataFrame({name: [rule.get("min", 0)] * 1000 for name, rule in COLUMNS.items()})
    frame = frame.assign(a=ages, y=np.where(ages < 6, "p", "q"), x="u", hour=0)
    frame.loc[::4, "y"] = None
    cells = editable(frame, schema)
    Repair(schema).apply(cells, np.random.default_rng(0))
    young, old = (ages >= 3) & (ages < 5), ages > 6
    assert (cells.code("y")[young] == 0).all() and (cells.code("y")[old] == 1).all()
    assert cells.missing("y")[ages < 3].any()  # where nothing is claimed, nothing is changed
