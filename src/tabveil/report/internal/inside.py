"""What the owner's sections are given: both tables, and every score. NOT private."""

from dataclasses import dataclass

import pandas as pd

from tabveil.metrics import Comparison
from tabveil.release import Release


@dataclass(frozen=True, repr=False)
class Inside:
    """Real and synthetic rows side by side."""

    release: Release
    comparison: Comparison
    scores: pd.DataFrame

    def score(self, metric: str, subject: str = "mean") -> tuple[float, float] | None:
        """A score and what real rows reach (nan where unknown), or None where it does not apply."""
        found = self.scores[(self.scores["metric"] == metric) & (self.scores["subject"] == subject)]
        if not len(found):
            return None
        return float(found["value"].iloc[0]), float(found["reference"].iloc[0])

    def scores_of(self, metric: str) -> pd.DataFrame:
        """All subjects of one metric."""
        return self.scores[self.scores["metric"] == metric]
