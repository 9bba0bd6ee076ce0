"""Whatever the schema and whatever was learnt: rows obey the schema, and types come back as they
went in."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_constraints import any_release

import tabveil as tv
from tabveil.fitting.presets import Paper, PaperEffort
from tabveil.fitting.projection import Annealing
from tabveil.release.output import as_kind
from tabveil.release.repair import EditableRows, Repair
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.sources.checking import check
from tabveil.tables.table import Codec

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
values = st.one_of(
    st.lists(words, min_size=1, max_size=5, unique=True),
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=5, unique=True),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5, unique=True),
)
nullable = st.booleans()


@st.composite
def numericals(draw: Any) -> dict:
    decimals = draw(st.sampled_from([None, 0, 1, 3]))
    low, width = draw(st.integers(-10_000, 10_000)), draw(st.integers(1, 10_000))
    special = draw(st.lists(st.integers(-99, 99), max_size=2, unique=True))
    rule = {"type": "numerical", "min": low, "max": low + width, "special_values": special}
    return (
        rule | {"nullable": draw(nullable)} | ({} if decimals is None else {"decimals": decimals})
    )


@st.composite
def moments(draw: Any) -> dict:
    unit = draw(st.sampled_from(["day", "hour", "minute", "second", "millisecond", "microsecond"]))
    zone = draw(st.sampled_from([None, "UTC", "Europe/Berlin", "America/New_York"]))
    year = draw(st.integers(1950, 2050))
    bounds = {"min": f"{year}-03-01", "max": f"{year + draw(st.integers(1, 3))}-01-01"}
    rule = {"type": "datetime", "unit": unit, "nullable": draw(nullable), **bounds}
    return rule | ({"timezone": zone} if zone else {})


categoricals = st.builds(
    lambda values, other, nullable, ordered: {
        "type": "categorical", "values": values, "other": other, "nullable": nullable,
        "ordered": ordered,
    },
    values.filter(lambda v: len({tv.schema.key(x) for x in v}) == len(v) and "OTHER" not in v),
    st.booleans(), nullable, st.booleans(),
)  # fmt: skip
rules = st.one_of(
    categoricals,
    numericals(),
    moments(),
    st.builds(lambda n: {"type": "boolean", "nullable": n}, nullable),
    st.builds(
        lambda n: {"type": "date", "min": "1999-12-01", "max": "2004-02-29", "nullable": n},
        nullable,
    ),
    st.builds(
        lambda n: {"type": "duration", "min": -50, "max": 90, "unit": "hour", "nullable": n},
        nullable,
    ),
)
schemas = st.lists(rules, min_size=1, max_size=5).map(
    lambda found: Schema(columns={f"column {i}": rule for i, rule in enumerate(found)})
)


def through(frame: object, schema: Schema) -> object:
    """The table encoded, decoded and handed back as the kind of table it was."""
    source, codec = Source.of(frame, schema), Codec(schema)
    decoded = pa.concat_tables([codec.decode(codec.encode(batch)) for batch in source.batches()])
    return as_kind(decoded, source.kind, schema, source.types(schema))


@given(schemas, st.integers(0, 2**31), st.sampled_from(["pandas", "polars", "arrow"]))
@settings(max_examples=80, deadline=None)
def test_any_table_of_any_schema_obeys_it_and_comes_back_in_its_types(schema, seed, kind) -> None:
    frame = any_release(schema, seed).sample(30, seed=seed, kind=kind)
    assert check(frame, schema) == []
    again = through(frame, schema)
    if kind == "pandas":
        values = [table.astype(object).where(table.notna(), None) for table in (again, frame)]
        assert values[0].equals(values[1])
        pd.testing.assert_frame_equal(through(again, schema), again, check_exact=True)
    else:
        assert again.equals(frame) and again.schema == frame.schema


EVERY = {
    "columns": {
        "who": {"type": "id", "style": "uuid"},
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "job": {
            "type": "categorical",
            "values": ["x", "y", "z"],
            "nullable": True,
            "ordered": True,
        },
        "vip": {"type": "boolean"},
        "wage": {"type": "numerical", "min": 0, "max": 99, "decimals": 1, "nullable": True},
        "total": {"type": "numerical", "min": 0, "max": 200, "decimals": 1, "special_values": [-1]},
        "in": {"type": "date", "min": "2020-01-01", "max": "2020-12-31"},
        "out": {"type": "datetime", "min": "2020-01-01", "max": "2021-06-30", "unit": "hour"},
    },
    "constraints": [
        "wage <= total",
        "if job is missing then wage is missing",
        "never sex == F and job == z",
        "in <= out",
        "job, vip determines sex",
    ],
}


@pytest.mark.parametrize("epsilon", [0.01, 1, 1000])
def test_every_row_obeys_schema_and_constraints_at_any_epsilon(epsilon: float) -> None:
    schema = Schema.from_dict(EVERY)
    real = any_release(Schema.from_dict(EVERY | {"constraints": []}), 0, rows=300).sample(
        2000, seed=0
    )
    quick = Paper(
        thresholds=20,
        threshold_epochs=1,
        effort=PaperEffort(rows=50, annealing=Annealing(2.0, 2, 10, 0.0, 0.1)),
    )
    synthetic = tv.RAPpp(schema, epsilon, preset=quick).fit(real).sample(500, seed=0)
    assert synthetic.dtypes.equals(real.dtypes) and check(synthetic, schema) == []
    assert synthetic["who"].nunique() == 500
    lasting = Repair(schema.replaced(constraints=EVERY["constraints"][:-1]))
    cells = EditableRows(schema, Codec(schema).encode(next(Source.of(synthetic, schema).batches())))
    assert lasting.obeyed(cells).all()
    assert (synthetic.groupby(["job", "vip"], dropna=False, observed=True).sex.nunique() == 1).all()


def test_missing_cells_come_together_with_what_they_depend_on() -> None:
    random = np.random.default_rng(0)
    employed = random.random(20_000) < 0.6
    real = pd.DataFrame(
        {
            "employed": np.where(employed, "yes", "no"),
            "wage": np.where(employed, random.integers(1, 99, 20_000), np.nan),
            "hours": np.where(
                employed,
                np.where(random.random(20_000) < 0.5, 40, random.integers(1, 80, 20_000)),
                0,
            ),
        }
    )
    schema = Schema(
        columns={
            "employed": {"type": "categorical", "values": ["no", "yes"]},
            "wage": {"type": "numerical", "min": 0, "max": 99, "decimals": 0, "nullable": True},
            "hours": {
                "type": "numerical",
                "min": 0,
                "max": 80,
                "decimals": 0,
                "special_values": [0],
            },
        }
    )
    synthetic = tv.RAPpp(schema, 10).fit(real).sample(20_000, seed=0)
    jobless = synthetic["employed"] == "no"
    # Nothing but the cross-tables ties them; at ε = 10 their noise is far below these bounds.
    assert (
        synthetic.loc[jobless, "wage"].isna().mean() > 0.97
        and synthetic.loc[~jobless, "wage"].notna().mean() > 0.97
    )
    assert (synthetic.loc[jobless, "hours"] == 0).mean() > 0.97 and (
        synthetic["hours"] == 40
    ).mean() == pytest.approx(0.3, abs=0.03)
