"""Replicates: they differ as much as noise leaves open, are kept in files, and combine."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from inference_people import fitted
from tabveil.errors import InvalidInput
from tabveil.inference import ModelWarning, Replicates, Study, estimate, load, replicates
from tabveil.inference.pool import counted_rows
from tabveil.inference.replicates import draw
from tabveil.release import Release


@pytest.fixture(scope="module")
def made(release: Release) -> Replicates:
    return replicates(release, 8, seed=1)


def women(table: pd.DataFrame) -> float:
    return float((table["sex"] == "F").mean())


def test_replicates_have_as_many_rows_as_there_are_people(
    made: Replicates, release: Release
) -> None:
    assert len(made) == 8
    assert {len(table) for table in made.tables} == {round(counted_rows(release).rows)}


def test_they_differ_as_much_as_noisy_answers_leave_open() -> None:
    release = fitted(0, epsilon=1.0).release_
    shares = [women(table) for table in replicates(release, 40, seed=3).tables]
    noise = Study(release, population=False).shares("sex")["standard_error"].iloc[0]
    assert 0.5 * noise < np.std(shares) < 2 * noise


def test_the_same_seed_draws_the_same_tables(release: Release) -> None:
    first, again, other = (replicates(release, 2, seed=seed).tables[0] for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_a_model_gives_the_same_replicates_and_spends_nothing(model: tv.RAPpp) -> None:
    before = model.ledger_
    assert len(model.replicates(2, seed=1)) == 2
    pd.testing.assert_frame_equal(model.ledger_, before)


def test_a_row_that_is_drawn_twice_has_two_ids(made: Replicates) -> None:
    assert made.tables[0]["who"].is_unique


def test_rules_obey_rubin(made: Replicates) -> None:
    found = estimate(made, women, population=False).iloc[0]
    shares = [women(table) for table in made.tables]
    assert found["estimate"] == pytest.approx(np.mean(shares))
    assert found["standard_error"] == pytest.approx(np.sqrt((1 + 1 / 8) * np.var(shares, ddof=1)))
    assert found["degrees_of_freedom"] == pytest.approx(7)


def test_replicates_and_study_agree(made: Replicates, release: Release) -> None:
    combined = estimate(made, lambda table: table["age"].mean()).iloc[0]
    direct = Study(release).means("age").iloc[0]
    gap = abs(combined["estimate"] - direct["estimate"])
    assert gap < 2 * np.hypot(combined["standard_error"], direct["standard_error"])
    assert 0.4 < combined["standard_error"] / direct["standard_error"] < 2.5
    assert combined["rests_on_measured"] == "yes"


def test_a_function_may_give_several_values(made: Replicates) -> None:
    found = estimate(made, lambda t: t.groupby("rich")["age"].mean().add_prefix("age "))
    assert found.index.tolist() == ["age no", "age yes"]
    gap = found["estimate"].diff().iloc[-1]
    assert gap > 0  # the old are richer


def test_a_function_of_columns_that_nobody_measured_together_is_warned_of(
    made: Replicates,
) -> None:
    apart = replace(made, cuts={k: runs for k, runs in made.cuts.items() if len(k) == 1})
    with pytest.warns(ModelWarning):
        found = estimate(apart, lambda t: t["age"].corr(t["wage"])).iloc[0]
    assert found["rests_on_measured"] == "no" and found["standard_error"] > 0.2


def test_whom_noise_may_hide_far_out_widens_what_moves_with_it(made: Replicates) -> None:
    hiding = replace(made, hidden={"wage": 0.01, "age": 0.0})
    for column, factor in (("wage", 3), ("age", 1)):
        before, after = (
            estimate(tables, lambda t, c=column: t[c].mean())["standard_error"].iloc[0]
            for tables in (replace(made, hidden={}), hiding)
        )
        assert (after > factor * before) if factor > 1 else (after == pytest.approx(before))


def test_where_noise_drowns_people_replicates_say_so_and_name_who_does_better() -> None:
    drowned = replicates(fitted(0, epsilon=0.05).release_, 20, seed=1)
    with pytest.warns(ModelWarning, match=r"noise is so strong.*Study"):
        found = estimate(drowned, women)
    assert found["rests_on_measured"].tolist() == ["partly"]


def test_a_function_that_gives_no_number_is_refused(made: Replicates) -> None:
    with pytest.raises(InvalidInput, match="no number"):
        estimate(made, lambda table: "many")


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_written_is_read_back(release: Release, tmp_path: Path, suffix: str) -> None:
    drawn = draw(release, 2, seed=1)
    drawn.save(tmp_path / "made", suffix)
    loaded, kept = load(tmp_path / "made"), drawn.as_frames("pandas")
    assert loaded.cuts == kept.cuts and loaded.hidden == kept.hidden == drawn.hidden
    for one, other in zip(loaded.tables, kept.tables, strict=True):
        pd.testing.assert_frame_equal(one, other, check_dtype=False)
    about = json.loads((tmp_path / "made" / "replicates.json").read_text(encoding="utf-8"))
    assert about["synthetic"] is True and about["replicates"] == 2
    assert "Rubin" in (tmp_path / "made" / "README.txt").read_text(encoding="utf-8")


def test_a_damaged_folder_is_refused_in_one_line(release: Release, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="holds no replicates"):
        load(tmp_path)
    draw(release, 2, seed=1).save(tmp_path / "made")
    (tmp_path / "made" / "replicate-02.csv").unlink()
    with pytest.raises(InvalidInput, match="are damaged"):
        load(tmp_path / "made")


@pytest.mark.parametrize("count", [1, 0, True, 2.5])
def test_fewer_than_two_are_refused(release: Release, count: object) -> None:
    with pytest.raises(InvalidInput, match="two or more"):
        replicates(release, count)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_base_r_combines_them_as_the_tutorial_says(release: Release, tmp_path: Path) -> None:
    draw(release, 4, seed=1).save(tmp_path / "replicates")
    script = Path(__file__).parents[2] / "examples" / "inference.R"
    done = subprocess.run(
        ["Rscript", script, "replicates", "age ~ sex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    ours = estimate(
        load(tmp_path / "replicates"),
        lambda t: t.loc[t["sex"] == "M", "age"].mean() - t.loc[t["sex"] == "F", "age"].mean(),
    ).iloc[0]
    line = next(line for line in done.stdout.splitlines() if line.startswith("sexM"))
    assert float(line.split()[1]) == pytest.approx(ours["estimate"], abs=1e-3)
