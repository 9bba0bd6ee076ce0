"""Tables that are public anyway, and what a fit can take from them. No private row comes near.

The owner declares them public: nothing in them is protected, and nothing of them is paid for.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tabveil.columns.words import closest, shown
from tabveil.errors import InvalidInput
from tabveil.fitting.ranks import Below
from tabveil.fitting.weighted import Pool
from tabveil.queries import Pairs
from tabveil.release import Release
from tabveil.schema import Schema, kind_axis
from tabveil.sources import opened
from tabveil.sources.reader import Reader, explained
from tabveil.tables.placement import Lattice, Ranks
from tabveil.tables.table import Codec, Domain, Table

MOST = 2**17  # rows kept of one table
TOGETHER = 2**15  # rows of all tables that get weights
MOST_NUMBERS = 2**24  # of one kind held at once: rows times categories
OF_A_RELEASE = 50_000  # rows drawn from it


@dataclass(frozen=True, repr=False)
class PublicTable:
    """Rows of a public table, as far as they have the schema's columns."""

    name: str
    rows: int  # as many as it has
    sha256: str
    cells: pa.Table  # those that are kept, drawn evenly; columns that it lacks are empty
    columns: tuple[str, ...]  # of the schema that it has

    @classmethod
    def read(cls, data: Any, schema: Schema, seed: int) -> "PublicTable":
        """A path, a frame, or an earlier release: its folder, or the object itself."""
        if isinstance(data, str | Path) and (Path(data) / "release.json").is_file():
            digest = _hashed(Path(data) / part for part in ("release.json", "table.npz"))
            return cls._of_release(Release.load(data), Path(data).name, digest, schema)
        if isinstance(data, Release):
            digest = hashlib.sha256(data.probabilities.tobytes()).hexdigest()
            return cls._of_release(data, "an earlier release", digest, schema)
        reader = opened(data)
        columns = _shared(reader, schema)
        random, kept, keys, rows = np.random.default_rng(seed), [], [], 0
        with explained(f"{reader.what} could not be read to its end.", reader.advice):
            for batch in reader.batches(columns, 2**16, lambda share: None):
                rows += batch.num_rows
                kept.append(batch.select(columns))
                keys.append(random.random(batch.num_rows))
                if sum(map(len, keys)) > 2 * MOST:
                    kept, keys = _fewest(kept, keys)
        kept, keys = _fewest(kept, keys)
        if rows == 0:
            raise InvalidInput(f"The public table {_name(reader)} has no rows.", "Leave it out.")
        files = reader.files_here()
        digest = _hashed(files) if files else _hashed_cells(kept[0])
        return cls._filled(_name(reader), rows, digest, kept[0], schema)

    @classmethod
    def _of_release(cls, release: Release, name: str, digest: str, schema: Schema) -> "PublicTable":
        drawn: pa.Table = release.sample(OF_A_RELEASE, seed=0, kind="arrow")
        columns = [column for column in schema.learnt if column in drawn.column_names]
        if not columns:
            raise InvalidInput(
                f"The release {name} has none of the schema's columns.", "Leave it out."
            )
        return cls._filled(name, OF_A_RELEASE, digest, drawn.select(columns), schema)

    @classmethod
    def _filled(
        cls, name: str, rows: int, digest: str, cells: pa.Table, schema: Schema
    ) -> "PublicTable":
        columns = tuple(cells.column_names)
        for lacking in (column for column in schema.learnt if column not in columns):
            cells = cells.append_column(lacking, pa.nulls(cells.num_rows))
        return cls(name, rows, digest, cells.select(schema.learnt), columns)

    @property
    def about(self) -> dict[str, Any]:
        """What a release says of it."""
        return {
            "name": self.name,
            "rows": self.rows,
            "sha256": self.sha256,
            "columns": list(self.columns),
        }

    def __repr__(self) -> str:
        return f"PublicTable({self.name}, {self.rows:,} rows, {len(self.columns)} columns)"


@dataclass(frozen=True, eq=False, repr=False)
class Help:
    """What public tables say about a table like the private one."""

    domain: Domain
    tables: tuple[Table, ...]
    known: tuple[frozenset[str], ...]  # the columns of each

    @classmethod
    def of(cls, tables: Sequence[PublicTable], codec: Codec) -> "Help | None":
        """Public tables encoded as the private one is; none, if there are none."""
        if not tables:
            return None
        encoded = tuple(codec.encode(table.cells) for table in tables)
        return cls(codec.domain, encoded, tuple(frozenset(t.columns) for t in tables))

    def knows(self, column: str) -> bool:
        """Whether any table has this column."""
        return any(column in known for known in self.known)

    def below(self, lattice: Lattice) -> list[Below | None]:
        """For each number, the share of public rows below each of its points."""
        return [
            self._below(lattice, column) if self.knows(name) else None
            for column, name in enumerate(lattice.names)
        ]

    def _below(self, lattice: Lattice, column: int) -> Below:
        shares = np.zeros(lattice.all_sizes[column])
        for table in self._with(lattice.names[column]):
            points = lattice.points_of(table)[:, column]
            shares += np.bincount(points, minlength=len(shares)) / len(points)
        return np.concatenate([[0.0], np.cumsum(shares / shares.sum())])

    def shares(self, axis: int) -> np.ndarray:
        """How often each category of an axis comes, if any table has it; else evenly."""
        shares = np.zeros(self.domain.sizes[axis])
        for table in self._with(self._column_of[axis]):
            shares += np.bincount(table.codes[:, axis], minlength=len(shares)) / table.rows
        return (shares + 1e-3) / (shares + 1e-3).sum()

    def pool(self, pairs: Pairs, ranks: Ranks, counts: Mapping[int, np.ndarray], seed: int) -> Pool:
        """Rows to give weights to; what a table lacks is drawn as often as counted, by itself."""
        random = np.random.default_rng(seed)
        most = min(TOGETHER, MOST_NUMBERS // max(1, self.domain.cells)) // len(self.tables)
        drawn = []
        for table, known in zip(self.tables, self.known, strict=True):
            some = random.permutation(table.rows)[: max(most, 1)]
            rows = Table(table.codes[some], table.numbers[some])
            drawn.append(self._completed(rows, known, ranks, counts, random))
        source = np.repeat(np.arange(len(drawn)), [rows.rows for rows in drawn])
        rows = Table(
            np.concatenate([rows.codes for rows in drawn]),
            np.concatenate([rows.numbers for rows in drawn]),
        )
        return Pool(pairs, self.domain, ranks, rows, source)

    def _completed(
        self,
        rows: Table,
        known: frozenset[str],
        ranks: Ranks,
        counts: Mapping[int, np.ndarray],
        random: np.random.Generator,
    ) -> Table:
        codes, numbers = rows.codes.copy(), rows.numbers.copy()
        for axis, column in enumerate(self._column_of):
            if column not in known:
                chances = counts[axis] / counts[axis].sum()
                codes[:, axis] = random.choice(len(chances), len(codes), p=chances)
        even = ranks.numbers(random.random(numbers.shape))
        for place, column in enumerate(self.domain.numerical):
            if column not in known:
                numbers[:, place] = even[:, place]
        return Table(codes, numbers)

    @cached_property
    def _column_of(self) -> list[str]:
        """The column that each axis belongs to."""
        kinds = {kind_axis(name): name for name in self.domain.numerical}
        return [kinds.get(axis.name, axis.name) for axis in self.domain.axes]

    def _with(self, column: str) -> Iterator[Table]:
        pairs = zip(self.tables, self.known, strict=True)
        return (table for table, known in pairs if column in known)


def public_tables(given: Any, schema: Schema, seed: int) -> tuple[PublicTable, ...]:
    """The tables behind what was given: one of them, several, or none."""
    if given is None:
        return ()
    several = given if isinstance(given, list | tuple) else [given]
    return tuple(PublicTable.read(data, schema, seed) for data in several)


def _shared(reader: Reader, schema: Schema) -> list[str]:
    """The schema's columns that a table has, each once."""
    names = set.intersection(*(set(header) for _, header in reader.headers()))
    columns = [column for column in schema.learnt if column in names]
    if not columns:
        near = closest(schema.learnt[0], sorted(names))
        raise InvalidInput(
            f"The public table {reader.what} has none of the schema's columns.",
            f"It has {shown(near)}; names must be the same." if near else "Names must be the same.",
        )
    return columns


def _fewest(
    kept: list[pa.Table], keys: list[np.ndarray]
) -> tuple[list[pa.Table], list[np.ndarray]]:
    """The rows with the smallest keys, as many as are kept, in the order of their keys."""
    if not kept:
        return kept, keys
    table, key = pa.concat_tables(kept, promote_options="permissive"), np.concatenate(keys)
    order = np.argsort(key, kind="stable")[:MOST]
    return [table.take(pa.array(order))], [key[order]]


def _hashed(files: Iterable[Path]) -> str:
    """The SHA-256 of files one after the other: of a single file, what sha256sum says."""
    content = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while piece := stream.read(2**20):
                content.update(piece)
    return content.hexdigest()


def _hashed_cells(cells: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, cells.schema) as stream:
        stream.write_table(cells)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def _name(reader: Reader) -> str:
    files = reader.files_here()
    return files[0].name if len(files) == 1 else reader.what
