"""What cards are about: a release, its owner's answers, and facts that several cards state."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from tabveil.cards.about import About
from tabveil.errors import InvalidInput
from tabveil.privacy import Risk
from tabveil.release import Release

NEIGHBOURS = {
    "add-remove": "Two tables are neighbours if one of them has the rows of one unit more.",
    "substitute": "Two tables are neighbours if the rows of one unit differ; the number of rows is "
    "the same and public.",
}
MECHANISMS = {
    "discrete Gaussian": "discrete Gaussian noise on whole histograms of counts",
    "noisy top-K": "a noisy top-K (exponential mechanism) over integer scores, to choose what is "
    "counted",
    "discrete Gaussian with threshold": "discrete Gaussian counts above a threshold, to find "
    "values that the schema did not declare",
}


@dataclass(frozen=True)
class Subject:
    """One release as cards see it; nothing of it was computed from real rows without noise."""

    release: Release
    folder: Path  # where it lies
    about: About
    data: Path | None = None  # a file of synthetic rows that is published with it

    def __post_init__(self) -> None:
        if not self.privacy.get("private", True):
            raise InvalidInput(
                "The noise of this release was seeded for a test: it is NOT PRIVATE.",
                "Make a release with `tabveil fit`; no card is written for this one.",
            )

    @property
    def privacy(self) -> Any:
        """What `privacy.json` says."""
        return self.release.privacy

    @property
    def slug(self) -> str:
        """The name as part of an address: small letters, digits and underscores."""
        return re.sub(r"[^a-z0-9]+", "_", self.about.name.lower()).strip("_") or "release"

    @property
    def rho(self) -> float:
        """What was allowed to be spent, as ρ."""
        return float(Fraction(self.privacy["rho"]))

    @cached_property
    def risk(self) -> Risk:
        """What the best possible attacker could do, by the exact account."""
        said = self.privacy
        spent = Fraction(said["rho_spent"])
        used = float(said.get("delta_used", 0))
        return Risk.of_spending(spent, float(said["epsilon"]), float(said["delta"]), used)

    @property
    def unit(self) -> str:
        """Whom the promise is made to."""
        return str(self.privacy.get("unit", "one row"))

    @property
    def neighbours(self) -> str:
        """Which tables the promise cannot tell apart."""
        rows = int(self.privacy.get("max_rows", 1))
        most = f" Of each unit at most {rows} rows were used." if rows > 1 else ""
        return f"The unit is {self.unit}. {NEIGHBOURS[self.privacy['relation']]}{most}"

    @property
    def mechanisms(self) -> str:
        """Which mechanisms were used, and how they are built."""
        known = [MECHANISMS.get(name, name) for name in self.privacy.get("mechanisms", ())]
        versions = self.privacy.get("versions", {})
        return (
            f"Used: {'; '.join(known)}. All are drawn by OpenDP {versions.get('opendp', '')} with "
            "exact samplers, from the randomness of the operating system; no seed reaches them. "
            "Counts are integers before noise, so no floating-point number depends on the rows. "
            f"Software: tabveil {versions.get('tabveil', '')}, preset {self.preset}."
        )

    @property
    def preset(self) -> str:
        """The way the budget was spent, by its name."""
        return str(self.privacy.get("preset", "")).split("(")[0].lower()

    @property
    def composition(self) -> str:
        """How costs were added up."""
        charges, kept = len(self.release.charges), " on disk" if self.privacy.get("ledger") else ""
        return (
            f"{charges} charges of zero-concentrated differential privacy add up to "
            f"ρ = {float(Fraction(self.privacy['rho_spent'])):.6g}, in exact fractions, each "
            f"written to a ledger{kept} before the rows are read. ρ is turned into (ε, δ) by the "
            "bound of Canonne, Kamath and Steinke (2020), rounded against the curator. Later "
            "choices may depend on earlier noisy answers (adaptive composition)."
        )

    @property
    def public(self) -> list[str]:
        """What was taken as known, and is therefore not protected."""
        return [str(item) for item in self.privacy.get("assumed_public", ())]

    @property
    def bought(self) -> str:
        """What of the schema was found in the data, and for how much; empty if nothing was."""
        cost = self.privacy.get("schema")
        if not cost:
            return ""
        names = ", ".join(map(str, self.privacy.get("bought", ())))
        return (
            f"Types, values, bounds and decimals of {names} were found in the data with "
            f"differential privacy (ε = {cost['epsilon']:g}, δ = {cost['delta']:g}); that is part "
            "of the parameters stated."
        )
