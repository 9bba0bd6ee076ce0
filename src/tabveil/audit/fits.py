"""Audits of whole fits on worst-case neighbours: by their noisy answers, and by their synthetic rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from tabveil.audit.finding import DELTA, Finding, Job, Size, judged
from tabveil.audit.mechanisms import EPSILONS
from tabveil.audit.transcript import Draw, Heard, Impossible, Repeated
from tabveil.audit.worlds import SCHEMA, WORLDS, World
from tabveil.presets import Default, Paper, Preset
from tabveil.privacy import Noise, Relation
from tabveil.projection import Annealing
from tabveil.release import Release
from tabveil.synthesizer import RAPpp

# Privacy lives in the noisy answers. The optimiser never sees anything else, so for the white-box audits it
# takes one step, and a fit takes milliseconds; for the black-box audits it works.
ONE_STEP = Annealing(8.0, stages=1, steps=1, tolerance=0.0)
SOME_STEPS = Annealing(8.0, stages=2, steps=25, tolerance=0.0, learning_rate=0.05)
HASTY: dict[str, Preset] = {
    "default": Default(rows=8, rounds=2, between_rounds=ONE_STEP, at_the_end=ONE_STEP),
    "paper": Paper(thresholds=40, threshold_epochs=2, picks=2, rows=8, annealing=ONE_STEP),
}
PATIENT = Default(rows=60, rounds=2, between_rounds=SOME_STEPS, at_the_end=SOME_STEPS)
SYNTHETIC_ROWS = 300


def jobs(size: Size) -> list[Job]:
    """Every ε and relation: a quick audit takes one world of each, a full one all of them."""
    cases = [(e, r) for e in EPSILONS for r in Relation]
    white: list[Job] = []
    for number, (epsilon, relation) in enumerate(cases):
        worlds = WORLDS if size.all_worlds else WORLDS[number % len(WORLDS) :][:1]
        white += [WhiteBox("default", w, relation, epsilon, size.runs) for w in worlds]
    white += [WhiteBox("paper", WORLDS[1], relation, 4.0, size.runs) for relation in Relation]
    black = [BlackBox(WORLDS[0], relation, 10.0, size.samples) for relation in Relation]
    return [*white, *black]


@dataclass(frozen=True)
class WhiteBox:
    """The likelihood ratio of all noisy answers, which no attack on the release can beat; and every bill."""

    preset: str
    world: World
    relation: Relation
    epsilon: float
    runs: int

    def __call__(self) -> Finding:
        tables = self.world.tables(self.relation)
        try:
            without, present = (
                np.array([self._loss(tables, here) for _ in range(self.runs)]) for here in (False, True)
            )
        except Unpaid as problem:
            return Finding(self._name, self._case, self.runs, False, self.epsilon, note=str(problem))
        return judged(self._name, self._case, self.epsilon, without, present)

    def _loss(self, tables: tuple[pd.DataFrame, pd.DataFrame], present: bool) -> float:
        """log P(answers | target present) − log P(answers | without) of one fit."""
        sign = 1 if present else -1
        heard = Heard()
        made = self._fit(heard, tables[present])
        repeated = Repeated(heard)
        try:
            again = self._fit(repeated, tables[not present])
            repeated.require_end()
        except Impossible:
            return sign * math.inf
        if not _same(made, again):  # given the noisy answers, nothing else about the table may show
            return sign * math.inf
        require_paid(heard.draws, repeated.draws, made.charges)
        return sign * sum(
            a.likelihood() - b.likelihood() for a, b in zip(heard.draws, repeated.draws, strict=True)
        )

    def _fit(self, noise: Noise, table: pd.DataFrame) -> Release:
        return _fitted(noise, table, HASTY[self.preset], self.epsilon, self.relation)

    @property
    def _name(self) -> str:
        return "fit, white-box" + (f", {self.preset}" if self.preset != "default" else "")

    @property
    def _case(self) -> str:
        return f"ε = {self.epsilon:g}, {self.relation}, {self.world.name}"


class Unpaid(Exception):
    """Noise was drawn that the ledger does not account for."""


def require_paid(draws: Sequence[Draw], others: Sequence[Draw], charges: Sequence[dict[str, Any]]) -> None:
    """Each draw has its own charge, and costs no more on this pair of neighbours than was charged."""
    if [draw.mechanism for draw in draws] != [charge["mechanism"] for charge in charges]:
        raise Unpaid(f"{len(draws)} draws of noise, but {len(charges)} charges")
    for draw, other, charge in zip(draws, others, charges, strict=True):
        cost, charged = draw.cost(other), float(Fraction(charge["rho"]))
        if cost > charged * (1 + 1e-9):
            raise Unpaid(f"{charge['what']} cost ρ = {cost:.3g}, but {charged:.3g} was charged")


@dataclass(frozen=True)
class BlackBox:
    """The share of synthetic rows that look like the target: what someone with a spreadsheet can see."""

    world: World
    relation: Relation
    epsilon: float
    runs: int

    def __call__(self) -> Finding:
        without, present = (
            np.array([self._share(table) for _ in range(self.runs)])
            for table in self.world.tables(self.relation)
        )
        case = f"ε = {self.epsilon:g}, {self.relation}, {self.world.name}"
        return judged("fit, black-box", case, self.epsilon, without, present)

    def _share(self, table: pd.DataFrame) -> float:
        release = _fitted(Heard(), table, PATIENT, self.epsilon, self.relation)
        synthetic = release.sample(SYNTHETIC_ROWS, kind="pandas")
        return float((synthetic["answer"] == self.world.target[1]).mean())


class _Overheard(RAPpp):
    """The synthesizer, with an ear at its source of noise."""

    def __init__(self, noise: Noise, *settings: Any, **more: Any) -> None:
        super().__init__(*settings, **more)
        self.noise = noise

    def _noise(self) -> Noise:
        return self.noise


def _fitted(noise: Noise, table: pd.DataFrame, preset: Preset, epsilon: float, relation: Relation) -> Release:
    model = _Overheard(noise, SCHEMA, epsilon, delta=DELTA, preset=preset, neighbours=relation.value)
    return model.fit(table).release_


def _same(one: Release, other: Release) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("probabilities", "numbers", "slack")
    ) and _said(one) == _said(other)


def _said(release: Release) -> list[Any]:
    known = release.schema.to_dict(), release.scale.to_dict(), release.types, release.groupings
    return [*known, release.measurements, release.charges]
