"""What is too much is thinned out, always in the same way."""

import numpy as np

from tabveil.metrics.choices import some_rows, some_sets
from tabveil.tables.table import Table


def test_few_sets_of_columns_are_all_used_and_many_are_sampled_without_repeats() -> None:
    assert some_sets(5, 3, most=500, seed=0)[-1] == (2, 3, 4)
    assert len(some_sets(5, 3, most=500, seed=0)) == 10
    many = some_sets(40, 3, most=500, seed=0)
    assert len(set(many)) == len(many) == 500
    assert many == some_sets(40, 3, most=500, seed=0) != some_sets(40, 3, most=500, seed=1)


def test_a_long_table_is_thinned_row_by_row_and_a_short_one_is_itself() -> None:
    numbers = np.arange(200, dtype=float)[:, None]
    table = Table(numbers.astype(np.int32), numbers)
    assert some_rows(table, 200, seed=0) is table
    thin = some_rows(table, 50, seed=0)
    assert len(np.unique(thin.codes)) == thin.rows == 50 and (thin.codes == thin.numbers).all()
    assert (some_rows(table, 50, seed=0).codes == thin.codes).all()
