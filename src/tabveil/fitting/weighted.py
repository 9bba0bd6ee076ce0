"""Public rows that stand for more or fewer people each, so that they agree with noisy answers.

Of all weights that explain the answers, the nearest to the public table in relative entropy: what
was not measured stays as it is there. Sees noisy answers and public rows alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy import sparse
from scipy.optimize import minimize, nnls

from tabveil.curator import Answer
from tabveil.fitting.counting import recounted
from tabveil.queries import Pairs
from tabveil.queries.rows import HARD, real_rows
from tabveil.shapes import Float, Int
from tabveil.tables.numbers import Binned, Mixed, Positions, RelaxedNumbers
from tabveil.tables.placement import GRID, Ranks
from tabveil.tables.table import Domain, Table

USUAL, USUAL_RANGE = 300.0, 1.0
"""How many rows of its own table a public table is usually worth, and how sure that is (in nats).

Between neighbouring states it was 60 to 200 over all columns, and 80 to 700 for half of them.
"""
UNLIKE = 1.2
"""How much columns of one table differ in this, in nats."""
WORTHS = np.geomspace(1.0, 1e5, 51)
FADING = 0.7
"""What earlier forecasts count in each round: those who made them have learnt since."""
BELIEVED = 20.0
"""How much evidence, in squared standard errors, it takes to doubt a public table."""
NEARER = 0.4
"""From where to where, between the two, both are believed."""
REFUTED = 400.0
"""How far apart, in squared standard errors, public rows and relaxed table must then have been."""
USUALLY_OFF = (0.05 / USUAL) ** 0.5
"""How far a usual public table is off in the share of a cell that one row in twenty is in."""
BETWEEN_ROUNDS, AT_THE_END = 10, 30
"""Steps of the optimiser; each begins where the last one ended."""
BATCH = 4096
MOST_TALLIED = 2**14  # rows that say what public rows expect of all cross-tables
SELDOM, COMMON = 0.005, 0.03
"""What fewer public rows have is given to some of them, if clearly more private ones have it."""
NEGLIGIBLE = 1e-3
"""Of the weight that a row begins with; a row of less is left out of a release."""
ABOUT_NOTHING = 1e-4
"""Of a share; no answer counts as known better than this."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Public rows as cells of cross-tables."""

    pairs: Pairs
    domain: Domain
    ranks: Ranks
    rows: Table
    source: Int[np.ndarray, " rows"]  # which of the public tables each comes from

    @cached_property
    def positions(self) -> Int[np.ndarray, "rows numerical"]:
        """Where numbers lie in rank space."""
        return self.ranks.positions(self.rows)

    @cached_property
    def _labels(self) -> dict[str, np.ndarray]:
        tables = self.pairs.tables
        found = tables.labels_of(self.rows.codes, self.positions, self.domain)
        names = (column.name for column in tables.layout.columns)
        return dict(zip(names, found, strict=True))

    def cells(self, pick: int) -> Int[np.ndarray, " rows"]:
        """The cell of one cross-table that each row is in."""
        cell = np.zeros(self.rows.rows, np.int64)
        for column in self.pairs.columns_of(self.pairs.layout.queries[pick]):
            cell = cell * len(column.labels) + self._labels[column.name]
        return cell

    def lacking(self, answer: Answer, total: float) -> Iterator[tuple[int, np.ndarray]]:
        """Columns of which rows lack common values or bins, and how common these are."""
        for pick, counts in zip(answer.picks.tolist(), answer.counts, strict=True):
            columns = self.pairs.columns_of(self.pairs.layout.queries[pick])
            shape = [len(column.labels) for column in columns]
            shares = counts[: np.prod(shape)].reshape(shape) / total
            for axis, column in enumerate(columns):
                place = self.pairs.layout.columns.index(column)
                others = tuple(other for other in range(len(shape)) if other != axis)
                margin = shares.sum(axis=others)
                label = self._labels[column.name]
                held = np.bincount(label, minlength=len(margin)) / self.rows.rows
                absent = held < SELDOM
                noise = answer.scale / total * np.sqrt(absent.sum() * shares.size / len(margin))
                common = np.where(absent, np.maximum(margin, 0.0), 0.0)
                if margin[absent].sum() > max(COMMON, 4 * noise):
                    yield place, common / max(1.0, common.sum())

    def given(self, column: int, common: Float[np.ndarray, " labels"]) -> "Pool":
        """The same rows, of which as many as are `common` get values that they lacked."""
        random = np.random.default_rng(column)
        chosen = np.searchsorted(np.cumsum(common), random.random(self.rows.rows), "right")
        codes, numbers = self.rows.codes.copy(), self.rows.numbers.copy()
        some = np.flatnonzero(chosen < len(common))
        number = column - self.pairs.categorical
        if number < 0:
            axes = [axis for axis in range(codes.shape[1]) if axis not in self.domain.kinds]
            codes[some, axes[column]] = chosen[some]
        else:
            bins = chosen[some] - len(self.domain.special(number))
            axis = self.domain.kinds[number]
            if axis is not None:
                codes[some, axis] = np.where(bins < 0, chosen[some] + 1, 0)
            numbers[some[bins >= 0], number] = self._within(number, bins[bins >= 0], random)
        return replace(self, rows=Table(codes, numbers))

    def _within(self, number: int, bins: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """A number from each of these bins."""
        ends = np.concatenate([[0], self.pairs.tables.bins.edges[number], [GRID]]) / GRID
        shares = np.zeros((len(bins), self.rows.numbers.shape[1]))
        shares[:, number] = ends[bins] + random.random(len(bins)) * np.diff(ends)[bins]
        return self.ranks.numbers(shares)[:, number]

    def memberships(self, picks: Sequence[int]) -> sparse.csr_matrix:
        """Which row is in which cell of these cross-tables, one beside the other."""
        ends = np.cumsum([0, *self.pairs.cells[list(picks)]])
        places = np.empty((self.rows.rows, len(picks)), np.int32)
        for column, (pick, start) in enumerate(zip(picks, ends, strict=False)):
            np.add(self.cells(pick), start, out=places[:, column], casting="unsafe")
        ones = np.ones(places.size, np.float32)  # half the memory to go through in each step
        lines = np.arange(0, places.size + 1, len(picks), dtype=np.int32)
        return sparse.csr_matrix((ones, places.ravel(), lines), (len(places), ends[-1]))

    def tally(self, weights: Float[np.ndarray, " rows"]) -> np.ndarray:
        """The shares of all cells of all cross-tables, if rows have these weights.

        Of many rows, some: this only says which tables look worst, and they differ by more.
        """
        found = self.pairs.tally.nothing().astype(float)
        every = max(1, self.rows.rows // MOST_TALLIED)
        codes, positions = self.rows.codes[::every], self.positions[::every]
        some_weights = weights[::every] / weights[::every].sum() * weights.sum()
        for start in range(0, len(codes), BATCH):
            some = slice(start, start + BATCH)
            rows = real_rows(codes[some], positions[some], self.domain, BATCH)
            weighed = np.zeros(BATCH, np.float32)
            weighed[: len(codes[some])] = some_weights[some]
            found += np.asarray(
                self.pairs.tally.of(replace(rows, weights=jnp.asarray(weighed)), HARD), np.float64
            )
        return found


class Rowwise(NamedTuple):
    """What a release draws its rows from."""

    probabilities: Float[np.ndarray, "cells relaxed"]
    numbers: RelaxedNumbers
    weights: Float[np.ndarray, " relaxed"] | None


class Known(NamedTuple):
    """Noisy shares of cross-tables, one beside the other."""

    picks: list[int]
    shares: Float[np.ndarray, " cells"]
    noise: Float[np.ndarray, " cells"]
    measured: np.ndarray  # whether each was; else it follows from others

    @classmethod
    def of(cls, answers: Iterable[Answer], total: float) -> "Known":
        """The answers to queries, as shares of so many rows."""
        picks, shares, noise, measured = list[int](), [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        for answer in answers:
            for pick, counts in zip(answer.picks.tolist(), answer.counts, strict=True):
                cells = int(answer.family.cells[pick])
                picks.append(pick)
                shares.append(counts[:cells] / total)
                noise.append(np.full(cells, max(answer.scale / total, ABOUT_NOTHING)))
                measured.append(np.full(cells, not answer.derived))
        joined = map(np.concatenate, (shares, noise, measured))
        return cls(picks, *joined)


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Public rows with weights that follow from all answers so far, and how far to trust them.

    Beside them a relaxed table learns the same answers without any public row. Before either learns
    an answer both foretell it: who comes closer is trusted more.
    """

    pool: Pool
    counted: int  # rows
    count_noise: float  # of that number; none where it is public
    noise: float  # in a share of the cross-tables to come
    answers: tuple[Answer, ...] = ()
    weights: Float[np.ndarray, " rows"] = field(default_factory=lambda: np.zeros(0))
    agreed: float = 0.0  # how far answers were from the relaxed table towards these rows
    differed: float = 0.0  # how far these rows were from the relaxed table
    pulls: Float[np.ndarray, " cells"] = field(default_factory=lambda: np.zeros(0))  # of answers

    @classmethod
    def start(cls, pool: Pool, counted: int, count_noise: float, noise: float) -> "WeightedRows":
        """Every public table alike, every row of one alike."""
        even = _even(pool.source, np.ones(pool.source.max() + 1))
        return cls(pool, counted, count_noise, noise, weights=even)

    @cached_property
    def total(self) -> float:
        """How many rows there are, as far as answers tell."""
        return recounted(self.counted, self.count_noise, self.answers)

    @property
    def trust(self) -> float:
        """The share of rows to draw from here; the others come from the relaxed table."""
        # Answers lie somewhere between the two. Whom they are clearly nearer to is believed alone:
        # half of the rows from a worse table would help nobody.
        between = (self.agreed + BELIEVED) / (self.differed + BELIEVED)
        place = np.clip((between - 0.5) / NEARER + 0.5, 0.0, 1.0)
        return float(place**2 * (3 - 2 * place))

    def blended(self, relaxed: np.ndarray) -> np.ndarray:
        """What is expected of all cells, by the `relaxed` table and by these rows.

        Where answers are more exact than a public table could be, the relaxed table will learn
        from them what these rows know, and what it lacks is asked for.
        """
        say = self.trust * np.clip(2 * self.noise / USUALLY_OFF - 1, 0.0, 1.0)
        return relaxed if say == 0 else (1 - say) * relaxed + say * self.pool.tally(self.weights)

    def learnt(self, answers: Sequence[Answer], relaxed: np.ndarray) -> "WeightedRows":
        """With some more answers, of which the `relaxed` table had expected these shares."""
        if not answers:
            return self
        told = replace(self, answers=(*self.answers, *answers))
        told = replace(told, pool=told._supported(answers))
        agreed, differed = told._foretold(answers, relaxed)
        trusted = replace(
            told,
            agreed=FADING * self.agreed + agreed,
            differed=FADING * self.differed + differed,
        )
        return trusted._explaining(BETWEEN_ROUNDS)

    def _supported(self, answers: Sequence[Answer]) -> Pool:
        """Rows that have every value that answers say is common: no weight could bring it about.

        A region that the public table is not of, or a code that is new this year.
        """
        pool = self.pool
        for answer in answers:
            for column, common in pool.lacking(answer, self.total):
                pool = pool.given(column, common)
        return pool

    def settled(self) -> "WeightedRows":
        """The same with weights found to the end."""
        return self._explaining(AT_THE_END) if self.answers else self

    @property
    def refuted(self) -> bool:
        """Whether answers speak against these rows so clearly that none will be drawn from them."""
        return self.trust == 0 and self.differed > REFUTED

    def _explaining(self, steps: int) -> "WeightedRows":
        """Weights that agree with what is known; each public table as much as it is alike."""
        known, pool, source = Known.of(self.answers, self.total), self.pool, self.pool.source
        members = pool.memberships(known.picks)
        own = source[:, None] == np.arange(source.max() + 1)
        expected = members.T @ (own / own.sum(axis=0)).astype(np.float32)
        masses = _mixed(expected, known)
        alike = worth(expected @ masses, known, pool.pairs.cells[known.picks])
        pulls = np.pad(self.pulls, (0, len(known.shares) - len(self.pulls)))
        weights, pulls = tilted(_even(source, masses), members, known, alike, pulls, steps)
        return replace(self, weights=weights, pulls=pulls)

    def beside(self, probabilities: np.ndarray, numbers: Binned) -> "Rowwise":
        """These rows and after them relaxed ones, each side with the weight that it is trusted."""
        kept = np.flatnonzero(self.weights > NEGLIGIBLE / len(self.weights))
        if self.trust == 0 or not len(kept):
            return Rowwise(probabilities, numbers, None)
        domain, relaxed = self.pool.domain, probabilities.shape[1]
        rows = np.zeros((domain.cells, len(kept)), np.float32)
        for axis, offset in enumerate(domain.offsets):
            rows[offset + self.pool.rows.codes[kept, axis], np.arange(len(kept))] = 1.0
        places = ((self.pool.positions[kept].T + 0.5) / GRID).astype(np.float32)
        own = self.weights[kept] / self.weights[kept].sum() * self.trust
        others = np.full(relaxed, (1 - self.trust) / relaxed)
        return Rowwise(
            np.concatenate([rows, probabilities], axis=1),
            Mixed(Positions(places, np.zeros_like(places)), numbers),
            np.concatenate([own, others]).astype(np.float32),
        )

    def _foretold(self, answers: Sequence[Answer], relaxed: np.ndarray) -> tuple[float, float]:
        agreed = differed = 0.0
        for answer in answers:
            if answer.derived:
                continue
            theirs = self.pool.pairs.tally.cells_in(relaxed, answer.picks)
            for pick, counts, other in zip(answer.picks, answer.counts, theirs, strict=True):
                cells = int(answer.family.cells[pick])
                ours = np.bincount(self.pool.cells(int(pick)), self.weights, cells)
                apart = ours - other[:cells]
                noisy = counts[:cells] / self.total - other[:cells]
                scale = (answer.scale / self.total) ** 2
                agreed += float(apart @ noisy) / scale
                differed += float(apart @ apart) / scale
        return agreed, differed


def tilted(
    start: Float[np.ndarray, " rows"],
    members: sparse.csr_matrix,
    known: Known,
    worth: float,
    pulls: Float[np.ndarray, " cells"],
    steps: int,
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " cells"]]:
    """The weights that explain noisy shares best, and move little from where they start.

    They minimise worth · KL(weights ‖ start) + Σ (gap / noise)² / 2. Its dual has one variable a
    cell, is smooth and convex, and its solution gives every weight in closed form. It is looked
    for from these `pulls` on, and given back for the next time.
    """
    by_cell, logs = members.T, np.log(start)
    # About the curvature for each cell by itself: with it, a third of the steps do.
    shares = by_cell @ start.astype(np.float32)
    eased = 1 / np.sqrt(1 + shares * (1 - shares) / (worth * known.noise**2))

    def weights_at(pulls: np.ndarray) -> tuple[np.ndarray, float]:
        heights = logs - members @ (pulls / known.noise / worth).astype(np.float32)
        top = heights.max()
        raised = np.exp(heights - top)
        whole = raised.sum()
        return raised / whole, float(top + np.log(whole))

    def dual(eased_pulls: np.ndarray) -> tuple[float, np.ndarray]:
        pulls = eased_pulls * eased
        weights, height = weights_at(pulls)
        value = worth * height + pulls @ (known.shares / known.noise) + pulls @ pulls / 2
        slope = (known.shares - by_cell @ weights.astype(np.float32)) / known.noise + pulls
        return value, slope * eased

    found = minimize(
        dual,
        pulls / eased,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxcor": 20},
    )
    pulls = found.x * eased
    return weights_at(pulls)[0], pulls


def worth(expected: Float[np.ndarray, " cells"], known: Known, sizes: np.ndarray) -> float:
    """How many rows a public table is worth, by how far noisy answers are from it.

    If people came from a table like it, a share q would lie about √(q(1−q)/worth) off; noise comes
    on top. Columns differ in how alike they are, and the worth is that of a middling one.
    """
    fits = np.zeros(len(WORTHS))
    spread = np.exp(-0.5 * ((np.log(WORTHS[:, None]) - np.log(WORTHS)) / UNLIKE) ** 2)
    spread /= spread.sum(axis=1, keepdims=True)
    ends = np.cumsum(sizes)[:-1]
    parts = (np.split(a, ends) for a in (known.shares - expected, expected, known.noise))
    measured = [part.all() for part in np.split(known.measured, ends)]
    for gap, share, noise, real in zip(*parts, measured, strict=True):
        if not real:
            continue
        people = np.maximum(share * (1 - share), 1e-5) / WORTHS[:, None]
        variance = people + noise**2
        fit = -0.5 * (np.log(variance) + gap**2 / variance).sum(axis=1)
        fits += fit.max() + np.log(spread @ np.exp(fit - fit.max()) + 1e-300)
    fits -= 0.5 * ((np.log(WORTHS) - np.log(USUAL)) / USUAL_RANGE) ** 2
    chances = np.exp(fits - fits.max())
    return float(np.exp(chances @ np.log(WORTHS) / chances.sum()))


def _mixed(expected: Float[np.ndarray, "cells sources"], known: Known) -> np.ndarray:
    """How much each public table takes part, by which mixture of them is nearest to the answers."""
    sources = expected.shape[1]
    if sources == 1:
        return np.ones(1)
    # Towards equal parts, as strongly as a usual public table is trusted.
    lines = np.concatenate(
        [expected / known.noise[:, None], np.eye(sources) * np.sqrt(USUAL * sources)]
    )
    wanted = np.concatenate(
        [known.shares / known.noise, np.full(sources, (USUAL / sources) ** 0.5)]
    )
    masses, _ = nnls(lines, wanted)
    masses = np.maximum(masses, 1e-6)
    return masses / masses.sum()


def _even(source: Int[np.ndarray, " rows"], masses: np.ndarray) -> Float[np.ndarray, " rows"]:
    """Weights that give each public table its mass, evenly over its rows."""
    held = np.bincount(source, minlength=len(masses))
    weights = (masses / np.maximum(held, 1))[source]
    return np.asarray(weights / weights.sum())
