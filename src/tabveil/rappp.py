"""Algorithm 2 and the RAPpp synthesizer: select the worst answered queries, measure them, project, repeat."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import jax
import numpy as np

from tabveil.curator import Answer, Curator, Workload
from tabveil.projection import Annealing, Measured, Relaxed, project
from tabveil.queries.chunks import answers_in_chunks


@dataclass(frozen=True)
class Ask:
    """One pair of looks at the rows: choose `picks` queries of a family, then measure them."""

    family: int
    picks: int
    select: Fraction  # ρ
    measure: Fraction  # ρ


@dataclass(frozen=True)
class Plan:
    """What a fit will spend its budget on; made from public things alone."""

    total: Fraction  # ρ for the row count; nothing is charged where the count is public
    rounds: tuple[tuple[Ask, ...], ...]

    @property
    def cost(self) -> Fraction:
        """ρ of the whole plan."""
        return self.total + sum((a.select + a.measure for r in self.rounds for a in r), Fraction(0))

    def room(self, families: int) -> list[int]:
        """How many queries of each family will have been measured at the end."""
        return [sum(a.picks for r in self.rounds for a in r if a.family == f) for f in range(families)]


@dataclass(frozen=True)
class Status:
    """What a watcher sees after each round: public and noisy quantities only."""

    round: int
    rounds: int
    objective: float
    steps: int


@dataclass(frozen=True)
class Result:
    """The relaxed table, and every noisy number that it was fitted to."""

    workload: Workload
    table: Relaxed
    total: int
    answers: tuple[Answer, ...]


def rappp(
    curator: Curator,
    workload: Workload,
    plan: Plan,
    start: Relaxed,
    annealing: Annealing,
    watch: Callable[[Status], None] = lambda status: None,
) -> Result:
    """Improve `start` round by round; only `curator` sees private rows, at a price each time."""
    total = curator.total(plan.total)
    table = start
    answers: list[Answer] = []
    measured = Measured.reserve(workload.families, plan.room(len(workload.families)))
    for number, asks in enumerate(plan.rounds):
        for ask in asks:
            done = [a for a in answers if a.family == ask.family]
            picks = _worst(curator, workload, ask, table, total, done)
            answer = curator.measure(workload, ask.family, picks, ask.measure)
            measured = measured.record(
                ask.family, sum(len(a.picks) for a in done), *_evidence(answer, workload, total)
            )
            answers.append(answer)
        table, progress = project(table, measured, annealing)
        watch(Status(number + 1, len(plan.rounds), float(progress.objective), int(progress.steps)))
    return Result(workload, table, total, tuple(answers))


def _worst(
    curator: Curator, workload: Workload, ask: Ask, table: Relaxed, total: int, done: Sequence[Answer]
) -> np.ndarray:
    """The queries that `table` answers worst, beyond the error that measuring them would leave anyway."""
    family = workload.families[ask.family]
    shares = np.asarray(answers_in_chunks(family, _rows(table)), np.float64) / table.numbers.shape[1]
    asked = np.concatenate([np.zeros(0, int), *(a.picks for a in done)])
    noise = curator.noise_of(family, ask.picks, ask.measure) * np.sqrt(2 / np.pi)
    return curator.select(
        workload,
        ask.family,
        expected=np.rint(shares * total).astype(np.int64),
        picks=ask.picks,
        rho=ask.select,
        exclude=asked,
        bias=np.rint(family.cells * noise).astype(np.int64),
    )


def _evidence(answer: Answer, workload: Workload, total: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which queries, their noisy shares, and a weight of one wherever a cell exists (as in the paper)."""
    filled = workload.families[answer.family].take(answer.picks).filled
    return answer.picks, (answer.counts / total).astype(np.float32), filled.astype(np.float32)


_rows = jax.jit(lambda table: table.rows())
