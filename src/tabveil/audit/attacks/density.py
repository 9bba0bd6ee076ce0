"""A density attack: rows that synthetic rows crowd around more than people do were in the table.

The idea is DOMIAS (van Breugel and others, 2023): a row is common among synthetic rows because it
is common, or because it was in the table. A reference sample of the same population tells one from
the other. Densities are compared by the distance to the nearest neighbour, which needs no width of
a kernel.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd

from tabveil.audit.attacks.attack import Attack
from tabveil.audit.estimator import ALARM, SHOWN, least_chance
from tabveil.audit.finding import Finding
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.presets.default import Share
from tabveil.fitting.projection import Annealing
from tabveil.fitting.synthesizer import RAPpp, fit_with_noise
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.tables.table import Codec

SAME = 1e-3  # a squared distance below which rows count as copies
CHUNK = 500

VALUES = tuple("abcdefgh")
NAMES = ("one", "two", "three", "four", "five", "six")
SCHEMA = Schema.from_dict(
    {
        "columns": {
            **{name: {"type": "categorical", "values": list(VALUES)} for name in NAMES},
            "number": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
        },
        "targets": list(NAMES[:5]),
    }
)
SOME_STEPS = Annealing(8.0, stages=3, steps=30, tolerance=0.0, learning_rate=0.1)
# Cross-tables of targets are all measured, however noisy: without noise they pin so few rows down,
# if every error counts and rows may know all they can.
EVERY_TABLE = Default(
    targets_share=Share(Fraction(45, 100), Fraction(45, 100), noise=1.0),
    most_noise=math.inf,
    rounds=1,
    price=0.0,
    unheard=0.0,
    effort=Effort(rows=250, between_rounds=SOME_STEPS, at_the_end=SOME_STEPS),
)


@dataclass(frozen=True)
class Density(Attack):
    """One fit on rows that a coin each let in; the attacker has to say which way the coins fell.

    Under ε-differential privacy no more of them are guessed right than if each guess were right on
    its own with chance exp(ε)/(1 + exp(ε)), but for a δ that is negligible here (Steinke, Nasr and
    Jagielski, 2023).
    """

    name: ClassVar[str] = "density"

    pool: int = 160
    synthetic: int = 3000

    def __call__(self) -> Finding:
        random = np.random.default_rng(0)
        pool, reference = people(self.pool, random), people(self.pool, random)
        inside = random.random(self.pool) < 0.5
        model = RAPpp(SCHEMA, self.epsilon, preset=EVERY_TABLE)
        release = fit_with_noise(model, pool[inside], self.build()).release_
        made = release.sample(self.synthetic, seed=0, kind="pandas")
        scores = suspicion(pool, made, reference, SCHEMA)
        right = int(((scores > np.median(scores)) == inside).sum())
        shown, sure = (
            epsilon_of_guesses(right, self.pool, confidence) for confidence in (SHOWN, ALARM)
        )
        case = f"ε = {self.epsilon:g}, {self.pool} coins"
        holds, note = sure <= self.epsilon, f"{right} guessed right"
        return Finding("attack by density", case, 1, holds, self.epsilon, shown, note=note)


def epsilon_of_guesses(right: int, guesses: int, confidence: float) -> float:
    """The smallest ε that explains so many right guesses."""
    chance = least_chance(right, guesses, confidence)
    return math.log(chance / (1 - chance)) if 0.5 < chance < 1 else 0.0


def people(rows: int, random: np.random.Generator) -> pd.DataFrame:
    """Rows that have nothing in common: what shows of one of them says nothing about another."""
    columns = {name: random.choice(VALUES, rows) for name in SCHEMA.categorical}
    columns |= {name: random.integers(0, 100, rows) for name in SCHEMA.numerical}
    return pd.DataFrame(columns)


def suspicion(
    rows: pd.DataFrame, synthetic: pd.DataFrame, reference: pd.DataFrame, schema: Schema
) -> np.ndarray:
    """For each row, the log of how much nearer a synthetic row lies than one of the reference."""
    codec = Codec(schema)
    of_reference = _encoded(reference, codec)
    places, near, usual = (
        _places(*_encoded(frame, codec), of_reference[1], codec)
        for frame in (rows, synthetic, reference)
    )
    return np.log(_nearest(places, usual) + SAME) - np.log(_nearest(places, near) + SAME)


def _encoded(frame: pd.DataFrame, codec: Codec) -> tuple[np.ndarray, np.ndarray]:
    parts = [codec.encode(batch) for batch in Source.of(frame, codec.schema).batches()]
    return np.concatenate([p.codes for p in parts]), np.concatenate([p.numbers for p in parts])


def _places(codes: np.ndarray, numbers: np.ndarray, usual: np.ndarray, codec: Codec) -> np.ndarray:
    """Categories one apart, and numbers as the share of the reference that lies below."""
    hot = [
        (codes[:, [axis]] == np.arange(size)) * 0.5**0.5
        for axis, size in enumerate(codec.domain.sizes)
    ]
    shares = [
        (np.searchsorted(known, column, "left") + np.searchsorted(known, column, "right"))
        / (2 * len(known))
        for known, column in zip(np.sort(usual, axis=0).T, numbers.T, strict=True)
    ]
    return np.hstack([*hot, *(share[:, None] for share in shares)])


def _nearest(rows: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The squared distance from each row to the nearest of the others."""
    lengths = (among**2).sum(axis=1)
    parts = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
    found = [(lengths - 2 * part @ among.T).min(axis=1) + (part**2).sum(axis=1) for part in parts]
    return np.maximum(np.concatenate(found), 0.0)
