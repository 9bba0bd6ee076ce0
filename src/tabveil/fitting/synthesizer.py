"""The synthesizer people hold: `RAPpp(schema, epsilon=1).fit(frame).sample(1000)`."""

import inspect
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tabveil.curator import Curator
from tabveil.engines import Engine, Local, engine_named
from tabveil.errors import InvalidInput, TabveilError
from tabveil.fitting import device
from tabveil.fitting.grouping import grouping_cost, learn_groupings, reduced, widest
from tabveil.fitting.logs import LOG, logged
from tabveil.fitting.maps import maps_cost, with_maps
from tabveil.fitting.presets import Preset, Task, preset_named
from tabveil.fitting.public import Help, PublicTable, public_tables
from tabveil.fitting.rappp import Result, Status
from tabveil.fitting.rows import EncodedRows
from tabveil.fitting.zeros import Impossible
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
from tabveil.release import Release
from tabveil.release.repair import require_satisfiable
from tabveil.release.statement import charge_for_schema, statement
from tabveil.schema import Schema
from tabveil.sources import Source, engine_of
from tabveil.tables.measurement import Measurement
from tabveil.tables.table import Codec

if TYPE_CHECKING:
    import pandas as pd

    from tabveil.inference import Replicates
    from tabveil.report.page import Page

Watch = Callable[[Status], None]


class RAPpp:
    """Differentially private synthetic tables by relaxed adaptive projection (RAP++).

    `epsilon` and `delta` are the whole promise; `seed` drives initialisation and optimiser, never
    noise. `ledger` names a file that several fits on the same data share, so that their costs add
    up. `engine` says where rows are counted: local, dask or spark; without it, where the table
    lies. `public` is a table like the private one that everybody may see, or several: a path, a
    frame, or an earlier release. Nothing in it is protected.
    """

    release_: Release
    recalled_: int  # answers taken over from a run that did not end

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
        public: Any = None,
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
        self.public = public

    def fit(
        self,
        data: Any,
        *,
        watch: Watch = lambda status: None,
        save: str | Path | None = None,
    ) -> Self:
        """Spend the budget once on a table: pandas, polars, Arrow, Dask, Spark, or a file's path.

        With `save`, the release is on disk before the fit counts as done. With a ledger file, a fit
        that was cut short goes on when it is asked for again: answers that were paid for are used,
        not drawn anew.
        """
        return fit_with_noise(self, data, OpenDPNoise(), watch=watch, save=save)

    def sample(
        self,
        rows: int = 1000,
        *,
        seed: int | None = None,
        where: Mapping[str, Any] | None = None,
        shares: Mapping[str, Mapping[Any, float]] | None = None,
        at_least: int = 1,
        on: Sequence[str] = (),
    ) -> Any:
        """Synthetic rows, as the kind of table that was fitted; free, any number of times.

        `where` asks for rows of one sort, such as {"sex": "F", "age": (30, 40)}; `shares` for other
        shares than the table had, such as {"sex": {"F": 0.6}}; `at_least` and `on` for rows of
        which no combination of some columns is rarer than that.
        """
        return self._fitted().sample(
            rows, seed=seed, where=where, shares=shares, at_least=at_least, on=on
        )

    def replicates(self, count: int = 20, *, seed: int | None = None) -> "Replicates":
        """Tables that differ as much as noise leaves open, for `tabveil.inference`; free."""
        from tabveil import inference

        return inference.replicates(self._fitted(), count, seed=seed)

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
        """The page that may go with the release: shown in a notebook, or written to `path`."""
        from tabveil import report

        page = report.page(self._fitted())
        if path is not None:
            page.save(path)
        return page

    def plot(self, column: str) -> Any:
        """An altair chart of a column: noisy counts with 95 % error bars against synthetic rows."""
        from tabveil.report import plot

        return plot.column(self._fitted(), column)

    def error(self, column: str) -> "pd.DataFrame":
        """One column's noisy shares, their standard errors and the synthetic shares, by part."""
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

    def _order(self) -> "Order":
        """Refuse what cannot be run before any file is opened or any budget is touched."""
        preset, relation = preset_named(self.preset), relation_named(self.neighbours)
        if not 0 <= int(self.seed) < 2**32:
            raise InvalidInput(
                f"Seed {self.seed} is not usable.", "Give a whole number from 0 to 4294967295."
            )
        Budget(self.epsilon, DELTA if self.delta is None else self.delta)
        schema = self.schema
        if self.targets is not None:
            schema = schema.with_targets(tuple(self.targets))
        require_satisfiable(schema)
        preset.check(Codec(widest(schema)).domain)
        name, seed = str(self.preset), int(self.seed)
        public = public_tables(self.public, schema, seed)
        if public and not preset.takes_public:
            raise InvalidInput(
                f"The preset {name} has no use for public tables.",
                "Leave them out, or use the default preset.",
            )
        return Order(schema, self.epsilon, self.delta, relation, preset, name, seed, public)

    def _engine_for(self, data: object) -> Engine:
        """The engine that was asked for, or the one that the table lies on."""
        if isinstance(self.engine, Engine):
            return self.engine
        return engine_named(self.engine or engine_of(data))

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
    """Relaxed adaptive projection (2021): the paper's method on categorical columns alone."""

    def __init__(self, schema: Schema, epsilon: float = 1.0, **settings: Any) -> None:
        super().__init__(schema, epsilon, **{"preset": "paper", **settings})

    def _order(self) -> "Order":
        if self.schema.numerical:
            raise InvalidInput(
                f"RAP works on categorical columns, but {self.schema.numerical[0]} is numerical.",
                "Use RAPpp, or cut numbers into categories first.",
            )
        return super()._order()


@dataclass(frozen=True)
class Order:
    """What a fit was asked for, and found possible. Public."""

    schema: Schema
    epsilon: float
    delta: float | None
    relation: Relation
    preset: Preset
    preset_name: str  # as it was asked for
    seed: int
    public: tuple[PublicTable, ...] = ()

    def promise(self, source: Source) -> Promise:
        """What the fit of this table promises, and to whom."""
        rows = source.count() if self.relation is Relation.SUBSTITUTE else None
        if rows == 0:
            raise InvalidInput(
                "The table has no rows.",
                "Under substitution their number is public; give at least one.",
            )
        delta = self.preset.default_delta(rows) if self.delta is None else self.delta
        protection = Protection.of(self.relation, self.schema.privacy)
        return Promise(Budget(self.epsilon, delta), protection)

    def request(self, source: Source, promise: Promise) -> str:
        """All that a release is made from; fits with the same request may share noisy answers."""
        budget = asdict(promise.budget)
        settings = budget, self.relation.value, self.preset_name, self.seed, version("tabveil")
        public = ([table.about for table in self.public],) if self.public else ()
        return json.dumps(
            [self.schema.to_dict(), *settings, source.fingerprint(), *public],
            sort_keys=True,
            default=str,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What a release says about how it was made."""
        public = {"public_tables": [table.about for table in self.public]} if self.public else {}
        return {"preset": self.preset_name, "seed": self.seed, **public, "versions": _versions()}


Model = TypeVar("Model", bound=RAPpp)


def fit_with_noise(
    model: Model,
    data: Any,
    noise: Noise,
    *,
    watch: Watch = lambda status: None,
    save: str | Path | None = None,
) -> Model:
    """What `RAPpp.fit` does, with any source of noise: for audits and tests, which listen there.

    Not for users: a release is private only if its noise is, which `RAPpp.fit` sees to.
    """
    order, watch = model._order(), logged(watch)
    with model._engine_for(data) as engine:
        _require_one_stream(order.schema, engine)
        source = Source.of(engine.find(data), order.schema)
        promise = order.promise(source)
        device.wake()
        _require_schema_paid(order.schema, promise.protection, model.ledger)
        with model._open_ledger(order.relation) as ledger:
            allowance = ledger.allowance(
                promise.budget.rho,
                f"A fit with ε = {order.epsilon:g}",
                request=order.request(source, promise),
                unit=promise.protection.unit,
            )
            door = Door(allowance, promise.protection, noise)
            rows = EncodedRows(
                source, Codec(order.schema), engine, lambda share: watch(Status.reading(share))
            )
            model.release_ = release_of(order, promise, rows, door, watch)
            if save is not None:
                model.release_.save(save)
            allowance.finish()
            LOG.info("done: %s", model.release_.privacy["promise"])
    model.recalled_ = allowance.recalled
    return model


def release_of(
    order: Order, promise: Promise, rows: EncodedRows, door: Door, watch: Watch
) -> Release:
    """Find maps, group long lists, let the preset spend the rest; gather what may be published."""
    allowance, curator = door.allowance, Curator(rows, door)
    schema = with_maps(curator, rows, order.schema, maps_cost(order.schema, allowance.total))
    groupings = learn_groupings(curator, schema, grouping_cost(schema, allowance.total))
    curator.recode(rows.grouped(groupings))
    ruled = Impossible(schema, groupings)
    public = Help.of(order.public, Codec(schema, groupings))
    task = Task(
        reduced(schema, groupings), allowance.left, order.relation, order.seed, ruled, public
    )
    result = order.preset(curator, task, watch)
    drawn_from = result.rows()
    return Release(
        schema=schema,
        probabilities=drawn_from.probabilities,
        numbers=drawn_from.numbers,
        weights=drawn_from.weights,
        placement=result.workload.placement,
        measurements=(*curator.published, *_measurements(result)),
        privacy=statement(promise, door, schema, order.settings),
        charges=[*charge_for_schema(schema), *_charges(door)],
        kind=rows.source.kind,
        types=rows.source.types(schema),
        groupings=groupings,
    ).foreseeing_repair()


def _charges(door: Door) -> Iterable[dict[str, Any]]:
    for charge in door.allowance.charges:
        yield {
            "what": charge.what,
            "rho": str(charge.rho),
            "mechanism": charge.mechanism,
            **charge.details,
        }


def _measurements(result: Result) -> Iterable[Measurement]:
    workload = result.workload
    for answer in result.answers:
        if answer.derived:
            continue
        queries = answer.family.take(answer.picks)
        for number, (counts, filled) in enumerate(zip(answer.counts, queries.filled, strict=True)):
            sides = queries.sides(number, workload.domain)
            yield Measurement.of(queries.name, sides, counts[filled], answer.scale)


def _require_one_stream(schema: Schema, engine: Engine) -> None:
    if schema.privacy and not isinstance(engine, Local):
        raise InvalidInput(
            "Rows of one person are counted in one stream, which only the local engine does.",
            "Use engine='local', or keep few rows of each person yourself and leave out privacy.",
        )


def _require_schema_paid(schema: Schema, protection: Protection, ledger: str | Path | None) -> None:
    """Refuse a bought schema whose cost does not add up with the fit's, or is not in its ledger."""
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


@cache
def _versions() -> dict[str, str]:
    names = ("tabveil", "opendp", "jax", "numpy")
    return {name: version(name) for name in names} | {"python": platform.python_version()}


def _parameters() -> list[str]:
    return [name for name in inspect.signature(RAPpp.__init__).parameters if name != "self"]
