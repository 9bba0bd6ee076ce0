"""What is promised, to whom: a budget, what counts as neighbours, whose rows belong together."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from tabveil.errors import InvalidInput
from tabveil.privacy.budget import Budget, Relation, gaussian_scale

ONE_ROW = "one row"  # what is protected where nothing else is said


class Person(Protocol):
    """What a schema says about people with several rows."""

    @property
    def unit(self) -> str:
        """The column that says whose row it is."""

    @property
    def max_rows(self) -> int:
        """How many rows of each are kept."""


@dataclass(frozen=True)
class Protection:
    """Which tables must look alike: the neighbour relation, and the most rows one person can have.

    >>> Protection(Relation.SUBSTITUTE, person="patient", rows_per_person=3).change
    'all rows of one patient replaced by as many others'
    """

    relation: Relation = Relation.ADD_REMOVE
    # The column that says whose row it is, where people are protected whole.
    person: str | None = None
    rows_per_person: int = 1

    @classmethod
    def of(cls, relation: Relation | str, person: Person | None = None) -> "Protection":
        """The protection that a relation, by its name, and a schema's privacy unit ask for."""
        known = relation_named(relation)
        return cls(known, person.unit, person.max_rows) if person else cls(known)

    @property
    def unit(self) -> str:
        """Whom it protects, in words."""
        return f"all rows of one {self.person}" if self.person else ONE_ROW

    @property
    def change(self) -> str:
        """How two neighbouring tables differ, in words."""
        if self.relation is Relation.ADD_REMOVE:
            return f"{self.unit} added or removed"
        return f"{self.unit} replaced by {'as many others' if self.person else 'another'}"

    def cells_moved(self, if_replaced: int = 2) -> int:
        """How many cells of one query one row can move by one; `if_replaced` under substitution.

        >>> Protection().cells_moved(), Protection(Relation.SUBSTITUTE).cells_moved()
        (1, 2)
        """
        return 1 if self.relation is Relation.ADD_REMOVE else if_replaced

    def squared(self, queries: int, if_replaced: int = 2) -> int:
        """The squared L2 sensitivity of so many queries together.

        Whoever is protected can have several rows: all in one cell, they move it by so many
        (docs/proofs/gaussian.md, docs/proofs/people.md).

        >>> Protection(Relation.SUBSTITUTE, "person", rows_per_person=3).squared(queries=5)
        90
        """
        return queries * self.cells_moved(if_replaced) * self.rows_per_person**2

    def noise_of(self, queries: int, rho: Fraction, if_replaced: int = 2) -> float:
        """The noise's standard deviation if so many queries are measured for ρ together. Public."""
        return gaussian_scale(rho, self.squared(queries, if_replaced))


@dataclass(frozen=True)
class Promise:
    """An (ε, δ) and whom it protects.

    >>> print(Promise(Budget(1.0, 1e-9), Protection()))
    (1, 1e-09)-differential privacy for one row added or removed.
    """

    budget: Budget
    protection: Protection

    def __str__(self) -> str:
        budget = self.budget
        pair = f"({budget.epsilon:g}, {budget.delta:g})"
        return f"{pair}-differential privacy for {self.protection.change}."


def relation_named(name: Relation | str) -> Relation:
    """The relation of this name, or one line that says which there are."""
    try:
        return Relation(name)
    except ValueError:
        raise InvalidInput(
            f"There is no relation {name}.", f"Choose from: {', '.join(Relation)}."
        ) from None
