"""Make synthetic rows obey the constraints, claim by claim; rows that resist give way to others.

Only synthetic rows come here. What is changed is decided by the rows and a seeded generator, so the
same seed gives the same rows.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from tabveil.errors import InvalidInput
from tabveil.schema import Schema, kind_axis
from tabveil.schema.constraints import (
    MIRRORED,
    AddsUp,
    Claim,
    Combination,
    Compares,
    Constraint,
    Determines,
    Missing,
    OneOf,
    bounds_of,
    tightened,
)
from tabveil.tables.table import Codec, Table

SWEEPS = 8
WITNESSES = 512
Rows = np.ndarray


class EditableRows:
    """Rows that can be read and changed cell by cell, by the names of the schema's columns.

    A cell is a code, a number, or a number with a code that says its kind (`columns.codec`).
    """

    def __init__(self, schema: Schema, table: Table) -> None:
        self.schema, self.codec = schema, Codec(schema)
        settled = self.codec.settled(table)
        self.codes, self.numbers = settled.codes.copy(), settled.numbers.copy()
        places = {axis.name: place for place, axis in enumerate(self.codec.domain.axes)}
        self._axis = {
            name: places.get(name if name in schema.categories else kind_axis(name))
            for name in schema.codecs
        }
        self._place = {name: place for place, name in enumerate(self.codec.domain.numerical)}

    @property
    def table(self) -> Table:
        """The rows as they are now."""
        return Table(self.codes, self.numbers)

    def take(self, rows: Rows) -> Table:
        """Some of the rows."""
        return Table(self.codes[rows], self.numbers[rows])

    def copy_into(self, rows: Rows, table: Table) -> None:
        """Replace whole rows."""
        self.codes[rows], self.numbers[rows] = table.codes, table.numbers

    # -- reading -----------------------------------------------------------------------------------

    def code(self, name: str) -> np.ndarray:
        """The codes of a column: its categories, or kinds of number; 0 where it has none."""
        axis = self._axis[name]
        return np.zeros(len(self.codes), np.int32) if axis is None else self.codes[:, axis]

    def number(self, name: str) -> np.ndarray:
        """The numbers of a column as they are learnt; 0 where it has none."""
        place = self._place.get(name)
        return np.zeros(len(self.codes)) if place is None else self.numbers[:, place]

    def missing(self, name: str) -> np.ndarray:
        """Which cells are empty."""
        codec = self.schema.codecs[name]
        if codec.missing is None:
            return np.zeros(len(self.codes), bool)
        return self.code(name) == codec.missing

    def value(self, name: str) -> np.ndarray:
        """The cells on the line that they are compared on; nan where there is no quantity."""
        return self.schema.codecs[name].on_line(self.code(name), self.number(name))

    # -- writing -----------------------------------------------------------------------------------

    def put_code(self, name: str, rows: Rows, codes: np.ndarray | int) -> None:
        """Write codes, where the column has any."""
        axis = self._axis[name]
        if axis is not None:
            self.codes[rows, axis] = codes

    def put_number(self, name: str, rows: Rows, numbers: np.ndarray | float) -> None:
        """Write numbers, where the column has any."""
        place = self._place.get(name)
        if place is not None:
            self.numbers[rows, place] = numbers

    def put_missing(self, name: str, rows: Rows) -> None:
        """Empty some cells of a column that allows it."""
        missing = self.schema.codecs[name].missing
        assert missing is not None
        self.put_code(name, rows, missing)

    def put(self, name: str, rows: Rows, values: np.ndarray) -> None:
        """Write quantities, moved to the nearest that the column allows."""
        codes, numbers = self.schema.codecs[name].from_line(values)
        self.put_code(name, rows, codes)
        self.put_number(name, rows, numbers)

    def copy(self, name: str, rows: Rows, donors: Rows) -> None:
        """Give some rows the cells that other rows have in one column."""
        self.put_code(name, rows, self.code(name)[donors])
        self.put_number(name, rows, self.number(name)[donors])

    def above(self, name: str, values: np.ndarray, *, strict: bool) -> np.ndarray:
        """The least that the column allows and that is not below (or is above) each value."""
        return self.schema.codecs[name].above(values, strict=strict)

    def below(self, name: str, values: np.ndarray, *, strict: bool) -> np.ndarray:
        """The largest that the column allows and that is not above (or is below) each value."""
        return self.schema.codecs[name].below(values, strict=strict)


class Repair:
    """The constraints of a schema and, when sampling under a condition, what that claims."""

    def __init__(self, schema: Schema, asked: Sequence[Constraint] = ()) -> None:
        self.schema = schema
        self.constraints = (*schema.parsed_constraints, *asked)
        self.limits = tightened(self.constraints, schema.columns)
        self._known: dict[Determines, dict[bytes, tuple[int, float]]] = {}

    def learn(self, table: Table) -> None:
        """Note which value each determined column takes, from synthetic rows of the same release.

        Rows that obey all else come first, so that what is determined does not contradict it.
        """
        cells, rest = EditableRows(self.schema, table), Repair(self.schema)
        rest.constraints = tuple(c for c in rest.constraints if not isinstance(c.claim, Determines))
        obeying = np.nonzero(rest.apply(cells, np.random.default_rng(0)))[0]
        cells = EditableRows(self.schema, cells.take(obeying)) if len(obeying) else cells
        for constraint in self.constraints:
            claim = constraint.claim
            if isinstance(claim, Determines):
                self._known[claim] = _most_common(cells, claim)

    def obeyed(self, cells: EditableRows) -> np.ndarray:
        """Which rows obey every constraint."""
        obeyed = np.ones(len(cells.codes), bool)
        for constraint in self.constraints:
            obeyed &= ~self.broken(cells, constraint)
        return obeyed

    def apply(self, cells: EditableRows, random: np.random.Generator) -> np.ndarray:
        """Repair claim by claim until nothing is broken, or SWEEPS times; which rows then obey."""
        for _ in range(SWEEPS):
            broken = False
            for constraint in self.constraints:
                rows = np.nonzero(self.broken(cells, constraint))[0]
                if len(rows):
                    broken = True
                    self._make(cells, constraint, rows, random)
            if not broken:
                break
        return self.obeyed(cells)

    def broken(self, cells: EditableRows, constraint: Constraint) -> np.ndarray:
        """Which rows break a constraint."""
        broken = ~self._true(cells, constraint.claim) & ~_unknown(cells, constraint.claim)
        for condition in constraint.conditions:
            broken &= self._true(cells, condition) & ~_unknown(cells, condition)
        return broken

    def _true(self, cells: EditableRows, claim: Claim) -> np.ndarray:
        match claim:
            case Missing():
                return cells.missing(claim.column) == claim.empty
            case OneOf():
                return np.isin(cells.code(claim.column), list(claim.codes)) == claim.inside
            case Compares():
                other = cells.value(claim.other) if isinstance(claim.other, str) else claim.other
                return _COMPARED[claim.sign](cells.value(claim.column), other)
            case AddsUp():
                return _sum(cells, claim) == _whole(cells, claim.total, _places(cells, claim))
            case Combination():
                codes = np.stack([cells.code(name) for name in claim.columns], 1)
                allowed = {bytes(line) for line in np.array(claim.allowed, np.int32)}
                return np.array([bytes(line) in allowed for line in codes.astype(np.int32)], bool)
            case Determines():
                return self._as_determined(cells, claim)

    def _make(
        self, cells: EditableRows, constraint: Constraint, rows: Rows, random: np.random.Generator
    ) -> None:
        claim = constraint.claim
        match claim:
            case Missing(empty=True):
                cells.put_missing(claim.column, rows)
            case Missing():
                alike = _columns(constraint.conditions)
                _borrow(cells, claim.column, rows, ~cells.missing(claim.column), alike, random)
            case OneOf():
                self._put_one_of(cells, constraint, claim, rows, random)
            case Compares():
                self._put_in_order(cells, claim, rows, random)
            case AddsUp():
                _put_sum(cells, claim, rows)
            case Combination():
                _put_combination(cells, claim, rows, random)
            case Determines():
                self._put_determined(cells, claim, rows)

    def _put_one_of(
        self,
        cells: EditableRows,
        constraint: Constraint,
        claim: OneOf,
        rows: Rows,
        random: np.random.Generator,
    ) -> None:
        allowed = self._true(cells, claim) & ~cells.missing(claim.column)
        if allowed.any():
            _borrow(cells, claim.column, rows, allowed, _columns(constraint.conditions), random)
            return
        codec = self.schema.categories[claim.column]
        values = len(codec.labels) - codec.nullable
        codes = [code for code in range(values) if (code in claim.codes) == claim.inside]
        if codes:
            cells.put_code(claim.column, rows, random.choice(codes, len(rows)))
        elif codec.nullable:
            cells.put_missing(claim.column, rows)

    def _put_in_order(
        self, cells: EditableRows, claim: Compares, rows: Rows, random: np.random.Generator
    ) -> None:
        name, sign, other = claim.column, claim.sign, claim.other
        if sign in (">=", ">") and isinstance(other, str):
            name, sign, other = other, MIRRORED[sign], name
        low, high = self.limits.get(name, bounds_of(self.schema.columns[name]))
        values = cells.value(name)[rows]
        if sign == "!=":
            moved = cells.above(name, values, strict=True)
            cells.put(
                name, rows, np.where(moved > high, cells.below(name, values, strict=True), moved)
            )
        elif not isinstance(other, str):
            strict, wanted = sign in ("<", ">"), np.full(len(rows), float(other))
            nearest = cells.above if sign in (">=", ">", "==") else cells.below
            cells.put(name, rows, nearest(name, wanted, strict=strict))
        elif sign == "==":
            cells.put(name, rows, cells.value(other)[rows])
        else:
            strict = sign == "<"
            cells.put(name, rows, np.clip(values, low, high))
            if strict:  # there must be room above
                least = cells.below(
                    name, np.full(len(rows), self.limits.get(other, (0, np.inf))[1]), strict=True
                )
                cells.put(name, rows, np.minimum(cells.value(name)[rows], least))
            self._raise(cells, name, other, rows, strict=strict, random=random)

    def _raise(
        self,
        cells: EditableRows,
        name: str,
        other: str,
        rows: Rows,
        *,
        strict: bool,
        random: np.random.Generator,
    ) -> None:
        """Let `other` reach `name`, by a cell of a row whose `name` is as large or a bit larger."""
        lower, upper = cells.value(name), cells.value(other)
        with np.errstate(invalid="ignore"):
            donors = np.nonzero((lower < upper) if strict else (lower <= upper))[0]
        # Among equals, none comes first by its place.
        donors = donors[random.permutation(len(donors))]
        donors = donors[np.argsort(lower[donors], kind="stable")]
        places = np.searchsorted(lower[donors], lower[rows], "left")
        found = places < len(donors)
        near = np.minimum(places + random.integers(0, NEAR, len(places)), max(0, len(donors) - 1))
        if found.any():
            cells.copy(other, rows[found], donors[near[found]])
        rest = rows[~found]
        cells.put(other, rest, cells.above(other, lower[rest], strict=strict))

    def _as_determined(self, cells: EditableRows, claim: Determines) -> np.ndarray:
        before = cells.take(np.arange(len(cells.codes)))
        after = EditableRows(self.schema, before)
        self._put_determined(after, claim, np.arange(len(cells.codes)))
        name = claim.column
        number = (cells.number(name) == after.number(name)) | cells.missing(name)
        return (cells.code(name) == after.code(name)) & number

    def _put_determined(self, cells: EditableRows, claim: Determines, rows: Rows) -> None:
        known = self._known.setdefault(claim, {})
        keys, name = _keys(cells, claim.by), claim.column
        codes, numbers = cells.code(name)[rows].tolist(), cells.number(name)[rows].tolist()
        # A combination that was not met before is settled by the first row that brings it.
        settled = [
            known.setdefault(keys[row], (code, number))
            for row, code, number in zip(rows.tolist(), codes, numbers, strict=True)
        ]
        cells.put_code(name, rows, np.array([code for code, _ in settled], np.int32))
        cells.put_number(name, rows, np.array([number for _, number in settled]))


NEAR = 16  # a donor is drawn among so many neighbours

_COMPARED: dict[str, Callable[..., np.ndarray]] = {
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
    ">": np.greater,
    "==": np.equal,
    "!=": np.not_equal,
}


def repaired(
    table: Table,
    repair: Repair,
    random: np.random.Generator,
    more: Callable[[int], Table],
) -> Table:
    """The rows, all obeying; those that resist repair give way to others, drawn if need be."""
    if not repair.constraints:
        return table
    cells = EditableRows(repair.schema, table)
    obeyed = repair.apply(cells, random)
    resisting = np.nonzero(~obeyed)[0]
    if len(resisting):
        donors = cells.take(np.nonzero(obeyed)[0])
        if not donors.rows:
            donors = obeying(repair, more(WITNESSES), random)
        if not donors.rows:
            donors = obeying(repair, _anything(repair.schema), random)
        if not donors.rows:
            raise _contradiction(repair)
        chosen = random.integers(0, donors.rows, len(resisting))
        cells.copy_into(resisting, Table(donors.codes[chosen], donors.numbers[chosen]))
    return cells.table


def obeying(repair: Repair, table: Table, random: np.random.Generator) -> Table:
    """The rows of a table that obey after repair."""
    cells = EditableRows(repair.schema, table)
    return cells.take(np.nonzero(repair.apply(cells, random))[0])


def require_satisfiable(schema: Schema) -> None:
    """Refuse constraints that none of many arbitrary rows can be made to obey; needs no data."""
    if schema.constraints:
        repair = Repair(schema)
        if not obeying(repair, _anything(schema), np.random.default_rng(0)).rows:
            raise _contradiction(repair)


def _contradiction(repair: Repair) -> InvalidInput:
    listed = "; ".join(dict.fromkeys(c.text for c in repair.constraints))
    return InvalidInput(
        f"No row was found that obeys all of these: {listed}.",
        "Take out what contradicts the rest.",
    )


def _anything(schema: Schema) -> Table:
    """Arbitrary rows of the schema."""
    random, domain = np.random.default_rng(0), Codec(schema).domain
    codes = np.zeros((WITNESSES, len(domain.sizes)), np.int32)
    for axis, size in enumerate(domain.sizes):
        codes[:, axis] = random.integers(0, size, WITNESSES)
    numbers = np.zeros((WITNESSES, len(schema.numbers)))
    for place, rule in enumerate(schema.numbers.values()):
        numbers[:, place] = random.uniform(rule.min, rule.max, WITNESSES)
    return Table(codes, numbers)


def _unknown(cells: EditableRows, claim: Claim) -> np.ndarray:
    """Rows in which a claim speaks of a cell that is missing or no number."""
    nothing = np.zeros(len(cells.codes), bool)
    if isinstance(claim, Missing | Determines):
        return nothing
    if isinstance(claim, OneOf | Combination):
        return np.logical_or.reduce([cells.missing(name) for name in claim.columns])
    return np.logical_or.reduce([np.isnan(cells.value(name)) for name in claim.columns])


def _columns(claims: Sequence[Claim]) -> list[str]:
    """The columns that some claims are about, each once."""
    return list(dict.fromkeys(name for claim in claims for name in claim.columns))


def _borrow(
    cells: EditableRows,
    name: str,
    rows: Rows,
    allowed: np.ndarray,
    alike: Sequence[str],
    random: np.random.Generator,
) -> None:
    """Give rows the cells of others in which the column is allowed; the least value if none.

    Donors are like the row in the columns `alike`: of a child, only children know the school.
    """
    donors = np.nonzero(allowed)[0]
    if len(donors):
        cells.copy(name, rows, _nearest(cells, rows, donors, alike, random))
    elif name in cells.schema.categories:
        cells.put_code(name, rows, 0)
    else:
        cells.put(name, rows, np.full(len(rows), bounds_of(cells.schema.columns[name])[0]))


def _nearest(
    cells: EditableRows,
    rows: Rows,
    donors: Rows,
    alike: Sequence[str],
    random: np.random.Generator,
) -> Rows:
    """For each row a donor with the same codes and nearly the same numbers, as far as there are."""
    every = np.concatenate([rows, donors])
    codes = np.stack([np.zeros(len(every), int), *(cells.code(name)[every] for name in alike)])
    kind = np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1)
    numbers = [cells.number(name)[every] for name in alike]
    order = np.lexsort((random.random(len(every)), *reversed(numbers), kind))
    place = np.argsort(order)
    lined_up = order[order >= len(rows)]  # donors as they stand in the order
    # One of the nearest few at random, of the same kind where there is any.
    nearest = np.searchsorted(place[lined_up], place[: len(rows)])
    nearest += random.integers(-NEAR // 2, NEAR // 2, len(rows))
    first, end = (np.searchsorted(kind[lined_up], kind[: len(rows)], s) for s in ("left", "right"))
    within = np.clip(nearest, first, np.maximum(first, end - 1))
    return donors[lined_up[np.clip(within, 0, len(donors) - 1)] - len(rows)]


def _places(cells: EditableRows, claim: AddsUp) -> int:
    rules = cells.schema.numbers
    return max(rules[name].decimals or 0 for name in claim.columns if name in rules)


def _whole(cells: EditableRows, name: str, places: int) -> np.ndarray:
    """A column as whole numbers of the finest unit of a sum; nan where there is none."""
    return np.rint(cells.value(name) * 10.0**places)


def _sum(cells: EditableRows, claim: AddsUp) -> np.ndarray:
    places = _places(cells, claim)
    return np.sum([k * _whole(cells, name, places) for k, name in claim.terms], axis=0)


def _put_sum(cells: EditableRows, claim: AddsUp, rows: Rows) -> None:
    """Write the total; where it would leave its bounds, the parts give way one after the other."""
    places = _places(cells, claim)
    low, high = (bound * 10.0**places for bound in bounds_of(cells.schema.columns[claim.total]))
    for k, name in claim.terms:
        total = _sum(cells, claim)[rows]
        excess = total - np.clip(total, low, high)
        values = _whole(cells, name, places)[rows]
        down, up = rows[excess > 0], rows[excess < 0]
        wanted = (values - excess / k) / 10.0**places
        cells.put(name, down, cells.below(name, wanted[excess > 0], strict=False))
        cells.put(name, up, cells.above(name, wanted[excess < 0], strict=False))
    cells.put(claim.total, rows, _sum(cells, claim)[rows] / 10.0**places)


def _put_combination(
    cells: EditableRows, claim: Combination, rows: Rows, random: np.random.Generator
) -> None:
    """The listed combination that agrees with a row in most columns; drawn among equals."""
    allowed = np.array(claim.allowed, np.int32)
    codes = np.stack([cells.code(name) for name in claim.columns], 1)
    for part in np.array_split(rows, len(rows) * len(allowed) // 10_000_000 + 1):
        agree = (codes[part][:, None, :] == allowed[None]).sum(axis=2) + 0.5 * random.random(
            (len(part), len(allowed))
        )
        chosen = allowed[agree.argmax(axis=1)]
        for place, name in enumerate(claim.columns):
            cells.put_code(name, part, chosen[:, place])


def _keys(cells: EditableRows, names: Sequence[str]) -> list[bytes]:
    """What each row says in some columns, as bytes that are equal where the cells are."""
    parts = []
    for name in names:
        parts.append(cells.code(name).astype(np.float64))
        parts.append(np.where(cells.missing(name), np.inf, cells.number(name)))
    return [bytes(line) for line in np.stack(parts, 1)]


def _most_common(cells: EditableRows, claim: Determines) -> dict[bytes, tuple[int, float]]:
    cells_of_column = zip(
        cells.code(claim.column).tolist(), cells.number(claim.column).tolist(), strict=True
    )
    seen: dict[bytes, Counter[tuple[int, float]]] = {}
    for key, cell in zip(_keys(cells, claim.by), cells_of_column, strict=True):
        seen.setdefault(key, Counter())[cell] += 1
    return {key: votes.most_common(1)[0][0] for key, votes in seen.items()}
