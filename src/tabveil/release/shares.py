"""Other shares than the table had, such as 60 % women, in rows that are drawn after the fit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabveil.columns.words import did_you_mean, shown
from tabveil.errors import InvalidInput
from tabveil.release.conditions import Chances
from tabveil.schema import Schema
from tabveil.schema.constraints import code_of

HINT = "For example sex=F:0.6, or city=Bern:0.2,Oslo:0.3; what is not named keeps its proportions."
ROUNDS, CLOSE = 500, 1e-9


@dataclass(frozen=True)
class Shares:
    """Which shares of all rows some values of a column shall have; the others share the rest."""

    column: str
    wanted: Mapping[int, float]  # by code

    def factors(self, now: np.ndarray) -> np.ndarray:
        """By what the shares that codes have now are multiplied."""
        named = np.array(list(self.wanted))
        others = np.setdiff1d(np.arange(len(now)), named)
        factors = np.ones(len(now))
        factors[named] = np.array(list(self.wanted.values())) / np.maximum(now[named], 1e-300)
        left = 1 - sum(self.wanted.values())
        factors[others] = left / max(now[others].sum(), 1e-300) if left > CLOSE else 0.0
        return factors

    def reached(self, now: np.ndarray) -> bool:
        """Whether codes with these shares are what is wanted."""
        return all(math.isclose(now[c], w, abs_tol=CLOSE) for c, w in self.wanted.items())


def shares_of(wanted: Mapping[str, Mapping[Any, float]] | None, schema: Schema) -> list[Shares]:
    """The shares in a mapping such as {"sex": {"F": 0.6}}; None stands for missing cells."""
    return [_shares(name, dict(values), schema) for name, values in (wanted or {}).items()]


def spelled_shares(texts: Sequence[str], schema: Schema) -> dict[str, dict[Any, float]]:
    """The mapping behind texts such as sex=F:0.6 and city=Bern:0.2,Oslo:0.3."""
    found: dict[str, dict[Any, float]] = {}
    for text in texts:
        name, sign, rest = text.partition("=")
        for part in rest.split(","):
            value, colon, share = part.rpartition(":")
            try:
                number = float(share)
            except ValueError:
                colon = ""
            if not sign or not colon:
                raise InvalidInput(f"The shares {shown(text)} are not understood.", HINT)
            rule = schema.columns.get(name.strip())
            empty = value.strip() == "missing" and rule is not None and rule.nullable
            found.setdefault(name.strip(), {})[None if empty else value.strip()] = number
    return found


def rake(chances: Chances, wanted: Sequence[Shares]) -> None:
    """Scale rows and categories, column after column, until all shares are what is wanted.

    Among all tables with these shares this approaches the one nearest to the release in relative
    entropy (iterative proportional fitting).
    """
    for _ in range(ROUNDS):
        now = [chances.shares(shares.column) for shares in wanted]
        _require_reachable(wanted, now)
        if all(map(Shares.reached, wanted, now)):
            return
        for shares in wanted:
            chances.scale(shares.column, shares.factors(chances.shares(shares.column)))
    raise InvalidInput("These shares exclude each other in this release.", "Ask for fewer at once.")


def _require_reachable(wanted: Sequence[Shares], now: Sequence[np.ndarray]) -> None:
    for shares, found in zip(wanted, now, strict=True):
        named = list(shares.wanted)
        others = 1 - sum(shares.wanted.values())
        lacking = any(found[code] <= 0 < shares.wanted[code] for code in named)
        if lacking or (others > CLOSE and np.delete(found, named).sum() <= 0):
            raise InvalidInput(
                f"No row of this release can have the shares asked of {shown(shares.column)}.",
                "Ask for values that the release has, also under the conditions that are asked.",
            )


def _shares(name: str, wanted: dict[Any, float], schema: Schema) -> Shares:
    codec = schema.categories.get(name)
    if codec is None:
        raise InvalidInput(
            f"Shares can be asked of columns with categories, and {shown(str(name))} is none.",
            did_you_mean(str(name), list(schema.categories)) or HINT,
        )
    codes: dict[int, float] = {}
    for value, share in wanted.items():
        if value is None and codec.missing is None:
            raise InvalidInput(f"{shown(name)} is never missing in this release.", HINT)
        code = codec.missing if value is None else code_of(name, codec, value)
        assert code is not None
        if not 0 <= share <= 1 or code in codes:
            raise InvalidInput(f"Each value of {shown(name)} takes one share, from 0 to 1.", HINT)
        codes[code] = float(share)
    total, whole = sum(codes.values()), len(codes) == len(codec.labels)
    if total > 1 + CLOSE or (whole and total < 1 - CLOSE):
        raise InvalidInput(
            f"The shares of {shown(name)} add up to {total:g}, "
            + ("and must add up to 1." if whole else "and must not exceed 1."),
            HINT,
        )
    return Shares(name, codes)
