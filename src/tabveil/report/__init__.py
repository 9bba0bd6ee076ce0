"""Releases as pages: one that may be passed on, and one for the owner's eyes alone."""

from collections.abc import Callable
from typing import Any

from tabveil.metrics import Watch, comparison_of, scored, silent
from tabveil.release import Release
from tabveil.report import (
    about,
    budget,
    cite,
    columns,
    guarantee,
    measured,
    pairs,
    replicated,
    rules,
    sure,
    tasks,
)
from tabveil.report.evidence import Evidence
from tabveil.report.internal import INTERNAL_SECTIONS, Inside
from tabveil.report.page import Page, Section

SECTIONS: list[Callable[[Evidence], Section | None]] = [
    part.section
    for part in (
        about, guarantee, budget, columns, pairs, sure, replicated, tasks, measured, rules, cite
    )
]  # fmt: skip
FOOTER = (
    "Made by tabveil. This page fetches nothing and sends nothing; everything in it is in this "
    "one file."
)

NOT_PRIVATE = "NOT PRIVATE: computed from real rows without noise. For the owner's eyes only."


def page(release: Release, watch: Watch = silent, *, replicates: int = 0) -> Page:
    """The releasable page: noisy measurements and synthetic rows, nothing else."""
    evidence = Evidence(release, replicates=replicates)
    private = bool(release.privacy.get("private", True))
    sections = []
    for done, build in enumerate(SECTIONS):
        watch(build.__module__.split(".")[-1], done, len(SECTIONS))
        sections.append(build(evidence))
    return Page(
        title="Synthetic data release",
        subtitle=guarantee.promise(release),
        sections=[section for section in sections if section],
        banner="" if private else "NOT PRIVATE: the noise was seeded for a test. Do not publish.",
        footer=FOOTER,
    )


def internal_page(release: Release, real: Any, test: Any = None, watch: Watch = silent) -> Page:
    """The owner's page: real against synthetic rows. NOT private."""
    evidence = Evidence(release)
    comparison = comparison_of(real, evidence.arrow, release.schema, test)
    inside = Inside(release, comparison, scored(comparison, watch))
    return Page(
        title="Internal report",
        subtitle=f"Real against synthetic rows of a release with {guarantee.promise(release)}",
        sections=[section for build in INTERNAL_SECTIONS if (section := build(inside))],
        banner=NOT_PRIVATE,
        footer=FOOTER,
    )


__all__ = [
    "INTERNAL_SECTIONS",
    "NOT_PRIVATE",
    "SECTIONS",
    "Page",
    "Section",
    "internal_page",
    "page",
]
