"""People with several rows: few are kept, and nobody moves a measurement past its declared
sensitivity."""

from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tabveil as tv
from noises import Spy
from samples import curator_of
from tabveil.audit.transcript import Draw
from tabveil.curator import Workload
from tabveil.errors import InvalidInput
from tabveil.fitting.presets import Paper, PaperEffort
from tabveil.fitting.projection import Annealing
from tabveil.fitting.rows import EncodedRows
from tabveil.privacy import Ledger, Mechanism, Relation
from tabveil.queries import Pairs, marginals_with_targets, random_linear_thresholds
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.sources.contributions import Contributions
from tabveil.tables.placement import Lattice, MinMax
from tabveil.tables.table import Codec

RHO = Fraction(1, 8)
SMALL = {
    "columns": {
        "who": {"type": "id"},
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "job": {"type": "categorical", "values": ["x", "y", "z"]},
        "age": {"type": "numerical", "min": 0, "max": 9, "decimals": 0},
    },
    "targets": ["sex"],
}


def schema_for(most: int) -> Schema:
    return Schema.from_dict(SMALL | {"privacy": {"unit": "who", "max_rows": most}})


def table_of(people: list[list[tuple[int, int, int]]]) -> pd.DataFrame:
    """People's rows one after the other in turns, so that nobody's stand together."""
    turns = [(i, who, row) for who, rows in enumerate(people) for i, row in enumerate(rows)]
    lines = [
        (f"p{who}", "FM"[sex], "xyz"[job], age)
        for _, who, (sex, job, age) in sorted(turns, key=lambda t: t[0])
    ]
    return pd.DataFrame(lines, columns=["who", "sex", "job", "age"])


@cache
def everything_asked() -> Workload:
    schema = schema_for(1)
    domain = Codec(schema).domain
    families = (
        Pairs.over(domain, [np.array([2**14, 2**15])], 2**14),
        marginals_with_targets(domain, 1000)[0],
        random_linear_thresholds(domain, 20, np.random.default_rng(0)),
    )
    return Workload(families, MinMax.of(schema), domain)


def looks(frame: pd.DataFrame, most: int, relation: Relation) -> list[Draw]:
    """Everything that the curator hands to the noise when every door is used once, at ρ = RHO
    each."""
    schema = schema_for(most)
    codec, noise = Codec(schema), Spy()
    allowance = Ledger.in_memory(relation).allowance(RHO * 20, "test")
    rows = EncodedRows(Source.of(frame, schema), codec)
    curator = curator_of(rows, allowance, relation, noise, most)
    lattice, domain, workload = Lattice.of(schema), codec.domain, everything_asked()
    curator.total(RHO)
    curator.intervals(lattice, [np.array([[0, 3], [3, 4], [4, 10]])], RHO)
    curator.categories([0, 1], domain, RHO)
    for family in workload.families:
        picks = np.arange(min(3, len(family)))
        curator.measure(workload, family, picks, RHO)
        expected = np.zeros_like(family.tally.nothing())
        bias = np.zeros(len(family), np.int64)
        curator.select(workload, family, expected, min(2, len(family)), RHO, np.zeros(0, int), bias)
    return noise.draws


rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 9)), max_size=6)


@pytest.mark.parametrize("relation", Relation)
@given(people=st.lists(rows, min_size=2, max_size=6), other=rows, most=st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_replacing_all_rows_of_one_person_moves_nothing_past_its_sensitivity(
    relation, people, other, most
):
    without = people[:-1] if relation is Relation.ADD_REMOVE else [*people[:-1], other]
    if (
        relation is Relation.SUBSTITUTE
    ):  # as many rows are kept, so their number stays what is public
        kept = [min(most, len(group[-1])) for group in (people, without)]
        without[-1] = (other + people[-1])[: len(people[-1])]
        assert min(most, len(without[-1])) == kept[0]
    pairs = zip(
        looks(table_of(people), most, relation),
        looks(table_of(without), most, relation),
        strict=True,
    )
    for here, there in pairs:
        assert here.scale == there.scale
        assert here.cost(there) <= RHO * (1 + 1e-11)


def test_the_worst_person_moves_measurements_exactly_as_far_as_declared() -> None:
    everybody = [[(0, 0, 1)] * 5, [(1, 1, 2)] * 2]
    pairs = zip(
        looks(table_of(everybody), 3, Relation.ADD_REMOVE),
        looks(table_of(everybody[1:]), 3, Relation.ADD_REMOVE),
        strict=True,
    )
    reached = [here.cost(there) for here, there in pairs if here.mechanism == Mechanism.GAUSSIAN]
    assert max(reached) == pytest.approx(float(RHO))


@given(
    st.lists(st.sampled_from(["a", "b", "c", None, ""]), max_size=40),
    st.integers(1, 4),
    st.integers(1, 9),
)
@settings(max_examples=100, deadline=None)
def test_the_first_rows_of_each_person_are_kept_in_batches_of_any_length(
    people, most, length
) -> None:
    contributions = Contributions(most)
    kept = [
        contributions.keep(pa.chunked_array([pa.array(people[at : at + length], pa.string())]))
        for at in range(0, len(people), length)
    ]
    seen: dict[str, int] = {}
    expected = []
    for who in people:
        seen[who or ""] = seen.get(who or "", 0) + 1
        expected.append(
            bool(who) and seen[who] <= most
        )  # rows without a name are nobody's, and are dropped
    assert np.concatenate([np.zeros(0, bool), *kept]).tolist() == expected


def test_a_person_is_the_same_in_any_type_of_column() -> None:
    for cells in (
        pa.array([1, 1, 2]),
        pa.array([1.0, 1.0, 2.0]),
        pa.array(["1", "1", "2"]).dictionary_encode(),
    ):
        contributions = Contributions(1)
        assert contributions.keep(pa.chunked_array([cells])).tolist() == [True, False, True]
        assert contributions.keep(pa.chunked_array([pa.array([b"2", b"3"])])).tolist() == [
            False,
            True,
        ]


def test_a_sign_for_missing_is_nobodys_name() -> None:
    people = pd.DataFrame({"who": ["N", "a", "N", "-9", "a", "b"], "x": [True] * 6})
    document = {"columns": {"x": {"type": "boolean"}}, "privacy": {"unit": "who", "max_rows": 1}}
    for signs, rows in ((["N", -9], 2), (["N"], 3), ([], 4)):
        schema = Schema.from_dict(document | {"missing": signs})
        assert Source.of(people, schema).count() == rows


def test_the_promise_names_the_unit_and_the_unit_is_not_in_the_release(tmp_path) -> None:
    frame = table_of([[(0, 1, 3)] * 4 for _ in range(200)])
    quick = Paper(
        thresholds=20,
        threshold_epochs=1,
        effort=PaperEffort(rows=20, annealing=Annealing(2.0, 1, 2, 0.0, 0.05)),
    )
    model = tv.RAPpp(schema_for(2), epsilon=50, preset=quick, ledger=tmp_path / "ledger").fit(frame)
    privacy = model.release_.privacy
    assert (
        "for all rows of one who added or removed" in privacy["promise"]
        and privacy["max_rows"] == 2
    )
    counted = model.measurements_.query("family == 'row count'")["count"].item()
    assert counted == pytest.approx(
        400, abs=60
    )  # two rows each; the noise has a standard deviation below 6
    assert model.sample(7, seed=0)["who"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    scores = tv.evaluate(frame, model.sample(100, seed=0), schema_for(2))
    assert "total_variation_1" in set(scores["metric"])
    one_row = Schema.from_dict(SMALL)
    with pytest.raises(InvalidInput, match="This ledger protects all rows of one who"):
        tv.RAPpp(one_row, epsilon=1, preset=quick, ledger=tmp_path / "ledger").fit(frame)


def test_people_cannot_be_split_over_workers() -> None:
    source = Source.of(table_of([[(0, 0, 0)]]), schema_for(1))
    with pytest.raises(InvalidInput, match="cannot be split"):
        source.split(2)
    with pytest.raises(InvalidInput, match="lacks the column who"):
        Source.of(pd.DataFrame({"sex": [], "job": [], "age": []}), schema_for(1))


def test_thousands_of_people_are_kept_apart_and_none_is_named() -> None:
    contributions = Contributions(2)
    names = pa.chunked_array([pa.array([f"p{i % 3000}" for i in range(9000)])])
    assert contributions.keep(names).tolist() == [True] * 6000 + [False] * 3000
    assert repr(contributions) == "Contributions(most=2)"
    for people in (1024, 1025, 1026):  # where the room for counts is made larger
        names = pa.chunked_array([pa.array([f"p{i}" for i in range(people)])])
        assert Contributions(1).keep(names).all()
