"""Budgets, conversions, the ledger and the noise: everything the privacy promise rests on."""

from tabveil.privacy.budget import (
    DELTA,
    Budget,
    Relation,
    delta_of,
    delta_warning,
    epsilon_of,
    gaussian_scale,
    rho_of,
    rounded_up,
    selection_scale,
)
from tabveil.privacy.door import Door, NoisyAnswer
from tabveil.privacy.ledger import Allowance, Ledger, Place
from tabveil.privacy.ledger_file import Charge
from tabveil.privacy.mechanism import Mechanism
from tabveil.privacy.noise import Noise, OpenDPNoise
from tabveil.privacy.promise import ONE_ROW, Promise, Protection, relation_named
from tabveil.privacy.risk import Risk, epsilon_within

__all__ = [
    "DELTA",
    "ONE_ROW",
    "Allowance",
    "Budget",
    "Charge",
    "Door",
    "Ledger",
    "Mechanism",
    "Noise",
    "NoisyAnswer",
    "OpenDPNoise",
    "Place",
    "Promise",
    "Protection",
    "Relation",
    "Risk",
    "delta_of",
    "delta_warning",
    "epsilon_of",
    "epsilon_within",
    "gaussian_scale",
    "relation_named",
    "rho_of",
    "rounded_up",
    "selection_scale",
]
