"""The scores worth reading first."""

import pandas as pd

from tabveil.metrics import shown, summary
from tabveil.report.internal.inside import Inside
from tabveil.report.page import Block, Figures, Grid, Note, Prose, Section


def section(inside: Inside) -> Section:
    """A few figures, then the short table of all means."""
    lines = [
        (h.label, shown(h.value), "–" if h.reference is None else shown(h.reference), h.better)
        for h in summary(inside.scores)
    ]
    blocks: list[Block] = [
        Note(
            "This page shows statistics of real people without any noise. It is not covered by "
            "the privacy "
            "guarantee. Do not publish it, mail it, or keep it where the real table itself may "
            "not be kept.",
            grave=True,
        ),
        Figures(_figures(inside)),
        Grid(
            "summary",
            "All means",
            pd.DataFrame(lines, columns=["score", "synthetic", "real", "better"]),
        ),
        Prose(
            "The column `real` says what unseen real rows reach in the place of the synthetic "
            "ones, or "
            "models trained on real rows. A score near it is as good as fresh data. See "
            "docs/metrics.md "
            "for each."
        ),
    ]
    return Section("summary", "Summary", blocks)


def _figures(inside: Inside) -> list[tuple[str, str, str]]:
    wanted = (
        ("column_shapes", "Column shapes", "each column alone; 1 is perfect"),
        ("pair_trends", "Column pair trends", "two columns together; 1 is perfect"),
        ("k_marginal_2", "k-marginal score", "cross-tables of two columns; 1000 is perfect"),
        ("f1_trees", "F1 of boosted trees", "trained on synthetic, tested on real rows"),
    )
    found = []
    for metric, label, meaning in wanted:
        score = inside.score(metric)
        if score:
            reached = "" if pd.isna(score[1]) else f" (real rows: {shown(score[1])})"
            found.append((label, shown(score[0]), meaning + reached))
    return found
