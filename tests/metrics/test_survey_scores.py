"""What surveys are judged by: NIST's k-marginal score, and how varied rows are."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from tabveil.metrics import diversity, k_marginal_nist
from tabveil.schema import Schema

THREE = {name: {"type": "categorical", "values": ["x", "y"]} for name in "abc"}
NUMBERS = {
    "wide": {"type": "numerical", "min": 0, "max": 1000, "special_values": [-5], "nullable": True},
    "narrow": {"type": "numerical", "min": 0, "max": 20, "decimals": 0},
}
REAL = pd.DataFrame({"a": list("xxxxyyyy"), "b": list("xxyyxxyy"), "c": list("xyxyxyxy")})


def test_without_strata_it_is_the_mean_over_all_pairs(scored):
    schema = Schema.from_dict({"columns": THREE})
    other = REAL.assign(b=REAL["a"])  # of three pairs, (a, b) alone is wrong, by a half
    found = scored(k_marginal_nist.scores, REAL, other, schema=schema)
    assert found == {("k_marginal_nist", "mean"): pytest.approx(1000 * (1 - 0.5 / 3))}


def test_with_strata_it_is_the_mean_over_triples_and_the_worst_stratum_is_told(scored):
    schema = Schema.from_dict({"columns": THREE, "strata": ["a"]})
    other = REAL.assign(b=np.where(REAL["a"] == "x", "x", REAL["b"]))
    found = scored(k_marginal_nist.scores, REAL, other, schema=schema)
    # Half of the people of x are in the wrong cell, those of y in the right one. Cells that have
    # too many count as well as those that have too few, but never more than there are people.
    assert found["k_marginal_nist", "mean"] == pytest.approx(1000 * (1 - 0.25))
    assert found["k_marginal_nist", "min"] == pytest.approx(0)


def test_a_stratum_that_is_gone_has_nothing_right(scored):
    schema = Schema.from_dict({"columns": THREE, "strata": ["a"]})
    found = scored(k_marginal_nist.scores, REAL, REAL.assign(a="x"), schema=schema)
    assert found["k_marginal_nist", "min"] == pytest.approx(0)


def test_columns_that_follow_from_others_count_as_they_would_be_written(scored):
    size = {"type": "follows", "of": "a", "map": {"x": 7, "y": 7}}
    schema = Schema.from_dict({"columns": THREE | {"size": size}})
    other = REAL.assign(b=REAL["a"])  # of six pairs, (a, b) alone is wrong, by a half
    found = scored(k_marginal_nist.scores, REAL, other, schema=schema)
    assert found["k_marginal_nist", "mean"] == pytest.approx(1000 * (1 - 0.5 / 6))


def by_hand(real: pd.DataFrame, synthetic: pd.DataFrame, group: list[str]) -> float:
    """The definition, on tables whose numbers are bins already."""
    gaps = []
    for pair in combinations([name for name in real if name not in group], 2):
        tables = (t[[*group, *pair]].value_counts(normalize=True) for t in (real, synthetic))
        gaps.append(_gap(*tables))
    return 1000 * (1 - float(np.mean(gaps)))


def _gap(one: pd.Series, other: pd.Series) -> float:
    return float(one.sub(other, fill_value=0).abs().sum() / 2)


def cut(real: pd.Series, synthetic: pd.Series, bins: int) -> tuple[pd.Series, pd.Series]:
    """Numbers in equally full bins of the real ones, with pandas."""
    starts = np.percentile(real.dropna(), np.arange(bins) * 100 / bins, method="higher")
    ends = [real.max(), synthetic.max(), min(real.min(), synthetic.min())]
    edges = np.unique([*starts, *ends])
    ours, theirs = (pd.cut(t, edges, labels=False, include_lowest=True) for t in (real, synthetic))
    return ours.fillna(-1), theirs.fillna(-1)


@pytest.mark.parametrize("strata", [[], ["a"]])
def test_numbers_are_cut_as_nist_cuts_them(scored, strata):
    schema = Schema.from_dict({"columns": THREE | NUMBERS, "strata": strata})
    random = np.random.default_rng(0)

    def rows(high: float) -> pd.DataFrame:
        some = {name: random.choice(["x", "y"], 500) for name in THREE}
        wide = np.where(random.random(500) < 0.1, np.nan, random.uniform(100, high, 500))
        wide[:20] = -5
        return pd.DataFrame(some).assign(wide=wide, narrow=random.integers(0, 21, 500))

    real, synthetic = rows(500), rows(900)
    # Of 20 bins, one is for missing cells and one for what is above all real numbers.
    ours, theirs = cut(real["wide"], synthetic["wide"], 18)
    expected = by_hand(real.assign(wide=ours), synthetic.assign(wide=theirs), strata)
    found = scored(k_marginal_nist.scores, real, synthetic, schema=schema)
    assert found["k_marginal_nist", "mean"] == pytest.approx(expected)


def test_a_column_that_is_always_missing_can_be_scored(scored):
    schema = Schema.from_dict({"columns": {"a": THREE["a"], "wide": NUMBERS["wide"]}})
    rows = pd.DataFrame({"a": ["x", "y"], "wide": [None, None]}, dtype=object)
    assert scored(k_marginal_nist.scores, rows, rows, schema=schema)[
        "k_marginal_nist", "mean"
    ] == pytest.approx(1000)


def test_diversity_counts_different_combinations_of_categories_among_as_many_rows(scored):
    schema = Schema.from_dict({"columns": THREE | {"narrow": NUMBERS["narrow"]}})
    real = REAL.assign(narrow=range(8))
    alike = pd.concat([real.head(2)] * 4, ignore_index=True).assign(narrow=range(8))
    assert scored(diversity.scores, real, alike, schema=schema) == {("diversity", "mean"): 0.25}
    assert scored(diversity.scores, real, real, schema=schema) == {("diversity", "mean"): 1.0}
    longer = pd.concat([real] * 9, ignore_index=True)
    assert scored(diversity.scores, real, longer, schema=schema)["diversity", "mean"] <= 1


def test_diversity_needs_two_categorical_columns(scored):
    schema = Schema.from_dict({"columns": {"a": THREE["a"], "narrow": NUMBERS["narrow"]}})
    rows = pd.DataFrame({"a": ["x", "y"], "narrow": [1, 2]})
    assert scored(diversity.scores, rows, rows, schema=schema) == {}
