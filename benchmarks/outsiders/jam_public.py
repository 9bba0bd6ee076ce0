"""JAM with a public table, as mechanisms/jam.py of mbi has it: rows in, synthetic rows out.

    PYTHONPATH=private-pgm/mechanisms python jam_public.py FOLDER PUBLIC EPSILON SEED OUT

The environment is requirements-jam.txt and mbi itself, from a copy of ryan112358/private-pgm.
Published for neighbours where one row is replaced, it is run for one more or one less: marginals
then move by 1, scores by 2 as before. The number of private rows is taken as known.
What it computes is the same to rounding, in less time: counts, sizes and marginals are ours.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import jam
import numpy as np
import pandas as pd
from binned import Binned
from mbi import Domain, MarkovRandomField, estimation, junction_tree, marginal_loss

DELTA = 1e-9
ROWS = 20_000
# of its optimiser in each round, which takes 1000 as it comes; the last fit takes them all, and
# noise is not touched by it
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


class Model:
    """A fitted model; marginals of columns in different cliques come from its junction tree."""

    def __init__(self, fitted: MarkovRandomField) -> None:
        self.potentials, self.total = fitted.potentials, float(fitted.total)
        self.domain, self.cliques = fitted.domain, fitted.cliques
        self.place = {name: i for i, name in enumerate(self.domain.attrs)}
        tree, _ = junction_tree.make_junction_tree(self.domain, self.cliques)
        self.nodes = junction_tree.maximal_cliques(tree)
        self.near = {node: list(tree.neighbors(node)) for node in self.nodes}
        self.beyond: dict = {}
        self.known: dict = {}

    @cached_property
    def beliefs(self) -> dict:
        """Every maximal clique's shares of rows."""
        logs = {node: np.zeros([self.domain[name] for name in node]) for node in self.nodes}
        for clique in self.cliques:
            home = next(node for node in self.nodes if set(clique) <= set(node))
            values = np.asarray(self.potentials[clique].values, float)
            logs[home] += self._spread(values, clique, home)
        messages: dict = {}

        def message(source: tuple, to: tuple) -> np.ndarray:
            if (source, to) not in messages:
                heard = logs[source] + sum(
                    self._spread(message(n, source), self._shared(n, source), source)
                    for n in self.near[source]
                    if n != to
                )
                away = tuple(i for i, name in enumerate(source) if name not in to)
                top = heard.max(axis=away, keepdims=True)
                summed = np.log(np.exp(heard - top).sum(axis=away, keepdims=True)) + top
                messages[source, to] = summed.squeeze(away)
            return messages[source, to]

        found = {}
        for node in self.nodes:
            heard = logs[node] + sum(
                self._spread(message(n, node), self._shared(n, node), node) for n in self.near[node]
            )
            shares = np.exp(heard - heard.max())
            found[node] = shares / shares.sum()
        return found

    def project(self, names: str | Sequence[str]) -> Marginal:
        names = (names,) if isinstance(names, str) else tuple(names)
        root = max(self.nodes, key=lambda node: len(set(node) & set(names)))
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
        for child in self.near[node]:
            asked = EMPTY if child == parent else wanted & self._side(child, node)
            if asked:
                axes = (*self._shared(child, node), *sorted(asked))
                parts += [self._joint(child, node, asked, axes), self._ids(axes)]
        found = np.einsum(*parts, self._ids(out), optimize="greedy")
        if parent is not None:
            shared = len(self._shared(node, parent))
            given = found.sum(axis=tuple(range(shared, found.ndim)), keepdims=True)
            found = found / np.maximum(given, 1e-300)
        self.known[node, parent, out] = found
        return found

    def _side(self, node: tuple, parent: tuple) -> frozenset:
        """Columns that are reached through `node` alone."""
        if (node, parent) not in self.beyond:
            further = [self._side(child, node) for child in self.near[node] if child != parent]
            self.beyond[node, parent] = frozenset(node).union(*further) - set(parent)
        return self.beyond[node, parent]

    def _shared(self, node: tuple, other: tuple) -> tuple:
        return tuple(name for name in node if name in other)

    def _ids(self, names: Sequence[str]) -> list[int]:
        return [self.place[name] for name in names]

    def _spread(self, values: np.ndarray, names: tuple, node: tuple) -> np.ndarray:
        """The same values with the axes of a clique that holds their columns."""
        order = sorted(range(len(names)), key=lambda i: node.index(names[i]))
        shape = [self.domain[name] if name in names else 1 for name in node]
        return values.transpose(order).reshape(shape)


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


def fitted_in(steps: int) -> Callable[..., Model]:
    """Its optimiser, with fewer steps in each round; the last fit takes all that it would."""

    def mirror_descent(domain: Domain, measured: list, iters: int, **more: object) -> Model:
        # Given bare measurements, it works out how steep they are, and has no use for it.
        loss = marginal_loss.from_linear_measurements(measured)
        total = estimation.minimum_variance_unbiased_total(measured)
        between = "callback_fn" in more
        more["iters"] = steps if between else iters
        return Model(estimation.mirror_descent(domain, loss, known_total=total, **more))

    return mirror_descent


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path, help="with train.parquet and schema.yaml")
    options.add_argument("public", type=Path, help="a .parquet file with the same columns")
    options.add_argument("epsilon", type=float)
    options.add_argument("seed", type=int)
    options.add_argument("out", type=Path, help="a .parquet file")
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--megabytes", type=float, default=80.0)
    options.add_argument("--steps", type=int, default=STEPS, help="of its optimiser in each round")
    asked = options.parse_args()
    replaced = jam.gaussian_sigma
    jam.gaussian_sigma = lambda rho, _: replaced(rho, 1.0)
    jam.estimation = SimpleNamespace(mirror_descent=fitted_in(asked.steps))
    jam.junction_tree = SimpleNamespace(hypothetical_model_size=megabytes)
    tables = Binned(asked.folder, asked.public)
    domain = Domain.fromdict(tables.sizes)
    system = jam.JAM(asked.epsilon, DELTA, size_limit=asked.megabytes, rounds=asked.rounds)
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
