"""Private tables as people bring them, read again and again in batches."""

from tabveil.sources.clusters import engine_of
from tabveil.sources.source import Source, opened

__all__ = ["Source", "engine_of", "opened"]
