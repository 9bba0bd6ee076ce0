"""The structure preset: every column alone, at a very small ε, and labelled as such."""

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from tabveil import report
from tabveil.audit.attacks import Silence
from tabveil.fitting.synthesizer import fit_with_noise
from tabveil.release.release import STRUCTURE_ONLY

SCHEMA = tv.Schema.from_dict(
    {
        "columns": {
            "sex": {"type": "categorical", "values": ["F", "M"]},
            "town": {"type": "categorical", "values": [f"t{n}" for n in range(300)]},
            "job": {"type": "categorical", "values": ["x", "y", "z"], "nullable": True},
            "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
            "wage": {
                "type": "numerical", "min": 0, "max": 9999, "decimals": 2,
                "special_values": [0], "nullable": True,
            },
            "seen": {"type": "date", "min": "2020-01-01", "max": "2020-12-31"},
            "who": {"type": "id"},
        },
        "targets": ["job"],
    }
)  # fmt: skip


def people(rows: int) -> pd.DataFrame:
    random = np.random.default_rng(0)
    age = np.clip(random.normal(45, 12, rows), 0, 99).round()
    wage = np.where(random.random(rows) < 0.2, 0.0, random.gamma(4, 600, rows).round(2))
    return pd.DataFrame(
        {
            "sex": np.where(age > 45, "F", "M"),
            "town": random.choice([f"t{n}" for n in range(300)], rows),
            "job": pd.Series(random.choice(["x", "y", "z"], rows)).where(random.random(rows) > 0.1),
            "age": age,
            "wage": pd.Series(wage).where(random.random(rows) > 0.3),
            "seen": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(random.integers(0, 366, rows), "D"),
            "who": np.arange(rows),
        }
    )


@pytest.fixture(scope="module")
def made() -> tuple[pd.DataFrame, tv.Release]:
    frame = people(20_000)
    model = tv.RAPpp(SCHEMA, 1.0, preset="structure")
    return frame, fit_with_noise(model, frame, Silence()).release_


def test_each_column_alone_is_as_it_was(made: tuple[pd.DataFrame, tv.Release]) -> None:
    real, release = made
    drawn = release.sample(40_000, seed=0)
    assert list(drawn.columns) == list(real.columns)
    assert (drawn.job.isna().mean(), drawn.wage.isna().mean()) == pytest.approx(
        (0.1, 0.3), abs=0.01
    )
    assert (drawn.wage == 0).mean() == pytest.approx(0.14, abs=0.01)
    for name in ("age", "wage"):
        assert drawn[name].std() == pytest.approx(real[name].std(), rel=0.03)
    assert (drawn.sex == "F").mean() == pytest.approx((real.sex == "F").mean(), abs=0.01)


def test_nothing_joins_two_columns(made: tuple[pd.DataFrame, tv.Release]) -> None:
    _, release = made
    drawn = release.sample(40_000, seed=0)
    older = drawn[drawn.age > 45]
    assert (older.sex == "F").mean() == pytest.approx((drawn.sex == "F").mean(), abs=0.02)
    assert not [m for m in release.measurements if len(m.sides) > 1]


def test_it_is_labelled_wherever_it_goes(made: tuple[pd.DataFrame, tv.Release], tmp_path) -> None:
    _, release = made
    release.save(tmp_path / "release")
    again = tv.load(tmp_path / "release")
    assert again.independent and again.privacy["preset"] == "structure"
    assert STRUCTURE_ONLY in report.page(again).html()


def test_a_very_small_epsilon_keeps_columns_of_a_middling_table_in_shape() -> None:
    real = people(20_000)
    drawn = tv.RAPpp(SCHEMA, 0.1, preset="structure").fit(real).sample(20_000, seed=0)
    assert (drawn.sex == "F").mean() == pytest.approx((real.sex == "F").mean(), abs=0.1)
    assert drawn.age.mean() == pytest.approx(real.age.mean(), abs=8)
    assert drawn.wage.isna().mean() == pytest.approx(0.3, abs=0.15)


def test_other_releases_are_not_called_structure_only() -> None:
    plain = fit_with_noise(tv.RAPpp(SCHEMA, 1.0), people(500), Silence()).release_
    assert not plain.independent and STRUCTURE_ONLY not in report.page(plain).html()
