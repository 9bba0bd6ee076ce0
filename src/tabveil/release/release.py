"""What leaves the building: a fitted table to sample from, its noisy answers, and what it cost."""

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tabveil.errors import InvalidInput
from tabveil.machine.files import atomic_folder
from tabveil.release import format_1
from tabveil.release.conditions import Chances, Condition, claims_of, conditions_of
from tabveil.release.crowds import crowded, require_columns
from tabveil.release.output import as_kind
from tabveil.release.repair import Repair, repaired
from tabveil.release.shares import rake, shares_of
from tabveil.release.totals import holding
from tabveil.release.untrusted import Damaged, arrays_in, json_in
from tabveil.schema import Schema
from tabveil.schema.constraints import Determines
from tabveil.schema.totals import Total
from tabveil.shapes import Float
from tabveil.tables.drawing import as_often, drawn_codes, even_levels
from tabveil.tables.measurement import Measurement
from tabveil.tables.numbers import KINDS, Positions, RelaxedNumbers
from tabveil.tables.placement import Placement, placement_from_dict
from tabveil.tables.table import Codec, Domain, Grouping, Table

if TYPE_CHECKING:
    import pandas as pd

STRUCTURE_ONLY = (
    "Structure only: columns are independent of each other here. Good for writing and testing "
    "code, not for results."
)
REFERENCE = 20_000  # synthetic rows that say which value a column determines
REPAIRED, TURNS = 2**15, 3  # synthetic rows that show what repair does, and how often it is asked


class Version(NamedTuple):
    """How the files of a release call their parts, and how its measurements are read."""

    placement: str
    measurement: Callable[[Any, Domain], Measurement]
    positions: tuple[str, ...] = Positions.arrays  # what it calls the parts of positions


FORMAT, WEIGHTED = 3, 4
"""2 knows positions alone, 3 bins as well, 4 also relaxed rows that count more than others.

What is the same in them is read in the same way; 4 is only written where it is needed.
"""
LATEST = Version("placement", lambda content, domain: Measurement.from_dict(content))
VERSIONS = {
    1: Version(format_1.PLACEMENT, format_1.measurement_from_dict, format_1.POSITIONS),
    2: LATEST,
    FORMAT: LATEST,
    WEIGHTED: LATEST,
}


@dataclass(frozen=True)
class Release:
    """Everything here may be published; nothing in it was computed from real rows without noise."""

    schema: Schema
    probabilities: Float[np.ndarray, "cells relaxed"]
    numbers: RelaxedNumbers  # places between 0 and 1
    placement: Placement  # what these places mean
    measurements: tuple[Measurement, ...]  # every noisy answer with its standard error
    privacy: Mapping[str, Any]  # the promise in words and numbers
    charges: list[dict[str, Any]]  # the ledger of this fit
    kind: str = "pandas"  # the kind of table that came in
    types: Mapping[str, str] = field(default_factory=dict)  # the types that its columns had
    groupings: Mapping[str, Grouping] = field(default_factory=dict)  # values learnt together
    weights: Float[np.ndarray, " relaxed"] | None = None  # what relaxed rows count, if not the same

    def sample(
        self,
        rows: int,
        *,
        seed: int | None = None,
        where: Mapping[str, Any] | None = None,
        shares: Mapping[str, Mapping[Any, float]] | None = None,
        at_least: int = 1,
        on: Sequence[str] = (),
        kind: str | None = None,
    ) -> Any:
        """Draw this many synthetic rows; costs nothing, as often as you like.

        `where` asks for rows of one sort only, such as {"sex": "F", "age": (30, 40)}: relaxed rows
        are drawn as often as they meet it, and what it names is drawn inside it. See
        `effective_rows`. `shares` asks for other shares than the table had, such as {"sex": {"F":
        0.6}}. With `at_least`, every combination of the columns `on` comes at least so often.
        """
        if isinstance(rows, bool) or not hasattr(rows, "__index__") or rows <= 0:
            raise InvalidInput(
                f"{rows} rows were asked for; the number must be 1 or more.",
                "Ask for e.g. 1000 rows.",
            )
        rows = operator.index(rows)
        random = np.random.default_rng(seed)
        conditions, wanted = conditions_of(where, self.schema), shares_of(shares, self.schema)
        if on or at_least != 1:
            require_columns(on, at_least, list(self.schema.columns))
        chances = self._chances(conditions)
        if not chances.weights.sum() > 0:
            raise InvalidInput(
                "No row of this release can meet the condition.",
                "Widen it, or ask for fewer columns at once.",
            )
        if wanted:
            rake(chances, wanted)
        repair = self._repair(conditions)

        # Rows of one sort, or of other shares, have other totals.
        totals = () if conditions or wanted or at_least > 1 else self.schema.parsed_totals

        def more(rows: int) -> Table:
            return self._drawn(rows, chances, random)

        def draw(rows: int) -> pa.Table:
            table = repaired(more(rows), repair, random, more)
            if totals:
                table = repaired(self._holding(table, totals, random), repair, random, more)
            return Codec(self.schema).decode(table, random)

        decoded = crowded(draw, rows, on, at_least) if at_least > 1 else draw(rows)
        return as_kind(decoded, kind or self.kind, self.schema, self.types)

    @property
    def independent(self) -> bool:
        """Whether columns are drawn independently, as by the `structure` preset: one relaxed row
        cannot say how two of them hang together."""
        return self.probabilities.shape[1] == 1

    def effective_rows(self, where: Mapping[str, Any] | None = None) -> float:
        """How many of the relaxed rows a condition leaves, counted by their weights: (Σw)²/Σw²."""
        return self._chances(conditions_of(where, self.schema)).effective_rows

    def foreseeing_repair(self) -> "Release":
        """The same with other shares of single columns: those that repair makes into these.

        Rows that break a constraint are mended when they are drawn. That moves shares, of what is
        missing most of all.
        """
        if not self.schema.parsed_constraints:
            return self
        found, wanted = self, np.zeros(0)
        for _ in range(TURNS):
            before, after = found._before_and_after_repair()
            wanted = wanted if len(wanted) else before
            factors = np.clip((wanted + 1 / REPAIRED) / (after + 1 / REPAIRED), 0.5, 2.0)
            found = replace(found, probabilities=found._scaled(factors))
        return found

    def _before_and_after_repair(self) -> list[Float[np.ndarray, " cells"]]:
        """How often each category comes among the same rows, as drawn and as repaired."""
        random, chances = np.random.default_rng(0), self._chances(())
        domain = chances.codec.domain

        def more(rows: int) -> Table:
            return self._drawn(rows, chances, random)

        drawn = more(REPAIRED)
        mended = repaired(drawn, self._repair(()), random, more)
        grouped = (chances.codec.grouped(table) for table in (drawn, mended))
        return [
            np.concatenate(
                [
                    np.bincount(codes, minlength=size) / REPAIRED
                    for codes, size in zip(table.codes.T, domain.sizes, strict=True)
                ]
            )
            for table in grouped
        ]

    def _scaled(self, factors: Float[np.ndarray, " cells"]) -> Float[np.ndarray, "cells relaxed"]:
        """Every row's chances times these, and again adding up to one on each axis."""
        chances = self.probabilities * factors[:, None].astype(np.float32)
        domain = self._chances(()).codec.domain
        for offset, size in zip(domain.offsets, domain.sizes, strict=True):
            chances[offset : offset + size] /= chances[offset : offset + size].sum(axis=0)
        return chances

    def _repair(self, conditions: tuple[Condition, ...]) -> Repair:
        """The repair of what breaks a constraint, or a condition."""
        repair = Repair(self.schema, claims_of(conditions, self.schema))
        if any(isinstance(rule.claim, Determines) for rule in repair.constraints):
            repair.learn(self._drawn(REFERENCE, self._chances(()), np.random.default_rng(0)))
        return repair

    def _chances(self, conditions: tuple[Condition, ...]) -> Chances:
        codec = Codec(self.schema, self.groupings)
        return Chances(
            conditions, codec, self.placement, self.probabilities, self.numbers, self.weights
        )

    def _drawn(self, rows: int, chances: Chances, random: np.random.Generator) -> Table:
        """Rows as codes and numbers, in no order, before constraints."""
        domain = chances.codec.domain
        drawn = _copies(rows, chances.weights, random)

        def levels() -> np.ndarray:
            return even_levels(drawn, random)

        def settled(places: np.ndarray, of: np.ndarray) -> np.ndarray:
            return as_often(places, of, drawn, chances.weights, random)

        codes = drawn_codes(chances.probabilities, domain, drawn, levels, settled)
        places = chances.numbers.drawn(drawn, chances.weights, levels, random)
        numbers = self.placement.numbers(places)
        order = random.permutation(rows)
        return chances.codec.ungrouped(Table(codes[order], numbers[order]), random, chances.allowed)

    def _holding(self, table: Table, totals: Sequence[Total], random: np.random.Generator) -> Table:
        """The same rows with published totals; what constraints then mend may be off again."""
        names = list(self.schema.categories)
        return Table(holding(table.codes, totals, names, random), table.numbers)

    def measured(self) -> "pd.DataFrame":
        """Every noisy count as a tidy table: family, query, cell, count, standard_error."""
        import pandas as pd

        lines = [
            (m.family, m.query, cell, count, m.standard_error)
            for m in self.measurements
            for cell, count in zip(m.cells, m.counts.ravel().tolist(), strict=True)
        ]
        return pd.DataFrame(lines, columns=["family", "query", "cell", "count", "standard_error"])

    def save(self, path: str | Path) -> None:
        """Write a folder of JSON and npz; it appears whole or not at all."""
        with atomic_folder(path) as folder:
            _write_json(folder / "schema.json", self.schema.to_dict())
            _write_json(folder / "privacy.json", dict(self.privacy))
            _write_json(folder / "ledger.json", self.charges)
            _write_json(
                folder / "release.json",
                {
                    "format": FORMAT if self.weights is None else WEIGHTED,
                    "kind": self.kind,
                    "types": dict(self.types),
                    "groupings": {
                        name: grouping.to_dict() for name, grouping in self.groupings.items()
                    },
                    "placement": self.placement.to_dict(),
                    "numbers": self.numbers.to_dict(),
                },
            )
            _write_json(folder / "measurements.json", [m.to_dict() for m in self.measurements])
            with (folder / "table.npz").open("wb") as file:
                arrays = {"probabilities": self.probabilities, **self.numbers.to_arrays()}
                if self.weights is not None:
                    arrays["weights"] = self.weights[None]
                stored = {
                    name: np.ascontiguousarray(array, "<f4") for name, array in arrays.items()
                }
                np.savez_compressed(file, **stored)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> "Release":
        """Read a folder written by `save`, and check that it holds together."""
        folder = Path(path)
        if not (folder / "release.json").is_file():
            raise InvalidInput(
                f"{path} is not a release.", "Name the folder that `tabveil fit -o` wrote."
            )
        try:
            about = json_in(folder / "release.json")
            form = _format(about["format"])
            schema = Schema.from_dict(json_in(folder / "schema.json"))
            groupings = {n: Grouping.from_dict(g) for n, g in about.get("groupings", {}).items()}
            domain = Codec(schema, groupings).domain
            measured = json_in(folder / "measurements.json")
            about_numbers = about.get("numbers", {"kind": Positions.kind})
            numbers = KINDS[about_numbers["kind"]]
            names = form.positions if numbers is Positions else numbers.arrays
            weighted = ("weights",) * (about["format"] == WEIGHTED)
            arrays = arrays_in(folder / "table.npz", ("probabilities", *names, *weighted))
            probabilities, *rest = (arrays[name] for name in ("probabilities", *names))
            release = cls(
                schema,
                probabilities,
                numbers.read(about_numbers, *rest),
                placement=placement_from_dict(about[form.placement], schema),
                measurements=tuple(form.measurement(content, domain) for content in measured),
                privacy=_promise(json_in(folder / "privacy.json")),
                charges=[_charge(charge) for charge in json_in(folder / "ledger.json")],
                kind=str(about["kind"]),
                types={str(name): str(text) for name, text in about.get("types", {}).items()},
                groupings=groupings,
                weights=arrays["weights"].ravel() if weighted else None,
            )
            release._check()
        except InvalidInput:
            raise
        except Exception:
            raise InvalidInput(
                f"The release {path} is damaged.",
                "Copy it again, or ask its owner for another copy.",
            ) from None
        return release

    def _check(self) -> None:
        domain = Codec(self.schema, self.groupings).domain
        rows = self.probabilities.shape[1]
        arrays = self.probabilities, *self.numbers.to_arrays().values()
        inside = all(np.isfinite(a).all() and (a >= 0).all() and (a <= 1.001).all() for a in arrays)
        columns = len(domain.numerical)
        weights = np.ones(rows) if self.weights is None else self.weights
        right = (
            self.probabilities.shape == (domain.cells, rows)
            and rows > 0
            and self.numbers.fits(columns, rows)
            and self.placement.fits(columns)
            and weights.shape == (rows,)
            and bool(np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0)
        )
        grouped = all(
            name in self.schema.categorical and grouping.fits(self.schema.categories[name].labels)
            for name, grouping in self.groupings.items()
        )
        if not (right and inside and grouped):
            raise InvalidInput(
                "The release does not match its own schema.",
                "Copy it again, or ask its owner for another copy.",
            )


def _format(version: Any) -> Version:
    """How the files of this version are read."""
    if type(version) is not int:
        raise Damaged
    if version not in VERSIONS:
        *before, last = map(str, VERSIONS)
        known = f"{', '.join(before)} and {last}"
        raise InvalidInput(
            f"The release has format {version}, this version reads {known}.", "Update tabveil."
        )
    return VERSIONS[version]


def _write_json(path: Path, content: Any) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False)
    path.write_text(text, encoding="utf-8", newline="\n")


def _promise(content: dict[str, Any]) -> dict[str, Any]:
    """A privacy statement whose main words are of the right kind."""
    kinds = {
        "promise": str,
        "relation": str,
        "private": bool,
        "epsilon": float | int,
        "delta": float | int,
    }
    if not all(isinstance(content[name], kind) for name, kind in kinds.items()):
        raise Damaged
    place = content.get("ledger") or {"first": "", "lines": 0, "last": ""}
    if [type(place[name]) for name in ("first", "lines", "last")] != [str, int, str]:
        raise Damaged
    return content


def _charge(content: dict[str, Any]) -> dict[str, Any]:
    """A line of the ledger whose main words are texts, and whose cost is a fraction."""
    texts = [content[name] for name in ("what", "mechanism", "rho")]
    if not all(isinstance(text, str) for text in texts) or not re.fullmatch(
        r"\d+(/[1-9]\d*)?", texts[2]
    ):
        raise Damaged
    return content


def _copies(rows: int, weights: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Which relaxed row each synthetic row is from: as often as its weight says, rest at random."""
    if (weights == weights[0]).all():
        whole, rest = divmod(rows, len(weights))
        left = random.permutation(len(weights))[:rest]
        return np.sort(np.concatenate([np.repeat(np.arange(len(weights)), whole), left]))
    order = random.permutation(len(weights))
    below = np.cumsum(weights[order])
    levels = (np.arange(rows) + random.random()) / rows * below[-1]
    return np.sort(order[np.minimum(np.searchsorted(below, levels, "right"), len(weights) - 1)])
