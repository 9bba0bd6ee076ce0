"""Real and synthetic rows in, tidy scores out; for the owner's eyes: nothing here is private."""

from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.evaluation import comparison_of, evaluate
from tabveil.metrics.headlines import Headline, shown, summary, summary_table
from tabveil.metrics.scoring import METRICS, Watch, scored, scores_of, silent

__all__ = [
    "METRICS",
    "Comparison",
    "Headline",
    "Score",
    "Watch",
    "comparison_of",
    "evaluate",
    "scored",
    "scores_of",
    "shown",
    "silent",
    "summary",
    "summary_table",
]
