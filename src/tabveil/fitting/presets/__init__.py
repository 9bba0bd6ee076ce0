"""Ways to spend a budget: what to ask, in which order, and how to optimise."""

from tabveil.errors import InvalidInput
from tabveil.fitting.presets.default import Default, Effort
from tabveil.fitting.presets.paper import Paper, PaperEffort
from tabveil.fitting.presets.preset import Preset, Task
from tabveil.fitting.presets.structure import Structure

PRESETS: dict[str, Preset] = {
    "default": Default(),
    "paper": Paper(),
    "structure": Structure(),
}


def preset_named(preset: str | Preset) -> Preset:
    """The preset of this name, or one line that says which there are; a preset is itself."""
    if not isinstance(preset, str):
        return preset
    if preset not in PRESETS:
        raise InvalidInput(f"There is no preset {preset}.", f"Choose from: {', '.join(PRESETS)}.")
    return PRESETS[preset]


__all__ = [
    "PRESETS",
    "Default",
    "Effort",
    "Paper",
    "PaperEffort",
    "Preset",
    "Structure",
    "Task",
    "preset_named",
]
