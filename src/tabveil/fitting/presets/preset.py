"""What every preset gets and gives."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tabveil.curator import Curator
from tabveil.fitting.public import Help
from tabveil.fitting.rappp import Result, Status
from tabveil.fitting.spending import Spending
from tabveil.fitting.zeros import Impossible
from tabveil.privacy import Protection, Relation
from tabveil.schema import Schema
from tabveil.tables.table import Codec, Domain

Watch = Callable[[Status], None]


@dataclass(frozen=True)
class Task:
    """What is to be done, and what it may cost. Public."""

    schema: Schema
    rho: Fraction
    relation: Relation = Relation.ADD_REMOVE
    seed: int = 0
    # Of the schema that was asked for, where lists were grouped for this one.
    constraints: Impossible | None = None
    public: Help | None = None

    @property
    def impossible(self) -> Impossible:
        """What constraints rule out."""
        return self.constraints or Impossible(self.schema, {})

    @property
    def domain(self) -> Domain:
        """The schema's columns as axes of categories and numbers."""
        return Codec(self.schema).domain

    @property
    def rows(self) -> int | None:
        """How many rows there are, where published counts say so."""
        return next((total.rows for total in self.schema.parsed_totals if total.rows), None)

    @property
    def protection(self) -> Protection:
        """Whom the noise protects; it grows with the rows that they can have."""
        return Protection.of(self.relation, self.schema.privacy)

    def strength(self, total: int) -> float:
        """How far a count of all rows would stand above the noise of the whole budget."""
        return total * float(self.rho) ** 0.5 / self.protection.rows_per_person


class Preset(Protocol):
    """A way to spend a budget: what to ask of the rows, for how much each, and how to optimise."""

    @property
    def takes_public(self) -> bool:
        """Whether public tables help it."""

    def check(self, domain: Domain) -> None:
        """Refuse a table that cannot be fitted, before anything of it is opened or paid for."""

    def default_delta(self, rows: int | None) -> float:
        """The δ of a fit that asks for none; `rows` is their number where that is public."""

    def spending(self, task: Task, rows: int) -> Spending:
        """What will be bought if there are about so many rows; from public things alone."""

    def __call__(self, curator: Curator, task: Task, watch: Watch) -> Result:
        """Buy it at the curator's door for at most ρ, and fit a table to the answers.

        The seed drives public choices.
        """
