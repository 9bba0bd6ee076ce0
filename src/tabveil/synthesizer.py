"""The synthesizer people hold: `RAPpp(schema, epsilon=1).fit(frame).sample(1000)`."""

import inspect
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from tabveil.curator import Curator
from tabveil.errors import InvalidInput, TabveilError
from tabveil.frames import Source
from tabveil.measurement import Measurement
from tabveil.presets import PRESETS, Preset, Task
from tabveil.privacy import Allowance, Budget, Ledger, Relation, epsilon_of
from tabveil.rappp import Result, Status
from tabveil.release import Release
from tabveil.schema import Schema
from tabveil.table import Codec, Table

DELTA = 1e-9
PUBLIC = (
    "column names, types, category lists, bounds, decimals and nullability (from the schema)",
    "targets, preset, seed, ε, δ and the neighbour relation",
    "the software and its versions",
)


class RAPpp:
    """Differentially private synthetic tables by relaxed adaptive projection (RAP++).

    `epsilon` and `delta` are the whole promise; `seed` drives initialisation and optimiser, never noise.
    `ledger` names a file that several fits on the same data share, so that their costs add up.
    """

    def __init__(
        self,
        schema: Schema,
        epsilon: float = 1.0,
        *,
        delta: float | None = None,
        targets: Sequence[str] | None = None,
        preset: str | Preset = "default",
        neighbours: str = "add-remove",
        seed: int = 0,
        ledger: str | Path | None = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.targets = targets
        self.preset = preset
        self.neighbours = neighbours
        self.seed = seed
        self.ledger = ledger

    def fit(self, data: Any, *, watch: Callable[[Status], None] = lambda status: None) -> Self:
        """Spend the budget once on a table: pandas, polars, Arrow, or the path of a file."""
        relation, preset, seed = self._checked()
        schema = self.schema if self.targets is None else self.schema.with_targets(tuple(self.targets))
        source = Source.of(data, schema)
        if relation is Relation.SUBSTITUTE and source.count() == 0:
            raise InvalidInput(
                "The table has no rows.", "Under substitution their number is public; give at least one."
            )
        codec = Codec(schema)
        budget = Budget(self.epsilon, self._delta(source, relation))
        with self._open_ledger(relation) as ledger:
            allowance = ledger.allowance(budget.rho, f"A fit with ε = {self.epsilon:g}")
            curator = Curator(EncodedRows(source, codec), allowance, relation)
            result = preset(curator, Task(schema, allowance.total, relation, seed), watch)
        self.release_ = release_of(result, schema, budget, relation, allowance, source.kind, curator, self)
        return self

    def sample(self, rows: int = 1000, *, seed: int | None = None) -> Any:
        """Synthetic rows, as the kind of table that was fitted; free, any number of times."""
        return self._fitted().sample(rows, seed=seed)

    def save(self, path: str | Path) -> None:
        """Write the release as a folder of JSON and npz."""
        self._fitted().save(path)

    @property
    def ledger_(self) -> pd.DataFrame:
        """What was spent, on what."""
        return pd.DataFrame(self._fitted().charges)

    @property
    def measurements_(self) -> pd.DataFrame:
        """Every noisy answer with its standard error."""
        return self._fitted().measured()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, as scikit-learn expects."""
        return {name: getattr(self, name) for name in _parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments by name."""
        for name, value in params.items():
            if name not in _parameters():
                raise InvalidInput(
                    f"RAPpp has no parameter {name}.", f"Choose from: {', '.join(_parameters())}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return f"RAPpp(epsilon={self.epsilon}, preset={self.preset!r}, neighbours={self.neighbours!r})"

    def _checked(self) -> tuple[Relation, Preset, int]:
        """Refuse what cannot be run before any file is opened or any budget is touched."""
        preset = PRESETS.get(self.preset) if isinstance(self.preset, str) else self.preset
        if preset is None:
            raise InvalidInput(f"There is no preset {self.preset}.", f"Choose from: {', '.join(PRESETS)}.")
        if self.neighbours not in set(Relation):
            raise InvalidInput(
                f"There is no relation {self.neighbours}.", f"Choose from: {', '.join(Relation)}."
            )
        if not 0 <= int(self.seed) < 2**32:
            raise InvalidInput(
                f"Seed {self.seed} is not usable.", "Give a whole number from 0 to 4294967295."
            )
        Budget(self.epsilon, DELTA if self.delta is None else self.delta)
        return Relation(self.neighbours), preset, int(self.seed)

    def _delta(self, source: Source, relation: Relation) -> float:
        """δ as asked; else the paper's 1/n² where its preset runs with a public n; else 1e-9."""
        if self.delta is not None:
            return self.delta
        if self.preset == "paper" and relation is Relation.SUBSTITUTE:
            return 1 / max(2, source.count()) ** 2
        return DELTA

    def _open_ledger(self, relation: Relation) -> Ledger:
        return Ledger.in_memory(relation) if self.ledger is None else Ledger.open(self.ledger, relation)

    def _fitted(self) -> Release:
        if not hasattr(self, "release_"):
            raise TabveilError("This synthesizer has not been fitted.", "Call fit(data) first.")
        return self.release_


class RAP(RAPpp):
    """Relaxed adaptive projection (2021): what the paper's method is on categorical columns alone."""

    def __init__(self, schema: Schema, epsilon: float = 1.0, **settings: Any) -> None:
        super().__init__(schema, epsilon, **{"preset": "paper", **settings})

    def _checked(self) -> tuple[Relation, Preset, int]:
        if self.schema.numerical:
            raise InvalidInput(
                f"RAP works on categorical columns, but {self.schema.numerical[0]} is numerical.",
                "Use RAPpp, or cut numbers into categories first.",
            )
        return super()._checked()


@dataclass(frozen=True, repr=False)
class EncodedRows:
    """The private table in batches of codes and numbers; only a curator is given one."""

    source: Source
    codec: Codec

    def batches(self) -> Iterator[Table]:
        """Encoded batches, one pass over the data."""
        return (self.codec.encode(batch) for batch in self.source.batches())

    def count(self) -> int:
        """How many rows there are."""
        return self.source.count()


def release_of(
    result: Result,
    schema: Schema,
    budget: Budget,
    relation: Relation,
    allowance: Allowance,
    kind: str,
    curator: Curator,
    model: RAPpp,
) -> Release:
    """Gather what may be published of a fit."""
    charges = [
        {"what": c.what, "rho": str(c.rho), "mechanism": c.mechanism, **c.details} for c in allowance.charges
    ]
    return Release(
        schema=schema,
        probabilities=np.asarray(result.table.probabilities, np.float32),
        numbers=np.asarray(result.table.numbers, np.float32),
        slack=np.zeros(result.table.numbers.shape, np.float32) if result.slack is None else result.slack,
        scale=result.workload.scale,
        measurements=(*curator.published, *_measurements(result)),
        privacy=_statement(budget, relation, allowance, curator.private, model),
        charges=charges,
        kind=kind,
    )


def _measurements(result: Result) -> Iterable[Measurement]:
    workload = result.workload
    for answer in result.answers:
        if answer.derived:
            continue
        queries = workload.families[answer.family].take(answer.picks)
        for number, (counts, filled) in enumerate(zip(answer.counts, queries.filled, strict=True)):
            yield Measurement(
                family=queries.name,
                query=queries.describe(number, workload.domain),
                standard_error=answer.scale,
                cells=tuple(queries.cell_names(number, workload.domain)),
                counts=tuple(int(count) for count in counts[filled]),
            )


def _statement(
    budget: Budget, relation: Relation, allowance: Allowance, private: bool, model: RAPpp
) -> dict[str, Any]:
    """The promise, for people and for programs."""
    unit = "one row added or removed" if relation is Relation.ADD_REMOVE else "one row replaced by another"
    return {
        "private": private,
        "promise": (
            f"({budget.epsilon:g}, {budget.delta:g})-differential privacy for {unit}."
            if private
            else "NOT PRIVATE: the noise of this release was seeded for a test."
        ),
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "relation": relation.value,
        "unit": "one row",
        "rho": str(budget.rho),
        "rho_spent": str(allowance.spent),
        # `epsilon_of` rounds up; what was spent is within the budget, so ε itself holds too.
        "epsilon_spent": min(budget.epsilon, epsilon_of(allowance.spent, budget.delta)),
        "mechanisms": sorted({c.mechanism for c in allowance.charges}),
        "assumed_public": list(PUBLIC) + (["the number of rows"] if relation is Relation.SUBSTITUTE else []),
        "preset": str(model.preset),
        "seed": model.seed,
        "versions": {name: version(name) for name in ("tabveil", "opendp", "jax", "numpy")}
        | {"python": platform.python_version()},
    }


def _parameters() -> list[str]:
    return [name for name in inspect.signature(RAPpp.__init__).parameters if name != "self"]
