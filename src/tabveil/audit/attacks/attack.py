"""What every attack is given, and what it has to say."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from tabveil.audit.attacks.builds import Build
from tabveil.audit.finding import Finding


@dataclass(frozen=True)
class Attack(ABC):
    """An attempt to tell from what a build gives out who was in; `epsilon` is what it claims."""

    name: ClassVar[str]

    build: Build
    epsilon: float = 1.0

    @abstractmethod
    def __call__(self) -> Finding:
        """What was tried, and how much of the ε it proved."""
