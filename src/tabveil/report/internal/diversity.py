"""How varied the rows are: different combinations of categories, real and synthetic."""

from tabveil.metrics.diversity import combinations_of
from tabveil.report.internal.inside import Inside
from tabveil.report.page import Figures, Prose, Section
from tabveil.report.words import percent


def section(inside: Inside) -> Section | None:
    """Different combinations over all categorical columns, among as many rows of each."""
    found = combinations_of(inside.comparison)
    if not found:
        return None
    among = f"among {found.rows:,} rows"
    figures = [
        ("Real rows", f"{found.real:,}", f"different combinations {among}"),
        ("Synthetic rows", f"{found.synthetic:,}", f"different combinations {among}"),
        ("Share", percent(found.synthetic / found.real), "100 % is as varied as real rows"),
    ]
    words = Prose(
        "Rows that are alike in every categorical column count once. Far fewer combinations than "
        "real rows have mean that the same few sorts of people come again and again; far more, "
        "that columns were thrown together which belong together."
    )
    return Section("diversity", "How varied are the rows?", [Figures(figures), words])
