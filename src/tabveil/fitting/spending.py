"""What a fit will spend its budget on, as data from public things alone: plans are made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tabveil.fitting.rappp import Plan
from tabveil.privacy import Protection
from tabveil.queries import QueryFamily


@dataclass(frozen=True)
class Purchase:
    """One purpose of the budget: what is asked for it, its ρ, and the noise on each count."""

    purpose: str
    asked: str
    rho: Fraction
    noise: float | None  # standard deviation in rows; None where something is chosen, not counted


@dataclass(frozen=True)
class CountedColumn:
    """How finely a column is counted alone, and the noise on each count, in rows."""

    name: str
    kind: str
    cells: int
    noise: float


@dataclass(frozen=True)
class Outlook:
    """What models of error, memory and time go by."""

    columns: tuple[CountedColumn, ...]
    tables: Mapping[tuple[int, int], float]  # noise in a cross-table of two columns, if measured
    measured: int  # cross-tables
    candidates: int  # of which they are chosen
    memory: int  # bytes
    multiplications: float
    counts: int  # in which every row takes part


@dataclass(frozen=True)
class Spending:
    """Everything that will be bought, in order."""

    purchases: tuple[Purchase, ...]
    rounds: int
    outlook: Outlook | None = None  # none where no such model was made for the preset

    @property
    def rho(self) -> Fraction:
        """What it all costs."""
        return sum((purchase.rho for purchase in self.purchases), Fraction(0))


def counted(
    purpose: str,
    asked: str,
    rho: Fraction,
    protection: Protection,
    queries: int = 1,
    cells_moved: int = 2,
) -> tuple[Purchase, ...]:
    """Counts of so many queries together; nothing where nothing is paid for them."""
    if not rho:
        return ()
    return (Purchase(purpose, asked, rho, protection.noise_of(queries, rho, cells_moved)),)


def row_count(rho: Fraction, protection: Protection) -> tuple[Purchase, ...]:
    """The number of rows; nothing where it is public."""
    return counted("row count", "how many rows there are", rho, protection)


def rounds_of(
    plan: Plan, families: Sequence[tuple[QueryFamily, int]], protection: Protection
) -> tuple[Purchase, ...]:
    """What the rounds of a plan buy: the choice of queries, then counts of those of each family.

    Beside each family stands how many of its queries there are to choose from.
    """
    choosing, chosen, counts = Fraction(0), [], []
    for family, candidates in families:
        asks = [ask for ask in plan.asks if ask.family is family]
        if not asks:
            continue
        picks = sum(ask.picks for ask in asks)
        choosing += sum((ask.select for ask in asks), Fraction(0))
        chosen.append(f"{picks:,} of {candidates:,} {family.name}")
        # Rounds are nearly alike, so the noise of the first one stands for all.
        noise = protection.noise_of(asks[0].picks, asks[0].measure, family.cells_moved)
        measuring = sum((ask.measure for ask in asks), Fraction(0))
        counts.append(Purchase(family.name, f"the {picks:,} chosen ones", measuring, noise))
    if not counts:
        return ()
    return (Purchase("choosing", ", ".join(chosen), choosing, None), *counts)
