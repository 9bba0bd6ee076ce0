"""Algorithm 2: select the worst answered queries, measure them, project, repeat."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import jax
import numpy as np

from tabveil.curator import Answer, Curator, Workload
from tabveil.fitting.projection import Annealing, Measured, project
from tabveil.fitting.relaxed import Table
from tabveil.fitting.weighted import Rowwise, WeightedRows
from tabveil.fitting.zeros import Zeros
from tabveil.queries import QueryFamily
from tabveil.tables.numbers import Binned


@dataclass(frozen=True)
class Ask:
    """One pair of looks at the rows: choose `picks` queries of a family, then measure them."""

    family: QueryFamily
    picks: int
    select: Fraction  # ρ
    measure: Fraction  # ρ
    groups: int = 1  # into which the candidates are dealt out; each gives its share of the picks
    among: tuple[int, ...] | None = None  # the queries to choose from, if not all
    unheard: float = 1.0  # of the noise to come, below which an error in a cell does not count
    by_size: float = 0.0  # the power of a query's cells that its part of `measure` grows with


@dataclass(frozen=True)
class Plan:
    """What a fit will spend its budget on; made from public things alone.

    >>> from tabveil.queries import Marginals
    >>> from tabveil.tables.table import Axis, Domain
    >>> domain = Domain((Axis("sex", ("F", "M")), Axis("city", ("a", "b"))), (), ())
    >>> family = Marginals.over([(0,), (1,)], domain)
    >>> ask = Ask(family, picks=1, select=Fraction(1, 8), measure=Fraction(1, 4))
    >>> plan = Plan(Fraction(1, 100), ((ask,), (ask,)))
    >>> plan.cost, plan.room(family)
    (Fraction(19, 25), 2)
    """

    total: Fraction  # ρ for the row count; nothing is charged where the count is public
    rounds: tuple[tuple[Ask, ...], ...]

    @property
    def cost(self) -> Fraction:
        """ρ of the whole plan."""
        return self.total + sum((ask.select + ask.measure for ask in self.asks), Fraction(0))

    @property
    def asks(self) -> list[Ask]:
        """All that is asked, round after round."""
        return [ask for asks in self.rounds for ask in asks]

    def room(self, family: QueryFamily) -> int:
        """How many queries of a family will have been measured at the end."""
        return sum(ask.picks for ask in self.asks if ask.family is family)


@dataclass(frozen=True)
class Status:
    """What watchers see while rows are read and after rounds: public and noisy quantities only."""

    round: int
    rounds: int
    objective: float
    steps: int
    stage: str = "fitting"
    done: float | None = None  # while reading: which share of the bytes has been read

    @classmethod
    def reading(cls, done: float) -> "Status":
        """In the middle of a pass over the rows."""
        return cls(0, 0, float("nan"), 0, "reading", done)


@dataclass(frozen=True)
class Result:
    """The relaxed table, and every noisy number that it was fitted to."""

    workload: Workload
    table: Table
    total: int
    answers: tuple[Answer, ...]
    measured: Measured
    public: WeightedRows | None = None  # to draw some of the rows from

    def rows(self) -> Rowwise:
        """What synthetic rows are drawn from."""
        probabilities = np.asarray(self.table.probabilities, np.float32)
        numbers = self.table.numbers()
        if self.public is None or not isinstance(numbers, Binned):
            return Rowwise(probabilities, numbers, None)
        return self.public.beside(probabilities, numbers)


def rappp(
    curator: Curator,
    workload: Workload,
    plan: Plan,
    start: Table,
    annealing: Annealing,
    watch: Callable[[Status], None] = lambda status: None,
    *,
    total: int,
    known: Sequence[Answer] = (),
    weight: Callable[[Answer], float] = lambda answer: 1.0,
    zeros: Zeros | None = None,
    public: WeightedRows | None = None,
    insistence: float = 0.0,
) -> Result:
    """Improve `start` round by round; only `curator` sees private rows, at a price each time.

    `known` holds answers from before the first round. `weight` says how much an answer counts in
    the fit. `zeros` are cells that no row can be in. `public` rows learn the same answers beside
    the table, and have their say in what looks worst. After each round, `insistence` of what the
    table fell short of is asked for on top.
    """
    table = start
    answers: list[Answer] = []
    room = [
        plan.room(family)
        + len(_asked(known, family))
        + (len(zeros.picks) if zeros is not None and zeros.family is family else 0)
        for family in workload.families
    ]
    measured = Measured.reserve(workload.families, room)

    def learn(answer: Answer) -> Measured:
        answers.append(answer)
        shares = (answer.counts / total).astype(np.float32)
        weights = answer.family.take(answer.picks).filled * np.float32(weight(answer))
        if zeros is not None and zeros.family is answer.family:
            shares, weights = zeros.imposed(answer.picks, shares, weights)
        return measured.learn(answer.family, answer.picks, shares, weights)

    if zeros is not None:
        measured = measured.learn(zeros.family, zeros.picks, zeros.shares, zeros.weights)
    for answer in known:
        measured = learn(answer)
    if public is not None:
        public = public.learnt(known, _shares(table, public.pool.pairs))
    for number, asks in enumerate(plan.rounds):
        for ask in asks:
            relaxed = _shares(table, ask.family)
            shares = relaxed if public is None else public.blended(relaxed)
            picks = _worst(curator, workload, ask, shares, total, _barred(answers, ask))
            new = [
                curator.measure(workload, ask.family, alike, rho)
                for alike, rho in dealt_out(ask.family, picks, ask.measure, ask.by_size)
            ]
            for answer in new:
                measured = learn(answer)
            if public is not None:
                public = public.learnt(new, relaxed)
                public = None if public.refuted else public
        table, progress = project(table, measured, annealing)
        if insistence:
            measured = measured.insisting(table, insistence)
        watch(Status(number + 1, len(plan.rounds), float(progress.misfit), int(progress.steps)))
    return Result(workload, table, total, tuple(answers), measured, public)


def dealt_out(
    family: QueryFamily, picks: np.ndarray, rho: Fraction, by_size: float
) -> list[tuple[np.ndarray, Fraction]]:
    """Queries of like size, and the part of ρ that they are measured for together.

    All cells of a query carry the same noise, so with equal parts large tables come out worst.
    How queries are sized is public, and so is which were chosen: the parts depend on nothing else.
    """
    if not len(picks):
        return []
    cells = family.cells[picks].astype(float)
    sizes, size = np.unique(np.floor(np.log2(cells)), return_inverse=True)
    if not by_size or len(sizes) == 1:
        return [(picks, rho)]
    wanted = np.bincount(size) * 2.0 ** (by_size * sizes)
    parts = [Fraction(part).limit_denominator(10**6) for part in wanted / wanted.sum()]
    parts[-1] = 1 - sum(parts[:-1], Fraction(0))
    return [(picks[size == place], rho * part) for place, part in enumerate(parts)]


def rehearse(workload: Workload, room: Sequence[int], start: Table) -> None:
    """Compile what the rounds will run, without a step, while others count rows."""
    for family in workload.families:
        family.tally.of(_rows(start))
    nothing = Measured.reserve(workload.families, room)
    project(start, nothing, Annealing(stages=0))
    nothing.insisting(start, 0.0)


def _worst(
    curator: Curator,
    workload: Workload,
    ask: Ask,
    shares: np.ndarray,
    total: int,
    barred: np.ndarray,
) -> np.ndarray:
    """The queries that these shares answer worst, where off by more than the noise to come.

    A deduction for every cell, whether it is off or not, would leave out large tables, and with
    them what numbers have to do with each other.
    """
    family = ask.family
    noise = curator.noise_of(family, ask.picks, ask.measure) * np.sqrt(2 / np.pi)
    expected = shares * total  # large: one copy at a time
    expected = np.rint(expected, out=expected).astype(np.int64)
    return curator.select(
        workload,
        family,
        expected=expected,
        picks=ask.picks,
        rho=ask.select,
        exclude=barred,
        slack=round(ask.unheard * noise),
        groups=ask.groups,
    )


def _shares(table: Table, family: QueryFamily) -> np.ndarray:
    """What a relaxed table expects of all queries of a family."""
    found = np.array(family.tally.of(_rows(table)), np.float32)
    found /= table.logits.shape[1]
    return found


def _barred(answers: Sequence[Answer], ask: Ask) -> np.ndarray:
    """What is not asked again, or not among what may be chosen."""
    asked = _asked(answers, ask.family)
    if ask.among is None:
        return asked
    return np.union1d(asked, np.setdiff1d(np.arange(len(ask.family)), ask.among))


def _asked(answers: Sequence[Answer], family: QueryFamily) -> np.ndarray:
    """Which queries of a family these answers are about."""
    picks = [answer.picks for answer in answers if answer.family is family]
    return np.concatenate([np.zeros(0, int), *picks])


_rows = jax.jit(lambda table: table.rows())
