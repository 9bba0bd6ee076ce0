"""Rows drawn from relaxed ones, which hold a chance for each category."""

import numpy as np

from tabveil.baselines.binned import Codes
from tabveil.fitting.relaxed import Table
from tabveil.tables.drawing import drawn_codes
from tabveil.tables.table import Domain


def drawing(table: Table, domain: Domain) -> Codes:
    """Codes drawn from a relaxed table; every row of it is used about as often."""
    probabilities = np.asarray(table.probabilities)

    def codes(rows: int, random: np.random.Generator) -> np.ndarray:
        chosen = random.permutation(np.arange(rows) % probabilities.shape[1])
        return drawn_codes(probabilities, domain, chosen, lambda: random.random(rows))

    return codes
