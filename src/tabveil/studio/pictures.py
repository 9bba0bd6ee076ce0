"""Pictures of the screens, as numbers that a template draws: nothing here is computed from rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabveil.fitting.forecast import ColumnForecast, Expected
from tabveil.schema import Schema

MOST_IN_MAP = 24
LONGEST, LETTER = 18, 4.3  # letters of a label in the map, and how wide one is
BARS = 24
WIDEST = 80.0  # bar
WIDTH, HEIGHT = 640.0, 160.0


@dataclass(frozen=True)
class Cell:
    """One square of the map of pairs; `shade` between 0 and 1."""

    x: int
    y: int
    shade: float
    words: str


@dataclass(frozen=True)
class Map:
    """The predicted error of pairs, the worst columns first where there are too many to show."""

    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    left_out: int
    most: float  # the error of the strongest colour

    @property
    def labels(self) -> list[str]:
        """The names, long ones cut where they still can be told apart by most."""
        return [f"{n[: LONGEST - 1]}…" if len(n) > LONGEST else n for n in self.names]

    @property
    def margin(self) -> float:
        """The room for labels beside the squares, which are ten wide."""
        return 4 + LETTER * max(map(len, self.labels))


def map_of_pairs(expected: Expected) -> Map | None:
    """Every pair of the columns that will be most off."""
    if not expected.pairs:
        return None
    worst = sorted(expected.columns, key=lambda column: -column.error)[:MOST_IN_MAP]
    kept = {column.name for column in worst}
    names = tuple(column.name for column in expected.columns if column.name in kept)
    place = {name: number for number, name in enumerate(names)}
    pairs = [pair for pair in expected.pairs if pair.first in kept and pair.second in kept]
    most = max(pair.error for pair in pairs)
    cells = [
        Cell(x, y, pair.error / most, f"{pair.first} × {pair.second}: {pair.error:.3f}")
        for pair in pairs
        for x, y in (
            (place[pair.first], place[pair.second]),
            (place[pair.second], place[pair.first]),
        )
    ]
    return Map(names, tuple(cells), len(expected.columns) - len(names), most)


@dataclass(frozen=True)
class Bar:
    """One bar of the simulated picture: made-up share, what a release would say of it, its name."""

    name: str
    x: float
    width: float
    true: float  # heights in the picture, from its ground
    seen: float


def simulated(schema: Schema, column: ColumnForecast) -> list[Bar]:
    """A made-up column of this shape, and the same with noise as strong as it would be.

    The noise is drawn once and only scaled, so that bars shrink and grow as ε moves.
    """
    labels = _labels(schema, column)
    shares = _made_up(len(labels), categorical=column.name in schema.categories)
    noise = np.random.default_rng(len(labels)).standard_normal(len(labels)) * column.noise
    # What a fit makes of several noisy answers together is about as good as its forecast says.
    spread = np.abs(noise).sum() / 2
    noise *= min(1.0, column.error / spread) if spread else 1.0
    seen = np.maximum(0.0, shares + noise)
    seen /= max(seen.sum(), 1e-9)
    top, step = float(max(shares.max(), seen.max())), min(WIDEST, WIDTH / len(labels))
    return [
        Bar(name, number * step, step * 0.86, HEIGHT * float(a) / top, HEIGHT * float(b) / top)
        for number, (name, a, b) in enumerate(zip(labels, shares, seen, strict=True))
    ]


def _labels(schema: Schema, column: ColumnForecast) -> list[str]:
    if column.name in schema.categories:
        return list(schema.categories[column.name].labels)[:BARS]
    codec = schema.number_codecs[column.name]
    edges = np.linspace(codec.rule.min, codec.rule.max, BARS + 1)[:-1]
    edges = np.round(edges, codec.rule.decimals if codec.rule.decimals is not None else 4)
    return [codec.line.words(edge, edge) for edge in edges.tolist()]


def _made_up(bars: int, *, categorical: bool) -> np.ndarray:
    """Shares that look like those of many tables: few common values; a bell with a long tail."""
    place = np.arange(1, bars + 1)
    shares = 1.0 / place if categorical else place * np.exp(-place * 4.5 / bars)
    return shares / shares.sum()


def curve(values: Sequence[float], of: int) -> str:
    """The points of a falling line, over as many rounds as there will be."""
    if not values:
        return ""
    high = max(values)
    steps = max(1, of - 1, len(values) - 1)
    return " ".join(
        f"{WIDTH * number / steps:.1f},{HEIGHT * (1 - value / high if high else 1):.1f}"
        for number, value in enumerate(values)
    )
