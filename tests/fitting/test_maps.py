"""A map that nobody declared is bought: paid first, counted once, right where rows are many."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from noises import Spy
from tabveil.curator import Curator
from tabveil.errors import InvalidInput
from tabveil.fitting.forecast import forecast
from tabveil.fitting.maps import SHARE, maps_cost, with_maps
from tabveil.fitting.rows import EncodedRows
from tabveil.fitting.synthesizer import fit_with_noise
from tabveil.privacy import Door, Ledger, Protection, Relation
from tabveil.sources import Source
from tabveil.tables.table import Codec

PUBLIC: dict[str, Any] = {
    "columns": {
        "region": {"type": "categorical", "values": ["north", "south", "east"], "nullable": True},
        "density": {"type": "follows", "of": "region", "values": [12.5, 80.1, 33]},
        "sex": {"type": "categorical", "values": ["F", "M"]},
    }
}
SCHEMA = tv.Schema.from_dict(PUBLIC)
TRUE = {"north": 80.1, "south": 12.5, "east": 33}


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    region = random.choice([*TRUE, None], rows)  # type: ignore[arg-type]
    density = [TRUE.get(name) for name in region]
    return pd.DataFrame(
        {"region": region, "density": density, "sex": random.choice(["F", "M"], rows)}
    )


def bought(
    frame: pd.DataFrame, relation: Relation = Relation.ADD_REMOVE
) -> tuple[tv.Schema, Spy, Curator]:
    noise, allowance = Spy(), Ledger.in_memory(relation).allowance(Fraction(1), "test")
    rows = EncodedRows(Source.of(frame, SCHEMA), Codec(SCHEMA))
    curator = Curator(rows, Door(allowance, Protection(relation, None, 1), noise))
    schema = with_maps(curator, rows, SCHEMA, Fraction(1, 50))
    assert allowance.spent == Fraction(1, 50)
    return schema, noise, curator


def test_each_value_gets_the_one_that_it_comes_with_most_often() -> None:
    frame = people(300)
    frame.loc[:4, "density"] = 12.5  # a few that are wrong
    schema, _, _ = bought(frame)
    assert schema.columns["density"].map == TRUE  # type: ignore[attr-defined]
    assert not schema.maps_to_buy


def test_rows_of_a_release_have_the_value_of_their_source_and_no_other() -> None:
    model = tv.RAPpp(SCHEMA, epsilon=2.0).fit(people(4000))
    rows = model.sample(500, seed=0)
    known = rows.region.notna()
    assert (rows.density[known] == rows.region[known].map(TRUE)).all()
    assert rows.density[~known].isna().all()


def test_a_release_with_a_bought_map_is_read_again(tmp_path: Any) -> None:
    model = tv.RAPpp(SCHEMA, epsilon=2.0).fit(people(2000))
    model.save(tmp_path / "release")
    again = tv.load(tmp_path / "release")
    assert again.sample(50, seed=1).equals(model.sample(50, seed=1))
    assert again.schema.columns["density"].map == TRUE


def test_what_a_map_costs_is_planned_charged_and_part_of_the_whole() -> None:
    planned = {line.purpose: line for line in forecast(SCHEMA, 1.0, rows=1000).spending}
    assert planned["maps"].share == pytest.approx(float(SHARE))
    assert planned["maps"].asked == "what follows from what: region to density"
    assert sum(line.share for line in planned.values()) == pytest.approx(1.0)
    model = fit_with_noise(tv.RAPpp(SCHEMA, epsilon=1.0), people(1000), Spy())
    first = model.release_.charges[0]
    whole = sum(Fraction(charge["rho"]) for charge in model.release_.charges)
    assert first["what"] == "measuring 1 marginals"
    assert Fraction(first["rho"]) == maps_cost(SCHEMA, whole)
    assert {"region", "density"} in [
        {side.name for side in m.sides} for m in model.release_.measurements
    ]


def test_a_declared_map_costs_nothing() -> None:
    given = tv.Schema.from_dict(
        {
            "columns": PUBLIC["columns"]
            | {"density": {**PUBLIC["columns"]["density"], "map": TRUE, "values": []}}
        }
    )
    assert maps_cost(given, Fraction(1)) == 0
    assert "maps" not in [line.purpose for line in forecast(given, 1.0, rows=1000).spending]


CELLS = [
    dict(zip(("region", "density", "sex"), cells, strict=True))
    for cells in product(["north", "south", None, "?"], [12.5, 80.1, None, 7.0], ["F"])
]


@pytest.mark.parametrize("relation", Relation)
def test_one_person_moves_what_is_counted_no_further_than_was_paid_for(relation: Relation) -> None:
    frame = people(20)
    [before] = bought(frame, relation)[1].seen
    for row in CELLS:
        changed = frame.copy()
        if relation is Relation.SUBSTITUTE:
            changed.loc[0] = row
        else:
            changed = pd.concat([changed, pd.DataFrame([row])], ignore_index=True)
        [after] = bought(changed, relation)[1].seen
        squared = float(((after - before) ** 2).sum())
        assert squared <= Protection(relation, None, 1).squared(1)


def test_a_table_without_the_column_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(InvalidInput, match="lacks the column density"):
        tv.RAPpp(SCHEMA, epsilon=1.0).fit(people(10).drop(columns="density"))


def test_without_map_cuts_and_values_nothing_can_be_bought() -> None:
    with pytest.raises(InvalidInput, match="values alone, whose map is then bought"):
        tv.Follows(of="region")


def test_a_map_of_a_number_is_not_sold() -> None:
    columns = {
        "age": {"type": "numerical", "min": 0, "max": 99},
        "group": {"type": "follows", "of": "age", "values": ["young", "old"]},
    }
    with pytest.raises(InvalidInput, match="a map needs a categorical column"):
        tv.Schema.from_dict({"columns": columns})
