"""Bands from replicates: how far tables that agree with the noisy answers differ."""

from functools import cached_property

import numpy as np
import pandas as pd

from tabveil.inference.combining import Combined
from tabveil.inference.replicates import draw
from tabveil.report.evidence import Evidence
from tabveil.report.page import Block, Chart, Grid, Prose, Section
from tabveil.report.pairs import heat_map
from tabveil.report.words import percent

LEVEL = 0.95


def section(evidence: Evidence) -> Section | None:
    """The share of every part of every column, and the dependence of pairs, each with a band."""
    if not evidence.replicates:
        return None
    bands = Bands(evidence)
    lines = [line for name in evidence.names for line in _lines(evidence, bands, name)]
    columns = ["column", "part", "share", "from", "to"]
    blocks: list[Block] = [
        Prose(
            f"{evidence.replicates} tables were drawn that differ as much as the noise of this "
            "release leaves open (`tabveil replicate` writes such tables). Bands for columns count "
            "the noise and that the people are a sample; bands for pairs count the noise alone. "
            "What nobody measured is alike in all of the tables, and no band shows it."
        ),
        Grid("bands", "Every column", pd.DataFrame(lines, columns=columns), folded=True),
    ]
    if len(evidence.names) > 1:
        pairs = bands.dependence
        blocks += [
            Chart.of(
                "How far the dependence of two columns is open",
                "Half the width of a band for Cramér's V, from replicates.",
                heat_map(pairs, evidence.names, "width", max(1e-3, float(pairs["width"].max()))),
            ),
            Grid("dependence-bands", "All pairs as numbers", _pairs(pairs), folded=True),
        ]
    return Section("replicated", "What replicates leave open", blocks)


class Bands:
    """Replicates of a release, each read as its synthetic rows are."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        drawn = draw(evidence.release, evidence.replicates, seed=0)
        self.rows = drawn.tables[0].num_rows
        self._tables = [Evidence(evidence.release, table) for table in drawn.tables]

    def column(self, name: str) -> pd.DataFrame:
        """Shares of the parts of a column, with the ends of a band (rules for imputation)."""
        side = self.evidence.shown(name)
        found = np.stack([table.shares([side]) for table in self._tables])
        centre = found.mean(axis=0)
        wide = Combined.of(found, centre * (1 - centre) / self.rows).wide(LEVEL)
        ends = np.clip([centre - wide, centre + wide], 0, 1)
        return pd.DataFrame({"share": centre, "from": ends[0], "to": ends[1]})

    @cached_property
    def dependence(self) -> pd.DataFrame:
        """Cramér's V of all pairs, and half the width of a band for what noise leaves open."""
        found = [table.dependence for table in self._tables]
        values = np.stack([one["dependence"].to_numpy() for one in found])
        combined = Combined.of(values, 0.0)
        return found[0][["first", "second"]].assign(
            dependence=combined.centre, width=combined.wide(LEVEL)
        )


def _lines(evidence: Evidence, bands: Bands, name: str) -> list[tuple[str, ...]]:
    parts = evidence.column(name)["part"]
    found = bands.column(name).map(percent).to_numpy().tolist()
    return [(name, str(part), *line) for part, line in zip(parts, found, strict=True)]


def _pairs(found: pd.DataFrame) -> pd.DataFrame:
    widest = found.sort_values("width", ascending=False, kind="stable")
    lines = [
        (one.first, one.second, f"{one.dependence:.2f}", f"{one.width:.3f}")
        for one in widest.itertuples()
    ]
    return pd.DataFrame(lines, columns=["column", "other column", "dependence", "half the width"])
