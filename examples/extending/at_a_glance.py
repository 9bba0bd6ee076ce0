"""A section of the page that lists the columns, so that a reader sees at once what there is."""

import pandas as pd

from tabveil.report.evidence import Evidence
from tabveil.report.page import Grid, Prose, Section


def section(evidence: Evidence) -> Section:
    """Every column with its type, and whether cells may be missing."""
    schema = evidence.release.schema
    lines = [
        (name, column.type, "yes" if getattr(column, "nullable", False) else "no")
        for name, column in schema.columns.items()
    ]
    frame = pd.DataFrame(lines, columns=["column", "type", "may be missing"])
    words = "Everything in this table comes from the schema, which is public."
    return Section("glance", "At a glance", [Prose(words), Grid("columns", "Columns", frame)])
