"""What an audit is asked to do, and what it has to say."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tabveil.audit.estimator import ALARM, SHOWN, lower_bound

DELTA = 1e-5
"""The δ at which ε is claimed and measured; a smaller one only hides more loss from a test."""
FALSE_ALARM = 1e-6  # of a test of the noise's law


@dataclass(frozen=True)
class Size:
    """How long to try."""

    draws: int  # of a noise sampler, per world
    picks: int  # of the selection
    runs: int  # fits per world, white-box
    samples: int  # fits per world, black-box
    searches: int  # for a schema
    fits: int  # with presets as they are
    all_worlds: bool


QUICK = Size(
    draws=40_000, picks=4_000, runs=200, samples=40, searches=400, fits=1, all_worlds=False
)
FULL = Size(
    draws=1_000_000, picks=40_000, runs=400, samples=200, searches=5_000, fits=4, all_worlds=True
)


@dataclass(frozen=True)
class Finding:
    """One attempt to break a claim."""

    audit: str
    case: str
    runs: int  # per world
    holds: bool
    claimed: float | None = None
    measured: float | None = None  # a lower bound on what is claimed, 95 % sure
    of: str = "ε"  # or δ
    p_value: float | None = None  # where a law is tested instead of an ε
    note: str = ""


class Job(Protocol):
    """One audit of one case; small enough to hand to another process."""

    def __call__(self) -> Finding: ...


def judged(
    audit: str,
    case: str,
    claimed: float,
    without: np.ndarray,
    present: np.ndarray,
    *,
    delta: float = DELTA,
    gaussian: bool = True,
) -> Finding:
    """The finding of two samples of a statistic, one per world; claims break only beyond doubt."""
    shown, sure = (lower_bound(without, present, delta, c)[not gaussian] for c in (SHOWN, ALARM))
    return Finding(audit, case, len(without), sure <= claimed, claimed, shown)
