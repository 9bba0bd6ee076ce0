"""JAM with a public table, as mechanisms/jam.py of mbi has it: rows in, synthetic rows out.

    PYTHONPATH=private-pgm/mechanisms python jam_public.py FOLDER PUBLIC EPSILON SEED OUT

The environment is requirements-jam.txt and mbi itself, from a copy of ryan112358/private-pgm.
Published for neighbours where one row is replaced, it is run for one more or one less: marginals
then move by 1, scores by 2 as before. The number of private rows is taken as known.
Its loop, its choices and its noise are its own. Counts, sizes, marginals and steps of the optimiser
are the same to rounding, but done here, in less time.
"""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import jam
import numpy as np
import pandas as pd
from binned import Binned, arguments
from mbi import Domain, MarkovRandomField, estimation, junction_tree

DELTA = 1e-9
ROWS = 20_000
# of its optimiser in each round, which takes 1000 as it comes; noise is not touched by it
STEPS = 300
EMPTY = frozenset()


@dataclass(frozen=True)
class Marginal:
    """Cells of some columns."""

    cells: np.ndarray

    def datavector(self, flatten: bool = True) -> np.ndarray:
        return self.cells.flatten() if flatten else self.cells.copy()


class Rows:
    """A table that counts quickly."""

    def __init__(self, codes: pd.DataFrame, domain: Domain) -> None:
        self.columns, self.domain, self.records = dict(codes.items()), domain, len(codes)

    def project(self, names: Sequence[str]) -> Marginal:
        shape = [self.domain[name] for name in names]
        cells = np.ravel_multi_index([self.columns[name].to_numpy() for name in names], shape)
        return Marginal(np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float))


class Tree:
    """The junction tree of some cliques, whose columns stand in the order of the domain."""

    def __init__(self, domain: Domain, cliques: Sequence[tuple]) -> None:
        self.domain, self.cliques = domain, list(cliques)
        tree, _ = junction_tree.make_junction_tree(domain, self.cliques)
        self.nodes = junction_tree.maximal_cliques(tree)
        self.near = {node: list(tree.neighbors(node)) for node in self.nodes}
        self.order = junction_tree.message_passing_order(tree)
        self.homes = {
            clique: next(node for node in self.nodes if set(clique) <= set(node))
            for clique in self.cliques
        }
        self.away = {
            (inside, node): tuple(i for i, name in enumerate(node) if name not in inside)
            for inside, node in [
                *self.homes.items(),
                *((to, source) for source, to in self.order),
            ]
        }

    def beliefs(self, logs: dict) -> dict:
        """Every node's shares of rows."""
        own = {node: np.zeros([self.domain[name] for name in node]) for node in self.nodes}
        for clique, home in self.homes.items():
            own[home] = own[home] + np.expand_dims(logs[clique], self.away[clique, home])
        messages: dict = {}
        for source, to in self.order:
            heard = self._heard(own, messages, source, to)
            away = self.away[to, source]
            top = heard.max()
            summed = np.log(np.maximum(np.exp(heard - top).sum(axis=away), 1e-300)) + top
            messages[source, to] = np.expand_dims(summed, self.away[source, to])
        return {node: shares(self._heard(own, messages, node, None)) for node in self.nodes}

    def marginals(self, logs: dict) -> dict:
        """Every clique's shares of rows."""
        known = self.beliefs(logs)
        return {
            clique: known[home].sum(axis=self.away[clique, home])
            for clique, home in self.homes.items()
        }

    def _heard(self, own: dict, messages: dict, node: tuple, but: tuple | None) -> np.ndarray:
        return sum((messages[n, node] for n in self.near[node] if n != but), own[node])


def shares(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


class Model:
    """A fitted model; marginals of columns in different cliques come along its junction tree."""

    def __init__(self, tree: Tree, potentials: dict, total: float) -> None:
        self.tree, self.potentials, self.total = tree, potentials, total
        self.domain, self.cliques = tree.domain, tree.cliques
        self.place = {name: i for i, name in enumerate(self.domain.attrs)}
        self.beliefs = tree.beliefs(potentials)
        self.beyond: dict = {}
        self.known: dict = {}

    def project(self, names: Sequence[str]) -> Marginal:
        names = tuple(names)
        root = max(self.tree.nodes, key=lambda node: len(set(node) & set(names)))
        return Marginal(self._joint(root, None, frozenset(names), names) * self.total)

    def synthetic_data(self, rows: int) -> object:
        return MarkovRandomField.synthetic_data(self, ROWS)

    def _joint(
        self, node: tuple, parent: tuple | None, wanted: frozenset, out: tuple
    ) -> np.ndarray:
        """Of wanted columns on this side, given those shared with the parent; axes as in `out`."""
        if (node, parent, out) in self.known:
            return self.known[node, parent, out]
        parts = [self.beliefs[node], self._ids(node)]
        for child in self.tree.near[node]:
            asked = EMPTY if child == parent else wanted & self._side(child, node)
            if asked:
                axes = (*shared(child, node), *sorted(asked))
                parts += [self._joint(child, node, asked, axes), self._ids(axes)]
        found = np.einsum(*parts, self._ids(out), optimize="greedy")
        if parent is not None:
            width = len(shared(node, parent))
            given = found.sum(axis=tuple(range(width, found.ndim)), keepdims=True)
            found = found / np.maximum(given, 1e-300)
        self.known[node, parent, out] = found
        return found

    def _side(self, node: tuple, parent: tuple) -> frozenset:
        """Columns that are reached through `node` alone."""
        if (node, parent) not in self.beyond:
            further = [self._side(child, node) for child in self.tree.near[node] if child != parent]
            self.beyond[node, parent] = frozenset(node).union(*further) - set(parent)
        return self.beyond[node, parent]

    def _ids(self, names: Sequence[str]) -> list[int]:
        return [self.place[name] for name in names]


def shared(node: tuple, other: tuple) -> tuple:
    return tuple(name for name in node if name in other)


def megabytes(domain: Domain, cliques: Sequence[tuple]) -> float:
    """Of the junction tree that mbi would build: the same greedy order."""
    near: dict = {name: set() for name in domain.attrs}
    for clique in cliques:
        for name in clique:
            near[name].update(set(clique) - {name})

    def size(name: str) -> int:
        return math.prod(domain[n] for n in near[name]) * domain[name]

    # A column in no clique costs nothing until it is alone.
    touched = {name for clique in cliques for name in clique}
    cost = {name: size(name) if name in touched else 1 for name in domain.attrs}
    largest: list[set] = []
    while cost:
        name = min(cost, key=cost.__getitem__)
        del cost[name]
        whole = near[name] | {name}
        if not any(whole <= other for other in largest):
            largest.append(whole)
        for other in near[name]:
            near[other] = (near[other] | near[name]) - {name, other}
            cost[other] = size(other)
    return sum(math.prod(domain[n] for n in whole) for whole in largest) * 8 / 2**20


def mirror_descent(
    domain: Domain, measured: list, iters: int, potentials: dict | None = None, **_: object
) -> Model:
    """The optimiser of mbi, step by step, without its compiler: that takes most of the time."""
    answers = [_in_order(domain, m) for m in measured]
    asked = list(dict.fromkeys(clique for clique, _ in answers))
    tree = Tree(domain, [c for c in asked if not any(set(c) < set(other) for other in asked)])
    inside = [next(c for c in tree.cliques if set(clique) <= set(c)) for clique, _ in answers]
    away = [
        tuple(i for i, name in enumerate(c) if name not in clique)
        for c, (clique, _) in zip(inside, answers, strict=True)
    ]
    total = float(estimation.minimum_variance_unbiased_total(measured))

    def loss(shares: dict) -> tuple[float, dict]:
        value, slopes = 0.0, {c: np.zeros_like(cells) for c, cells in shares.items()}
        for home, axes, (_, answer) in zip(inside, away, answers, strict=True):
            gap = total * shares[home].sum(axis=axes) - answer
            value += (gap**2).sum() / 2
            slopes[home] += np.expand_dims(gap, axes)
        return value, slopes

    logs = {c: np.zeros([domain[name] for name in c]) for c in tree.cliques}
    for clique, values in (potentials or {}).items():
        home = next(c for c in tree.cliques if set(clique) <= set(c))
        axes = tuple(i for i, name in enumerate(home) if name not in clique)
        logs[home] = logs[home] + np.expand_dims(values, axes)
    step, here = 2.0 / total, tree.marginals(logs)
    value, slopes = loss(here)
    for _ in range(iters):
        tried = {c: logs[c] - step * slopes[c] for c in logs}
        there = tree.marginals(tried)
        found = loss(there)
        fall = total * sum((slopes[c] * (here[c] - there[c])).sum() for c in logs)
        if value - found[0] >= 0.5 * step * fall:
            logs, here, (value, slopes), step = tried, there, found, 1.01 * step
        else:
            step *= 0.5
    return Model(tree, logs, total)


def _in_order(domain: Domain, measurement: object) -> tuple[tuple, np.ndarray]:
    """A measured clique and its answer, columns as in the domain."""
    names = measurement.clique
    cells = np.asarray(measurement.noisy_measurement).reshape([domain[name] for name in names])
    clique = domain.canonical(names)
    return clique, cells.transpose([names.index(name) for name in clique])


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--megabytes", type=float, default=80.0)
    options.add_argument("--steps", type=int, default=STEPS, help="of its optimiser in each round")
    asked = options.parse_args()
    replaced = jam.gaussian_sigma
    jam.gaussian_sigma = lambda rho, _: replaced(rho, 1.0)
    jam.estimation = SimpleNamespace(mirror_descent=mirror_descent)
    jam.junction_tree = SimpleNamespace(hypothetical_model_size=megabytes)
    tables = Binned(asked.folder, asked.public)
    domain = Domain.fromdict(tables.sizes)
    system = jam.JAM(
        asked.epsilon,
        DELTA,
        size_limit=asked.megabytes,
        rounds=asked.rounds,
        optim_iters=asked.steps,
    )
    # The generator that it is handed arrives as another argument: all its draws are of numpy's own.
    system.prng = np.random
    np.random.seed(asked.seed)
    started = time.monotonic()
    _, made = system.run(
        Rows(tables.private, domain), Rows(tables.public, domain), tables.workload()
    )
    seconds = time.monotonic() - started
    tables.decoded(made.df, asked.seed).to_parquet(asked.out, index=False)
    print(json.dumps({"seconds": round(seconds, 1)}))


if __name__ == "__main__":
    main()
