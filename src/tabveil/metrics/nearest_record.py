"""Whether synthetic rows stick to the people they were learnt from: nearest real record, copies.

A low score here is no proof of privacy (an attacker may do better than look for neighbours), and
copies of common rows are no breach: the guarantee is ε. A clear excess would be a sign that
something is wrong.
"""

import numpy as np

from tabveil.metrics.choices import some_rows
from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.distances import nearest

ROWS, AMONG = 2000, 5000
SAME = 1e-9


def scores(comparison: Comparison) -> list[Score]:
    """How many synthetic rows lie closer to training than to unseen rows; how many are copies."""
    if comparison.test is None:
        return []
    size = min(AMONG, comparison.real.rows, comparison.test.rows)
    train, test = (
        some_rows(comparison.real, size, comparison.seed),
        some_rows(comparison.test, size, comparison.seed),
    )
    rows = some_rows(comparison.synthetic, ROWS, comparison.seed)
    to_train, to_test = nearest(comparison, rows, train), nearest(comparison, rows, test)
    closer = np.mean(to_train < to_test - SAME) + np.mean(np.abs(to_train - to_test) <= SAME) / 2
    return [
        Score("closer_to_training", "mean", float(closer), 0.5),
        Score(
            "copies_of_training",
            "mean",
            float(np.mean(to_train < SAME)),
            float(np.mean(to_test < SAME)),
        ),
    ]
