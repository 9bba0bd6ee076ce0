"""How many rows there are, by all that was measured."""

from collections.abc import Iterable

import numpy as np

from tabveil.curator import Answer


def recounted(counted: float, noise: float, answers: Iterable[Answer]) -> float:
    """The number of rows: each table counts them all once more, if with much noise."""
    counts, variances = [float(counted)], [noise**2]
    if not noise:
        return counts[0]
    for answer in (answer for answer in answers if not answer.derived):
        counts += answer.counts.sum(axis=1).tolist()
        variances += (answer.family.cells[answer.picks] * answer.scale**2).tolist()
    return max(1.0, float(np.average(counts, weights=1 / np.array(variances))))
