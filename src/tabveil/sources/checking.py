"""A table checked for its owner: which columns break which rule of the schema."""

from collections import Counter
from dataclasses import dataclass, replace

from tabveil.schema import Schema, shown
from tabveil.sources import Source
from tabveil.sources.reader import explained

UNFORESEEN = "This is a fault of tabveil. Please report it, without the table."


@dataclass(frozen=True)
class Finding:
    """A rule that some cells or rows break, in words without values or counts; and how often."""

    text: str
    share: float  # of rows; for the owner's eyes alone


def findings(data: object, schema: Schema) -> list[Finding]:
    """For the owner's eyes: which columns break which rule, and in which share of rows."""
    found: dict[str, Counter[str]] = {name: Counter() for name in schema.codecs}
    everything, rows = replace(Source.of(data, schema), bound=None), 0
    with explained("the table could not be checked.", UNFORESEEN):
        for table in everything.batches():
            rows += table.num_rows
            for name, codec in schema.codecs.items():
                found[name].update(codec.broken(table.column(name)))
    return [
        Finding(f"Column {shown(name)}: {text}.", cells / rows)
        for name, texts in found.items()
        for text, cells in sorted(texts.items())
    ]


def check(data: object, schema: Schema) -> list[str]:
    """For the owner's eyes: which columns break which rule, without values or counts."""
    return [finding.text for finding in findings(data, schema)]
