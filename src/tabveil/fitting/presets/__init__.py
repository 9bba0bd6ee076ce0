"""Ways to spend a budget: what to ask, in which order, and how to optimise."""

from tabveil.fitting.presets.default import Default
from tabveil.fitting.presets.paper import Paper
from tabveil.fitting.presets.preset import Preset, Task

PRESETS: dict[str, Preset] = {"default": Default(), "paper": Paper()}

__all__ = ["PRESETS", "Default", "Paper", "Preset", "Task"]
