"""The default: rank space, whole cross-tables where the table is most wrong, few and cheap steps.

All rules below come from public things: the schema, ε and δ, and the (noisy or public) number of
rows.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, combinations
from threading import Thread
from typing import ClassVar, final

import jax
import numpy as np

from tabveil.curator import Answer, Curator, Workload
from tabveil.errors import InvalidInput
from tabveil.fitting.counting import recounted
from tabveil.fitting.given import EXACT, given_answers
from tabveil.fitting.presets.preset import Task, Watch
from tabveil.fitting.projection import Annealing, project
from tabveil.fitting.ranks import DISTRIBUTIONS, Learnt, learn_ranks, ranks_spending
from tabveil.fitting.rappp import Ask, Plan, Result, Status, dealt_out, rappp, rehearse
from tabveil.fitting.relaxed import Mixture, prices_in
from tabveil.fitting.single_columns import as_measured
from tabveil.fitting.spending import (
    CountedColumn,
    Outlook,
    Purchase,
    Spending,
    counted,
    rounds_of,
    row_count,
)
from tabveil.fitting.weighted import WeightedRows
from tabveil.privacy import DELTA, Relation
from tabveil.queries import GRID, Pairs
from tabveil.tables.placement import Lattice
from tabveil.tables.table import Domain

MOST_BINS, MOST_BINS_TOGETHER = 32, 2000  # of a number, and of all numbers
FINER, FINER_ALONE = 0.7, 2.0  # times the cube root of strength: bins; of the only number
USUAL_TARGETS = 5  # fewer leave more of the budget to each of their tables, and bins may be finer
MOST_WEIGHT = 4.0  # of an answer, where that of a chosen cross-table is 1
BETWEEN_ROUNDS = Annealing(stages=1, steps=30, tolerance=0.0, learning_rate=0.04)
AT_THE_END = Annealing(stages=4, steps=45, tolerance=0.0, learning_rate=0.05, cooling=0.6)
NO_ROUNDS = Plan(Fraction(0), ())
COLUMNS, WITH_TARGETS = "columns", "tables with targets"  # purposes of the budget


@dataclass(frozen=True)
class Share:
    """A part of the budget that keeps some noise low: more where noise is strong."""

    least: Fraction
    most: Fraction
    noise: float  # wanted at most, as a share of all rows

    def of(self, task: Task, queries: int, total: int) -> Fraction:
        """ρ for so many columns or cross-tables that are measured together."""
        if not queries:
            return Fraction(0)
        wanted = queries / (2 * (self.noise * task.strength(total)) ** 2)
        return task.rho * min(
            self.most, max(self.least, Fraction(min(wanted, 1.0)).limit_denominator(1000))
        )


@dataclass(frozen=True)
class Outline:
    """What is asked for, and its price: public but for the (noisy) number of rows."""

    count: Fraction  # ρ for the number of rows
    ranks: Fraction  # ρ for rank space, of which some may be left
    alone: Fraction  # ρ for categorical columns alone
    columns: np.ndarray  # which ones: those that nothing public tells as well
    numbers: np.ndarray  # of which rank space tells enough alone
    given: list[Answer]  # published already
    together: Fraction  # ρ for the cross-tables that are measured without choosing
    with_targets: np.ndarray  # which ones these are; none where they would be mostly noise
    plan: Plan

    def to_choose_from(self, pairs: Pairs) -> int:
        """How many cross-tables the rounds choose from: those that nothing tells before."""
        given = [answer.picks for answer in self.given]
        alone = pairs.alone([*self.columns, *(pairs.categorical + self.numbers)])
        return len(pairs) - len(np.unique(np.concatenate([alone, self.with_targets, *given])))

    def room(self, pairs: Pairs) -> int:
        """How many cross-tables will be known at the end."""
        return self.known(pairs) + self.plan.room(pairs)

    def known(self, pairs: Pairs) -> int:
        """How many are known before the rounds."""
        given = sum(len(answer.picks) for answer in self.given)
        return given + len(self.columns) + len(self.numbers) + len(self.with_targets)


@dataclass(frozen=True)
class Effort:
    """How hard the optimiser works, and in how much memory.

    It changes no cost: which looks are taken, and for how much each round, is settled without it.
    It does change how well the table fits what is known, and with it which queries look worst.
    """

    rows: int = 1000  # of the relaxed table, where noise limits what they can show
    more_from: float = 50_000.0  # strength; beyond it, effort limits the table and not noise
    most_memory: int = 8 * 10**9  # bytes; a schema that needs more is refused
    between_rounds: Annealing = BETWEEN_ROUNDS
    at_the_end: Annealing = AT_THE_END

    def at(self, strength: float) -> "Effort":
        """One of two efforts, so that compiled programs can be used again."""
        if strength < self.more_from:
            return self
        between, last = (
            replace(steps, steps=2 * steps.steps)
            for steps in (self.between_rounds, self.at_the_end)
        )
        return replace(self, rows=3 * self.rows, between_rounds=between, at_the_end=last)

    def steps(self, rounds: int) -> int:
        """Steps of the optimiser in the whole fit."""
        between, last = self.between_rounds, self.at_the_end
        return rounds * between.stages * between.steps + last.stages * last.steps


@final
@dataclass(frozen=True)
class Default:
    """Shares of the budget and what is asked for them; `effort` changes no charge."""

    count_share: Fraction = Fraction(1, 100)
    # Where a public table leaves little else to learn, shares of a wrong number hurt most.
    public_count_share: Fraction = Fraction(4, 100)
    ranks_share: Share = Share(Fraction(10, 100), Fraction(20, 100), noise=0.0025)
    alone_share: Fraction = Fraction(15, 100)
    # Where noise is strong, rounds find little that is worth more than what targets hang on.
    targets_share: Share = Share(Fraction(20, 100), Fraction(40, 100), noise=0.009)
    # In a table that is measured without being chosen, as a share of all rows. Each of those with a
    # target may be mostly noise: all together they tell more than a few chosen ones, unless a
    # public table tells it as well.
    most_noise: float = 5.0
    most_noise_beside_public: float = 0.15
    select_share: Fraction = Fraction(8, 100)  # of what is left for cross-tables
    rounds: int = 10
    # of candidates: picking from fewer is quicker and, in our tests, no worse
    picks_in_a_group: int = 8
    most_cells: int = 2**14
    most_crossed: int = 2**20  # cells of all pairs within classes, where no target is named
    clear_cells: float = 6.0  # of three columns, times strength to the power of 0.6; likewise
    unheard: float = 1.0  # of the noise to come, below which an error in a cell does not count
    # The power of a cross-table's cells that its part of the budget grows with.
    by_size: float = 0.5
    # Of a nat that a row knows beyond the table, in units of the noise in a share. Without it rows
    # learn the noise: some tables then come out worse than if their columns were independent.
    price: float = 4.0
    # What rows fall short of for that price, round after round, is asked for on top: this share.
    insistence: float = 0.11
    effort: Effort = Effort()

    takes_public: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse shares that may leave nothing to choose with, whatever the number of rows is."""
        counted = max(self.count_share, self.public_count_share)
        shares = counted + self.ranks_share.most + self.alone_share + self.targets_share.most
        if shares >= 1:
            raise InvalidInput(
                f"The shares of the default preset come to {float(shares):g} of the budget.",
                "Let them leave something for the cross-tables that rounds choose.",
            )

    def check(self, domain: Domain) -> None:
        """Refuse a schema whose cross-tables would not fit into memory."""
        needed = self.memory(domain)
        if needed > self.effort.most_memory:
            cells = _cells(domain)
            raise InvalidInput(
                f"Cross-tables of {cells:,} categories and bins would need {needed / 1e9:.0f} GB "
                "of memory.",
                "Declare fewer categories with `other: true`, group them, or name fewer targets.",
            )

    def default_delta(self, rows: int | None) -> float:
        """The same for every table."""
        return DELTA

    def spending(self, task: Task, rows: int) -> Spending:
        """What is bought, with numbers cut into equally full bins and all of rank space paid."""
        bins = bins_for(task.strength(rows), task.domain)
        limits = self.within(task.domain), self.clear(task, rows)
        pairs = _equally_full(task.domain, bins, self.most_cells, *limits)
        outline = self.outline(task, pairs, rows)
        purchases = self._purchases(task, pairs, outline)
        outlook = self._outlook(task, pairs, outline, purchases, rows)
        return Spending(purchases, len(outline.plan.rounds), outlook)

    def __call__(self, curator: Curator, task: Task, watch: Watch) -> Result:
        """Count the rows, learn rank space and single columns, then cross-tables round by round."""
        domain = task.domain
        self.check(domain)
        total = task.rows or curator.total(self.count_cost(task))
        public = task.public
        lattice, ranks_cost = Lattice.of(task.schema), self.ranks_cost(task, total)
        below = None if public is None else public.below(lattice)
        learnt = learn_ranks(curator, lattice, ranks_cost, total, below)
        ranks, special, noise = learnt.ranks, learnt.special, learnt.noise
        bins = bins_for(task.strength(total), domain)
        edges = ranks.bins(bins, task.impossible.turning_points(ranks))
        names = [ranks.intervals(column, between) for column, between in enumerate(edges)]
        limits = self.within(domain), self.clear(task, total)
        pairs = Pairs.over(domain, edges, self.most_cells, names, *limits)
        outline = self.outline(task, pairs, total, learnt)
        plan = outline.plan
        reference = max(
            [curator.noise_of(pairs, tables.picks, tables.measure) for tables, *_ in plan.rounds],
            default=1,
        )
        noise_share = reference / max(1, total)
        zeros = task.impossible.zeros(pairs, noise_share, MOST_WEIGHT)
        workload = Workload((pairs,), ranks, domain)
        effort = self.effort.at(task.strength(total))
        empty = soft_rows(pairs, domain, {}, effort.rows, task.seed)
        room = outline.room(pairs) + len(zeros.picks)
        rehearsal = Thread(target=rehearse, args=(workload, [room], empty))
        rehearsal.start()

        alone, crossed = self._measured(curator, workload, pairs, outline)
        counted = round(recounted(total, self.count_noise(task), [*alone, *crossed]))
        special = [apart * (counted / max(1, total)) for apart in special]
        given = given_answers(task.schema.parsed_totals, pairs, counted)
        known = [*alone, *given]
        known += _numbers_alone(pairs, edges, special, counted, learnt, outline.numbers)
        known += crossed
        counts = dict(_kinds_alone(domain, special, counted, noise))
        if public is not None:
            counts |= {axis: public.shares(axis) * counted for axis in range(pairs.categorical)}
        counts |= dict(_alone([*given, *alone], pairs, domain))
        start = soft_rows(pairs, domain, counts, effort.rows, task.seed)
        beside = None
        if public is not None:
            pool = public.pool(pairs, ranks, counts, task.seed)
            beside = WeightedRows.start(pool, total, self.count_noise(task), noise_share)
        softness = self.price * noise_share
        rounds = len(plan.rounds) + 1  # and the last projection
        rehearsal.join()
        result = rappp(
            curator,
            workload,
            plan,
            start,
            replace(effort.between_rounds, softness=softness),
            lambda status: watch(replace(status, rounds=rounds)),
            total=counted,
            known=known,
            zeros=zeros,
            public=beside,
            insistence=self.insistence,
            # inverse variance, within reason
            weight=lambda answer: min(MOST_WEIGHT, (reference / answer.scale) ** 2),
        )
        last = replace(effort.at_the_end, softness=softness)
        table, progress = project(result.table, result.measured, last)
        table = as_measured(table, result.answers, pairs, counted, zeros)
        watch(Status(rounds, rounds, float(progress.misfit), int(progress.steps)))
        return replace(result, table=table, public=result.public and result.public.settled())

    def _measured(
        self, curator: Curator, workload: Workload, pairs: Pairs, outline: Outline
    ) -> tuple[list[Answer], list[Answer]]:
        """Columns alone, and tables with targets: what is measured without choosing."""
        alone, crossed = (
            [
                curator.measure(workload, pairs, alike, part)
                for alike, part in dealt_out(pairs, picks, rho, self.by_size)
            ]
            for picks, rho in (
                (pairs.alone(outline.columns), outline.alone),
                (outline.with_targets, outline.together),
            )
        )
        return alone, crossed

    def count_cost(self, task: Task) -> Fraction:
        """ρ for the number of rows; nothing where it is public."""
        if task.relation is not Relation.ADD_REMOVE or task.rows:
            return Fraction(0)
        return task.rho * (self.count_share if task.public is None else self.public_count_share)

    def count_noise(self, task: Task) -> float:
        """The standard deviation of the noise in it."""
        cost = self.count_cost(task)
        return task.protection.noise_of(1, cost) if cost else 0.0

    def ranks_cost(self, task: Task, total: int) -> Fraction:
        """ρ for rank space, at most."""
        numbers = len(task.domain.numerical)
        spare = self._spare(task) / 4 if numbers else Fraction(0)
        return self.ranks_share.of(task, numbers, total) + spare

    def _spare(self, task: Task) -> Fraction:
        """What tables with targets would get, if there were any: most of it to single columns."""
        return Fraction(0) if task.domain.crossed else task.rho * self.targets_share.least

    def _together(self, task: Task, tables: int, total: int) -> Fraction:
        """ρ for the tables with targets: little beside a public table, which tells much of them."""
        if task.public is not None:
            return task.rho * self.targets_share.least
        return self.targets_share.of(task, tables, total)

    def outline(
        self, task: Task, pairs: Pairs, total: int, learnt: Learnt | None = None
    ) -> Outline:
        """What will be asked of these cross-tables; rounds also get what rank space left over."""
        rho, domain = task.rho, task.domain
        count, ranks = self.count_cost(task), self.ranks_cost(task, total)
        given = given_answers(task.schema.parsed_totals, pairs, total)
        told = np.concatenate([np.zeros(0, int), *(answer.picks for answer in given)])
        own = np.arange(len(domain.numerical)) if learnt is None else learnt.own
        columns, alone, numbers = self._alone(task, pairs, total, told, own)
        with_targets = pairs.with_targets(domain.crossed)
        with_targets = with_targets[~np.isin(with_targets, told)]
        together = self._together(task, len(with_targets), total)
        first = with_targets[:0]  # to choose from before all others
        if not self._worthwhile(task, pairs, with_targets, together, total):
            first, with_targets, together = with_targets, first, Fraction(0)
        unspent = Fraction(0) if learnt is None else learnt.unspent
        spent = count + ranks - unspent + alone + together
        outline = Outline(
            count, ranks, alone, columns, numbers, given, together, with_targets, NO_ROUNDS
        )
        candidates = len(pairs) - outline.known(pairs)
        plan = self._plan(pairs, candidates, rho - spent, task.strength(total), first)
        return replace(outline, plan=plan)

    def _alone(
        self, task: Task, pairs: Pairs, total: int, told: np.ndarray, own: np.ndarray
    ) -> tuple[np.ndarray, Fraction, np.ndarray]:
        """Which categorical columns are measured alone, ρ for them, and which numbers are known.

        Where noise would drown them, what a public table says of its columns is better, and those
        that it is wrong about come up among the cross-tables; of numbers, they are known already.
        """
        everything = np.arange(pairs.categorical)
        columns = everything[~np.isin(pairs.alone(everything), told)]
        rho = Fraction(0)
        if pairs.categorical:
            rho = task.rho * self.alone_share + self._spare(task) / 2
        enough = task.public is None or self._worthwhile(
            task, pairs, pairs.alone(columns), rho, total
        )
        if task.public is not None and not enough:
            names = [pairs.layout.columns[column].name for column in columns]
            columns = columns[[not task.public.knows(name) for name in names]]
        numbers = np.arange(len(task.domain.numerical)) if enough else own
        return columns, rho * len(columns) / max(1, pairs.categorical), numbers

    def memory(self, domain: Domain) -> int:
        """Bytes for all cross-tables: exact counts, expected counts, evidence and its gradient."""
        classes = _classes(domain)
        layers = 1 + sum(classes[column] for column in self.within(domain))
        return 32 * layers * _cells(domain) ** 2

    def within(self, domain: Domain) -> tuple[int, ...]:
        """The columns within whose classes pairs of others may be measured.

        Targets and strata; where none is named, as many columns as there is room for.
        """
        if domain.crossed:
            return domain.crossed
        classes = _classes(domain)
        # Every three columns have one that is none of the last two.
        by_size = sorted(classes, key=lambda column: classes[column])[:-2]
        layers = accumulate(classes[column] for column in by_size)
        room = self.most_crossed // _cells(domain) ** 2
        return tuple(c for c, used in zip(by_size, layers, strict=True) if used <= room)

    def clear(self, task: Task, total: int) -> int | None:
        """The most cells of a table of three columns that nobody named; a power of two.

        A table that would be mostly noise is no loss, and among fewer the choice is better.
        """
        if task.domain.crossed:
            return None
        return int(2 ** np.rint(np.log2(self.clear_cells * max(1.0, task.strength(total)) ** 0.6)))

    def _purchases(self, task: Task, pairs: Pairs, outline: Outline) -> tuple[Purchase, ...]:
        """An outline as purposes of the budget, in the order in which they are paid."""
        protection, moved = task.protection, pairs.cells_moved
        numbers, crossed = len(task.domain.numerical), len(outline.with_targets)
        return (
            *row_count(outline.count, protection),
            *ranks_spending(numbers, outline.ranks, protection),
            *counted(
                COLUMNS,
                f"{len(outline.columns)} categorical columns",
                outline.alone,
                protection,
                len(outline.columns),
                moved,
            ),
            *counted(
                WITH_TARGETS,
                f"{crossed} cross-tables of a target and a column",
                outline.together,
                protection,
                crossed,
                moved,
            ),
            *rounds_of(outline.plan, [(pairs, outline.to_choose_from(pairs))], protection),
        )

    def _outlook(
        self,
        task: Task,
        pairs: Pairs,
        outline: Outline,
        purchases: Sequence[Purchase],
        rows: int,
    ) -> Outlook:
        noise = {p.purpose: p.noise for p in purchases if p.noise is not None}
        cells = pairs.cells[pairs.alone(outline.columns)]
        alone = self._noise_by_size(noise.get(COLUMNS, np.inf), cells)
        kinds = [
            ("categorical", alone(pairs.cells[place]) if column in outline.columns else EXACT)
            for column, place in enumerate(pairs.alone(range(pairs.categorical)))
        ]
        kinds += [("numerical", noise[DISTRIBUTIONS]) for _ in task.domain.numerical]
        columns = tuple(
            CountedColumn(column.name, kind, len(column.labels), scale)
            for column, (kind, scale) in zip(pairs.layout.columns, kinds, strict=True)
        )
        sizes = [column.cells for column in columns]
        chosen = self._noise_by_size(noise.get(pairs.name, np.inf), pairs.cells[len(columns) :])
        direct = {pairs.layout.queries[q][:2] for q in outline.with_targets}
        tables = {
            (i, j): chosen(sizes[i] * sizes[j]) for i, j in combinations(range(len(columns)), 2)
        }
        together = self._noise_by_size(
            noise.get(WITH_TARGETS, np.inf), pairs.cells[outline.with_targets]
        )
        tables |= {(i, j): min(tables[i, j], together(sizes[i] * sizes[j])) for i, j in direct}
        told = [pairs.layout.queries[q] for answer in outline.given for q in answer.picks]
        tables |= {(q.one, q.other): EXACT for q in told if not q.alone and not q.group}
        effort = self.effort.at(task.strength(rows))
        return Outlook(
            columns=columns,
            tables=tables,
            measured=outline.plan.room(pairs) + len(outline.with_targets),
            candidates=len(pairs) - len(columns),
            memory=self.memory(task.domain),
            # Each step takes three products, of a multiplication and an addition each.
            multiplications=effort.steps(len(outline.plan.rounds))
            * effort.rows
            * 6
            * pairs.effort(outline.room(pairs)),
            counts=pairs.tables.counting.counts,
        )

    def _noise_by_size(self, equal: float, cells: np.ndarray) -> Callable[[int], float]:
        """The noise in a table of so many cells, if with equal parts all had `equal` noise."""
        mean = float((cells.astype(float) ** self.by_size).mean()) if len(cells) else 1.0
        return lru_cache(lambda size: equal * math.sqrt(mean / size**self.by_size))

    def _worthwhile(
        self, task: Task, pairs: Pairs, picks: np.ndarray, rho: Fraction, total: int
    ) -> bool:
        """Whether tables measured together without choosing would be more than noise."""
        if not len(picks):
            return False
        noise = task.protection.noise_of(len(picks), rho, pairs.cells_moved) * np.sqrt(2 / np.pi)
        most = self.most_noise if task.public is None else self.most_noise_beside_public
        return bool(noise * pairs.cells[picks].mean() <= most * total)

    def _plan(
        self,
        pairs: Pairs,
        candidates: int,
        rho: Fraction,
        strength: float,
        first: np.ndarray,
    ) -> Plan:
        """Few cross-tables where noise is strong, many where it is weak; rounds of equal size.

        Of the rounds, the early half chooses among the tables that come `first`: with nothing known
        of its target, a table trains no model at all.
        """
        tables = tables_for(strength, candidates)
        if tables == 0:
            return NO_ROUNDS
        ends = np.linspace(0, tables, min(self.rounds, tables) + 1).round().astype(int)
        rounds: list[tuple[Ask]] = []
        for picks in np.diff(ends).tolist():
            left = len(first) - sum(ask.picks for (ask,) in rounds)
            early = 2 * len(rounds) < len(ends) - 1 and picks <= left
            price = rho * picks / tables
            select = price * self.select_share
            groups = max(1, picks // self.picks_in_a_group)
            among = tuple(first.tolist()) if early else None
            measure = price - select
            ask = Ask(pairs, picks, select, measure, groups, among, self.unheard, self.by_size)
            rounds.append((ask,))
        return Plan(Fraction(0), tuple(rounds))


def soft_rows(
    pairs: Pairs, domain: Domain, counts: Mapping[int, np.ndarray], rows: int, seed: int
) -> Mixture:
    """A first table: categories of an axis as often as counted, numbers even over rank space."""
    random = np.random.default_rng(seed)
    bins = pairs.tables.bins
    logits, within = (
        random.standard_normal((cells, rows), np.float32)
        for cells in (domain.cells, len(bins.number))
    )
    for axis, (offset, size) in enumerate(zip(domain.offsets, domain.sizes, strict=True)):
        if axis in counts:
            logits[offset : offset + size] += np.log(counts[axis] / counts[axis].sum())[:, None]
    widths = [np.diff(np.concatenate([[0], between, [GRID]])) / GRID for between in bins.edges]
    used = np.concatenate([np.zeros(0), *widths])
    within[: len(used)] += np.log(used)[:, None]
    prices = prices_in(domain)
    start = Mixture(logits, within, bins, domain.sizes, len(domain.numerical), prices)
    return jax.device_put(start.moved(start.parameters))


def tables_for(strength: float, candidates: int) -> int:
    """How many cross-tables to choose: each more costs all others some of their budget."""
    return min(candidates, max(4, int(strength**0.85 * candidates**0.5 / 240)))


@lru_cache(maxsize=8)  # plans for other ε mostly need the same ones, and are made while it moves
def _equally_full(
    domain: Domain, bins: int, most_cells: int, within: tuple[int, ...], most_within: int | None
) -> Pairs:
    """The cross-tables of a plan, with numbers cut into equally full bins."""
    edges = [np.arange(1, bins) * GRID // bins for _ in domain.numerical]
    return Pairs.over(domain, edges, most_cells, None, within, most_within)


def bins_for(strength: float, domain: Domain) -> int:
    """Coarse bins where noise is strong: every cell of a cross-table costs the same noise.

    Tables of two numbers have the square of the bins. Where there is one number, there are none of
    these, and its bins may be finer. Noise in the tables of k targets grows with the root of k.
    """
    numbers, targets = len(domain.numerical), len(domain.targets) or USUAL_TARGETS
    finer = FINER_ALONE if numbers == 1 else FINER
    heard = strength * math.sqrt(USUAL_TARGETS / targets)
    return int(np.clip(4 + finer * heard ** (1 / 3), 6, most_bins(numbers)))


def most_bins(numbers: int) -> int:
    """Fewer where there are many numbers: time and memory grow with the square of all bins."""
    return min(MOST_BINS, max(6, MOST_BINS_TOGETHER // max(1, numbers)))


def _classes(domain: Domain) -> dict[int, int]:
    """How many classes each column of cross-tables tells apart, at most."""
    columns = [size for axis, size in enumerate(domain.sizes) if axis not in domain.kinds]
    bins = most_bins(len(domain.numerical))
    columns += [bins + len(domain.special(number)) for number in range(len(domain.numerical))]
    return dict(enumerate(columns))


def _cells(domain: Domain) -> int:
    """Categories and bins, at most."""
    return domain.cells + most_bins(len(domain.numerical)) * len(domain.numerical)


def _numbers_alone(
    pairs: Pairs,
    edges: list[np.ndarray],
    special: list[np.ndarray],
    total: int,
    learnt: Learnt,
    numbers: np.ndarray,
) -> list[Answer]:
    """What rank space already says of these numbers alone: rows with special values and in bins."""
    found = []
    for number in numbers.tolist():
        between, apart = edges[number], special[number]
        widths = np.diff(np.concatenate([[0], between, [GRID]])) / GRID
        alone = np.concatenate([apart, widths * max(0.0, total - apart.sum())])
        counts = np.zeros((1, pairs.width), np.int64)
        counts[0, : len(alone)] = np.rint(alone)
        place = pairs.alone([pairs.categorical + number])
        noise = max(float(learnt.noise[number]), learnt.noise_in_bins(number, between))
        found.append(Answer(pairs, place, counts, noise, derived=True))
    return found


def _alone(answers: list[Answer], pairs: Pairs, domain: Domain) -> Iterator[tuple[int, np.ndarray]]:
    """For each categorical column that is told alone, about how many rows each value has."""
    for answer in answers:
        for pick, counts in zip(answer.picks.tolist(), answer.counts, strict=True):
            query = pairs.layout.queries[pick]
            if query.alone:
                yield query.one, np.maximum(counts[: domain.sizes[query.one]], answer.scale / 2)


def _kinds_alone(
    domain: Domain, special: list[np.ndarray], total: int, noise: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """For each axis of kinds, about how many rows are ordinary or have each special value."""
    for axis, apart, scale in zip(domain.kinds, special, noise, strict=True):
        if axis is not None:
            yield axis, np.maximum([total - apart.sum(), *apart], max(1.0, scale / 2))
