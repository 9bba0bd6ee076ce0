"""Which tabs are open: when the last one closes, the studio ends."""

import time
from collections.abc import Callable

GRACE = 20.0  # seconds without a tab: time for a reload, or to follow a link
SILENCE = 4 * 3600.0  # seconds after which a tab that says nothing counts as closed


class Tabs:
    """Tabs that said they are there; those that closed said so, or fell silent."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}
        self._empty_since: float | None = None  # none also before the first one came

    def here(self, name: str) -> None:
        """A tab is open."""
        self._seen[name] = self._clock()
        self._empty_since = None

    def gone(self, name: str) -> None:
        """A tab closes, or goes to another page of the studio."""
        if self._seen.pop(name, None) is not None and not self._seen:
            self._empty_since = self._clock()

    @property
    def all_closed(self) -> bool:
        """Whether there were tabs, and for a while now there are none."""
        now = self._clock()
        for name in [name for name, seen in self._seen.items() if now - seen > SILENCE]:
            self.gone(name)
        return self._empty_since is not None and now - self._empty_since > GRACE
