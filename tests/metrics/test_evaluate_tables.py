"""What `evaluate` promises about the whole tidy frame, whatever the table looks like."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tabveil.errors import InvalidInput, TabveilError
from tabveil.metrics import METRICS, evaluate, summary, summary_table
from tabveil.schema import Schema

ERRORS = [
    "cm_error",
    "mm_error_uniform",
    "mm_error_quantile",
    "lt_error",
    "kolmogorov_smirnov",
    "correlation",
]
VARIATIONS = ["total_variation_1", "total_variation_2", "total_variation_3", "total_variation_cm"]
LIKENESSES = (
    "column_shapes",
    "pair_trends",
    "k_marginal_2",
    "k_marginal_3",
    "k_marginal_nist",
    "diversity",
)


def means(frame: pd.DataFrame) -> pd.Series:
    return frame[frame["subject"] == "mean"].set_index("metric")["value"]


def test_scores_are_tidy_rows_without_repeats(real, fresh, held_out, schema):
    frame = evaluate(real, fresh, schema, test=held_out)
    assert list(frame.columns) == ["metric", "subject", "value", "reference"]
    assert not frame.duplicated(["metric", "subject"]).any()
    assert frame[["value", "reference"]].notna().all(axis=None)


def test_a_table_has_no_error_against_itself(real, schema):
    frame = evaluate(real, real, schema)
    likeness = frame["metric"].str.contains(
        "column_shapes|pair_trends|k_marginal|diversity"
    )  # best is 1 or 1000
    assert (frame["value"][~likeness] == 0).all()
    assert np.isin(frame["value"][likeness].round(12), (1, 1000)).all()


def test_shuffled_columns_are_worse_than_other_real_rows_on_everything_about_dependence(
    real, fresh, shuffled, held_out, schema
):
    good = means(evaluate(real, fresh, schema, test=held_out))
    bad = means(evaluate(real, shuffled, schema, test=held_out))
    for name in [
        "cm_error",
        "mm_error_quantile",
        "mm_error_uniform",
        "correlation",
        *VARIATIONS[1:],
    ]:
        assert bad[name] > 2 * good[name], name
    assert bad["lt_error"] > good["lt_error"]
    assert bad["f1_trees"] < good["f1_trees"] - 0.2


def test_the_same_seed_gives_the_same_scores(real, fresh, held_out, schema):
    first, again = (evaluate(real, fresh, schema, test=held_out, seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


def test_without_test_rows_there_are_no_model_scores_and_no_references(real, fresh, schema):
    frame = evaluate(real, fresh, schema)
    assert not frame["metric"].str.startswith("f1").any()
    assert frame["reference"].isna().all()
    assert set(means(frame).index) == {*ERRORS, *VARIATIONS, *LIKENESSES}


def test_the_reference_of_an_error_is_the_error_of_the_test_rows(real, fresh, held_out, schema):
    referenced = evaluate(real, fresh, schema, test=held_out)
    own = (
        "f1",
        "closer_to",
        "copies_of",
        "membership",
    )  # these say themselves what real rows reach
    referenced = referenced[~referenced["metric"].str.startswith(own)]
    direct = evaluate(real, held_out, schema)
    assert referenced["reference"].tolist() == direct["value"].tolist()


def test_the_order_of_rows_and_the_kind_of_table_do_not_matter(real, fresh, schema):
    expected = evaluate(real, fresh, schema)
    turned = evaluate(real, pa.Table.from_pandas(fresh.sample(frac=1, random_state=1)), schema)
    pd.testing.assert_frame_equal(expected, turned)


def test_a_file_is_as_good_as_a_frame(real, fresh, schema, tmp_path):
    fresh.to_parquet(tmp_path / "synthetic.parquet")
    pd.testing.assert_frame_equal(
        evaluate(real, tmp_path / "synthetic.parquet", schema), evaluate(real, fresh, schema)
    )


@pytest.mark.parametrize(
    "kept",
    [
        ["colour", "size", "label"],
        ["colour", "size", "x", "label"],
        ["x", "y", "label"],
        ["x", "y"],
        ["x"],
        ["colour"],
        ["label"],
    ],
    ids=[
        "no numbers",
        "one number",
        "no features but numbers",
        "only numbers",
        "a number",
        "a category",
        "a target",
    ],
)
def test_tables_of_any_shape_get_the_scores_that_apply(kept, real, fresh, held_out, schema):
    narrow = {
        "columns": {
            name: column for name, column in schema.to_dict()["columns"].items() if name in kept
        }
    }
    narrow["targets"] = [name for name in kept if name == "label"]
    frame = evaluate(real, fresh, Schema.from_dict(narrow), test=held_out)
    assert len(frame) > 0
    assert np.isfinite(frame["value"]).all()
    assert ("mm_error_uniform" in set(frame["metric"])) == (kept == ["x", "y", "label"])
    assert ("f1_linear" in set(frame["metric"])) == ("label" in kept and len(kept) > 1)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__module__)
def test_a_metric_that_does_not_apply_gives_no_rows_rather_than_an_error(metric, scored):
    one = Schema.from_dict({"columns": {"label": {"type": "categorical", "values": ["no"]}}})
    frame = pd.DataFrame({"label": ["no"]})
    perfect = {"column_shapes": 1, "column_shapes_by_column": 1}  # where one is best, not zero
    for (name, _), value in scored(metric, frame, frame, schema=one).items():
        assert value == perfect.get(name, 0)


def test_targets_can_be_named_in_place_of_the_schemas_own(real, fresh, held_out, schema):
    frame = evaluate(real, fresh, schema, test=held_out, targets=["size", "colour"])
    assert set(frame.loc[frame["metric"] == "f1_trees_by_target", "subject"]) == {"size", "colour"}


def test_missing_and_undeclared_cells_are_scored_not_refused(held_out):
    columns = {
        "x": {"type": "numerical", "min": 0, "max": 10, "special_values": [0], "nullable": True},
        "size": {"type": "categorical", "values": ["s", "m"], "other": True, "nullable": True},
        "label": {"type": "categorical", "values": ["no", "yes"]},
    }
    frame = held_out.assign(
        x=held_out["x"].mask(held_out["x"] > 7), size=held_out["size"].mask(held_out["y"] < -0.8)
    )
    scores = evaluate(
        frame, frame[::2], Schema.from_dict({"columns": columns, "targets": ["label"]}), test=frame
    )
    assert np.isfinite(scores["value"]).all()
    assert "x:kind" in set(scores.loc[scores["metric"] == "total_variation_by_column", "subject"])


@pytest.mark.parametrize("name", ["real", "synthetic", "test"])
def test_an_empty_table_is_refused_by_name(name, real, schema):
    tables = {"real": real, "synthetic": real, "test": real, name: real[:0]}
    with pytest.raises(InvalidInput, match=f"The {name} table has no rows"):
        evaluate(schema=schema, **tables)


def test_a_target_that_is_not_a_categorical_column_is_refused(real, schema):
    with pytest.raises(TabveilError):
        evaluate(real, real, schema, targets=["x"])


def test_the_summary_reads_the_means_in_a_fixed_order(real, fresh, held_out, schema):
    frame = evaluate(real, fresh, schema, test=held_out)
    lines = summary(frame)
    rows = ["near 1", "near 0.5", "as reference", "near 0.5"]
    likeness = ["higher"] * 5
    assert [line.better for line in lines] == [*["higher"] * 2, *["lower"] * 6, *likeness, *rows]
    label, value, reference, _ = lines[0]
    assert label == "F1, logistic regression"
    assert (value, reference) == tuple(
        frame.set_index(["metric", "subject"]).loc[("f1_linear", "mean")]
    )


def test_the_summary_leaves_out_what_was_not_scored(real, fresh, schema):
    lines = summary(evaluate(real, fresh, schema))
    assert len(lines) == 12
    assert all(line.reference is None for line in lines)


def test_the_summary_table_has_a_line_for_every_headline(real, fresh, schema):
    scores = evaluate(real, fresh, schema)
    assert summary_table(scores).row_count == len(summary(scores))
