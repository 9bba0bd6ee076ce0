"""Junction trees: which sets of columns a graphical model has to keep together, and how they hang.

Columns are eliminated one by one, always the one that makes the smallest table with its neighbours,
as in private-pgm.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """Columns that are kept together; `parent` is the place of a node before, −1 at the root."""

    axes: Axes
    parent: int
    shared: Axes  # with the parent


def junction_tree(sizes: Sequence[int], together: Iterable[Axes]) -> tuple[Node, ...]:
    """One tree over all columns, parents first, the largest table at the root."""
    left = sorted(bags(sizes, together), key=lambda bag: (-cells(sizes, bag), bag))
    nodes = [Node(left.pop(0), -1, ())]
    while left:
        # A tree whose neighbours share as many columns as can be has the running intersection.
        bag, parent = max(
            ((bag, place) for bag in left for place in range(len(nodes))),
            key=lambda pair: len(set(pair[0]) & set(nodes[pair[1]].axes)),
        )
        left.remove(bag)
        shared = tuple(axis for axis in bag if axis in nodes[parent].axes)
        nodes.append(Node(bag, parent, shared))
    return tuple(nodes)


def bags(sizes: Sequence[int], together: Iterable[Axes]) -> list[Axes]:
    """The largest sets of columns that are kept together, each in ascending order."""
    near = {axis: {axis} for axis in range(len(sizes))}
    for axes in together:
        for axis in axes:
            near[axis].update(axes)
    found: list[set[int]] = []
    while near:
        axis = min(near, key=lambda axis: (cells(sizes, near[axis]), axis))
        bag = near.pop(axis)
        for other in bag - {axis}:
            near[other].update(bag)
            near[other].remove(axis)
        found.append(bag)
    return [tuple(sorted(bag)) for bag in maximal(found)]


def maximal(sets: Iterable[Collection[int]]) -> list[frozenset[int]]:
    """Those sets that lie in no other, each once."""
    kept: list[frozenset[int]] = []
    for candidate in sorted(map(frozenset, sets), key=lambda s: (-len(s), sorted(s))):
        if not any(candidate <= larger for larger in kept):
            kept.append(candidate)
    return kept


def smallest(tables: Sequence[Axes], axes: Axes, sizes: Sequence[int]) -> int:
    """The place of the smallest table that has these columns."""
    holding = [place for place, table in enumerate(tables) if set(axes) <= set(table)]
    return min(holding, key=lambda place: cells(sizes, tables[place]))


def cells(sizes: Sequence[int], axes: Iterable[int]) -> int:
    """How many cells the table of these columns has."""
    return math.prod(sizes[axis] for axis in axes)
