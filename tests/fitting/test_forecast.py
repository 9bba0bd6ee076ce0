"""A plan is made from public things alone, and says what a fit then does."""

import json

import numpy as np
import pytest

import tabveil as tv
from samples import SMALL, random_table
from tabveil.datasets import DATASETS
from tabveil.fitting.forecast import (
    NO_MODEL,
    epsilon_at_risk,
    epsilon_for,
    forecast,
    summary_tables,
)
from tabveil.fitting.forecast_page import forecast_page
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.metrics import comparison_of, k_marginal
from tabveil.privacy import Risk
from tabveil.tables.table import Codec

CENSUS = DATASETS["census"]


@pytest.mark.parametrize("relation", ["add-remove", "substitute"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_a_plan_spends_no_more_than_the_budget(epsilon: float, relation: str) -> None:
    found = forecast(tv.Schema.from_dict(SMALL), epsilon, rows=5000, relation=relation)
    assert sum(part.share for part in found.spending) == pytest.approx(1)
    assert found.rho == pytest.approx(float(tv.Budget(epsilon, 1e-9).rho))
    expected = found.expected
    assert expected and all(0 < column.error < 1 for column in expected.columns)
    assert all(0 < pair.error <= 1 for pair in expected.pairs) and len(expected.pairs) == 21


def test_a_plan_warns_of_a_delta_that_is_large_for_so_few_rows() -> None:
    schema = tv.Schema.from_dict(SMALL)
    *_, warning = summary_tables(forecast(schema, 1.0, delta=0.1, rows=800))
    assert "not far below one in 800 rows" in str(warning)
    *_, last = summary_tables(forecast(schema, 1.0, rows=800))
    assert "far below" not in str(last)


def test_a_plan_tells_the_noise_that_a_fit_then_has() -> None:
    codec = Codec(tv.Schema.from_dict(SMALL))
    frame = codec.decode(random_table(codec.domain, 4000, seed=0)).to_pandas()
    steps = Annealing(8.0, stages=2, steps=3, tolerance=0.0)
    tiny = Default(rounds=2, effort=Effort(rows=40, between_rounds=steps, at_the_end=steps))
    model = tv.RAPpp(codec.schema, 1.0, preset=tiny, neighbours="substitute").fit(frame)
    found = forecast(codec.schema, 1.0, rows=4000, relation="substitute", preset=tiny)
    planned = {part.purpose: part.noise for part in found.spending}
    charges = model.release_.charges
    charged = {charge["what"]: charge["scale"] for charge in reversed(charges)}
    assert planned["distributions"] == pytest.approx(charged["measuring 2 distributions"])
    # Larger columns and tables get more of what all together cost, so that planned noise is a mean.
    first = next(i for i, charge in enumerate(charges) if "selecting" in charge["what"])
    scales = [
        charge["scale"]
        for charge in charges[:first]
        if charge["what"].endswith("cross-tables")
        for _ in range(int(charge["what"].split()[1]))
    ]
    assert len(scales) == 5 + 11  # columns, and tables with a target
    for purpose, part in (("columns", scales[:5]), ("tables with targets", scales[5:])):
        told = sum(1 / scale**2 for scale in part)
        assert planned[purpose] == pytest.approx((len(part) / told) ** 0.5)


def test_more_budget_and_more_rows_mean_less_error() -> None:
    schema = CENSUS.schema()
    errors = [
        forecast(schema, epsilon, rows=40_000).error for epsilon in (0.05, 0.2, 1.0, 5.0, 25.0)
    ]
    assert errors == sorted(errors, reverse=True)
    errors = [forecast(schema, 1.0, rows=rows).error for rows in (1000, 10_000, 100_000, 1_000_000)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("error", [0.1, 0.03])
def test_the_wanted_error_is_met_by_the_epsilon_that_is_named(error: float) -> None:
    found = epsilon_for(CENSUS.schema(), error, rows=40_000)
    assert found.error <= error
    assert forecast(CENSUS.schema(), found.epsilon * 0.9, rows=40_000).error > error


def test_an_error_out_of_reach_is_refused_with_what_can_be_reached() -> None:
    with pytest.raises(tv.InvalidInput, match=r"out of reach.*0\.0"):
        epsilon_for(CENSUS.schema(), 0.0001, rows=1000)
    with pytest.raises(tv.InvalidInput, match="rows"):
        forecast(CENSUS.schema(), 1.0, rows=0)


@pytest.mark.parametrize(
    "limits",
    [
        {"advantage": 0.1},
        {"caught": 0.05, "accused": 0.01},
        {"caught": 0.05, "accused": 0.01, "advantage": 0.02},
    ],
)
def test_what_may_be_risked_is_kept_by_the_epsilon_that_is_named(limits: dict) -> None:
    found = epsilon_at_risk(CENSUS.schema(), **limits, rows=40_000)
    risk = Risk.of_fit(found.epsilon, found.delta)
    assert risk.advantage <= limits.get("advantage", 1)
    assert risk.caught(0.01) <= limits.get("caught", 1)
    assert found.to_dict()["max_advantage"] == risk.advantage
    assert f"{risk.guess:.1%}" in str(summary_tables(found)[-1])


def test_the_paper_preset_keeps_its_own_delta_when_asked_for_a_risk() -> None:
    settings = {"rows": 1000, "relation": "substitute", "preset": "paper"}
    found = epsilon_at_risk(CENSUS.schema(), advantage=0.1, **settings)
    assert found.delta == 1 / 1000**2 and found.risk.advantage <= 0.1


@pytest.mark.parametrize(
    "wrong", [{"advantage": 0.0}, {"caught": 1.0}, {"caught": 0.1, "accused": 2}]
)
def test_a_risk_that_is_no_share_is_refused(wrong: dict) -> None:
    with pytest.raises(tv.InvalidInput, match="between 0 and 1"):
        epsilon_at_risk(CENSUS.schema(), **wrong)


def test_a_plan_is_json_and_lines_for_the_terminal() -> None:
    found = forecast(CENSUS.schema(), 1.0, rows=40_000)
    assert json.loads(json.dumps(found.to_dict()))["predicted_error"] == found.error
    assert "Predicted mean error" in str(summary_tables(found)[-1])


@pytest.mark.parametrize("targets", [[], CENSUS.schema().to_dict()["targets"]])
def test_all_counts_of_cross_tables_in_a_plan_agree(targets: list[str]) -> None:
    schema = CENSUS.schema().to_dict() | {"targets": targets}
    plan = forecast(tv.Schema.from_dict(schema), 3.0, rows=100_000)
    asked = {part.purpose: part.asked.split() for part in plan.spending}
    together = int(asked["tables with targets"][0]) if targets else 0
    chosen, _, candidates, *_ = (word.replace(",", "") for word in asked["choosing"])
    assert plan.expected and plan.expected.measured == int(chosen) + together
    assert plan.expected.candidates == int(candidates) + together
    assert int(chosen) == int(asked["cross-tables"][1].replace(",", ""))


def test_values_of_long_lists_are_counted_once_and_that_noise_is_foretold() -> None:
    groups = {"north": list(range(200)), "south": list(range(200, 400))}
    columns: dict[str, dict] = {
        "place": {"type": "categorical", "values": list(range(400)), "groups": groups},
        "sex": {"type": "categorical", "values": [0, 1]},
    }
    [place, sex] = forecast(
        tv.Schema.from_dict({"columns": columns}), 1.0, rows=9000
    ).expected.columns  # type: ignore[union-attr]
    assert place.cells == 2 and place.error > 0.1 > 10 * sex.error


def test_long_lists_and_units_are_planned_for() -> None:
    columns: dict[str, dict] = {
        "place": {"type": "categorical", "values": list(range(500))},
        "sex": {"type": "categorical", "values": [0, 1]},
    }
    long = forecast(tv.Schema.from_dict({"columns": columns}), 1.0, rows=9000)
    assert long.spending[0].purpose == "grouping" and long.expected
    assert long.expected.columns[0].cells < 100
    columns["who"] = {"type": "id"}
    document = {"columns": columns, "privacy": {"unit": "who", "max_rows": 3}}
    several = forecast(tv.Schema.from_dict(document), 1.0, rows=9000)
    counted, thrice = (
        next(part.noise or 0 for part in plan.spending if part.purpose == "row count")
        for plan in (long, several)
    )
    assert thrice == pytest.approx(3 * counted)


def test_people_with_several_rows_get_fewer_and_coarser_tables() -> None:
    document = CENSUS.schema().to_dict()
    document["columns"]["who"] = {"type": "id"}
    each, several = (
        forecast(tv.Schema.from_dict({**document, **privacy}), 1.0, rows=40_000).expected
        for privacy in ({}, {"privacy": {"unit": "who", "max_rows": 10}})
    )
    assert several.measured < each.measured
    assert sum(c.cells for c in several.columns) < sum(c.cells for c in each.columns)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_predicted_error_is_near_the_measured_one(epsilon: float) -> None:
    schema, people = CENSUS.schema(), CENSUS.frame(40_000, 0)
    model = tv.RAPpp(schema, epsilon).fit(people)
    comparison = comparison_of(people, model.release_.sample(50_000, seed=0), schema)
    score = {s.metric: s.value for s in k_marginal.scores(comparison)}["k_marginal_2"]
    ratio = forecast(schema, epsilon, rows=40_000).error / (1 - score / 1000)
    assert 1 / 1.5 < ratio < 1.5


def test_the_rules_are_those_of_the_preset() -> None:
    wasteful = Default(count_share=Default().count_share * 10)
    shares = [
        forecast(CENSUS.schema(), 1.0, preset=preset).spending[0].share
        for preset in (Default(), wasteful)
    ]
    assert np.isclose(shares[1], 10 * shares[0])


def test_the_paper_preset_is_planned_without_a_predicted_error() -> None:
    found = forecast(CENSUS.schema(), 1.0, rows=1000, relation="substitute", preset="paper")
    assert found.delta == 1 / 1000**2
    assert [part.purpose for part in found.spending] == [
        "choosing",
        "marginals",
        "linear thresholds",
    ]
    assert sum(part.share for part in found.spending) == pytest.approx(1)
    assert json.loads(json.dumps(found.to_dict()))["predicted_error"] is None
    assert NO_MODEL in str(summary_tables(found)[-1]) and NO_MODEL in forecast_page(found).html()
    with pytest.raises(tv.InvalidInput, match="default preset"):
        epsilon_for(CENSUS.schema(), 0.05, preset="paper")


def test_values_outside_of_declared_groups_are_planned_for_one_by_one() -> None:
    rule = {"type": "categorical", "values": list("abcdef"), "groups": {"north": list("abc")}}
    found = forecast(tv.Schema.from_dict({"columns": {"site": rule}}), 1.0)
    assert found.expected and found.expected.columns[0].cells == 4  # north, d, e and f


def test_intervals_of_a_plan_are_never_narrower_than_without_noise_and_shrink_with_rows() -> None:
    few, many = (forecast(CENSUS.schema(), 1.0, rows=rows) for rows in (2000, 200_000))
    assert few.expected and many.expected
    for one, other in zip(few.expected.columns, many.expected.columns, strict=True):
        spread = 0.5 if one.kind == "categorical" else 1.0
        assert one.interval > 1.96 * spread / 2000**0.5 and other.interval < one.interval
    assert all(pair.interval > 1.96 / 200_000**0.5 for pair in many.expected.pairs)
    assert "Interval ±" in summary_tables(few)[-2]
