"""Models trained on synthetic rows: what their scores mean, and the tables that must not break
them."""

import numpy as np
import pandas as pd
import pytest

from tabveil.metrics import models


def test_macro_f1_is_the_mean_over_classes():
    truth, labels = np.array([0, 0, 0, 1], np.int32), np.array([0, 0, 1, 1], np.int32)
    # Class 0: precision 1, recall 2/3; class 1: precision 1/2, recall 1.
    assert models.macro_f1(truth, labels) == pytest.approx((0.8 + 2 / 3) / 2)


def test_trees_learn_what_lines_cannot(real, fresh, held_out, scored):
    found = scored(models.scores, real, fresh, test=held_out)
    assert found["f1_trees", "mean"] > 0.85
    assert found["f1_linear", "mean"] < 0.75


def test_one_class_in_the_synthetic_rows_scores_as_that_class_alone(real, fresh, held_out, scored):
    found = scored(models.scores, real, fresh.assign(label="no"), test=held_out)
    share = (held_out["label"] == "no").mean()
    expected = pytest.approx((2 * share / (1 + share)) / 2)
    assert found["f1_linear_by_target", "label"] == expected
    assert found["f1_trees_by_target", "label"] == expected


def test_a_class_with_a_single_row_is_no_trouble(real, held_out, scored):
    rare = real.assign(label=["yes"] + ["no"] * (len(real) - 1))
    found = scored(models.scores, real, rare, test=held_out)
    assert 0 < found["f1_trees", "mean"] < 0.6


def test_targets_with_several_classes_and_missing_ones_are_scored(
    real, fresh, held_out, schema, scored
):
    sizes = schema.with_targets(("size",))
    whole = scored(models.scores, real, fresh, schema=sizes, test=held_out)
    without_large = scored(
        models.scores, real, fresh[fresh["size"] != "l"], schema=sizes, test=held_out
    )
    assert whole["f1_linear", "mean"] > 0.6
    assert without_large["f1_linear", "mean"] < whole["f1_linear", "mean"] - 0.1


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_handful_of_synthetic_rows_is_enough_not_to_crash(rows, real, fresh, held_out, scored):
    found = scored(models.scores, real, fresh[:rows], test=held_out)
    assert all(0 <= value <= 1 for value in found.values())


def test_constant_columns_are_no_trouble(real, held_out, scored):
    flat = real.assign(x=3.0, y=0.0, colour="red")
    assert np.isfinite(list(scored(models.scores, flat, flat, test=held_out).values())).all()


def test_wide_tables_take_the_solver_that_needs_no_matrix(
    real, fresh, held_out, scored, monkeypatch
):
    narrow = scored(models.scores, real, fresh, test=held_out)
    monkeypatch.setattr(models, "NEWTON_WIDTH", 1)
    wide = scored(models.scores, real, fresh, test=held_out)
    assert wide["f1_linear", "mean"] == pytest.approx(narrow["f1_linear", "mean"], abs=0.01)


def test_long_tables_are_thinned_before_training(real, fresh, held_out, scored, monkeypatch):
    monkeypatch.setattr(models, "TRAINING_ROWS", 500)
    thinned = scored(models.scores, real, fresh, test=held_out)
    assert thinned["f1_trees", "mean"] > 0.75
    assert thinned == scored(models.scores, real, pd.DataFrame(fresh), test=held_out)
