"""Scores that other tools use, against values worked out by hand, and the checks for copied
people."""

import numpy as np
import pandas as pd
import pytest

from tabveil.metrics import column_shapes, k_marginal, membership, nearest_record, pair_trends
from tabveil.schema import Schema

TWO = Schema.from_dict(
    {
        "columns": {
            "a": {"type": "categorical", "values": ["x", "y"]},
            "b": {"type": "categorical", "values": ["x", "y"]},
        }
    }
)


def test_column_shapes_is_one_less_the_share_of_rows_to_move(scored):
    real = pd.DataFrame({"a": list("xxxy"), "b": list("xxyy")})
    other = pd.DataFrame({"a": list("xxyy"), "b": list("xxyy")})
    found = scored(column_shapes.scores, real, other, schema=TWO)
    assert found["column_shapes_by_column", "a"] == pytest.approx(0.75)
    assert found["column_shapes", "mean"] == pytest.approx(0.875)


def test_pair_scores_see_a_lost_dependence(scored):
    together = pd.DataFrame({"a": list("xxyy"), "b": list("xxyy")})
    apart = pd.DataFrame({"a": list("xxyy"), "b": list("xyxy")})
    assert scored(pair_trends.scores, together, apart, schema=TWO)["pair_trends", "mean"] == 0.5
    assert scored(k_marginal.scores, together, apart, schema=TWO)["k_marginal_2", "mean"] == 500


def test_opposite_correlations_have_no_trend_in_common(scored):
    schema = Schema.from_dict(
        {"columns": {n: {"type": "numerical", "min": 0, "max": 9} for n in "xy"}}
    )
    up = pd.DataFrame({"x": np.arange(10), "y": np.arange(10)})
    down = up.assign(y=9 - up["y"])
    assert scored(pair_trends.scores, up, down, schema=schema)[
        "pair_trends", "mean"
    ] == pytest.approx(0)


@pytest.mark.parametrize("metric", [column_shapes, pair_trends, k_marginal])
def test_the_same_rows_score_best(metric, scored, real):
    found = scored(metric.scores, real, real)
    best = 1000 if metric is k_marginal else 1
    assert found and all(value == pytest.approx(best) for value in found.values())


def test_copied_people_are_noticed(scored, real, held_out):
    # As many training rows as there are unseen ones take part: half of them, so half of the copies
    # are seen.
    copied = scored(nearest_record.scores, real, real[::2], test=held_out)
    assert copied["copies_of_training", "mean"] > 0.4 and copied["closer_to_training", "mean"] > 0.7
    assert scored(membership.scores, real, real, test=held_out)["membership_attack", "mean"] > 0.9


def test_fresh_people_look_like_strangers(scored, real, fresh, held_out):
    # The three tables are independent draws of one population, with fixed seeds: no chance is
    # involved.
    strangers = scored(nearest_record.scores, real, fresh, test=held_out)
    assert abs(strangers["closer_to_training", "mean"] - 0.5) < 0.05
    assert (
        abs(
            scored(membership.scores, real, fresh, test=held_out)["membership_attack", "mean"] - 0.5
        )
        < 0.05
    )
