"""Pictures say what their numbers mean: axes, scales, and the same figures as the plan."""

import re
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from tabveil.datasets import DATASETS
from tabveil.fitting.forecast import Expected, forecast
from tabveil.report.words import percent
from tabveil.studio.fits import Fit, Progress
from tabveil.studio.pictures import HEIGHT, MOST_IN_MAP, WIDTH, curve, map_of_pairs, simulated
from tabveil.studio.projects import State
from tabveil.studio.screens.plan import _drawn, outlook_of
from tabveil.studio.visit import Form, templates

CENSUS = DATASETS["census"].schema()


class Mark(NamedTuple):
    """One rectangle or text of a picture."""

    x: float
    y: float
    words: str
    shade: float


def drawing(html: str, name: str) -> ElementTree.Element:
    """The picture of this class in a page."""
    return ElementTree.fromstring(re.search(rf'<svg class="{name}".*?</svg>', html, re.DOTALL)[0])


def marks(picture: ElementTree.Element, kind: str) -> list[Mark]:
    """What is drawn, with the words that say what it is."""
    return [
        Mark(
            float(one.get("x")),
            float(one.get("y")),
            "".join(one.itertext()),
            float(one.get("fill-opacity", "1")),
        )
        for one in picture.findall(kind)
    ]


def plan_page(state: State) -> str:
    """The moving part of the plan."""
    drawn = _drawn(outlook_of(state), Form())
    return (
        templates()
        .get_template("_plan.html")
        .render(problem=None, key="census", state=state, **drawn)
    )


@pytest.fixture(scope="module")
def plan() -> tuple[str, Expected]:
    state = State("census.csv", "census.csv.ledger", CENSUS.to_dict(), people="one")
    return plan_page(state), forecast(
        CENSUS, state.epsilon, delta=state.delta, rows=state.rows
    ).expected


def test_the_map_of_pairs_has_a_scale_from_nothing_to_the_worst_pair(
    plan: tuple[str, Expected],
) -> None:
    html, expected = plan
    picture, worst = drawing(html, "map"), max(pair.error for pair in expected.pairs)
    ground = 10 * len(expected.columns)  # the squares end here, and the scale stands below
    scale = [mark for mark in marks(picture, "rect") if mark.y > ground]
    ends = [mark for mark in marks(picture, "text") if mark.y > ground]
    assert [mark.words for mark in ends] == ["0 %", percent(worst)]
    assert ends[0].x < scale[0].x and scale[-1].x < ends[1].x
    shades = [mark.shade for mark in scale]
    assert shades == sorted(set(shades)) and shades[-1] == 1


def test_a_square_of_the_map_is_as_strong_as_its_place_on_the_scale(
    plan: tuple[str, Expected],
) -> None:
    html, expected = plan
    picture, worst = drawing(html, "map"), max(pair.error for pair in expected.pairs)
    names = [mark.words for mark in marks(picture, "text")][: len(expected.columns)]
    squares = {mark.words: mark for mark in marks(picture, "rect") if mark.words}
    weakest, *_, strongest = sorted(mark.shade for mark in marks(picture, "rect") if not mark.words)
    for pair in expected.pairs:
        square = squares[f"{pair.first} × {pair.second}: {pair.error:.3f}"]
        on_scale = weakest + (strongest - weakest) * pair.error / worst
        assert square.shade == pytest.approx(on_scale, abs=0.006)
        places = {names[int(square.x // 10)][: len(pair.first)], names[int(square.y // 10)]}
        assert len(places) == 2  # nothing is crossed with itself


def test_long_names_in_the_map_are_cut_and_have_room() -> None:
    columns = {f"{'long' * 10}{n}": {"type": "boolean"} for n in range(MOST_IN_MAP + 6)}
    schema = type(CENSUS).from_dict({"columns": columns})
    drawn = map_of_pairs(forecast(schema, 1.0).expected)
    assert len(drawn.names) == MOST_IN_MAP and drawn.left_out == 6
    assert all(len(label) <= 18 and label.endswith("…") for label in drawn.labels)
    assert drawn.margin > 18 * 3  # letters of six units are about three and a half wide


def progress_page(*losses: float, of: int) -> ElementTree.Element:
    """The curve of a fit that has come so far."""
    progress = Progress("running", len(losses), of, losses, "", None)
    html = (
        templates()
        .get_template("_progress.html")
        .render(fit=Fit(None, "release-1"), progress=progress, key="people", curve=curve)
    )
    return drawing(html, "curve")


def test_the_curve_of_a_fit_has_axes_that_its_points_are_drawn_to() -> None:
    picture = progress_page(0.8, 0.2, 0.4, of=11)
    high, nothing, first, last = marks(picture, "text")
    assert (high.words, nothing.words) == ("0.8", "0") and high.y < nothing.y
    assert (first.words, last.words) == ("round 1", "round 11")
    points = [
        tuple(map(float, point.split(",")))
        for point in picture.find("polyline").get("points").split()
    ]
    assert points == [(0, 0), (WIDTH / 10, 0.75 * HEIGHT), (WIDTH / 5, 0.5 * HEIGHT)]
    lines = [
        {name: float(line.get(name)) for name in ("x1", "x2", "y1", "y2")}
        for line in picture.findall("line")
    ]
    assert {"x1": 0, "x2": WIDTH, "y1": HEIGHT, "y2": HEIGHT} in lines  # where the loss is 0
    assert {"x1": 0, "x2": 0, "y1": 0, "y2": HEIGHT} in lines  # round 1
    left, top, width, height = map(float, picture.get("viewBox").split())
    assert left < high.x and top < 0 and left + width >= WIDTH and top + height > last.y


def test_a_fit_of_one_round_and_one_without_loss_can_be_drawn() -> None:
    assert curve([], 5) == ""
    assert curve([0.5], 1) == "0.0,0.0"
    assert curve([0.0, 0.0], 2) == f"0.0,{HEIGHT} {WIDTH},{HEIGHT}"


def test_the_simulated_picture_gets_closer_to_its_line_as_epsilon_grows() -> None:
    off = []
    for epsilon in (0.1, 1.0, 10.0):
        column = forecast(CENSUS, epsilon).expected.columns[0]
        bars = simulated(CENSUS, column)
        high = sum(bar.true for bar in bars)
        off.append(sum(abs(bar.true - bar.seen) for bar in bars) / high)
    assert off == sorted(off, reverse=True) and off[-1] < 0.1
