"""The private rows as a curator meets them: read, encoded and summed up where the engine says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from tabveil.engines import Engine, Local, OnProgress
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.tables.table import Codec, Grouping, Table


@dataclass(frozen=True, repr=False)
class EncodedRows:
    """The private table in batches of codes and numbers; only a curator is given one."""

    source: Source
    codec: Codec
    engine: Engine = field(default_factory=Local)
    on_progress: OnProgress = lambda share: None

    def total(
        self, count: Callable[[Table], list[np.ndarray]], columns: Sequence[str] | None = None
    ) -> list[np.ndarray]:
        """One pass over rows: the sum of what is counted in each batch of these columns, or all."""
        if columns is None:
            return self.engine.total(
                self.source, EncodeAndCount(self.codec, count), self.on_progress
            )
        known = self.codec.schema.columns
        few = self.codec.schema.model_copy(
            update={"columns": {name: known[name] for name in columns}, "targets": (), "strata": ()}
        )
        return self.engine.total(
            self.source.only(columns), EncodeAndCount(Codec(few), count), self.on_progress
        )

    def grouped(self, groupings: Mapping[str, Grouping]) -> "EncodedRows":
        """The same rows, with values of long lists behind the codes of their groups."""
        return replace(self, codec=Codec(self.codec.schema, groupings))

    def read_as(self, schema: Schema) -> "EncodedRows":
        """The same rows, read by the columns of another schema."""
        return replace(self, source=self.source.only(schema.learnt), codec=Codec(schema))

    def count(self) -> int:
        """How many rows there are."""
        return self.source.count()


@dataclass(frozen=True, repr=False)
class EncodeAndCount:
    """Counts a batch of cells as it was read."""

    codec: Codec
    count: Callable[[Table], list[np.ndarray]]

    def __call__(self, batch: pa.Table) -> list[np.ndarray]:
        return self.count(self.codec.encode(batch))
