"""AIM: the best next marginal of any order; the price per round adapts to what is learnt."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import ClassVar

import numpy as np

from tabveil.baselines.binned import Binned, BinnedDesk, Codes
from tabveil.baselines.graphical import SCORED_ROWS, Graphical
from tabveil.curator import count
from tabveil.queries import Marginals
from tabveil.queries.family import padded
from tabveil.queries.rows import everyone, nobody
from tabveil.tables.table import Domain, Table

SELECT_SHARE = Fraction(1, 10)


@dataclass(frozen=True)
class Aim(Binned):
    """McKenna et al. 2022, engine mbi: candidates are all parts of the class-conditional marginals.

    `rounds` is how many rounds the budget is planned for, in columns (16 in the original); it is
    spent faster where a round taught nothing. What the model answers is read off rows drawn from
    it.
    """

    title: ClassVar[str] = "AIM"
    source: ClassVar[str] = "McKenna et al. 2022"
    needs: ClassVar[tuple[str, ...]] = ("mbi",)

    rounds: float = 16
    iterations: int = 1000
    most_megabytes: float = 10.0

    def learn(self, desk: BinnedDesk, seed: int) -> tuple[Codes, int]:
        random = np.random.default_rng(seed)
        domain = desk.domain
        candidates = parts_of(domain, self.most_cells)
        family = marginals_of(candidates, domain)
        workload, curator = desk.workload(family), desk.binned()
        weights = shared_columns(candidates)
        model = Graphical(domain, desk.size, self.iterations, self.most_megabytes)

        planned = max(len(domain.axes) + 1, round(self.rounds * len(domain.axes)))
        select, measure = (
            desk.left / planned * share for share in (SELECT_SHARE, 1 - SELECT_SHARE)
        )
        alone = np.array([c for c, axes in enumerate(candidates) if len(axes) == 1])
        answer = curator.measure(workload, family, alone, measure * len(alone))
        counted = zip(alone, answer.counts, strict=True)
        model.learn(
            [(candidates[c], counts[family.filled[c]]) for c, counts in counted], answer.scale
        )
        made = 0
        while desk.left > 0:
            if desk.left < 2 * (select + measure):  # the last round takes what is left
                select, measure = (desk.left * share for share in (SELECT_SHARE, 1 - SELECT_SHARE))
            done = float(desk.spent / desk.rho)
            usable = np.array([c for c, axes in enumerate(candidates) if model.fits(axes, done)])
            usable = usable if len(usable) else alone
            noise = curator.noise_of(family, 1, measure) * np.sqrt(2 / np.pi)
            codes = model.codes(SCORED_ROWS, random)
            rows = Table(codes, np.zeros((len(codes), 0)))
            expected = np.rint(count(workload, rows)[0] * (desk.size / len(codes))).astype(np.int64)
            bias = np.rint(family.cells * noise).astype(np.int64)
            chosen = desk.pick(workload, desk.binning, expected, bias, weights, usable, select)
            answer = curator.measure(workload, family, np.array([chosen]), measure)
            before = model.marginal(candidates[chosen])
            noisy = answer.counts[0, family.filled[chosen]]
            model.learn([(candidates[chosen], noisy)], answer.scale)
            made += 1
            moved = np.abs(model.marginal(candidates[chosen]) - before).sum()
            if moved <= noise * family.cells[chosen]:  # half the noise, and half that of choosing
                select, measure = 4 * select, 4 * measure
        return model.codes, made


def parts_of(domain: Domain, most_cells: int) -> list[tuple[int, ...]]:
    """Every column, every two and every three that a class-conditional marginal is made of."""
    features = [axis for axis in range(len(domain.axes)) if axis not in domain.targets]
    wholes: list[tuple[int, ...]] = [
        (*pair, target) for pair in combinations(features, 2) for target in domain.targets
    ]
    wholes = wholes or list(combinations(range(len(domain.axes)), min(2, len(domain.axes))))
    parts = {
        tuple(sorted(part))
        for whole in wholes
        for part in chain.from_iterable(combinations(whole, k) for k in range(1, len(whole) + 1))
    } | {(axis,) for axis in range(len(domain.axes))}
    small = [
        part
        for part in parts
        if np.prod([domain.sizes[a] for a in part]) <= most_cells or len(part) == 1
    ]
    return sorted(small, key=lambda part: (len(part), part))


def marginals_of(candidates: Sequence[tuple[int, ...]], domain: Domain) -> Marginals:
    """Marginals of different order as one family: a missing column is the cell all rows are in."""
    order = max(map(len, candidates))
    cells = [
        [list(range(domain.offsets[a], domain.offsets[a] + domain.sizes[a])) for a in axes]
        + [[everyone(domain)]] * (order - len(axes))
        for axes in candidates
    ]
    slots = tuple(padded(slot, nobody(domain)) for slot in zip(*cells, strict=True))
    return Marginals(slots, np.array(nobody(domain), np.int32))


def shared_columns(candidates: Sequence[tuple[int, ...]]) -> np.ndarray:
    """How many columns each candidate shares with all the largest ones together."""
    largest = [set(axes) for axes in candidates if len(axes) == max(map(len, candidates))]
    return np.array(
        [sum(len(whole & set(axes)) for whole in largest) for axes in candidates], np.int64
    )
