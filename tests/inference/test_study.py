"""Estimates from a release: corrected by noisy answers, as wide as they must be, and honest."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as formulas
from scipy.sparse import csr_matrix

from inference_people import PEOPLE, fitted, people
from tabveil.errors import InvalidInput
from tabveil.inference import ModelWarning, Study
from tabveil.inference.correction import DOUBT, FREEDOM, TINY, Corrector, hidden
from tabveil.inference.pool import Known, Pool, counted_rows
from tabveil.inference.quantiles import Distribution
from tabveil.inference.statistics import Ranked, linear, mean, quantiles, shares
from tabveil.release import Release

STORED = Path(__file__).parents[1] / "release" / "stored"


@pytest.fixture(scope="module")
def study(release: Release) -> Study:
    return Study(release)


def covers(line: pd.DataFrame, truth: float, times: float = 2.0) -> bool:
    """Whether the truth lies within the interval, stretched so that luck plays no part."""
    [found] = line.to_dict("records")
    return abs(found["estimate"] - truth) <= times * 1.96 * found["standard_error"]


def test_means_shares_and_differences_are_near_what_is_true(study: Study) -> None:
    assert covers(study.means("age"), 50)
    assert covers(study.shares("sex").iloc[:1], 0.6)
    assert covers(study.quantiles("age", [0.5]), 50)
    assert covers(study.difference("wage", by="sex", between=("M", "F")), 20)
    assert covers(study.correlation("age", "wage"), 7.5 / np.hypot(7.5, np.hypot(10, 9.8)))


def test_coefficients_of_a_regression_are_near_what_is_true(study: Study) -> None:
    found = study.linear("wage ~ age + sex")
    assert covers(found.loc[["age"]], 0.5) and covers(found.loc[["sex[T.M]"]], 20)


def test_a_logistic_regression_agrees_with_the_real_rows(study: Study) -> None:
    rows = people(0).assign(rich=lambda t: (t["rich"] == "yes").astype(int))
    real = formulas.logit("rich ~ age", rows).fit(disp=0).params
    assert covers(study.logistic("rich ~ age").loc[["age"]], real["age"])


def test_what_was_measured_directly_is_as_sure_as_the_noisy_answer_or_surer(study: Study) -> None:
    [line] = study.shares("sex").iloc[:1].to_dict("records")
    alone = next(m for m in study.release.measurements if m.query == "sex")
    noise = alone.standard_error / counted_rows(study.release).rows
    direct = np.hypot(noise, np.sqrt(0.6 * 0.4 / PEOPLE))
    assert np.sqrt(0.6 * 0.4 / PEOPLE) * 0.98 < line["standard_error"] <= 1.02 * direct
    assert line["rests_on_measured"] == "yes"


def test_about_the_people_themselves_an_interval_is_narrower(release: Release) -> None:
    population, table = Study(release), Study(release, population=False)
    wide, narrow = (s.means("age")["standard_error"].iloc[0] for s in (population, table))
    assert narrow < wide


def test_a_wider_level_gives_a_wider_interval(release: Release) -> None:
    [narrow], [wide] = (
        (s.means("age")["high"] - s.means("age")["low"]).tolist()
        for s in (Study(release, level=0.8), Study(release, level=0.99))
    )
    assert narrow < wide


def test_what_was_not_measured_is_said_to_be_the_models_and_made_wide(release: Release) -> None:
    alone = [m for m in release.measurements if len(m.sides) < 2]
    blind = Study(replace(release, measurements=tuple(alone)))
    with pytest.warns(ModelWarning, match="no measured table speaks about this"):
        found = blind.difference("wage", by="city", between=("a", "b"))
    known = Study(release).difference("wage", by="sex")
    assert found["rests_on_measured"].tolist() == ["no"]
    assert found["standard_error"].iloc[0] > 3 * known["standard_error"].iloc[0]
    assert covers(found, 0.0)


def test_what_was_measured_brings_no_warning(study: Study) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        study.shares("city")
        study.means("age", by="rich")


def test_several_answers_about_the_same_cells_count_by_their_precision(release: Release) -> None:
    pool = Pool(release, 2000)
    known = pool.known(["sex"])
    about = [m for m in release.measurements if "sex" in [side.name for side in m.sides]]
    assert len(about) > 1 and len(known.shares) == 2
    added = [m.standard_error**2 * m.counts.size / 2 for m in about]
    assert known.variances[0] * counted_rows(release).rows ** 2 == pytest.approx(
        1 / sum(1 / variance for variance in added)
    )


def test_intervals_hold_what_is_true_as_often_as_they_say() -> None:
    """Twelve releases, five statistics each: 95 in 100, so less than 51 of 60 is no bad luck."""
    truths = {"age": 50.0, "sex: F": 0.6, "city: a": 0.5, "city: b": 0.3, "city: c": 0.2}
    held = 0
    for seed in range(1, 13):
        study = Study(fitted(seed, epsilon=0.5).release_)
        lines = pd.concat([study.means("age"), study.shares("sex"), study.shares("city")])
        held += sum(
            lines.loc[name, "low"] <= true <= lines.loc[name, "high"]
            for name, true in truths.items()
        )
    assert held >= 51


# -- the correction itself -------------------------------------------------------------------------


def known_halves(shares: tuple[float, float], variance: float) -> Known:
    members = np.repeat(np.eye(2), 500, axis=0)
    return Known(csr_matrix(members), np.array(shares), np.full(2, variance), 0.0)


def test_a_share_that_was_measured_without_noise_is_what_was_measured() -> None:
    influence = np.repeat([0.5, -0.5], 500)[:, None]
    found = Corrector(known_halves((0.7, 0.3), 0.0), 100).corrected(influence, columns=1)
    assert found.shifts == pytest.approx([0.2], abs=1e-6)
    assert found.noise == pytest.approx([0.0], abs=1e-6)
    assert found.model == pytest.approx([0.0], abs=1e-6)
    assert found.sampling == pytest.approx([0.25 / 100])


def test_where_nothing_was_measured_all_is_model() -> None:
    influence = np.random.default_rng(0).normal(size=(1000, 1))
    inside = np.repeat(np.eye(2), 500, axis=0)
    influence -= inside @ (inside.T @ influence / 500)  # the cells know nothing of it
    found = Corrector(known_halves((0.7, 0.3), 1e-6), 100).corrected(influence, columns=1)
    assert found.measured == pytest.approx([0.0], abs=1e-6) and found.shifts == pytest.approx([0])


def test_whom_noise_may_hide_far_out_counts_for_means_and_not_for_quantiles(
    release: Release,
) -> None:
    hiding, open_to_sight = Study(release), Study(release)
    hiding.hidden, open_to_sight.hidden = {"wage": 0.01}, {}
    for column, more, rests in (("wage", 0.01, "partly"), ("age", 0.0, "yes")):
        [line], [other] = (s.means(column).to_dict("records") for s in (hiding, open_to_sight))
        moved = more * (mean(hiding.pool.frame, column).influence ** 2).mean()
        whole = np.sqrt(other["standard_error"] ** 2 + moved)
        assert line["standard_error"] == pytest.approx(whole)
        assert line["estimate"] == other["estimate"] and line["rests_on_measured"] == rests
    assert hiding.quantiles("wage").equals(open_to_sight.quantiles("wage"))


def test_noise_hides_people_only_where_hardly_any_row_is(study: Study) -> None:
    [first] = [part for part in study.pool.parts(["age"]) if part.runs][:1]
    shares = np.asarray(study.pool.members(first).mean(axis=0)).ravel()
    thin = DOUBT**2 * shares.min()
    for variance, some in ((0.9 * thin, False), (1.1 * thin, True)):
        noisy = Pool(study.release, study.pool.rows)
        noisy.parts = lambda columns, v=variance: [replace(first, variance=v * first.total**2)]
        assert (hidden(noisy)["age"] > 0) == some


def test_the_correction_solves_what_it_says(study: Study) -> None:
    """Against the same equations written down in full, cells that no row is in among them."""
    columns = ["age", "sex", "wage"]
    known = study.pool.known(columns)
    influence = linear(study.pool.frame, "wage ~ age + sex").influence
    members, rows = known.members.toarray(), len(influence)
    noise = np.diag(known.variances + TINY)
    noise += known.total_variance * np.outer(known.expected, known.expected)
    full = np.linalg.solve(
        members.T @ members / rows + noise / FREEDOM**2, members.T @ influence / rows
    )
    found = Corrector(known.occupied(), PEOPLE).corrected(influence, columns=3)
    assert found.shifts == pytest.approx(full.T @ (known.shares - known.expected), rel=1e-6)
    assert found.noise == pytest.approx((full * (noise @ full)).sum(axis=0), rel=1e-6)


def test_the_cells_of_a_cross_table_are_named_and_add_up(study: Study) -> None:
    rows = pd.DataFrame({"one": ["a", "b", None, "a"], "other": [2, 2, 1, 1]})
    found = shares(rows, ["one", "other"])
    assert dict(zip(found.names, found.values, strict=True)) == {
        "one × other: a × 1": 0.25,
        "one × other: a × 2": 0.25,
        "one × other: b × 2": 0.25,
        "one × other: missing × 1": 0.25,
    }


def test_texts_with_a_missing_cell_take_no_part_in_a_regression() -> None:
    rows = pd.DataFrame({"y": [1.0, 2.0, 4.0, 9.0], "x": ["a", "b", "b", None]})
    found = linear(rows, "y ~ x")
    assert found.names == ("Intercept", "x[T.b]") and found.values == pytest.approx([1, 2])
    assert found.influence[3] == pytest.approx([0, 0])


# -- quantiles -------------------------------------------------------------------------------------


def counted(shares: list[float], starts: list[float], variance: float = 0.0) -> Distribution:
    """Rows at 0 to 999, of which noisy shares are known in runs that start there."""
    numbers = np.arange(1000.0)
    members = csr_matrix(np.eye(len(shares))[np.digitize(numbers, starts)])
    known = Known(members, np.array(shares), np.full(len(shares), variance), 0.0)
    ranked = Ranked(numbers, np.ones(1000, bool), np.array([0.5]))
    return Distribution(ranked, Corrector(known, 1e9), population=True)


def test_a_quantile_may_be_anywhere_in_the_run_that_holds_it() -> None:
    """The people of one run may all have one value: the interval says so, however many they are."""
    low, high, rests = counted([0.494, 0.016, 0.49], [499, 510]).interval(0.5, wide=1.96)
    assert (low, high, rests) == (499, 509, "yes")


def test_a_quantile_may_be_in_the_next_run_where_noise_leaves_that_open() -> None:
    runs = [100.0 * place for place in range(1, 10)]
    shares = [0.1] * 10
    surely, perhaps = (counted(shares, runs, noise).interval(0.55, 1.96) for noise in (1e-8, 1e-3))
    assert surely[:2] == (500, 599)
    assert perhaps[0] < 500 and perhaps[1] > 599


def test_a_run_that_is_hardly_known_does_not_widen_an_interval() -> None:
    """The ends before and after it are known, and a share can only grow."""
    numbers = np.arange(1000.0)
    coarse, fine = np.digitize(numbers, [400, 600]), np.digitize(numbers, [100, 200, 300])
    members = csr_matrix(np.hstack([np.eye(3)[coarse], np.eye(4)[fine]]))
    shares = np.array([0.4, 0.2, 0.4, 0.1, 0.1, 0.1, 0.7])
    known = Known(members, shares, np.repeat([1e-8, 1.0], [3, 4]), 0.0)
    ranked = Ranked(numbers, np.ones(1000, bool), np.array([0.5]))
    low, high, _ = Distribution(ranked, Corrector(known, 1e9), True).interval(0.5, wide=1.96)
    assert (low, high) == (400, 599)


def test_a_quantile_at_a_value_that_was_counted_alone_is_known() -> None:
    numbers = np.repeat([1.0, 2.0, 3.0], [40, 30, 30])
    members = csr_matrix(np.repeat(np.eye(3), [40, 30, 30], axis=0))
    known = Known(members, np.array([0.3, 0.4, 0.3]), np.zeros(3), 0.0)
    ranked = Ranked(numbers, np.ones(100, bool), np.array([0.5]))
    found = Distribution(ranked, Corrector(known, 1e6), population=True).interval(0.5, wide=1.96)
    assert found == (2, 2, "yes")


def test_a_quantile_is_where_noisy_answers_put_it_not_where_rows_lie(study: Study) -> None:
    rows = study.pool.frame["age"]
    found = study.quantiles("age", [0.25, 0.5, 0.75])
    assert found["estimate"].tolist() == pytest.approx(rows.quantile([0.25, 0.5, 0.75]), abs=2)
    assert (found["low"] <= found["estimate"]).all() and (found["estimate"] <= found["high"]).all()
    assert quantiles(study.pool.frame, "age", [0.5]).values == pytest.approx(rows.median(), abs=1)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda s: s.means("agee"), "no column agee.*Did you mean"),
        (lambda s: s.means("sex"), "no column of numbers"),
        (lambda s: s.shares(), "No column was named"),
        (lambda s: s.quantiles("age", [50]), "50 is no level"),
        (lambda s: s.difference("age", by="city"), "between two groups of city"),
        (lambda s: s.linear("age ~ nonsense"), "cannot be read"),
        (lambda s: s.linear("city ~ age"), "more than two values"),
        (lambda s: Study(s.release, level=95), "95 is no level"),
        (lambda s: Study("nowhere"), "is not a release"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_line(asked, said, study: Study) -> None:
    with pytest.raises(InvalidInput, match=f"(?s){said}"):
        asked(study)


@pytest.mark.parametrize("folder", sorted(STORED.iterdir()), ids=lambda folder: folder.name)
def test_releases_of_version_0_1_can_be_asked_too(folder: Path) -> None:
    study = Study(folder)
    column = next(iter(study.release.schema.categories))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        found = study.shares(column)
    assert found["estimate"].sum() == pytest.approx(1, abs=0.3)
