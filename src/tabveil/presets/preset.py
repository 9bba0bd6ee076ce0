"""What every preset gets and gives."""

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from tabveil.curator import Curator
from tabveil.privacy import Relation
from tabveil.rappp import Result, Status
from tabveil.schema import Schema
from tabveil.table import Domain

Watch = Callable[[Status], None]


class Preset(Protocol):
    """Spend at most `rho` at the curator's door and return a fitted table; `seed` drives public choices."""

    def __call__(
        self,
        curator: Curator,
        schema: Schema,
        domain: Domain,
        rho: Fraction,
        relation: Relation,
        seed: int,
        watch: Watch,
    ) -> Result: ...
