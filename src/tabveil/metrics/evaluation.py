"""Tables in, every score out: what `tabveil.evaluate` does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tabveil.errors import InvalidInput
from tabveil.metrics.comparison import Comparison
from tabveil.metrics.scoring import Watch, scored, silent
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.tables.table import Codec, Table


def evaluate(
    real: Any,
    synthetic: Any,
    schema: Schema,
    test: Any = None,
    targets: Sequence[str] | None = None,
    seed: int = 0,
    watch: Watch = silent,
) -> pd.DataFrame:
    """Every score of a synthetic table as rows of (metric, subject, value, reference). NOT private.

    `reference` is what real rows reach: for models, training on `real`; for errors, `test` in the
    place of `synthetic`. Without `test` there are no references and no model scores. `targets`
    replaces the schema's own; a column that is then no target counts as a feature.
    """
    schema = schema if targets is None else schema.with_targets(tuple(targets))
    return scored(comparison_of(real, synthetic, schema, test, seed), watch)


def comparison_of(
    real: Any, synthetic: Any, schema: Schema, test: Any = None, seed: int = 0, **options: Any
) -> Comparison:
    """The tables, read and encoded alike, all rows of everybody; `options` as of `Comparison`."""
    schema = schema.replaced(privacy=None)
    codec = Codec(schema)
    return Comparison(
        schema=schema,
        domain=codec.domain,
        real=encoded("real", real, codec, schema),
        synthetic=encoded("synthetic", synthetic, codec, schema),
        test=None if test is None else encoded("test", test, codec, schema),
        targets=codec.domain.targets,
        seed=seed,
        **options,
    )


def encoded(name: str, data: Any, codec: Codec, schema: Schema) -> Table:
    """The whole table as arrays; an empty one has nothing to compare."""
    parts = [codec.encode(batch) for batch in Source.of(data, schema).batches()]
    codes, numbers = ([part.codes for part in parts], [part.numbers for part in parts])
    if not sum(map(len, codes)):
        raise InvalidInput(
            f"The {name} table has no rows.", "Give at least one row in every table."
        )
    return Table(codes=np.concatenate(codes), numbers=np.concatenate(numbers))
