"""Valid inference from a release: estimates, intervals, and on what they rest. Reads no data."""

from tabveil.inference.combining import estimate
from tabveil.inference.replicates import Replicates, load, replicates
from tabveil.inference.rests import ModelWarning, Rests
from tabveil.inference.study import Study

__all__ = ["ModelWarning", "Replicates", "Rests", "Study", "estimate", "load", "replicates"]
