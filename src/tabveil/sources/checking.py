"""A table checked for its owner: which columns break which rule of the schema."""

from dataclasses import replace

from tabveil.schema import Schema, shown
from tabveil.sources import Source
from tabveil.sources.reader import explained

UNFORESEEN = "This is a fault of tabveil. Please report it, without the table."


def check(data: object, schema: Schema) -> list[str]:
    """For the owner's eyes: which columns break which rule, without values or counts."""
    found: dict[str, set[str]] = {name: set() for name in schema.codecs}
    everything = replace(Source.of(data, schema), bound=None)
    with explained("the table could not be checked.", UNFORESEEN):
        for table in everything.batches():
            for name, codec in schema.codecs.items():
                found[name] |= codec.broken(table.column(name))
    return [
        f"Column {shown(name)}: {text}." for name, texts in found.items() for text in sorted(texts)
    ]
