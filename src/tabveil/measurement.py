"""A noisy answer in words and numbers, as it is published."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """The noisy counts of one query, and the standard deviation of the noise in each."""

    family: str
    query: str
    standard_error: float
    cells: tuple[str, ...]
    counts: tuple[int, ...]
