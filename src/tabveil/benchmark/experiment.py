"""What a TOML file asks for: datasets × synthesizers × ε × seeds, as cells to be run one by one."""

import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

from tabveil.baselines import baseline_named
from tabveil.benchmark.nist import SdNist
from tabveil.datasets import DATASETS, TABLES, Prepared
from tabveil.datasets.prepared import split
from tabveil.errors import InvalidInput
from tabveil.privacy import Budget, Relation, relation_named
from tabveil.schema import did_you_mean

PAPER_DELTA = "1/n²"
AS_MANY = "n"  # synthetic rows as there are rows to fit
EVALUATORS = {"sdnist": SdNist}  # programs of others with scores of their own


@dataclass(frozen=True)
class Cell:
    """One fit and its scores: everything that they depend on."""

    dataset: Mapping[str, Any]  # its name and options
    synthesizer: Mapping[str, Any]
    epsilon: float | None  # none where nothing is private
    delta: str | float
    neighbours: str
    seed: int
    synthetic_rows: int | str
    queries: int
    evaluator: Mapping[str, Any] | None = None  # a program of others: its name and options

    @property
    def name(self) -> str:
        """A readable file name that no other cell has."""
        spelled = json.dumps(self.to_dict(), sort_keys=True, default=str)
        words = [*self.dataset.values(), *self.synthesizer.values(), self.epsilon, self.seed]
        short = re.sub(r"[^\w.]+", "-", "-".join(str(word) for word in words if word is not None))
        return f"{short}-{hashlib.sha256(spelled.encode()).hexdigest()[:8]}"

    def budget(self, rows: int) -> Budget:
        """The promise for a table of so many rows."""
        delta = 1 / max(2, rows) ** 2 if self.delta == PAPER_DELTA else float(self.delta)
        return Budget(self.epsilon or 1.0, delta)

    @property
    def excerpt(self) -> str:
        """Which of a dataset's tables it is about; for evaluators that know them by name."""
        options = {**default_options(self.dataset["name"]), **self.dataset}
        return str(options.get("excerpt", self.dataset["name"]))

    def drawn(self, rows: int) -> int:
        """How many synthetic rows are drawn, where so many were fitted."""
        return rows if self.synthetic_rows == AS_MANY else int(self.synthetic_rows)

    def prepare(self, folder: str | Path | None) -> Prepared:
        """The rows to fit and to test on, from a folder of real tables or simulated."""
        options = {name: value for name, value in self.dataset.items() if name != "name"}
        if self.dataset["name"] in TABLES:
            return TABLES[self.dataset["name"]].prepare(folder, **options)
        simulated = DATASETS[self.dataset["name"]]
        return split(simulated.frame(options.get("rows", 50_000), 0), simulated.schema())

    def to_dict(self) -> dict[str, Any]:
        """A form for JSON; what is scored by this package alone is spelled without an evaluator."""
        spelled = asdict(self)
        return spelled if self.evaluator else {k: v for k, v in spelled.items() if k != "evaluator"}


@dataclass(frozen=True)
class Experiment:
    """A grid of cells, and how to show what comes out; a list as an option: one entry per value."""

    title: str
    dataset: tuple[Mapping[str, Any], ...]
    synthesizer: tuple[Mapping[str, Any], ...]
    epsilons: tuple[float, ...] = (1.0,)
    seeds: tuple[int, ...] = (0,)
    delta: str | float = PAPER_DELTA
    neighbours: str = Relation.SUBSTITUTE.value
    synthetic_rows: int | str = 20_000  # or AS_MANY
    queries: int = 200_000
    evaluator: Mapping[str, Any] | None = None
    limit: float | None = None  # seconds for a cell
    figure: tuple[Mapping[str, Any], ...] = field(default=())
    table: tuple[Mapping[str, Any], ...] = field(default=())

    @classmethod
    def load(cls, path: str | Path) -> "Experiment":
        """The experiment that a TOML file describes."""
        path = Path(path)
        if not path.is_file():
            raise InvalidInput(
                f"There is no file {path}.", "tabveil bench --list shows those that are shipped."
            )
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"{path} is not TOML: {error}.", "Compare it with benchmarks/quick.toml."
            ) from None
        known = [entry.name for entry in fields(cls)]
        for name in content:
            if name not in known:
                hint = did_you_mean(name, known) or f"Known: {', '.join(known)}."
                raise InvalidInput(f"{path}: {name} is not a known key.", hint)
        for name in ("title", "dataset", "synthesizer"):
            if not content.get(name):
                raise InvalidInput(
                    f"{path} names no {name}.", "Compare it with benchmarks/quick.toml."
                )
        settings: dict[str, Any] = {
            n: tuple(v) if isinstance(v, list) else v for n, v in content.items()
        }
        made = cls(**settings)
        made.check()
        return made

    def check(self) -> None:
        """Refuse what cannot be run before anything is."""
        known = (*TABLES, *DATASETS)
        for dataset in expanded(self.dataset):
            if dataset.get("name") not in known:
                raise InvalidInput(
                    f"There is no dataset {dataset.get('name')}.",
                    f"Choose from: {', '.join(known)}.",
                )
            for option in dataset:
                allowed = ["name", *default_options(dataset["name"]), "rows"]
                if option not in allowed or option == "folder":
                    raise InvalidInput(f"The dataset {dataset['name']} has no option {option}.")
        relation_named(self.neighbours)
        if self.synthetic_rows != AS_MANY and not isinstance(self.synthetic_rows, int):
            raise InvalidInput(
                f"synthetic_rows is {self.synthetic_rows!r}.",
                f'Give a number, or "{AS_MANY}" for as many as are fitted.',
            )
        if self.evaluator is not None:
            self.check_evaluator(self.evaluator)
        for cell in self.cells():
            cell.budget(1000)

    def check_evaluator(self, asked: Mapping[str, Any]) -> None:
        """Refuse a program that is not known, or that does not know the tables."""
        evaluator = evaluator_named(**asked)
        for dataset in expanded(self.dataset):
            if dataset["name"] != evaluator.dataset:
                raise InvalidInput(
                    f"{evaluator.title} cannot score {dataset['name']}.",
                    f"Its dataset is {evaluator.dataset}.",
                )

    def cells(self) -> Iterator[Cell]:
        """Every cell; those whose results do not depend on ε come once, and first."""
        grid = itertools.product(
            self.seeds, self.epsilons, expanded(self.dataset), expanded(self.synthesizer)
        )
        evaluator = None
        if self.evaluator is not None:
            evaluator = told_apart(self.evaluator, asdict(EVALUATORS[self.evaluator["name"]]()))
        found = []
        for seed, epsilon, dataset, synthesizer in grid:
            baseline = baseline_named(**synthesizer)
            cell = Cell(
                told_apart(dataset, default_options(dataset["name"])),
                told_apart(synthesizer, asdict(type(baseline)())),
                float(epsilon) if baseline.private else None,
                self.delta,
                self.neighbours,
                seed,
                self.synthetic_rows,
                self.queries,
                evaluator,
            )
            found.append(cell)
        unique = {cell.name: cell for cell in found}
        yield from sorted(unique.values(), key=lambda cell: cell.epsilon is not None)

    def only(self, synthesizers: list[str]) -> "Experiment":
        """The same experiment with some of its synthesizers."""
        chosen = tuple(
            entry for entry in expanded(self.synthesizer) if entry["name"] in synthesizers
        )
        return replace(self, synthesizer=chosen)


def evaluator_named(name: str = "", **options: Any) -> SdNist:
    """The evaluator of this name, with some of its options set."""
    if name not in EVALUATORS:
        raise InvalidInput(
            f"There is no evaluator {name}.", f"Choose from: {', '.join(EVALUATORS)}."
        )
    known = [option.name for option in fields(EVALUATORS[name])]
    for option in options:
        if option not in known:
            raise InvalidInput(
                f"The evaluator {name} has no option {option}.", f"It has: {', '.join(known)}."
            )
    return EVALUATORS[name](**options)


def told_apart(entry: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The name and what differs from its defaults, so that experiments share equal cells."""
    return {
        name: value
        for name, value in entry.items()
        if name == "name" or value != defaults.get(name)
    }


def default_options(dataset: str) -> dict[str, Any]:
    """What a dataset is prepared with where nothing is said."""
    if dataset not in TABLES:
        return {}
    return {
        name: option.default
        for name, option in signature(TABLES[dataset].prepare).parameters.items()
    }


def expanded(entries: tuple[Mapping[str, Any], ...]) -> Iterator[dict[str, Any]]:
    """Every entry, once for each combination of the values that its lists name."""
    for entry in entries:
        lists = [value if isinstance(value, list) else [value] for value in entry.values()]
        for values in itertools.product(*lists):
            yield dict(zip(entry, values, strict=True))
