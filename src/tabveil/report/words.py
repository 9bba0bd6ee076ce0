"""Numbers as people read them."""

import math
from fractions import Fraction

from tabveil.privacy import rounded_up

# In the words of docs/epsilon.md: up to this ε, how careful it is, and what for.
LEVELS = (
    (0.5, "very careful", "For very sensitive tables with very many rows."),
    (1.5, "a good default", "For health, crime or income of people who can be named: no more."),
    (3.0, "less careful", "For tables that nobody would look for people in."),
    (5.0, "weak", "For small tables behind a contract, not for the open web."),
    (10.0, "very weak", "Better than no proof, but hardly protection."),
    (math.inf, "hardly any protection", "Do not call a release with this ε private."),
)


def level(epsilon: float) -> tuple[str, str]:
    """How careful an ε is, and what it is for."""
    return next((name, advice) for most, name, advice in LEVELS if epsilon <= most)


def amount(number: float) -> str:
    """A whole number with thousands set apart."""
    return f"{round(number):,}"


def percent(share: float, digits: int = 1) -> str:
    """A share of one hundred; never 0 % or 100 % where it is neither."""
    if math.isnan(share):
        return "–"
    smallest = 10.0 ** -(digits + 2)
    if 0 < share < smallest / 2:
        return f"<{smallest:.{digits}%}".replace("%", " %")
    if 1 - smallest / 2 < share < 1:
        return f">{1 - smallest:.{digits}%}".replace("%", " %")
    if share == 1:
        digits = 0
    return f"{share:.{digits}%}".replace("%", " %")


def few(number: float, digits: int = 3) -> str:
    """A number with few digits, tiny ones as 10⁻⁹."""
    if number and abs(number) < 1e-4:
        power = math.floor(math.log10(abs(number)) + 1e-9)
        lead = number / 10.0**power
        raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        shown = f"{lead:.{digits}g}"
        return f"10{raised}" if shown == "1" else f"{shown}·10{raised}"
    return f"{number:,.{digits}g}" if abs(number) < 1000 else amount(number)


def promised(number: float) -> str:
    """An ε or δ with at most four digits, rounded up: a promise must not shrink when printed."""
    return few(rounded_up(Fraction(number)), 4)


def count(number: int, thing: str) -> str:
    """So many of something."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def duration(seconds: float) -> str:
    """A time to wait."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(number: float) -> str:
    """Bytes in a unit that fits."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
