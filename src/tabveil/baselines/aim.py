"""AIM: the best next marginal of any order; the price per round adapts to what is learnt."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, zip_longest
from typing import ClassVar

import jax
import numpy as np

from tabveil.baselines.binned import Binned, BinnedDesk, Codes
from tabveil.baselines.graphical import Graphical
from tabveil.errors import InvalidInput
from tabveil.queries import Marginals
from tabveil.queries.family import Lines, padded
from tabveil.queries.rows import everyone, nobody
from tabveil.tables.table import Domain

SELECT_SHARE = Fraction(1, 10)
MEASURE_SHARE = 1 - SELECT_SHARE
MOST_GIGABYTES = 16.0  # of counts; each candidate takes as much room as any could


@dataclass(frozen=True)
class Aim(Binned):
    """McKenna et al. 2022: candidates are all parts of the class-conditional marginals.

    Without a target, they are all parts of the marginals of `degree` columns. `rounds` is how many
    rounds the budget is planned for, in columns (16 in the original); it is spent faster where a
    round taught nothing. What the model says of a candidate is exact where its tree has the columns
    together, and else read off rows drawn from it.
    """

    title: ClassVar[str] = "AIM"
    source: ClassVar[str] = "McKenna et al. 2022"

    rounds: float = 16
    iterations: int = 1000
    most_megabytes: float = 80.0
    degree: int = 3

    def learn(self, desk: BinnedDesk, seed: int) -> tuple[Codes, int]:
        random = np.random.default_rng(seed)
        domain = desk.domain
        candidates = parts_of(domain, self.degree, self.most_cells)
        refuse_too_many_cells(candidates, domain)
        family = marginals_of(candidates, domain)
        workload, curator = desk.workload(family), desk.binned()
        weights, filled = shared_columns(candidates), family.filled
        cells = filled.sum(axis=1)
        model = Graphical(domain, desk.size, self.iterations, self.most_megabytes)

        planned = max(len(domain.axes) + 1, round(self.rounds * len(domain.axes)))
        price = desk.left / planned
        alone = np.array([c for c, axes in enumerate(candidates) if len(axes) == 1])
        answer = curator.measure(workload, family, alone, MEASURE_SHARE * price * len(alone))
        counted = zip(alone, answer.counts, strict=True)
        model.learn([(candidates[c], counts[filled[c]]) for c, counts in counted], answer.scale)
        made = 0
        while desk.left > 0:
            if desk.left < 2 * price:  # the last round takes what is left
                price = desk.left
            done = float((desk.spent + price) / desk.rho)
            usable = [c for c, axes in enumerate(candidates) if model.fits(axes, done)]
            answers = model.marginals([candidates[c] for c in usable], random)
            noise = curator.noise_of(family, 1, MEASURE_SHARE * price) * np.sqrt(2 / np.pi)
            chosen = desk.pick(
                workload,
                desk.binning,
                in_lines(usable, answers, filled),
                np.rint(cells * noise).astype(np.int64),
                weights,
                np.array(usable),
                SELECT_SHARE * price,
            )
            axes = candidates[chosen]
            answer = curator.measure(workload, family, np.array([chosen]), MEASURE_SHARE * price)
            before = model.marginal(axes)
            model.learn([(axes, answer.counts[0, filled[chosen]])], answer.scale)
            made += 1
            if np.abs(model.marginal(axes) - before).sum() <= noise * cells[chosen]:
                price = 4 * price  # half the noise, and half that of choosing
        return model.codes, made


def in_lines(
    usable: Sequence[int], answers: Sequence[np.ndarray], filled: np.ndarray
) -> np.ndarray:
    """Whole counts of the usable candidates, each in its line; nothing in those of the others."""
    lines = np.zeros(filled.shape, np.int64)
    for candidate, counts in zip(usable, answers, strict=True):
        lines[candidate, filled[candidate]] = np.rint(counts)
    return lines


def parts_of(domain: Domain, degree: int, most_cells: int) -> list[tuple[int, ...]]:
    """Every column, and all that the marginals with a target, or of `degree` columns, consist of.

    Those of more than `most_cells` cells are left out.
    """
    columns = range(len(domain.axes))
    features = [axis for axis in columns if axis not in domain.targets]
    wholes: list[tuple[int, ...]] = [
        (*some, target)
        for target in domain.targets
        for some in combinations(features, min(degree - 1, len(features)))
    ] or list(combinations(columns, min(degree, len(columns))))
    parts = {
        tuple(sorted(part))
        for whole in wholes
        for part in chain.from_iterable(combinations(whole, k) for k in range(1, len(whole) + 1))
    } | {(axis,) for axis in columns}
    small = [
        part
        for part in parts
        if np.prod([domain.sizes[a] for a in part]) <= most_cells or len(part) == 1
    ]
    return sorted(small, key=lambda part: (len(part), part))


def refuse_too_many_cells(candidates: Sequence[tuple[int, ...]], domain: Domain) -> None:
    """Say in one line that this cannot be held, before anything is paid for."""
    slots = zip_longest(
        *([domain.sizes[axis] for axis in axes] for axes in candidates), fillvalue=1
    )
    cells = len(candidates) * math.prod(max(sizes) for sizes in slots)
    gigabytes = cells * np.dtype(np.int64).itemsize / 1e9
    if gigabytes > MOST_GIGABYTES:
        raise InvalidInput(
            f"The {len(candidates):,} marginals that AIM chooses from would need "
            f"{gigabytes:,.0f} GB of memory.",
            "Leave out columns of many categories, or choose marginals of two columns: degree = 2.",
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MixedMarginals(Marginals):
    """Marginals of different order as one family: a missing column is the cell all rows are in."""

    @property
    def tally(self) -> Lines:
        return Lines(self, count=self._counted)

    def _counted(self, codes: np.ndarray, positions: np.ndarray, domain: Domain) -> np.ndarray:
        """Exact counts of real rows, by the cell that each is in."""
        total = np.zeros((len(self), self.width), np.int64)
        for query in range(len(self)):
            cells = np.zeros(len(codes), np.int64)
            for slot in self.slots:
                first = int(slot[query, 0])
                cells *= slot.shape[1]
                if first != everyone(domain):
                    cells += codes[:, np.searchsorted(domain.offsets, first, "right") - 1]
            total[query] = np.bincount(cells, minlength=self.width)
        return total


def marginals_of(candidates: Sequence[tuple[int, ...]], domain: Domain) -> MixedMarginals:
    """These candidates as one family."""
    order = max(map(len, candidates))
    cells = [
        [list(range(domain.offsets[a], domain.offsets[a] + domain.sizes[a])) for a in axes]
        + [[everyone(domain)]] * (order - len(axes))
        for axes in candidates
    ]
    slots = tuple(padded(slot, nobody(domain)) for slot in zip(*cells, strict=True))
    return MixedMarginals(slots, np.array(nobody(domain), np.int32))


def shared_columns(candidates: Sequence[tuple[int, ...]]) -> np.ndarray:
    """How many columns each candidate shares with all the largest ones together."""
    largest = [set(axes) for axes in candidates if len(axes) == max(map(len, candidates))]
    return np.array(
        [sum(len(whole & set(axes)) for whole in largest) for axes in candidates], np.int64
    )
