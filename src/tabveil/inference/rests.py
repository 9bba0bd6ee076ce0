"""Whether an estimate rests on measured tables, or on the model that fills the gaps."""

import warnings
from collections.abc import Sequence
from enum import StrEnum

from tabveil.errors import InvalidInput

YES_FROM, NO_BELOW = 0.95, 0.5  # of a statistic's variance that measured tables decide
MOST_MODEL = 1 / 3  # of the variance of an estimate that rests on measured tables


class Rests(StrEnum):
    """How much of an estimate was measured."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"

    @classmethod
    def of(cls, measured: float, model: float) -> "Rests":
        """From the share that measured tables decide, and the model's part of the variance."""
        if measured < NO_BELOW:
            return cls.NO
        return cls.YES if measured >= YES_FROM and model <= MOST_MODEL else cls.PARTLY

    @classmethod
    def weakest(cls, *found: "Rests") -> "Rests":
        """That of several which rests on measured tables the least."""
        return max(found, key=list(cls).index)


def require_level(level: float) -> None:
    """Refuse what is no level of an interval."""
    if not 0 < level < 1:
        raise InvalidInput(f"{level:g} is no level of an interval.", "Give e.g. 0.95.")


class ModelWarning(UserWarning):
    """An estimate rests on the model: nothing measured speaks about it, or not loud enough."""


def warn_of(names: Sequence[str], rests: Sequence[Rests]) -> None:
    """Say which estimates no measured table speaks about."""
    _warn(
        [name for name, found in zip(names, rests, strict=True) if found is Rests.NO],
        "no measured table speaks about this. The estimate is the model's, "
        "and its interval a guess that was made wide. Read it as 'not known'.",
    )


def warn_of_noise(names: Sequence[str], drowned: Sequence[bool]) -> None:
    """Say which estimates replicates hardly can tell, so strong is the noise."""
    _warn(
        [name for name, found in zip(names, drowned, strict=True) if found],
        "noise is so strong that replicates are held back near the model, and such intervals hold "
        "too little. Ask tabveil.inference.Study instead.",
    )


def _warn(names: Sequence[str], of: str) -> None:
    if names:
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        warnings.warn(f"{names[0]}{others}: {of}", ModelWarning, stacklevel=5)
