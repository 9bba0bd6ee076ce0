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
from tabveil.datasets import DATASETS, TABLES, Prepared
from tabveil.datasets.prepared import split
from tabveil.errors import InvalidInput
from tabveil.privacy import Budget, Relation, relation_named
from tabveil.schema import did_you_mean

PAPER_DELTA = "1/n²"


@dataclass(frozen=True)
class Cell:
    """One fit and its scores: everything that they depend on."""

    dataset: Mapping[str, Any]  # its name and options
    synthesizer: Mapping[str, Any]
    epsilon: float | None  # none where nothing is private
    delta: str | float
    neighbours: str
    seed: int
    synthetic_rows: int
    queries: int

    @property
    def name(self) -> str:
        """A readable file name that no other cell has."""
        spelled = json.dumps(asdict(self), sort_keys=True, default=str)
        words = [*self.dataset.values(), *self.synthesizer.values(), self.epsilon, self.seed]
        short = re.sub(r"[^\w.]+", "-", "-".join(str(word) for word in words if word is not None))
        return f"{short}-{hashlib.sha256(spelled.encode()).hexdigest()[:8]}"

    def budget(self, rows: int) -> Budget:
        """The promise for a table of so many rows."""
        delta = 1 / max(2, rows) ** 2 if self.delta == PAPER_DELTA else float(self.delta)
        return Budget(self.epsilon or 1.0, delta)

    def prepare(self, folder: str | Path | None) -> Prepared:
        """The rows to fit and to test on, from a folder of real tables or simulated."""
        options = {name: value for name, value in self.dataset.items() if name != "name"}
        if self.dataset["name"] in TABLES:
            return TABLES[self.dataset["name"]].prepare(folder, **options)
        simulated = DATASETS[self.dataset["name"]]
        return split(simulated.frame(options.get("rows", 50_000), 0), simulated.schema())

    def to_dict(self) -> dict[str, Any]:
        """A form for JSON."""
        return asdict(self)


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
    synthetic_rows: int = 20_000
    queries: int = 200_000
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
        for cell in self.cells():
            cell.budget(1000)

    def cells(self) -> Iterator[Cell]:
        """Every cell; those whose results do not depend on ε come once, and first."""
        grid = itertools.product(
            self.seeds, self.epsilons, expanded(self.dataset), expanded(self.synthesizer)
        )
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
