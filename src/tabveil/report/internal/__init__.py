"""The owner's page: real against synthetic rows. All is computed without noise: NOT PRIVATE."""

from collections.abc import Callable

from tabveil.report.internal import attacks, columns, diversity, models, pairs, queries, summary
from tabveil.report.internal.inside import Inside
from tabveil.report.page import Section

INTERNAL_SECTIONS: list[Callable[[Inside], Section | None]] = [
    part.section for part in (summary, columns, pairs, diversity, queries, models, attacks)
]

__all__ = ["INTERNAL_SECTIONS", "Inside"]
