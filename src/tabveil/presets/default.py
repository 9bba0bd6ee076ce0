"""The default: rank space, whole cross-tables chosen where the table is most wrong, few and cheap steps."""

from dataclasses import dataclass, replace
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from tabveil.curator import Answer, Curator, Workload
from tabveil.presets.preset import Watch
from tabveil.privacy import Relation
from tabveil.projection import Annealing, Relaxed, project
from tabveil.queries import Pairs
from tabveil.ranks import learn_ranks
from tabveil.rappp import Ask, Plan, Result, Status, rappp
from tabveil.scale import Lattice, MinMax, Ranks, Scale
from tabveil.schema import Schema
from tabveil.table import Domain


@dataclass(frozen=True)
class Default:
    """Shares of the budget, and how hard the optimiser works."""

    count_share: Fraction = Fraction(1, 100)
    ranks_share: Fraction = Fraction(6, 100)
    alone_share: Fraction = Fraction(4, 100)
    select_share: Fraction = Fraction(15, 100)  # of what is left for cross-tables
    rounds: int = 10
    most_tables: int = 400
    most_cells: int = 2**14
    rows: int = 500
    copies: int = 4
    annealing: Annealing = Annealing(8.0, stages=4, steps=40, tolerance=0.0, learning_rate=0.02)  # noqa: RUF009
    last: Annealing = Annealing(8.0, stages=4, steps=120, tolerance=0.0, learning_rate=0.02)  # noqa: RUF009
    tables: int | None = None
    bins: int | None = None

    def __call__(
        self,
        curator: Curator,
        schema: Schema,
        domain: Domain,
        rho: Fraction,
        relation: Relation,
        seed: int,
        watch: Watch,
    ) -> Result:
        """Fit with cross-tables in rank space."""
        count = rho * self.count_share if relation is Relation.ADD_REMOVE else Fraction(0)
        total = curator.total(count)
        left = rho - count
        strength = total * float(rho) ** 0.5  # how far signal stands above noise
        scale, ranks_noise = MinMax.of(schema), 0.0
        edges: list[np.ndarray] = []
        if domain.numerical:
            share = rho * self.ranks_share
            scale, ranks_noise, spare = learn_ranks(curator, Lattice.of(schema), share, total)
            left -= share - spare
            edges = scale.bins(self.bins or int(np.clip(0.62 * strength ** (1 / 3), 4, 32)))
        pairs = Pairs.over(domain, edges, self.most_cells)
        workload = Workload((pairs,), scale, domain)
        known: list[Answer] = []
        axes = np.arange(len(domain.axes))
        if len(axes):
            known.append(curator.measure(workload, 0, axes, rho * self.alone_share))
            left -= rho * self.alone_share
        known += self._bins_alone(pairs, edges, domain, total, ranks_noise)
        plan = self._plan(pairs, left, strength)
        reference = (
            curator.noise_of(pairs, plan.rounds[0][0].picks, plan.rounds[0][0].measure)
            if plan.rounds
            else 1.0
        )
        start = self._start(domain, known, pairs, seed)
        shown = len(plan.rounds) + 1

        def seen(status: Status) -> None:
            watch(replace(status, rounds=shown))

        result = rappp(
            curator, workload, plan, start, self.annealing, seen,
            total=total, known=known, weight=lambda a: min(4.0, (reference / a.scale) ** 2),
        )  # fmt: skip
        grown = self._grown(result.table, seed)
        table, progress = project(grown, result.measured, self.last)
        watch(Status(shown, shown, float(progress.objective), int(progress.steps)))
        return replace(result, table=table)

    def _bins_alone(
        self, pairs: Pairs, edges: list[np.ndarray], domain: Domain, total: int, noise: float
    ) -> list[Answer]:
        """What rank space already says: how many rows each bin of a number holds."""
        from tabveil.queries import GRID

        found = []
        for number, between in enumerate(edges):
            widths = np.diff(np.concatenate([[0], between, [GRID]])) / GRID
            counts = np.zeros((1, pairs.width), np.int64)
            counts[0, : len(widths)] = np.rint(widths * total)
            found.append(Answer(0, np.array([len(domain.axes) + number]), counts, noise * 3))
        return found

    def _plan(self, pairs: Pairs, rho: Fraction, strength: float) -> Plan:
        candidates = len(pairs) - len(pairs.layout.columns)
        tables = self.tables or int(np.clip(0.15 * strength**0.7, 5, self.most_tables))
        tables = min(tables, candidates)
        if not tables:
            return Plan(Fraction(0), ())
        rounds = min(self.rounds, tables)
        sizes = np.diff(np.linspace(0, tables, rounds + 1).round().astype(int)).tolist()
        per = rho / tables
        ask = [Ask(0, k, per * k * self.select_share, per * k * (1 - self.select_share)) for k in sizes]
        return Plan(Fraction(0), tuple((a,) for a in ask))

    def _start(self, domain: Domain, known: list[Answer], pairs: Pairs, seed: int) -> Relaxed:
        """Independent columns: categories as measured, numbers spread evenly over rank space."""
        random = Relaxed.random(domain, self.rows, jax.random.key(seed))
        logits = np.zeros(domain.cells)
        if len(domain.axes):
            for axis, offset in enumerate(domain.offsets):
                counts = known[0].counts[axis][: domain.sizes[axis]].astype(float)
                share = np.maximum(counts, known[0].scale / 2)
                logits[offset : offset + domain.sizes[axis]] = np.log(share / share.sum())
        even = (jnp.argsort(jnp.argsort(random.numbers, axis=1), axis=1) + 0.5) / self.rows
        return replace(random, logits=random.logits + logits[:, None], numbers=even).clipped()

    def _grown(self, table: Relaxed, seed: int) -> Relaxed:
        """Several copies of each relaxed row, moved apart a little."""
        keys = jax.random.split(jax.random.key(seed + 1))
        logits, numbers = (jnp.tile(a, (1, self.copies)) for a in (table.logits, table.numbers))
        logits += 0.3 * jax.random.normal(keys[0], logits.shape)
        numbers += 0.02 * jax.random.normal(keys[1], numbers.shape)
        return replace(table, logits=logits, numbers=numbers).clipped()


assert Scale and Ranks
