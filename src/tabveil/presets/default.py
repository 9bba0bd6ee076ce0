"""The default: rank space, whole cross-tables chosen where the table is most wrong, few and cheap steps.

All rules below come from public things: the schema, ε and δ, and the (noisy or public) number of rows.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.curator import Answer, Curator, Workload
from tabveil.errors import InvalidInput
from tabveil.presets.preset import Task, Watch
from tabveil.privacy import Relation
from tabveil.projection import Annealing, Relaxed, project
from tabveil.queries import GRID, Pairs
from tabveil.ranks import learn_ranks
from tabveil.rappp import Ask, Plan, Result, Status, rappp
from tabveil.scale import Lattice
from tabveil.table import Domain

# Sharpness starts where a bin is about as wide as the step is soft, and ends where hardly a row is undecided.
MOST_BINS = 20
BETWEEN_ROUNDS = Annealing(8.0, stages=4, steps=20, tolerance=0.0, learning_rate=0.04)
AT_THE_END = Annealing(8.0, stages=5, steps=100, tolerance=0.0, learning_rate=0.01)


@dataclass(frozen=True)
class Default:
    """Shares of the budget, and how hard the optimiser works."""

    count_share: Fraction = Fraction(1, 100)
    ranks_share: Fraction = Fraction(10, 100)
    alone_share: Fraction = Fraction(4, 100)
    targets_share: Fraction = Fraction(12, 100)
    most_noise: float = 0.06  # in a table with a target, as a share of all rows
    select_share: Fraction = Fraction(15, 100)  # of what is left for cross-tables
    rounds: int = 10
    most_cells: int = 2**14
    most_memory: int = 8 * 10**9  # bytes
    rows: int = 2000
    between_rounds: Annealing = BETWEEN_ROUNDS
    at_the_end: Annealing = AT_THE_END

    def __call__(self, curator: Curator, task: Task, watch: Watch) -> Result:
        """Count the rows, learn rank space and single columns, then cross-tables round by round."""
        domain, rho = task.domain, task.rho
        self._require_room(domain)
        count = rho * self.count_share if task.relation is Relation.ADD_REMOVE else Fraction(0)
        total = curator.total(count)
        strength = total * float(rho) ** 0.5  # how far a count of all rows stands above noise

        ranks, noise, unspent = learn_ranks(curator, Lattice.of(task.schema), rho * self.ranks_share, total)
        edges = ranks.bins(_bins(strength))
        names = [ranks.words(column, between) for column, between in enumerate(edges)]
        pairs = Pairs.over(domain, edges, self.most_cells, names)
        workload = Workload((pairs,), ranks, domain)

        alone = rho * self.alone_share if domain.axes else Fraction(0)
        known = _bins_alone(pairs, edges, total, noise)
        if domain.axes:
            known.insert(0, curator.measure(workload, 0, pairs.alone(range(len(domain.axes))), alone))
        with_targets = pairs.with_targets(domain.targets)
        first = rho * self.targets_share
        if self._worthwhile(curator, pairs, with_targets, first, total):
            known.append(curator.measure(workload, 0, with_targets, first))
        else:
            first = Fraction(0)
        spent = count + rho * self.ranks_share - unspent + alone + first
        candidates = len(pairs) - sum(len(answer.picks) for answer in known)
        plan = self._plan(candidates, rho - spent, strength)

        start = independent_columns(domain, known, self.rows, task.seed)
        reference = max(
            [curator.noise_of(pairs, a.picks, a.measure) for r in plan.rounds for a in r], default=1
        )
        rounds = len(plan.rounds) + 1  # and the last projection
        result = rappp(
            curator,
            workload,
            plan,
            start,
            self.between_rounds,
            lambda status: watch(replace(status, rounds=rounds)),
            total=total,
            known=known,
            weight=lambda answer: min(
                4.0, (reference / answer.scale) ** 2
            ),  # inverse variance, within reason
        )
        table, progress = project(result.table, result.measured, self.at_the_end)
        watch(Status(rounds, rounds, float(progress.objective), int(progress.steps)))
        even, slack = evenly_within_bins(np.asarray(table.numbers), edges)
        return replace(result, table=replace(table, numbers=jnp.asarray(even)), slack=slack)

    def _require_room(self, domain: Domain) -> None:
        """Refuse, before anything is spent, a schema whose cross-tables would not fit into memory."""
        cells = domain.cells + MOST_BINS * len(domain.numerical)
        layers = 1 + sum(domain.sizes[target] for target in domain.targets)
        needed = 32 * layers * cells**2  # exact counts, expected counts, evidence and its gradient
        if needed > self.most_memory:
            raise InvalidInput(
                f"Cross-tables of {cells:,} categories and bins would need {needed / 1e9:.0f} GB of memory.",
                "Declare fewer categories with `other: true`, group them, or name fewer targets.",
            )

    def _worthwhile(
        self, curator: Curator, pairs: Pairs, picks: np.ndarray, rho: Fraction, total: int
    ) -> bool:
        """Whether tables measured together without choosing would be more than noise."""
        if not len(picks):
            return False
        noise = curator.noise_of(pairs, len(picks), rho) * np.sqrt(2 / np.pi)
        return bool(noise * pairs.cells[picks].mean() <= self.most_noise * total)

    def _plan(self, candidates: int, rho: Fraction, strength: float) -> Plan:
        """Few cross-tables where noise is strong, many where it is weak, in rounds of equal size."""
        tables = min(candidates, max(4, int(strength ** (2 / 3) / 2)))
        if tables == 0:
            return Plan(Fraction(0), ())
        sizes = np.diff(np.linspace(0, tables, min(self.rounds, tables) + 1).round().astype(int)).tolist()
        each = rho / tables
        select = self.select_share
        return Plan(
            Fraction(0), tuple((Ask(0, k, each * k * select, each * k * (1 - select)),) for k in sizes)
        )


def independent_columns(domain: Domain, known: list[Answer], rows: int, seed: int) -> Relaxed:
    """A first table: categories as often as measured, numbers spread evenly over rank space."""
    random = Relaxed.random(domain, rows, jax.random.key(seed))
    logits = np.zeros(domain.cells, np.float32)
    for axis, (offset, size) in enumerate(zip(domain.offsets, domain.sizes, strict=True)):
        counts = np.maximum(known[0].counts[axis, :size], known[0].scale / 2)
        logits[offset : offset + size] = np.log(counts / counts.sum())
    ranks = jnp.argsort(jnp.argsort(random.numbers, axis=1), axis=1)
    even = jnp.asarray(
        (ranks + 0.5) / rows, jnp.float32
    )  # a strong type, or the projection is compiled twice
    return replace(random, logits=random.logits + logits[:, None], numbers=even).clipped()


def evenly_within_bins(numbers: np.ndarray, edges: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers spread evenly inside their bin, in the order they had, and the room around each.

    No bin gains or loses a row, so every cross-table stays as it was fitted; inside a bin the estimated
    distribution of the column says more than where the optimiser happened to leave the rows.
    """
    even, slack = np.array(numbers), np.zeros_like(numbers)
    for column, between in enumerate(edges):
        lines = ((between - 0.5) / GRID).astype(np.float32)  # where cross-tables draw them
        ends = np.concatenate([[0.0], between / GRID, [1.0]])
        bins = np.searchsorted(lines, numbers[column], "left")
        for number in np.unique(bins):
            inside = np.nonzero(bins == number)[0]
            rank = np.argsort(np.argsort(numbers[column, inside], kind="stable"))
            room = (ends[number + 1] - ends[number]) / len(inside)
            even[column, inside] = ends[number] + (rank + 0.5) * room
            slack[column, inside] = room
    return even, slack


def _bins(strength: float) -> int:
    """Coarse bins where noise is strong: every cell of a cross-table costs the same noise."""
    return int(np.clip(6 + 0.4 * strength ** (1 / 3), 6, MOST_BINS))


def _bins_alone(pairs: Pairs, edges: list[np.ndarray], total: int, noise: float) -> list[Answer]:
    """What rank space already says about each number alone: how many rows its bins hold."""
    axes = len(pairs.layout.columns) - len(edges)
    found = []
    for number, between in enumerate(edges):
        widths = np.diff(np.concatenate([[0], between, [GRID]])) / GRID
        counts = np.zeros((1, pairs.width), np.int64)
        counts[0, : len(widths)] = np.rint(widths * total)
        # A bin is a sum of about ten runs, so its noise is about three times that of one.
        found.append(Answer(0, pairs.alone([axes + number]), counts, 3 * noise, derived=True))
    return found
