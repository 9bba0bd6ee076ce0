"""The synthesizer people hold: `RAPpp(schema, epsilon=1).fit(frame).sample(1000)`."""

import inspect
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tabveil.curator import Curator
from tabveil.engines import Engine, Local, engine_named
from tabveil.errors import InvalidInput, TabveilError
from tabveil.fitting import device
from tabveil.fitting.grouping import SHARE as GROUPING_SHARE
from tabveil.fitting.grouping import learn_groupings, reduced, widest
from tabveil.fitting.logs import LOG, logged
from tabveil.fitting.presets import PRESETS, Default, Preset, Task
from tabveil.fitting.rappp import Result, Status
from tabveil.fitting.rows import EncodedRows
from tabveil.privacy import (
    DELTA,
    Budget,
    Door,
    Ledger,
    Noise,
    OpenDPNoise,
    Promise,
    Protection,
    Relation,
    relation_named,
)
from tabveil.queries.measurement import Measurement
from tabveil.release import Release
from tabveil.release.repair import require_satisfiable
from tabveil.release.statement import charge_for_schema, statement
from tabveil.schema import Schema
from tabveil.sources import Source, engine_of
from tabveil.tables.table import Codec

if TYPE_CHECKING:
    import pandas as pd

    from tabveil.report.page import Page


class RAPpp:
    """Differentially private synthetic tables by relaxed adaptive projection (RAP++).

    `epsilon` and `delta` are the whole promise; `seed` drives initialisation and optimiser, never
    noise. `ledger` names a file that several fits on the same data share, so that their costs add
    up. `engine` says where rows are counted: local, dask or spark; without it, where the table
    lies."""

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
        engine: str | Engine | None = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.targets = targets
        self.preset = preset
        self.neighbours = neighbours
        self.seed = seed
        self.ledger = ledger
        self.engine = engine

    def fit(
        self,
        data: Any,
        *,
        watch: Callable[[Status], None] = lambda status: None,
        save: str | Path | None = None,
    ) -> Self:
        """Spend the budget once on a table: pandas, polars, Arrow, Dask, Spark, or the path of a
        file.

        With `save`, the release is on disk before the fit counts as done. With a ledger file, a fit
        that was cut short goes on when it is asked for again: answers that were paid for are used,
        not drawn anew."""
        relation, preset, seed = self._checked()
        watch = logged(watch)
        schema = (
            self.schema if self.targets is None else self.schema.with_targets(tuple(self.targets))
        )
        require_satisfiable(schema)
        if isinstance(preset, Default):
            preset.require_room(Codec(widest(schema)).domain)
        with self._engine_for(data) as engine:
            if schema.privacy and not isinstance(engine, Local):
                raise InvalidInput(
                    "Rows of one person are counted in one stream, which only the local engine "
                    "does.",
                    "Use engine='local', or keep few rows of each person yourself and leave out "
                    "privacy.",
                )
            source = Source.of(engine.find(data), schema)
            if relation is Relation.SUBSTITUTE and source.count() == 0:
                raise InvalidInput(
                    "The table has no rows.",
                    "Under substitution their number is public; give at least one.",
                )
            budget = Budget(self.epsilon, self._delta(source, relation))
            promise = Promise(budget, Protection.of(relation, schema.privacy))
            rows = EncodedRows(
                source, Codec(schema), engine, lambda share: watch(Status.reading(share))
            )
            device.wake()
            _require_schema_paid(schema, promise.protection, self.ledger)
            with self._open_ledger(relation) as ledger:
                label = f"A fit with ε = {self.epsilon:g}"
                request = _request(source, schema, budget, relation, self)
                unit = promise.protection.unit
                allowance = ledger.allowance(budget.rho, label, request=request, unit=unit)
                door = Door(allowance, promise.protection, self._noise())
                curator = Curator(rows, door)
                groupings = learn_groupings(curator, schema, allowance.total * GROUPING_SHARE)
                if groupings:
                    rows = replace(rows, codec=Codec(schema, groupings))
                    counted = curator.published
                    curator = Curator(rows, door)
                    curator.published += counted
                task = Task(reduced(schema, groupings), allowance.left, relation, seed)
                result = preset(curator, task, watch)
                release = release_of(result, schema, promise, door, source.kind, curator, self)
                self.release_ = replace(release, types=source.types(schema), groupings=groupings)
                if save is not None:
                    self.release_.save(save)
                allowance.finish()
                LOG.info("done: %s", self.release_.privacy["promise"])
        self.recalled_ = allowance.recalled  # answers taken over from a run that did not end
        return self

    def sample(
        self, rows: int = 1000, *, seed: int | None = None, where: Mapping[str, Any] | None = None
    ) -> Any:
        """Synthetic rows, as the kind of table that was fitted; free, any number of times.

        `where` asks for rows of one sort, such as {"sex": "F", "age": (30, 40)}.
        """
        return self._fitted().sample(rows, seed=seed, where=where)

    def save(self, path: str | Path) -> None:
        """Write the release as a folder of JSON and npz."""
        self._fitted().save(path)

    @property
    def ledger_(self) -> "pd.DataFrame":
        """What was spent, on what."""
        import pandas as pd

        return pd.DataFrame(self._fitted().charges)

    @property
    def measurements_(self) -> "pd.DataFrame":
        """Every noisy answer with its standard error."""
        return self._fitted().measured()

    def report(self, path: str | Path | None = None) -> "Page":
        """The page that may be passed on with the release: shows in a notebook, or is written to
        `path`."""
        from tabveil import report

        page = report.page(self._fitted())
        if path is not None:
            page.save(path)
        return page

    def plot(self, column: str) -> Any:
        """An altair chart of one column: noisy counts with 95 % error bars against synthetic
        rows."""
        from tabveil.report import plot

        return plot.column(self._fitted(), column)

    def error(self, column: str) -> "pd.DataFrame":
        """One column's noisy shares, their standard errors, and the synthetic shares, part by
        part."""
        from tabveil.report.evidence import Evidence

        return Evidence(self._fitted()).column(column)

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
        return (
            f"RAPpp(epsilon={self.epsilon}, preset={self.preset!r}, neighbours={self.neighbours!r})"
        )

    def _checked(self) -> tuple[Relation, Preset, int]:
        """Refuse what cannot be run before any file is opened or any budget is touched."""
        preset = PRESETS.get(self.preset) if isinstance(self.preset, str) else self.preset
        if preset is None:
            raise InvalidInput(
                f"There is no preset {self.preset}.", f"Choose from: {', '.join(PRESETS)}."
            )
        if not 0 <= int(self.seed) < 2**32:
            raise InvalidInput(
                f"Seed {self.seed} is not usable.", "Give a whole number from 0 to 4294967295."
            )
        Budget(self.epsilon, DELTA if self.delta is None else self.delta)
        return relation_named(self.neighbours), preset, int(self.seed)

    def _engine_for(self, data: object) -> Engine:
        """The engine that was asked for, or the one that the table lies on."""
        if isinstance(self.engine, Engine):
            return self.engine
        return engine_named(self.engine or engine_of(data))

    def _delta(self, source: Source, relation: Relation) -> float:
        """δ as asked; else the paper's 1/n² where its preset runs with a public n; else 1e-9."""
        if self.delta is not None:
            return self.delta
        if self.preset == "paper" and relation is Relation.SUBSTITUTE:
            return 1 / max(2, source.count()) ** 2
        return DELTA

    def _noise(self) -> Noise:
        """Where privacy noise comes from; audits listen here."""
        return OpenDPNoise()

    def _open_ledger(self, relation: Relation) -> Ledger:
        return (
            Ledger.in_memory(relation)
            if self.ledger is None
            else Ledger.open(self.ledger, relation)
        )

    def _fitted(self) -> Release:
        if not hasattr(self, "release_"):
            raise TabveilError("This synthesizer has not been fitted.", "Call fit(data) first.")
        return self.release_


class RAP(RAPpp):
    """Relaxed adaptive projection (2021): what the paper's method is on categorical columns
    alone."""

    def __init__(self, schema: Schema, epsilon: float = 1.0, **settings: Any) -> None:
        super().__init__(schema, epsilon, **{"preset": "paper", **settings})

    def _checked(self) -> tuple[Relation, Preset, int]:
        if self.schema.numerical:
            raise InvalidInput(
                f"RAP works on categorical columns, but {self.schema.numerical[0]} is numerical.",
                "Use RAPpp, or cut numbers into categories first.",
            )
        return super()._checked()


def _require_schema_paid(schema: Schema, protection: Protection, ledger: str | Path | None) -> None:
    """Refuse a bought schema whose cost does not add up with that of the fit, or is not in its
    ledger."""
    found = schema.found
    if found is None:
        return
    if (found.relation, found.unit) != (protection.relation.value, protection.unit):
        raise InvalidInput(
            f"Finding this schema protected {found.unit} ({found.relation}), but this fit would "
            "protect "
            f"{protection.unit} ({protection.relation.value}), so that the costs do not add up.",
            "Search and fit with the same relation and privacy unit. If the schema was found in "
            "another "
            "table, remove `found` from it.",
        )
    if ledger is not None and not (
        Path(ledger).exists() and Ledger.read(ledger).shows(found.charges)
    ):
        raise InvalidInput(
            f"This schema was found in the data for ε = {found.epsilon:g}, "
            "and the ledger does not show that it was paid for.",
            "Name the ledger that `tabveil schema init --epsilon` (or Schema.infer) charged, "
            "so that both costs add up. If it was found in another table, remove `found` from "
            "the schema.",
        )


def release_of(
    result: Result,
    schema: Schema,
    promise: Promise,
    door: Door,
    kind: str,
    curator: Curator,
    model: RAPpp,
) -> Release:
    """Gather what may be published of a fit."""
    charges = [
        {"what": c.what, "rho": str(c.rho), "mechanism": c.mechanism, **c.details}
        for c in door.allowance.charges
    ]
    return Release(
        schema=schema,
        probabilities=np.asarray(result.table.probabilities, np.float32),
        positions=np.asarray(result.table.positions, np.float32),
        slack=np.zeros(result.table.positions.shape, np.float32)
        if result.slack is None
        else result.slack,
        placement=result.workload.placement,
        measurements=(*curator.published, *_measurements(result)),
        privacy=statement(promise, door, schema, _settings(model)),
        charges=[*charge_for_schema(schema), *charges],
        kind=kind,
    )


def _measurements(result: Result) -> Iterable[Measurement]:
    workload = result.workload
    for answer in result.answers:
        if answer.derived:
            continue
        queries = workload.families[answer.family].take(answer.picks)
        for number, (counts, filled) in enumerate(zip(answer.counts, queries.filled, strict=True)):
            sides = queries.sides(number, workload.domain)
            yield Measurement.of(queries.name, sides, counts[filled], answer.scale)


def _request(
    source: Source, schema: Schema, budget: Budget, relation: Relation, model: RAPpp
) -> str:
    """All that a release is made from; two fits with the same request may share noisy answers."""
    settings = (asdict(budget), relation.value, str(model.preset), model.seed, version("tabveil"))
    return json.dumps(
        [schema.to_dict(), *settings, source.fingerprint()], sort_keys=True, default=str
    )


def _settings(model: RAPpp) -> dict[str, Any]:
    return {"preset": str(model.preset), "seed": model.seed, "versions": _versions()}


@cache
def _versions() -> dict[str, str]:
    names = ("tabveil", "opendp", "jax", "numpy")
    return {name: version(name) for name in names} | {"python": platform.python_version()}


def _parameters() -> list[str]:
    return [name for name in inspect.signature(RAPpp.__init__).parameters if name != "self"]
