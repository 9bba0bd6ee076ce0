"""What the pages say: nothing private on the one, nothing unmarked on the other, and no name breaks
them."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from report.conftest import TINY, people
from tabveil.columns import MISSING
from tabveil.report import NOT_PRIVATE, SECTIONS, page, replicated, sure
from tabveil.report.about import columns_are
from tabveil.report.evidence import Evidence, cramers_v
from tabveil.report.page import Grid, Prose
from tabveil.report.pairs import heat_map
from tabveil.report.plot import drawable
from tabveil.report.words import amount, duration, few, percent, size
from test_secrets import LITTLE, exact_counts, hits, private_frame
from test_secrets import SCHEMA as SECRET_SCHEMA

ODD_NAMES = Path(__file__).parents[1] / "release" / "stored" / "numbers-0.1"

pytestmark = pytest.mark.xdist_group("browser")  # where the pages are made


def test_nothing_of_the_rows_is_on_the_releasable_page() -> None:
    frame = private_frame()
    model = tv.RAPpp(tv.Schema.from_dict(SECRET_SCHEMA), LITTLE, preset=TINY).fit(frame)
    html = model.report().html()
    said = html.replace(",", "")  # counts may be written with thousands set apart
    words = said[
        : said.index("<script>")
    ]  # not the charting library, which holds numbers of its own
    assert "Each column" in words and len(re.findall("data-chart", words)) > 5
    assert hits(words, exact_counts(frame)) == []


def test_the_page_follows_from_the_release_alone(model: tv.RAPpp, tmp_path: Path) -> None:
    model.save(tmp_path / "release")
    again = page(tv.load(tmp_path / "release"))
    assert again.html() == model.report().html()


def test_names_and_values_cannot_break_out_of_the_page(pages: dict[str, Path]) -> None:
    html = pages["releasable"].read_text(encoding="utf-8")
    assert "colour & <b>" not in html and "colour &amp; &lt;b&gt;" in html
    assert "</script> 1" not in html


def test_the_internal_page_is_marked_and_the_other_is_not(pages: dict[str, Path]) -> None:
    internal, releasable = (
        pages[name].read_text(encoding="utf-8") for name in ("internal", "releasable")
    )
    assert NOT_PRIVATE.replace("'", "&#39;") in internal and 'class="banner"' in internal
    assert "How varied are the rows?" in internal and "How varied" not in releasable
    assert 'class="banner"' not in releasable


def test_a_page_needs_nothing_from_outside(pages: dict[str, Path]) -> None:
    for file in pages.values():
        html = file.read_text(encoding="utf-8")
        assert "default-src 'none'" in html
        ours = html[
            : html.index("<script>")
        ]  # the charting library is tested in a browser, cut off
        assert not re.search(r'<(link|img|iframe|script)[^>]+(src|href)="', ours)
        assert file.stat().st_size < 2_000_000


def test_every_section_is_on_a_list_and_has_its_own_anchor(model: tv.RAPpp) -> None:
    made = [section for build in SECTIONS if (section := build(Evidence(model.release_)))]
    assert len({section.anchor for section in made}) == len(made) >= 8


def test_a_release_without_targets_numbers_or_pairs_still_has_a_page() -> None:
    for columns in (
        {"only": {"type": "categorical", "values": ["a", "b"]}},
        {"x": {"type": "numerical", "min": 0, "max": 9}},
    ):
        frame = pd.DataFrame(
            {name: ["a", "b"] * 50 if name == "only" else [1, 2] * 50 for name in columns}
        )
        model = tv.RAPpp(tv.Schema.from_dict({"columns": columns}), 1.0, preset=TINY).fit(frame)
        anchors = {section.anchor for section in model.report().sections}
        assert {"about", "guarantee", "ledger", "columns", "measured", "cite"} <= anchors
        assert "tasks" not in anchors and "pairs" not in anchors


def test_a_notebook_shows_the_page(model: tv.RAPpp) -> None:
    shown = model.report()._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "Synthetic data release" in shown


def test_a_page_is_not_written_over_another_file(model: tv.RAPpp, tmp_path: Path) -> None:
    model.report(tmp_path / "report.html")
    with pytest.raises(tv.InvalidInput, match="exists already"):
        model.report(tmp_path / "report.html")


def test_without_its_packages_a_page_says_what_to_install(
    model: tv.RAPpp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(tv.TabveilError, match=r"pip install 'tabveil\[report\]'"):
        model.plot("age")


# -- numbers and charts ----------------------------------------------------------------------------


def test_errors_of_a_column_are_those_of_its_measurements(model: tv.RAPpp) -> None:
    found = model.error("income")
    measured = model.measurements_
    alone = measured[measured["query"] == "income"]
    total = measured.loc[measured["family"] == "row count", "count"].iloc[0]
    assert found["part"].tolist() == ["low", "high"]
    assert np.allclose(found["noisy"], alone["count"] / total)
    assert np.allclose(found["standard_error"], alone["standard_error"] / total)
    assert found["synthetic"].sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["city", "age", "wage", "seen", "colour & <b>"])
def test_every_kind_of_column_has_shares_that_add_up_and_a_chart(
    model: tv.RAPpp, name: str
) -> None:
    found = model.error(name)
    assert found["synthetic"].sum() == pytest.approx(1)
    # The noise of a sum is at most √parts · σ; 8 of those are exceeded once in 10¹⁵ runs.
    spread = (
        np.sqrt((found["standard_error"] ** 2).sum())
        + model.error("city")["standard_error"].iloc[0]
    )
    assert abs(found["noisy"].sum() - 1) < 8 * spread
    marks = json.dumps(model.plot(name).to_dict())
    assert '"bar"' in marks and '"rule"' in marks


def test_outer_bars_say_that_they_take_in_what_lies_beyond(model: tv.RAPpp) -> None:
    evidence = Evidence(model.release_)
    starts, parts = evidence.starts("wage"), evidence.column("wage")["part"].tolist()
    assert starts is not None and starts[-1].startswith("≥ ") and starts[1].startswith("< ")
    assert parts[1].startswith("0 to ") and parts[-1].endswith(" to 900000")
    drawn = drawable(evidence.column("wage"), starts)["from"].tolist()
    assert drawn[0] == MISSING and all(text.endswith("k") for text in drawn[1:])


def test_columns_that_are_not_learnt_are_counted_apart() -> None:
    columns = {"sex": {"type": "categorical", "values": ["F", "M"]}, "id": {"type": "id"}}
    schema = tv.Schema.from_dict({"columns": columns})
    rows = pd.DataFrame({"sex": ["F", "M"] * 50, "id": range(100)})
    made = tv.RAPpp(schema, 1.0, preset=TINY).fit(rows).release_
    assert columns_are(Evidence(made)) == (
        "1 with categories, 0 with numbers; 1 not learnt: ids, left out, or worked out"
    )


def test_moments_are_shown_as_dates(model: tv.RAPpp) -> None:
    assert model.error("seen")["part"].str.match(r"2013-\d\d-\d\d").all()


def test_a_column_that_is_not_there_is_refused_with_a_hint(model: tv.RAPpp) -> None:
    with pytest.raises(tv.InvalidInput, match="agee"):
        model.error("agee")


def test_real_and_synthetic_rows_can_be_compared_in_a_chart(
    schema: tv.Schema, model: tv.RAPpp
) -> None:
    chart = tv.plot.compare(people(200, 0), model.sample(200, seed=0), schema, ["age", "city"])
    spec = chart.to_dict()
    assert len(spec["concat"]) == 2 and "NOT PRIVATE" in str(spec["title"])


def test_every_measured_cross_table_is_read_back_whole(model: tv.RAPpp) -> None:
    evidence = Evidence(model.release_)
    tables = [m for m in model.release_.measurements if m.family == "cross-tables"]
    assert len(evidence.tables) == len(tables)
    for noisy, measured in zip(evidence.tables, tables, strict=True):
        assert noisy.counts.tolist() == measured.counts.tolist()
        shares = evidence.shares(noisy.sides)
        assert shares.shape == noisy.counts.shape and shares.sum() == pytest.approx(1)


def test_cross_tables_of_odd_names_are_read_back_too() -> None:
    evidence = Evidence(tv.load(ODD_NAMES))
    tables = [m for m in evidence.release.measurements if m.family == "cross-tables"]
    assert [noisy.columns[0] for noisy in evidence.tables].count("odd × name") >= 3
    assert len(evidence.tables) == len(tables)
    shown = evidence.column("odd × name")
    assert shown["part"].tolist() == ["a × b", "a to b", "c"] and shown["noisy"].notna().all()


def test_dependence_is_nothing_for_strangers_and_one_for_twins() -> None:
    random = np.random.default_rng(0)
    one, two = random.integers(0, 4, (2, 20_000))
    assert cramers_v(one, two) < 0.03 and cramers_v(one, one) == pytest.approx(1)
    assert cramers_v(one, np.zeros(20_000, int)) == 0


def test_numbers_are_written_for_people() -> None:
    assert [amount(1234.6), percent(0.1234), percent(1e-9), percent(0.99999), percent(1.0)] == [
        "1,235", "12.3 %", "<0.1 %", ">99.9 %", "100 %",
    ]  # fmt: skip
    assert [few(1e-9), few(2.5e-7), few(0.01497), few(10.0)] == ["10⁻⁹", "2.5·10⁻⁷", "0.015", "10"]
    assert [duration(30), duration(600), duration(9000), size(2.2e7)] == [
        "30 s",
        "10 min",
        "2.5 h",
        "22 MB",
    ]


def test_the_page_says_how_sure_one_can_be(model: tv.RAPpp) -> None:
    found = sure.section(Evidence(model.release_))
    [grid] = [block for block in found.blocks if isinstance(block, Grid)]
    assert {"age", "wage", "city", "income"} == set(grid.frame["column"])
    assert set(grid.frame["rests on measured tables"]) <= {"yes", "partly", "no"}
    pairs = sure.coefficients(Evidence(model.release_))
    assert (pairs["width"] > 1.96 / 4000**0.5).all() and len(pairs)


def test_long_names_of_columns_are_whole_below_a_map() -> None:
    names = ["income_before_taxes_in_dollars", "hours_worked_in_a_usual_week"]
    pairs = pd.DataFrame([(*names, 0.5)], columns=["first", "second", "dependence"])
    below = heat_map(pairs, names).to_dict()["encoding"]["x"]["axis"]  # type: ignore[attr-defined]
    assert below["labelLimit"] >= 8 * max(map(len, names))  # pixels


def test_the_page_does_not_promise_more_than_was_seen(model: tv.RAPpp) -> None:
    """Intervals are made to hold 95 times in 100; trials say how often they did."""
    found = sure.section(Evidence(model.release_))
    said = next(block.text for block in found.blocks if isinstance(block, Prose))
    assert "made to hold it 95 times in 100" in said and "trials" in said
    assert "a judgement, not a theorem" in said


# -- bands from replicates -------------------------------------------------------------------------


def test_a_page_without_replicates_has_no_bands_from_them(model: tv.RAPpp) -> None:
    assert replicated.section(Evidence(model.release_)) is None


def test_bands_of_columns_hold_the_noisy_shares_and_are_wider_than_sampling(
    model: tv.RAPpp,
) -> None:
    evidence = Evidence(model.release_, replicates=6)
    found = replicated.Bands(evidence)
    bands, noisy = found.column("income"), evidence.column("income")
    assert (bands["from"] < bands["share"]).all() and (bands["share"] < bands["to"]).all()
    assert bands["share"].to_numpy() == pytest.approx(noisy["noisy"].to_numpy(), abs=0.05)
    sampling = np.sqrt(bands["share"] * (1 - bands["share"]) / found.rows)
    assert ((bands["to"] - bands["from"]) / 2 > 1.95 * sampling).all()


def test_a_page_with_replicates_shows_every_column_and_pair(
    model: tv.RAPpp, tmp_path: Path
) -> None:
    made = page(model.release_, replicates=3)
    found = next(section for section in made.sections if section.anchor == "replicated")
    columns, pairs = (block.frame for block in found.blocks if isinstance(block, Grid))
    assert set(columns["column"]) == set(Evidence(model.release_).names)
    assert len(pairs) == len(Evidence(model.release_).dependence)
    made.save(tmp_path / "report.html")
    assert "What replicates leave open" in (tmp_path / "report.html").read_text(encoding="utf-8")
