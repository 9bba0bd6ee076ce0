"""The ways in which noise is drawn, as ledgers and releases name them."""

from enum import StrEnum


class Mechanism(StrEnum):
    """What protects an answer; its value is what is written."""

    GAUSSIAN = "discrete Gaussian"
    TOP = "noisy top-K"
    THRESHOLD = "discrete Gaussian with threshold"
