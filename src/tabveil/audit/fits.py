"""Audits of whole fits on worst-case neighbours: by noisy answers, and by synthetic rows."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabveil.audit.finding import DELTA, Finding, Job, Size, judged
from tabveil.audit.mechanisms import EPSILONS
from tabveil.audit.transcript import Draw, Heard, Impossible, Repeated
from tabveil.audit.worlds import (
    CATEGORY,
    COMMON,
    EXTREME,
    MANY,
    OTHERS,
    PLAIN,
    TYPES,
    WORLDS,
    World,
)
from tabveil.discovery import found_document, infer_schema
from tabveil.fitting.presets import (
    PRESETS,
    Default,
    Effort,
    Paper,
    PaperEffort,
    Preset,
    Structure,
)
from tabveil.fitting.projection import Annealing
from tabveil.fitting.synthesizer import RAPpp, fit_with_noise
from tabveil.privacy import Ledger, Mechanism, Noise, Relation, epsilon_of
from tabveil.release import Release
from tabveil.schema import Schema

# Privacy lives in the noisy answers. The optimiser never sees anything else, so for the white-box
# audits it takes one step, and a fit takes milliseconds; for the black-box audits it works. Presets
# as they are follow in `AsUsed`, with few runs. Picks are dealt out into groups, as in large fits,
# and every error counts: in worlds so small all are below the noise, and rows would choose nothing.
ONE_STEP = Annealing(8.0, stages=1, steps=1, tolerance=0.0)
SOME_STEPS = Annealing(8.0, stages=2, steps=25, tolerance=0.0, learning_rate=0.05)
HASTY: dict[str, Preset] = {
    "default": Default(
        rounds=2,
        picks_in_a_group=1,
        unheard=0.0,
        effort=Effort(rows=8, between_rounds=ONE_STEP, at_the_end=ONE_STEP),
    ),
    "paper": Paper(
        thresholds=40, threshold_epochs=2, picks=2, effort=PaperEffort(rows=8, annealing=ONE_STEP)
    ),
    "structure": Structure(),
}
PATIENT = Default(
    rounds=2, effort=Effort(rows=60, between_rounds=SOME_STEPS, at_the_end=SOME_STEPS)
)
SYNTHETIC_ROWS = 300
SEARCH = (0.5, 1e-6)  # (ε, δ) of schemas that are bought before a fit


def jobs(size: Size) -> list[Job]:
    """Every ε and relation: a quick audit takes one world of each, a full one all of them."""
    cases = [(e, r) for e in EPSILONS for r in Relation]
    white: list[Job] = []
    for number, (epsilon, relation) in enumerate(cases):
        worlds = WORLDS if size.all_worlds else WORLDS[number % len(WORLDS) :][:1]
        white += [WhiteBox("default", w, relation, epsilon, size.runs) for w in worlds]
    # In `OTHERS` anything but noisy answers would tell the tables
    # apart at once, so few runs will do.
    runs = max(40, size.runs // 8)
    white += [WhiteBox("default", w, r, 4.0, runs) for w in OTHERS for r in w.relations]
    white += [WhiteBox("paper", EXTREME, relation, 4.0, size.runs) for relation in Relation]
    white += [WhiteBox("paper", TYPES, relation, 4.0, runs) for relation in Relation]
    white += [WhiteBox("structure", TYPES, relation, 4.0, runs) for relation in Relation]
    # A search hands counts of the values it meets to the noise, so both tables must hold the same
    # ones; how often it names one that only the target holds is counted by `LoneValue`.
    white += [
        WhiteBox("default", COMMON, relation, 4.0, runs, bought=True) for relation in Relation
    ]
    used = [
        AsUsed(name, world, r, max(1, size.fits // slow))
        for name, world, slow in USED
        for r in Relation
    ]
    black = [BlackBox(CATEGORY, relation, 10.0, size.samples) for relation in Relation]
    return [*white, *used, *black, *(WholeCost(relation) for relation in Relation)]


USED = (("default", TYPES, 1), ("default", MANY, 1), ("paper", TYPES, 10), ("structure", TYPES, 1))
"""Presets as they are, on some worlds, and how much slower each is than the first.

Small worlds, and one with enough columns and rows for every rule of the presets.
"""


@dataclass(frozen=True)
class WhiteBox:
    """Likelihood ratio of all noisy answers, which no attack on the release beats; every bill."""

    preset: str
    world: World
    relation: Relation
    epsilon: float
    runs: int
    bought: bool = False  # whether the schema is found in the data first

    def __call__(self) -> Finding:
        claimed = self.epsilon
        try:
            losses = [[self._loss(here) for _ in range(self.runs)] for here in (False, True)]
            if self.bought:
                claimed = float(self._fit(Heard(), self._tables()[0]).privacy["epsilon"])
        except Broken as problem:
            return Finding(self._name, self._case, self.runs, False, claimed, note=str(problem))
        return judged(self._name, self._case, claimed, *map(np.array, losses))

    def _loss(self, present: bool) -> float:
        """log P(answers | target present) − log P(answers | without) of one fit."""
        tables = self._tables()
        ratio = _compared(lambda noise, here: self._fit(noise, tables[present == here]))
        return ratio if present else -ratio

    def _tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self.world.tables(self.relation)

    def _fit(self, noise: Noise, table: pd.DataFrame) -> Release:
        schema = self.world.schema
        if self.bought:
            schema = _bought(noise, table, self.relation)
        return _fitted(noise, schema, table, HASTY[self.preset], self.epsilon, self.relation)

    @property
    def _name(self) -> str:
        return "fit, white-box" + (f", {self.preset}" if self.preset != "default" else "")

    @property
    def _case(self) -> str:
        bought = ", bought schema" if self.bought else ""
        return f"ε = {self.epsilon:g}, {self.relation}, {self.world.name}{bought}"


@dataclass(frozen=True)
class AsUsed:
    """A preset as it is: only noisy answers show anything of the table, and every bill is paid."""

    preset: str
    world: World
    relation: Relation
    runs: int
    epsilon: float = 10.0

    def __call__(self) -> Finding:
        tables = self.world.tables(self.relation)
        case = f"{self.preset} as it is, {self.relation}, {self.world.name}"
        name, preset = "fit, as used", PRESETS[self.preset]
        note = ""
        try:
            for run in range(self.runs):
                present = run % 2

                def fit(noise: Noise, here: bool, present: int = present) -> Release:
                    table = tables[present == here]
                    return _fitted(
                        noise, self.world.schema, table, preset, self.epsilon, self.relation
                    )

                _compared(fit)
        except Broken as problem:
            note = str(problem)
        return Finding(
            name, case, self.runs, not note, self.epsilon, note=note or "every bill paid"
        )


@dataclass(frozen=True)
class WholeCost:
    """What a release states is what its ledger shows: the fit, and the schema if it was bought."""

    relation: Relation
    epsilon: float = 1.0

    def __call__(self) -> Finding:
        table = pd.concat([COMMON.tables(self.relation)[0]] * 200)  # enough rows to find something
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "ledger"
            epsilon, delta = SEARCH
            schema = infer_schema(
                table, epsilon=epsilon, delta=delta, ledger=ledger, neighbours=self.relation.value
            )
            preset = HASTY["default"]
            release = _fitted(Heard(), schema, table, preset, self.epsilon, self.relation, ledger)
            book = Ledger.read(ledger)
        said, at = release.privacy, DELTA
        short = [
            *["ρ"] * (Fraction(said["rho_spent"]) < book.spent),
            *["δ"] * (Fraction(said["delta"]) < Fraction(at) + book.delta_spent),
            *["ε"] * (said["epsilon"] < epsilon_of(book.spent, at)),
            *["charges"] * (sum(Fraction(c["rho"]) for c in release.charges) < book.spent),
            *["public things"] * any("category lists" in line for line in said["assumed_public"]),
            *["what was bought"] * (set(said["bought"]) != set(schema.columns)),
        ]
        note = f"understated: {', '.join(short)}" if short else "as the ledger has it"
        case = f"a bought schema, {self.relation}"
        return Finding("statement", case, 1, not short, float(said["epsilon"]), note=note)


class Broken(Exception):
    """A fit that shows more than noisy answers, or draws noise the ledger does not account for."""


class Unpaid(Broken):
    """Noise was drawn that the ledger does not account for."""


TOLD_APART = "something other than noisy answers tells the tables apart"


def _compared(fit: Callable[[Noise, bool], Release]) -> float:
    """log of how much likelier one fit's noisy answers are on its own table than on the neighbour.

    Given the same noisy answers, nothing else about the table may show.
    """
    heard = Heard()
    made = _finished(fit, heard, True)
    repeated = Repeated(heard)
    try:
        again = _finished(fit, repeated, False)
        repeated.require_end()
    except Impossible:
        raise Broken(TOLD_APART) from None
    if not _same(made, again):
        raise Broken(TOLD_APART)
    require_paid(heard.draws, repeated.draws, made.charges)
    pairs = zip(heard.draws, repeated.draws, strict=True)
    return sum(here.likelihood() - there.likelihood() for here, there in pairs)


def _finished(fit: Callable[[Noise, bool], Release], noise: Noise, here: bool) -> Release:
    """A fit that ends; one that a row could stop would tell whether it is there."""
    try:
        return fit(noise, here)
    except Impossible:
        raise
    except Exception as problem:
        raise Broken(f"a fit stopped ({type(problem).__name__})") from None


def require_paid(
    draws: Sequence[Draw], others: Sequence[Draw], charges: Sequence[dict[str, Any]]
) -> None:
    """Each draw belongs to a charge; those of a charge cost no more on this pair than was charged.

    A charge for picks from groups has a draw for each group. What a bought schema cost is one line
    of a release; its draws come first and are held against it together.
    """
    left: Iterator[tuple[Draw, Draw]] = zip(draws, others, strict=True)
    fit_draws = sum(_draws_of(charge) for charge in charges if not _for_schema(charge))
    for charge in charges:
        wanted = len(draws) - fit_draws if _for_schema(charge) else _draws_of(charge)
        pairs = list(islice(left, max(0, wanted)))
        picks = charge["mechanism"] == Mechanism.TOP
        drawn = Mechanism.TOP if picks else Mechanism.GAUSSIAN
        if len(pairs) != wanted or any(draw.mechanism != drawn for draw, _ in pairs):
            raise Unpaid(f"{len(draws)} draws of noise, but {len(charges)} charges")
        cost, charged = (
            sum(draw.cost(other) for draw, other in pairs),
            float(Fraction(charge["rho"])),
        )
        if cost > charged * (1 + 1e-9):
            raise Unpaid(f"{charge['what']} cost ρ = {cost:.3g}, but {charged:.3g} was charged")
    if next(left, None) is not None:
        raise Unpaid(f"{len(draws)} draws of noise, but {len(charges)} charges")


def _draws_of(charge: dict[str, Any]) -> int:
    return int(charge.get("groups", 1))


def _for_schema(charge: dict[str, Any]) -> bool:
    return str(charge.get("for", "")).startswith("A schema")


@dataclass(frozen=True)
class BlackBox:
    """The share of synthetic rows that look like the target: what a spreadsheet shows anyone."""

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
        release = _fitted(Heard(), self.world.schema, table, PATIENT, self.epsilon, self.relation)
        synthetic = release.sample(SYNTHETIC_ROWS, kind="pandas")
        return float((synthetic["answer"] == self.world.target[0][1]).mean())


def _fitted(
    noise: Noise,
    schema: Schema,
    table: pd.DataFrame,
    preset: Preset,
    epsilon: float,
    relation: Relation,
    ledger: Path | None = None,
) -> Release:
    model = RAPpp(
        schema, epsilon, delta=DELTA, preset=preset, neighbours=relation.value, ledger=ledger
    )
    return fit_with_noise(model, table, noise).release_


def _bought(noise: Noise, table: pd.DataFrame, relation: Relation) -> Schema:
    """A schema for which the data was searched; the search pays, and the owner writes the rules in.

    In twenty rows noise hides everything, so what is found is not worth using.
    """
    epsilon, delta = SEARCH
    found = found_document(
        table, epsilon=epsilon, delta=delta, neighbours=relation.value, noise=noise
    )
    return PLAIN.replaced(found=found["found"])


def _same(one: Release, other: Release) -> bool:
    first, second = ([r.probabilities, *r.numbers.to_arrays().values()] for r in (one, other))
    return all(map(np.array_equal, first, second)) and _said(one) == _said(other)


def _said(release: Release) -> list[Any]:
    """Everything a release says; of a bought schema not when it was paid for."""
    schema = release.schema.replaced(found=None) if release.schema.found else release.schema
    groupings = {name: grouping.to_dict() for name, grouping in release.groupings.items()}
    known = schema.to_dict(), release.placement.to_dict(), release.types, release.kind, groupings
    return [*known, release.numbers.to_dict(), release.measurements, release.charges]
