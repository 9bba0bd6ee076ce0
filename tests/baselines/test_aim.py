"""AIM to its end: it spends all that it has, with a target and without."""

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

from tabveil.baselines import baseline_named
from tabveil.baselines.aim import parts_of, refuse_too_many_cells
from tabveil.errors import InvalidInput
from tabveil.privacy import Budget, Relation
from tabveil.schema import Schema
from tabveil.tables.table import Axis, Domain

BUDGET = Budget(1.0, 1e-9)
COLUMNS = ("a", "b", "c", "d", "e")


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    """Each column is mostly the one before."""
    random = np.random.default_rng(seed)
    columns = [random.integers(0, 3, rows)]
    for _ in COLUMNS[1:]:
        columns.append(
            np.where(random.random(rows) < 0.8, columns[-1], random.integers(0, 3, rows))
        )
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))).astype(str)


def schema(*targets: str) -> Schema:
    rule = {"type": "categorical", "values": ["0", "1", "2"]}
    return Schema.from_dict({"columns": dict.fromkeys(COLUMNS, rule), "targets": list(targets)})


def domain(*targets: int) -> Domain:
    axes = tuple(Axis(name, ("0", "1", "2")) for name in COLUMNS)
    return Domain(axes, (), targets)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("targets", [(), ("e",)])
def test_aim_runs_to_the_end_of_its_budget(targets, relation):
    real = people(5000)
    found = baseline_named("aim").fit(real, schema(*targets), BUDGET, relation)
    assert found.spent == BUDGET.rho
    assert found.notes["rounds"] >= 4
    made = found.sample(5000)
    for pair in pairwise(COLUMNS):
        tables = [rows.value_counts(list(pair), normalize=True) for rows in (real, made)]
        # Independent columns are 0.53 apart; the noise of a round is some 30 rows of 5,000.
        assert tables[0].sub(tables[1], fill_value=0).abs().sum() / 2 < 0.2


def test_aim_spends_no_more_on_a_handful_of_rows():
    found = baseline_named("aim", rounds=4).fit(people(3), schema("e"), BUDGET)
    assert found.spent == BUDGET.rho
    assert len(found.sample(50)) == 50


def test_candidates_without_a_target_are_all_triples_and_their_parts():
    wanted = [part for k in (1, 2, 3) for part in combinations(range(5), k)]
    assert parts_of(domain(), 3, 2**16) == wanted


def test_candidates_with_a_target_are_parts_of_those_that_have_it():
    found = parts_of(domain(4), 3, 2**16)
    assert [part for part in found if len(part) == 3] == [
        (*pair, 4) for pair in combinations(range(4), 2)
    ]


def test_the_degree_and_the_most_cells_are_kept():
    assert max(map(len, parts_of(domain(), 2, 2**16))) == 2
    assert max(map(len, parts_of(domain(), 3, 9))) == 2


def test_more_candidates_than_memory_holds_are_refused_in_one_line():
    domain = Domain(tuple(Axis(f"c{i}", tuple(map(str, range(260)))) for i in range(9)), (), ())
    refuse_too_many_cells(parts_of(domain, 2, 2**30), domain)
    with pytest.raises(InvalidInput, match="would need 18 GB"):
        refuse_too_many_cells(parts_of(domain, 3, 2**30), domain)
