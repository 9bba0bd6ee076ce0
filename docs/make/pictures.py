"""Draw the pictures of the site and of the README from the code itself, on the simulated census.

    python docs/make/pictures.py            # all of them, about two minutes
    python docs/make/pictures.py rank-space

Noise cannot be seeded, so every run gives slightly other pictures.
"""

import itertools
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import altair as alt
import jax
import numpy as np
import optax
import pandas as pd

import tabveil as tv
from tabveil.curator import Curator, Workload, count
from tabveil.datasets import DATASETS
from tabveil.engines import Local
from tabveil.fitting.projection import Measured, misfit
from tabveil.fitting.relaxed import Relaxed
from tabveil.fitting.rows import EncodedRows
from tabveil.privacy import Door, Ledger, Protection, Relation
from tabveil.queries import GRID, Hard, Pairs, Soft
from tabveil.report.plot import FIRST, SECOND
from tabveil.sources import Source
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Codec, Table

HERE = Path(__file__).parents[1] / "pictures"
GREY = "#7d8590"  # readable on white and on black
CENSUS = DATASETS["census"]
ROWS = 40_000


def real_and_synthetic(rows: int = ROWS) -> Any:
    """The README's picture: the same three views of simulated rows and of synthetic ones."""
    real = CENSUS.frame(rows, 0)
    synthetic = tv.RAPpp(CENSUS.schema(), epsilon=1.0).fit(real).sample(rows, seed=0)
    tables = {"real rows (simulated)": (real, SECOND), "synthetic rows, ε = 1": (synthetic, FIRST)}
    return alt.vconcat(
        *(_three_views(title, *table) for title, table in tables.items()), spacing=14
    )


def _three_views(title: str, frame: pd.DataFrame, colour: str) -> Any:
    dots = frame[frame["wage"].between(1, 150_000)].head(500)[["age", "wage"]]
    scatter = (
        alt.Chart(dots, title=alt.TitleParams(title, anchor="start", color=colour))
        .mark_circle(size=8, opacity=1, color=colour)
        .encode(
            x=alt.X("age:Q", scale=alt.Scale(domain=[15, 100])),
            y=alt.Y(
                "wage:Q",
                axis=alt.Axis(format="~s", tickCount=4),
                scale=alt.Scale(domain=[0, 150_000]),
            ),
        )
        .properties(width=230, height=150)
    )
    hours = (
        frame.loc[frame["hours"] > 0, "hours"]
        .value_counts(normalize=True)
        .rename("share")
        .reset_index()
    )
    spikes = (
        alt.Chart(hours)
        .mark_bar(color=colour, width=2.2)
        .encode(
            x=alt.X("hours:Q", title="hours of work a week", scale=alt.Scale(domain=[0, 100])),
            y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=4)),
        )
        .properties(width=200, height=150)
    )
    well_off = (
        (frame["well_off"] == "yes")
        .groupby(frame["education"])
        .mean()
        .rename("share")
        .reset_index()
    )
    bars = (
        alt.Chart(well_off)
        .mark_bar(color=colour)
        .encode(
            y=alt.Y(
                "education:N", sort=list(CENSUS.schema().columns["education"].values), title=None
            ),
            x=alt.X(
                "share:Q",
                title="well off, by education",
                axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75]),
                scale=alt.Scale(domain=[0, 0.8]),
            ),
        )
        .properties(width=150, height=150)
    )
    return alt.hconcat(scatter, spikes, bars, spacing=24)


def rank_space(rows: int = ROWS) -> Any:
    """Wages, the estimate of their ranks that noisy counts give, and what the ranks look like."""
    schema = CENSUS.schema()
    ranks = tv.RAPpp(schema, epsilon=1.0).fit(CENSUS.frame(rows, 0)).release_.placement
    table = _encoded(CENSUS.frame(rows, 0), schema)
    column = schema.numerical.index("wage")
    wage, place = table.numbers[:, column], ranks.positions(table)[:, column] / GRID
    starts = ranks.lattice.numbers(np.stack([ranks.starts[column]] * len(schema.numerical), 1))[
        :, column
    ]
    curve = pd.DataFrame({"wage": starts, "rank": ranks.heights[column][:-1]}).query(
        "wage <= 200_000"
    )
    histogram = (
        alt.Chart(
            _bars(np.minimum(wage, 200_000), np.linspace(0, 200_000, 51), "wage"), title="1  wages"
        )
        .mark_bar(color=SECOND)
        .encode(x=_wages(bin="binned"), x2="stop:Q", y=_share())
    )
    steps = (
        alt.Chart(curve, title="2  noisy counts of runs give a rank")
        .mark_line(interpolate="step-after", color=GREY)
        .encode(x=_wages("wage"), y=alt.Y("rank:Q", title="rank", scale=alt.Scale(domain=[0, 1])))
    )
    even = (
        alt.Chart(_bars(place, np.linspace(0, 1, 41), "rank"), title="3  ranks lie evenly")
        .mark_bar(color=FIRST)
        .encode(x=alt.X("start:Q", title="rank", bin="binned"), x2="stop:Q", y=_share())
    )
    return alt.hconcat(
        *(part.properties(width=220, height=150) for part in (histogram, steps, even))
    )


def annealing(rows: int = 6_000, relaxed: int = 1_200) -> Any:
    """A relaxed table that is fitted to one noisy cross-table, after each stage of sharpening."""
    random = np.random.default_rng(0)
    turn, far = random.uniform(0, 2 * np.pi, rows), random.choice([0.18, 0.42], rows, p=[0.3, 0.7])
    points = 0.5 + (far + random.normal(0, 0.012, rows))[:, None] * np.stack(
        [np.cos(turn), np.sin(turn)], 1
    )
    names = ("x", "y")
    schema = tv.Schema.from_dict(
        {
            "columns": {
                name: {"type": "numerical", "min": 0, "max": 1, "decimals": 4} for name in names
            }
        }
    )
    domain, edges = Codec(schema).domain, np.linspace(0, GRID, 17)[1:-1].astype(int)
    pairs = Pairs.over(domain, [edges, edges], 1000)
    table, asked = Table(np.zeros((rows, 0), np.int32), points), np.arange(len(pairs))
    [counts] = count(Workload((pairs,), MinMax.of(schema), domain), table)
    exact = pairs.tally.cells_in(counts, asked)
    noisy = np.asarray(exact + random.normal(0, 3, exact.shape), np.float32) / rows * pairs.filled
    known = Measured.reserve((pairs,), [len(asked)]).learn(
        pairs, asked, noisy, pairs.filled * np.float32(1)
    )
    now = Relaxed.random(domain, relaxed, jax.random.key(0))
    panels = [_cloud("at random", np.asarray(now.positions).T, None)]
    for number, sharpness in enumerate((16.0, 32.0, 64.0, 128.0, 256.0)):
        now = _stage(now, known, Soft(sharpness), 0.01 * 0.6**number)
        panels.append(_cloud(f"σ = {sharpness:g}", np.asarray(now.positions).T, sharpness))
    return alt.hconcat(*panels, _cloud("the rows", points[:relaxed], np.inf), spacing=10)


def _stage(table: Relaxed, known: Measured, step: Soft, rate: float, steps: int = 300) -> Relaxed:
    """One stage of `project`, which itself would hide a table that is not better yet."""
    adam = optax.adam(rate)

    def descend(state: tuple, _: None) -> tuple[tuple, None]:
        table, memory = state
        moves, memory = adam.update(jax.grad(misfit)(table, known, step), memory)
        there = optax.apply_updates(table, moves)
        return (there.moved(there.parameters), memory), None

    return jax.lax.scan(descend, (table, adam.init(table)), None, steps)[0][0]


def _cloud(title: str, points: np.ndarray, sharpness: float | None) -> Any:
    """Rows as dots, and below them how much a row at each place belongs to one bin."""
    bare = alt.Axis(labels=False, ticks=False, title=None, grid=False, domain=False)
    colour = SECOND if sharpness == np.inf else FIRST
    place = {name: alt.Scale(domain=[0, 1]) for name in "xy"}
    dots = (
        alt.Chart(pd.DataFrame(points, columns=["x", "y"]), title=title)
        .mark_circle(size=4, opacity=1, color=colour)
        .encode(
            x=alt.X("x:Q", axis=bare, scale=place["x"]), y=alt.Y("y:Q", axis=bare, scale=place["y"])
        )
        .properties(width=118, height=118)
    )
    if sharpness is None:
        sharpness = 0.0
    x = np.linspace(0, 1, 201)
    step = Hard() if sharpness == np.inf else Soft(sharpness)
    inside = np.asarray(step(9 / 16 - x, 1.0) - step(7 / 16 - x, 1.0))
    belongs = (
        alt.Chart(pd.DataFrame({"x": x, "y": inside}))
        .mark_line(color=GREY, strokeWidth=1.2)
        .encode(
            x=alt.X("x:Q", axis=bare, scale=place["x"]), y=alt.Y("y:Q", axis=bare, scale=place["y"])
        )
        .properties(width=118, height=36)
    )
    return alt.vconcat(dots, belongs, spacing=4)


def whole_histograms(rows: int = ROWS) -> Any:
    """One cross-table three times: as it is, as the curator tells it, and as the synthetic rows
    have it."""
    frame = CENSUS.frame(rows, 0)
    across, down = "education", "marital"
    model = tv.RAPpp(CENSUS.schema(), epsilon=1.0).fit(frame)
    domain, schema = Codec(model.schema).domain, model.schema
    curator = _curator(frame, schema, Fraction(1, 2000))
    axes = [axis.name for axis in domain.axes]
    pairs = Pairs.over(domain, [np.array([GRID // 2])] * len(domain.numerical), 1000)
    wanted = (axes.index(across), axes.index(down), 0)
    picks = np.array([pairs.layout.queries.index(wanted)])
    answer = curator.measure(
        Workload((pairs,), MinMax.of(schema), domain), pairs, picks, Fraction(1, 2000)
    )
    sizes = [domain.sizes[place] for place in wanted[:2]]
    noisy = answer.counts[0, : np.prod(sizes)].reshape(sizes)
    labels = [domain.axes[place].labels for place in wanted[:2]]
    views = {
        "real": _crossed(frame, across, down, labels),
        f"measured, noise σ = {answer.scale:.0f}": noisy,
        "synthetic": _crossed(model.sample(rows, seed=0), across, down, labels),
    }
    panels = []
    for number, (title, counts) in enumerate(views.items()):
        cells = [
            (a, b, int(counts[i, j]))
            for i, a in enumerate(labels[0])
            for j, b in enumerate(labels[1])
        ]
        data = pd.DataFrame(cells, columns=[across, down, "rows"])
        base = alt.Chart(data, title=title).encode(
            x=alt.X(f"{down}:N", sort=list(labels[1]), title=None, axis=alt.Axis(labelAngle=-40)),
            y=alt.Y(
                f"{across}:N",
                sort=list(labels[0]),
                title=None,
                axis=alt.Axis(labels=number == 0, ticks=False, labelLimit=140),
            ),
        )
        colour = alt.Color(
            "rows:Q", scale=alt.Scale(scheme="blues", type="sqrt", domain=[0, 7000]), legend=None
        )
        strong = alt.condition("datum.rows > 2500", alt.value("white"), alt.value("#24292f"))
        words = base.mark_text(fontSize=10).encode(
            text=alt.Text("rows:Q", format=","), color=strong
        )
        panels.append(
            (base.mark_rect().encode(color=colour) + words).properties(width=200, height=190)
        )
    return alt.hconcat(*panels, spacing=14)


def epsilons(rows: int = 10_000) -> Any:
    """What different ε do to one column of a table of ten thousand rows."""
    real = CENSUS.frame(rows, 0)
    panels = []
    for epsilon in (0.1, 1.0, 10.0):
        synthetic = tv.RAPpp(CENSUS.schema(), epsilon=epsilon).fit(real).sample(rows, seed=0)
        edges = np.arange(16, 101, 4)
        bars = (
            alt.Chart(_bars(synthetic["age"].to_numpy(), edges, "age"), title=f"ε = {epsilon:g}")
            .mark_bar(color=FIRST, opacity=0.75)
            .encode(
                x=alt.X("start:Q", title="age", bin="binned", scale=alt.Scale(domain=[16, 100])),
                x2="stop:Q",
                y=_share(),
            )
        )
        line = (
            alt.Chart(_bars(real["age"].to_numpy(), edges, "age"))
            .mark_line(interpolate="step-after", color=SECOND, strokeWidth=2)
            .encode(x="start:Q", y="share:Q")
        )
        panels.append((bars + line).properties(width=210, height=140))
    return alt.hconcat(*panels)


def public(rows: int = 30_000) -> Any:
    """One region private and the others public: errors of cross-tables with and without them."""
    people = CENSUS.frame(rows, 3)
    here = people["region"] == people["region"].value_counts().index[2]
    real, others = people[here].head(3000), people[~here]
    schema = CENSUS.schema()
    lines = []
    for epsilon in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0):
        for way, table in (("private rows alone", None), ("with a public table", others)):
            model = tv.RAPpp(schema, epsilon, public=table).fit(real)
            lines.append((epsilon, way, _apart(real, model.sample(10_000, seed=0))))
        lines.append((epsilon, "the public table itself", _apart(real, others)))
    frame = pd.DataFrame(lines, columns=["ε", "way", "error"])
    ways = frame["way"].unique().tolist()
    colour = alt.Color(
        "way:N",
        sort=ways,
        scale=alt.Scale(domain=ways, range=[SECOND, FIRST, GREY]),
        legend=alt.Legend(title=None, orient="top", labelColor=GREY),
    )
    return (
        alt.Chart(frame)
        .mark_line(point=True)
        .encode(
            x=alt.X("ε:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[0.05, 0.2, 1, 2])),
            y=alt.Y("error:Q", title="mean error of cross-tables"),
            color=colour,
        )
        .properties(width=420, height=220)
    )


def _apart(real: pd.DataFrame, other: pd.DataFrame) -> float:
    """The mean total variation of all cross-tables of two categorical columns but the region."""
    names = [name for name in CENSUS.schema().categorical if name != "region"]
    found = []
    for pair in itertools.combinations(names, 2):
        one, two = (table[list(pair)].value_counts(normalize=True) for table in (real, other))
        found.append(one.sub(two, fill_value=0).abs().sum() / 2)
    return float(np.mean(found))


def _curator(frame: pd.DataFrame, schema: tv.Schema, rho: Fraction) -> Curator:
    rows = EncodedRows(Source.of(frame, schema), Codec(schema), Local())
    allowance = Ledger.in_memory(Relation.ADD_REMOVE).allowance(rho, "a picture")
    return Curator(rows, Door(allowance, Protection()))


def _encoded(frame: pd.DataFrame, schema: tv.Schema) -> Table:
    parts = [Codec(schema).encode(batch) for batch in Source.of(frame, schema).batches()]
    return Table(
        np.concatenate([p.codes for p in parts]), np.concatenate([p.numbers for p in parts])
    )


def _crossed(
    frame: pd.DataFrame, across: str, down: str, labels: list[tuple[str, ...]]
) -> np.ndarray:
    counts = pd.crosstab(frame[across], frame[down])
    return counts.reindex(index=list(labels[0]), columns=list(labels[1]), fill_value=0).to_numpy()


def _bars(values: np.ndarray, edges: np.ndarray, name: str) -> pd.DataFrame:
    counts = np.histogram(values, edges)[0] / len(values)
    return pd.DataFrame({"start": edges[:-1], "stop": edges[1:], "share": counts, "name": name})


def _wages(field: str = "start", **more: Any) -> Any:
    return alt.X(f"{field}:Q", title="wage", axis=alt.Axis(format="~s", tickCount=4), **more)


def _share() -> Any:
    return alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=4))


PICTURES = {
    "real-and-synthetic": real_and_synthetic,
    "rank-space": rank_space,
    "annealing": annealing,
    "whole-histograms": whole_histograms,
    "epsilons": epsilons,
    "public": public,
}
SMOOTH = {"annealing"}  # many points: smaller as pixels


def draw(name: str) -> None:
    """Write one picture; its background is that of the page."""
    text = {"labelColor": GREY, "titleColor": GREY, "labelFontSize": 11, "titleFontSize": 12}
    lines = {"gridColor": GREY, "gridOpacity": 0.18, "domainColor": GREY, "tickColor": GREY}
    chart = (
        PICTURES[name]()
        .configure(background="transparent", font="sans-serif", aria=False, padding=12)
        .configure_axis(**text, **lines, titleFontWeight="normal")
        .configure_title(color=GREY, fontSize=13, fontWeight="bold")
    )
    if name == "annealing":
        chart = chart.configure_view(stroke=GREY, strokeOpacity=0.4)
    elif name != "whole-histograms":
        chart = chart.configure_view(stroke=None)
    HERE.mkdir(exist_ok=True)
    if name in SMOOTH:
        chart.save(HERE / f"{name}.png", ppi=110)
    else:
        chart.save(HERE / f"{name}.svg")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        draw(chosen)
        print(f"Drew {chosen}.")
