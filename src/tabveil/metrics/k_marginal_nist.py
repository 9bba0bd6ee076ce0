"""The k-marginal score as NIST's evaluator, SDNist 2.5, computes it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabveil.columns import Follows
from tabveil.columns.codec import NumberRule
from tabveil.metrics.choices import some_sets
from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.histograms import cell_of, differences
from tabveil.tables.table import Codec, Table

BINS = 20
ALL_PAIRS = 30  # so many columns have all their pairs compared; with more, so many at random:
SOME_PAIRS = 200

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]


class Coded(NamedTuple):
    """One column of both tables, every cell a code below `size`."""

    real: Codes
    synthetic: Codes
    size: int


def scores(comparison: Comparison) -> list[Score]:
    """1000 · (1 − mean total variation) over all pairs of columns, each crossed with the strata.

    With strata, "min" is the score of the worst of them: of its own people, how many are right.
    """
    columns = dict(_coded(comparison))
    strata = [columns.pop(name) for name in comparison.schema.strata]
    if len(columns) < 2:
        return []
    group, rest = _together(strata, comparison), list(columns.values())
    pairs = _pairs(len(rest), comparison.seed)
    moved = np.array([_moved(group, rest[i], rest[j]) for i, j in pairs])
    found = [Score("k_marginal_nist", "mean", 500 * (2 - float(moved.sum(axis=1).mean())))]
    if strata:
        people = np.bincount(group.real, minlength=group.size) / len(group.real)
        wrong = np.minimum(moved, people).mean(axis=0)[people > 0] / people[people > 0]
        found.append(Score("k_marginal_nist", "min", 1000 * (1 - float(wrong.max()))))
    return found


def _pairs(columns: int, seed: int) -> list[tuple[int, ...]]:
    most = SOME_PAIRS if columns >= ALL_PAIRS else columns**2
    return some_sets(columns, 2, most, seed)


def _moved(group: Coded, one: Coded, other: Coded) -> Numbers:
    """For each group, the differences of all cells of its cross-table, added up."""
    together = (group, one, other)
    sizes = [column.size for column in together]
    real = np.stack([column.real for column in together], axis=1)
    synthetic = np.stack([column.synthetic for column in together], axis=1)
    cells, apart = differences(real, synthetic, sizes)
    by_group = np.zeros(group.size)
    np.add.at(by_group, cells // (sizes[1] * sizes[2]), apart)
    return by_group


def _together(strata: list[Coded], comparison: Comparison) -> Coded:
    """All strata as one column; without any, one group of all rows."""
    real, synthetic = comparison.real.rows, comparison.synthetic.rows
    whole = Coded(np.zeros(real, np.int64), np.zeros(synthetic, np.int64), 1)
    for column in strata:
        sizes = (whole.size, column.size)
        whole = Coded(
            cell_of(np.stack([whole.real, column.real], axis=1), sizes),
            cell_of(np.stack([whole.synthetic, column.synthetic], axis=1), sizes),
            whole.size * column.size,
        )
    return whole


def _coded(comparison: Comparison) -> Iterator[tuple[str, Coded]]:
    """Every column that rows have; missing cells are a code of their own."""
    domain, tables = comparison.domain, (comparison.real, comparison.synthetic)
    for axis, name in enumerate(comparison.schema.categorical):
        real, synthetic = (table.codes[:, axis].astype(np.int64) for table in tables)
        yield name, Coded(real, synthetic, domain.sizes[axis])
    for place, (name, rule) in enumerate(comparison.schema.numbers.items()):
        ours, theirs = (_values(table, place, domain.kinds[place], rule) for table in tables)
        yield name, _binned(ours, theirs, rule)
    yield from _followed(comparison)


def _followed(comparison: Comparison) -> Iterator[tuple[str, Coded]]:
    """Columns that follow from others, as they would be written."""
    rules = comparison.schema.columns.items()
    names = [name for name, rule in rules if isinstance(rule, Follows)]
    if not names:
        return
    codec = Codec(comparison.schema)
    both = [codec.decode(table).select(names) for table in (comparison.real, comparison.synthetic)]
    for name, column in zip(names, pa.concat_tables(both).columns, strict=True):
        values = column.combine_chunks().dictionary_encode("encode")
        real, synthetic = np.split(values.indices.to_numpy().astype(np.int64), [both[0].num_rows])
        yield name, Coded(real, synthetic, len(values.dictionary))


def _values(table: Table, place: int, axis: int | None, rule: NumberRule) -> Numbers:
    """Numbers as they are written: special values as such, nan where a cell is missing."""
    values = table.numbers[:, place].copy()
    if axis is not None:
        meant = [np.nan, *rule.special_values, *[np.nan] * rule.nullable]
        kinds = table.codes[:, axis]
        values = np.where(kinds == 0, values, np.array(meant)[kinds])
    return values


def _binned(real: Numbers, synthetic: Numbers, rule: NumberRule) -> Coded:
    """Numbers as bins; missing cells come after the last one."""
    edges = _edges(real[~np.isnan(real)], synthetic[~np.isnan(synthetic)], rule)
    bins = max(1, len(edges) - 1)

    def coded(numbers: Numbers) -> Codes:
        # A bin reaches from above one edge up to the next; the first holds its lower edge, too.
        places = np.clip(np.searchsorted(edges, numbers, "left") - 1, 0, bins - 1)
        return np.where(np.isnan(numbers), bins, places)

    return Coded(coded(real), coded(synthetic), bins + 1)


def _edges(real: Numbers, synthetic: Numbers, rule: NumberRule) -> Numbers:
    """Equally full bins of the real rows; where the public range is narrow, every value alone."""
    if rule.max - rule.min <= BINS or not len(real):
        values = np.unique(np.concatenate([real, synthetic, [rule.min]]))
        return np.concatenate([values[:1] - 1, values])
    outside = synthetic[(synthetic < real.min()) | (synthetic > real.max())]
    ends = outside.min(initial=real.min()), outside.max(initial=real.max())
    # What lies outside of all real numbers has a bin of its own, and leaves one less for others.
    bins = BINS - rule.nullable - (ends[0] < real.min()) - (ends[1] > real.max())
    starts = np.percentile(real, np.arange(bins) * 100 / bins, method="higher")
    return np.unique([*starts, real.max(), *ends])
