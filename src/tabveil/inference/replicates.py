"""Several tables instead of one, which differ as much as the noise of a release leaves open."""

import json
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from tabveil.errors import InvalidInput, either
from tabveil.inference.correction import hidden
from tabveil.inference.pool import Pool, counted_rows
from tabveil.inference.tilting import weights_for
from tabveil.machine.files import atomic_folder
from tabveil.release import Release
from tabveil.release.formats import SUFFIXES
from tabveil.release.marks import mark_of, marked
from tabveil.release.output import as_kind, write
from tabveil.release.untrusted import json_in
from tabveil.schema import Schema

FEW = 500  # synthetic rows to weigh, however few people there are
FEWEST, MOST, WORK = 4_000, 20_000, 4_000_000  # the most of them, by rows times tables
Watch = Callable[[str, int, int], None]
READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".csv": pyarrow.csv.read_csv,
    ".parquet": pyarrow.parquet.read_table,
    ".feather": pyarrow.feather.read_table,
    ".arrow": pyarrow.feather.read_table,
}
README = """\
{replicates} synthetic tables of {rows:,} rows each, in place of one.

They differ as much as the noise of the release leaves open. Compute what you want from each of
them, and combine the results by the rules for multiple imputation (Rubin's rules). With
estimates q_1 ... q_m and their squared standard errors u_1 ... u_m, as any software prints them:

  estimate            mean(q)
  standard error      sqrt(mean(u) + (1 + 1/m) * var(q))
  degrees of freedom  (m - 1) * (1 + mean(u) / ((1 + 1/m) * var(q)))^2, of a t distribution

One table alone gives intervals that are too narrow. What nobody measured is the model's guess in
all of them alike, and these rules cannot show that: replicates.json says which columns were
measured together.

In Python, which knows and warns: replicates = tabveil.inference.load("this folder"), then
tabveil.inference.estimate(replicates, lambda table: ...). The tutorial on inference in the
documentation has the same in R and Stata.

{promise}
"""
Cuts = Mapping[frozenset[str], Mapping[str, tuple[float, ...]]]
"""Columns that were measured together, and for each number among them where its runs begin."""


@dataclass(frozen=True)
class Replicates:
    """Tables drawn to represent what noisy answers leave open, and what was measured of them."""

    tables: Sequence[Any]
    schema: Schema
    cuts: Cuts
    hidden: Mapping[str, float]  # of each number, by `correction.hidden`

    def __len__(self) -> int:
        return len(self.tables)

    def __repr__(self) -> str:
        return f"Replicates({len(self)} tables)"

    def pairwise(self, columns: Collection[str]) -> bool:
        """Whether any two of these columns were measured together."""
        return all(
            any({one, other} <= measured for measured in self.cuts)
            for one, other in combinations(columns, 2)
        )

    def measures(self, columns: Collection[str]) -> bool:
        """Whether all of these columns were measured together."""
        return any(measured.issuperset(columns) for measured in self.cuts)

    def cells(self, frame: pd.DataFrame, columns: Collection[str]) -> np.ndarray:
        """Which cell each row is in, as finely as these columns were measured together."""
        whole = [runs for measured, runs in self.cuts.items() if measured.issuperset(columns)]
        found = np.zeros(len(frame), np.int64)
        for name in columns:
            starts = sorted({start for runs in whole for start in runs.get(name, ())})
            own = self._runs(frame[name], name, starts) if starts else pd.factorize(frame[name])[0]
            found = pd.factorize(found * (own.max() + 2) + own)[0]
        return found

    def _runs(self, cells: pd.Series, name: str, starts: Sequence[float]) -> np.ndarray:
        """The run that each number is in; special and missing values have runs of their own."""
        kinds, numbers = self.schema.number_codecs[name].encode(pa.chunked_array([pa.array(cells)]))
        return np.where(kinds > 0, len(starts) + kinds, np.searchsorted(starts, numbers, "right"))


@dataclass(frozen=True)
class Drawn:
    """Replicates of one release as Arrow tables, ready to be written or handed over."""

    release: Release
    tables: list[pa.Table]
    cuts: Cuts
    hidden: Mapping[str, float]
    seed: int | None

    def as_frames(self, kind: str | None) -> Replicates:
        """The tables as frames of one kind."""
        release = self.release
        kind = kind or release.kind
        frames = [as_kind(table, kind, release.schema, release.types) for table in self.tables]
        return Replicates(frames, release.schema, self.cuts, self.hidden)

    def save(self, path: str | Path, suffix: str = ".csv") -> None:
        """Write a folder of tables, with a file that says what they are and how to combine them."""
        if suffix not in SUFFIXES:
            raise InvalidInput(
                f"{suffix} is no format that tables are written in.",
                f"Choose from: {', '.join(SUFFIXES)}.",
            )
        mark = mark_of(self.release)
        about = {
            **mark,
            "replicates": len(self.tables),
            "rows": self.tables[0].num_rows,
            "seed": self.seed,
            "files": [f"replicate-{place + 1:02}{suffix}" for place in range(len(self.tables))],
            "measured_together": [
                {name: list(runs.get(name, ())) for name in sorted(columns)}
                for columns, runs in self.cuts.items()
            ],
            "hidden": dict(self.hidden),
            "schema": self.release.schema.to_dict(),
        }
        with atomic_folder(path) as folder:
            for name, table in zip(about["files"], self.tables, strict=True):
                write(marked(table, mark), folder / name)
            _write(folder / "replicates.json", json.dumps(about, indent=1, ensure_ascii=False))
            _write(folder / "README.txt", README.format(**about))


def replicates(
    release: Release, count: int = 20, *, seed: int | None = None, kind: str | None = None
) -> Replicates:
    """So many tables that differ as much as noise leaves open; costs nothing."""
    return draw(release, count, seed=seed).as_frames(kind)


def draw(
    release: Release,
    count: int = 20,
    *,
    seed: int | None = None,
    watch: Watch = lambda stage, done, total: None,
) -> Drawn:
    """Perturb the noisy answers by as much noise again, and weigh synthetic rows to agree."""
    if isinstance(count, bool) or not hasattr(count, "__index__") or count < 2:
        raise InvalidInput(
            f"{count} replicates were asked for; it takes two or more to see how they differ.",
            "Ask for 20; for single tables there is `sample`.",
        )
    count, random = operator.index(count), np.random.default_rng(seed)
    rows = round(counted_rows(release).rows)
    # A row is drawn about once: drawing some of more rows would add a luck of its own.
    most = np.clip(WORK / max(1, len(release.measurements)), FEWEST, MOST)
    pool = Pool(release, int(min(max(rows, FEW), most)), seed=int(random.integers(2**32)))
    watch("weighing rows", 0, count)
    parts = pool.parts()
    weights = weights_for(parts, [pool.members(part) for part in parts], random, count)
    tables = []
    for place in range(count):
        watch("drawing rows", place, count)
        chosen = _drawn(weights[:, place], rows, random)
        tables.append(_with_new_ids(pool.arrow.take(chosen), release.schema, random))
    return Drawn(release, tables, pool.cuts, hidden(pool), seed)


def load(path: str | Path) -> Replicates:
    """Read a folder that `tabveil replicate` wrote, in CSV or Parquet, as pandas frames."""
    folder = Path(path)
    if not (folder / "replicates.json").is_file():
        raise InvalidInput(
            f"{path} holds no replicates.", "Name the folder that `tabveil replicate -o` wrote."
        )
    try:
        about = json_in(folder / "replicates.json")
        schema = Schema.from_dict(about["schema"])
        names = [Path(str(name)).name for name in about["files"]]
        far_out = {str(name): float(own) for name, own in about.get("hidden", {}).items()}
        cuts = {
            frozenset(runs): {name: tuple(map(float, starts)) for name, starts in runs.items()}
            for runs in about["measured_together"]
        }
        tables = [_read(folder / name) for name in names]
        frames = [as_kind(table.select(list(schema.columns)), "pandas", schema) for table in tables]
    except InvalidInput:
        raise
    except Exception:
        raise InvalidInput(
            f"The replicates in {path} are damaged.", "Make them again: `tabveil replicate`."
        ) from None
    return Replicates(frames, schema, cuts, far_out)


def _read(path: Path) -> pa.Table:
    if path.suffix not in READERS:
        raise InvalidInput(
            f"Replicates in {path.suffix} files are not read back here.",
            f"Write them in {either(READERS)}, or read them yourself.",
        )
    return READERS[path.suffix](path)


def _drawn(weights: np.ndarray, rows: int, random: np.random.Generator) -> np.ndarray:
    """Rows by their weights, each as often as its weight says, up to rounding; in no order."""
    below = np.cumsum(weights)
    levels = (np.arange(rows) + random.random()) / rows * below[-1]
    return random.permutation(np.minimum(np.searchsorted(below, levels, "right"), len(weights) - 1))


def _with_new_ids(table: pa.Table, schema: Schema, random: np.random.Generator) -> pa.Table:
    """A row that was drawn twice is two people."""
    for place, name in enumerate(table.column_names):
        new = schema.columns[name].generated(table.num_rows, random)
        if new is not None:
            table = table.set_column(place, name, schema.columns[name].signed(new))
    return table


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
