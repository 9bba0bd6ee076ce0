"""Outside attackers: what someone can try who has the release, and never sees a fit at work.

Each takes a build and says what ε it proved. To add one, write a file and put its name on the list:
the tests ask of each that it breaks the build without noise, and that the real one holds.
"""

from collections.abc import Callable

from tabveil.audit.attacks.builds import BUILDS, Build, Silence
from tabveil.audit.attacks.counts import Counts
from tabveil.audit.attacks.density import Density
from tabveil.audit.attacks.event import EventInCounts, EventInPicks
from tabveil.audit.finding import Job

ATTACKS: dict[str, Callable[[Build], Job]] = {
    attack.name: attack for attack in (Density, Counts, EventInCounts, EventInPicks)
}

__all__ = [
    "ATTACKS",
    "BUILDS",
    "Build",
    "Counts",
    "Density",
    "EventInCounts",
    "EventInPicks",
    "Silence",
]
