"""Private tables as people bring them, read again and again in batches."""

from tabveil.sources.clusters import engine_of
from tabveil.sources.source import Source, opened
from tabveil.sources.totals import read_totals

__all__ = ["Source", "engine_of", "opened", "read_totals"]
