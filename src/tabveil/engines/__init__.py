"""Where sums over the private rows are computed."""

from tabveil.engines.local import Local

ENGINES = {"local": Local}

__all__ = ["ENGINES", "Local"]
