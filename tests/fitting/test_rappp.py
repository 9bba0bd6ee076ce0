"""How the budget of a round is dealt out among the tables that were chosen."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from tabveil.fitting.rappp import dealt_out
from tabveil.queries import Pairs
from tabveil.tables.table import Axis, Domain


def pairs_of(sizes: list[int]) -> Pairs:
    axes = tuple(Axis(f"c{i}", tuple(map(str, range(size)))) for i, size in enumerate(sizes))
    return Pairs.over(Domain(axes, (), ()), [], most_cells=10**6)


@given(
    some.lists(some.integers(2, 40), min_size=2, max_size=6),
    some.fractions(Fraction(1, 10**6), Fraction(10)),
    some.floats(0, 1),
    some.data(),
)
def test_every_chosen_table_is_measured_once_and_the_parts_add_up_exactly(
    sizes: list[int], rho: Fraction, by_size: float, data: some.DataObject
) -> None:
    pairs = pairs_of(sizes)
    picks = np.array(
        data.draw(some.lists(some.integers(0, len(pairs) - 1), min_size=1, unique=True))
    )
    dealt = dealt_out(pairs, picks, rho, by_size)
    assert sum(part for _, part in dealt) == rho and all(part > 0 for _, part in dealt)
    assert sorted(np.concatenate([alike for alike, _ in dealt])) == sorted(picks)


def test_a_larger_table_has_less_noise_in_a_cell_and_equal_parts_are_the_default() -> None:
    pairs = pairs_of([2, 4, 40])
    picks = np.arange(len(pairs))
    noise = {
        int(pairs.cells[alike].max()): len(alike) / part
        for alike, part in dealt_out(pairs, picks, Fraction(1), 0.5)
    }
    assert list(noise) == sorted(noise) and sorted(noise.values(), reverse=True) == [
        *noise.values()
    ]
    [(alike, part)] = dealt_out(pairs, picks, Fraction(1), 0.0)
    assert part == 1 and (alike == picks).all()
