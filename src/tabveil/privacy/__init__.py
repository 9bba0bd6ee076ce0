"""Budgets, conversions, the ledger and the noise: everything the privacy promise rests on."""

from tabveil.privacy.budget import (
    DELTA,
    Budget,
    Relation,
    delta_of,
    epsilon_of,
    gaussian_scale,
    rho_of,
    selection_scale,
)
from tabveil.privacy.ledger import Allowance, Ledger
from tabveil.privacy.ledger_file import Charge
from tabveil.privacy.noise import Noise, OpenDPNoise

__all__ = [
    "DELTA",
    "Allowance",
    "Budget",
    "Charge",
    "Ledger",
    "Noise",
    "OpenDPNoise",
    "Relation",
    "delta_of",
    "epsilon_of",
    "gaussian_scale",
    "rho_of",
    "selection_scale",
]
