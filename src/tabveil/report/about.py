"""What the reader is looking at, in plain words."""

from tabveil.release.release import STRUCTURE_ONLY
from tabveil.report.evidence import Evidence
from tabveil.report.page import Block, Figures, Note, Points, Prose, Section
from tabveil.report.words import amount, count, promised


def section(evidence: Evidence) -> Section:
    """What a release is, what it is good for, and what it is not."""
    privacy = evidence.release.privacy
    blocks: list[Block] = [
        Figures(
            (
                ("Privacy loss ε", promised(privacy["epsilon"]), "smaller is safer"),
                (
                    "Chance of failure δ",
                    promised(privacy["delta"]),
                    "the guarantee holds but for this chance",
                ),
                ("Rows, about", amount(evidence.total), rows_are(evidence)),
                ("Columns learnt", str(len(evidence.names)), columns_are(evidence)),
            )
        ),
        Prose(
            "Behind this page stands a table with one row per record of real people or things. "
            "Its owner "
            "does not hand it out. Instead, statistics of it were measured once, with random "
            "noise added "
            "to each, and a synthetic table was built that agrees with them. The synthetic rows "
            "belong to "
            "nobody. Everything on this page comes from those noisy statistics and from the "
            "synthetic "
            "rows, so the page may be passed on like the release itself."
        ),
        Points(
            (
                "Good for: counts, shares, cross-tables, distributions of numbers, trying out "
                "code, and "
                "training models for the named targets.",
                "Less good for: rare groups that noise hides, patterns of four or more columns "
                "together, and "
                "anything about a single person. That last one is the point.",
                "Orange shows what was measured, with the range that noise leaves open. Blue "
                "shows the "
                "synthetic rows. Where blue lies inside orange, the two agree as well as can be "
                "known.",
            )
        ),
    ]
    if evidence.release.independent:
        blocks.insert(0, Note(STRUCTURE_ONLY, grave=True))
    if not privacy.get("private", True):
        blocks.insert(
            0, Note("NOT PRIVATE: the noise of this release was seeded for a test.", grave=True)
        )
    return Section("about", "What this is", blocks)


def rows_are(evidence: Evidence) -> str:
    """Where the number of rows comes from."""
    counted = any(m.family == "row count" for m in evidence.release.measurements)
    return "a noisy count" if counted else "public under this relation"


def columns_are(evidence: Evidence) -> str:
    """How many of each kind, and how many there are besides."""
    schema, numbers = evidence.release.schema, len(evidence.codec.domain.numerical)
    targets = f", {count(len(schema.targets), 'target')}" if schema.targets else ""
    others = len(schema.columns) - len(evidence.names)
    besides = f"; {others} not learnt: ids, left out, or worked out" if others else ""
    categories = len(evidence.names) - numbers
    return f"{categories} with categories, {numbers} with numbers{targets}{besides}"
