"""Make every synthetic row obey the constraints: claim by claim, and rows that resist give way to
others.

Only synthetic rows come here. What is changed is decided by the rows and a seeded generator, so the
same seed gives the same rows."""

from collections.abc import Callable, Sequence

import numpy as np

from tabveil.columns import Categorical, CategoryCodec, Datetime, figures_of
from tabveil.columns.cells import rounded
from tabveil.columns.moments import UNITS
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
    """Rows that can be read and changed cell by cell, by the names of the schema's columns."""

    def __init__(self, schema: Schema, table: Table) -> None:
        self.schema, self.codec = schema, Codec(schema)
        settled = self.codec.settled(table)
        self.codes, self.numbers = settled.codes.copy(), settled.numbers.copy()
        names = [axis.name for axis in self.codec.domain.axes]
        self.axis = {name: place for place, name in enumerate(names)}
        self.place = {name: place for place, name in enumerate(self.codec.domain.numerical)}
        self._lines: dict[str, np.ndarray] = {}

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
        """The codes of a categorical column."""
        return self.codes[:, self.axis[name]]

    def missing(self, name: str) -> np.ndarray:
        """Which cells are empty."""
        axis = self.axis.get(name if name in self.schema.categorical else kind_axis(name))
        if not self.schema.columns[name].nullable or axis is None:
            return np.zeros(len(self.codes), bool)
        return self.codes[:, axis] == self.codec.domain.sizes[axis] - 1

    def value(self, name: str) -> np.ndarray:
        """The cells as numbers on the line that they are compared on; nan where there is none.

        A special value outside the bounds is a code for something else, so it is no number here.
        """
        rule = self.schema.columns[name]
        if isinstance(rule, Categorical):
            return np.append(self._line(name), [np.nan] * (rule.other + rule.nullable))[
                self.code(name)
            ]
        figures = figures_of(rule)
        assert figures is not None
        values = self.numbers[:, self.place[name]].copy()
        if figures.kinds:
            kinds = self.codes[:, self.axis[kind_axis(name)]]
            for kind, special in enumerate(figures.rule.special_values, start=1):
                inside = figures.rule.min <= special <= figures.rule.max
                values[kinds == kind] = special if inside else np.nan
        values[self.missing(name)] = np.nan
        if isinstance(rule, Datetime):
            values = rule.first + values * UNITS[rule.unit]
        return values

    def _line(self, name: str) -> np.ndarray:
        """A categorical column's values as numbers, in the order of their codes."""
        if name not in self._lines:
            rule = self.schema.categories[name]
            numeric = all(CategoryCodec(rule).is_number)
            self._lines[name] = np.array([float(v) if numeric else np.nan for v in rule.values])
        return self._lines[name]

    # -- writing -----------------------------------------------------------------------------------

    def put_code(self, name: str, rows: Rows, codes: np.ndarray | int) -> None:
        self.codes[rows, self.axis[name]] = codes

    def put_missing(self, name: str, rows: Rows) -> None:
        axis = self.axis[name if name in self.schema.categorical else kind_axis(name)]
        self.codes[rows, axis] = self.codec.domain.sizes[axis] - 1

    def put(self, name: str, rows: Rows, values: np.ndarray) -> None:
        """Write numbers, moved to the nearest that the column allows."""
        rule = self.schema.columns[name]
        if isinstance(rule, Categorical):
            line = self._line(name)
            order = np.argsort(line)
            after = np.clip(np.searchsorted(line[order], values), 1, max(1, len(line) - 1))
            low, high = order[np.maximum(after - 1, 0)], order[np.minimum(after, len(line) - 1)]
            nearer = np.abs(line[high] - values) <= np.abs(line[low] - values)
            self.put_code(name, rows, np.where(nearer, high, low))
            return
        figures = figures_of(rule)
        assert figures is not None
        if isinstance(rule, Datetime):
            values = (values - rule.first) / UNITS[rule.unit]
        settled = figures.settle(values)
        self.numbers[rows, self.place[name]] = settled
        if figures.kinds:
            kinds = np.zeros(len(settled), np.int32)
            for kind, special in enumerate(figures.rule.special_values, start=1):
                kinds[settled == special] = kind
            self.codes[rows, self.axis[kind_axis(name)]] = kinds

    def copy(self, name: str, rows: Rows, donors: Rows) -> None:
        """Give some rows the cells that other rows have in one column."""
        for axis in (self.axis.get(name), self.axis.get(kind_axis(name))):
            if axis is not None:
                self.codes[rows, axis] = self.codes[donors, axis]
        if name in self.place:
            self.numbers[rows, self.place[name]] = self.numbers[donors, self.place[name]]

    def above(self, name: str, values: np.ndarray, *, strict: bool) -> np.ndarray:
        """The least number that the column allows and that is not below (or is above) each
        value."""
        rule = self.schema.columns[name]
        if isinstance(rule, Categorical):
            line = np.sort(self._line(name))
            places = np.searchsorted(line, values, "right" if strict else "left")
            return line[np.minimum(places, len(line) - 1)]
        if isinstance(rule, Datetime):
            unit = UNITS[rule.unit]
            steps = np.ceil((values - rule.first) / unit)
            steps += strict & (rule.first + steps * unit <= values)
            return rule.first + steps * unit
        figures = figures_of(rule)
        assert figures is not None
        decimals = figures.rule.decimals
        if decimals is None:
            return np.nextafter(values, np.inf) if strict else values
        nearest = rounded(values, decimals)
        short = (nearest <= values) if strict else (nearest < values)
        return np.where(short, rounded(nearest + 10.0**-decimals, decimals), nearest)

    def below(self, name: str, values: np.ndarray, *, strict: bool) -> np.ndarray:
        """The largest number that the column allows and that is not above (or is below) each
        value."""
        rule = self.schema.columns[name]
        if isinstance(rule, Categorical):
            line = np.sort(self._line(name))
            places = np.searchsorted(line, values, "left" if strict else "right") - 1
            return line[np.maximum(places, 0)]
        if isinstance(rule, Datetime):
            unit = UNITS[rule.unit]
            steps = np.floor((values - rule.first) / unit)
            steps -= strict & (rule.first + steps * unit >= values)
            return rule.first + steps * unit
        figures = figures_of(rule)
        assert figures is not None
        decimals = figures.rule.decimals
        if decimals is None:
            return np.nextafter(values, -np.inf) if strict else values
        nearest = rounded(values, decimals)
        long = (nearest >= values) if strict else (nearest > values)
        return np.where(long, rounded(nearest - 10.0**-decimals, decimals), nearest)


class Repair:
    """The constraints of a schema and, while sampling under a condition, what the condition
    claims."""

    def __init__(self, schema: Schema, asked: Sequence[Constraint] = ()) -> None:
        self.schema = schema
        self.constraints = (*schema.parsed_constraints, *asked)
        self.limits = tightened(self.constraints, schema.columns)
        self._known: dict[Determines, dict[bytes, tuple[int, float]]] = {}

    def learn(self, table: Table) -> None:
        """Note which value each determined column takes, from some synthetic rows of the same
        release.

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
            obeyed &= ~self._broken(cells, constraint)
        return obeyed

    def apply(self, cells: EditableRows, random: np.random.Generator) -> np.ndarray:
        """Repair claim by claim until nothing is broken, or SWEEPS times; the rows that obey in the
        end."""
        for _ in range(SWEEPS):
            broken = False
            for constraint in self.constraints:
                rows = np.nonzero(self._broken(cells, constraint))[0]
                if len(rows):
                    broken = True
                    self._make(cells, constraint, rows, random)
            if not broken:
                break
        return self.obeyed(cells)

    def _broken(self, cells: EditableRows, constraint: Constraint) -> np.ndarray:
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
                _borrow(cells, claim.column, rows, ~cells.missing(claim.column), random)
            case OneOf():
                self._put_one_of(cells, claim, rows, random)
            case Compares():
                self._put_in_order(cells, claim, rows, random)
            case AddsUp():
                _put_sum(cells, claim, rows)
            case Combination():
                _put_combination(cells, claim, rows, random)
            case Determines():
                self._put_determined(cells, claim, rows)

    def _put_one_of(
        self, cells: EditableRows, claim: OneOf, rows: Rows, random: np.random.Generator
    ) -> None:
        allowed = self._true(cells, claim) & ~cells.missing(claim.column)
        if allowed.any():
            _borrow(cells, claim.column, rows, allowed, random)
            return
        rule = self.schema.categories[claim.column]
        codes = [
            c for c in range(len(rule.values) + rule.other) if (c in claim.codes) == claim.inside
        ]
        if codes:
            cells.put_code(claim.column, rows, random.choice(codes, len(rows)))
        elif rule.nullable:
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
        """Let `other` reach `name`, by the cell of a row whose `name` is as large or a little
        larger."""
        lower, upper = cells.value(name), cells.value(other)
        with np.errstate(invalid="ignore"):
            donors = np.nonzero((lower < upper) if strict else (lower <= upper))[0]
        donors = donors[
            random.permutation(len(donors))
        ]  # among equals, none comes first by its place
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
        same = np.ones(len(cells.codes), bool)
        for axis in (cells.axis.get(claim.column), cells.axis.get(kind_axis(claim.column))):
            if axis is not None:
                same &= cells.codes[:, axis] == after.codes[:, axis]
        if claim.column in cells.place:
            place = cells.place[claim.column]
            same &= (cells.numbers[:, place] == after.numbers[:, place]) | cells.missing(
                claim.column
            )
        return same

    def _put_determined(self, cells: EditableRows, claim: Determines, rows: Rows) -> None:
        known = self._known.setdefault(claim, {})
        keys = _keys(cells, claim.by)
        axis = cells.axis.get(claim.column, cells.axis.get(kind_axis(claim.column)))
        place = cells.place.get(claim.column)
        for row in rows.tolist():
            # A combination that was not met before is settled by the first row that brings it.
            code = int(cells.codes[row, axis]) if axis is not None else 0
            number = float(cells.numbers[row, place]) if place is not None else 0.0
            code, number = known.setdefault(keys[row], (code, number))
            if axis is not None:
                cells.codes[row, axis] = code
            if place is not None:
                cells.numbers[row, place] = number


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
    """The rows, all obeying; rows that resist repair are replaced by others that obey, drawn if
    need be."""
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
    """Refuse constraints that no row out of many arbitrary ones can be made to obey; needs no
    data."""
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


def _borrow(
    cells: EditableRows, name: str, rows: Rows, allowed: np.ndarray, random: np.random.Generator
) -> None:
    """Give rows the cells of others in which the column is allowed; the least value if there are
    none."""
    donors = np.nonzero(allowed)[0]
    if len(donors):
        cells.copy(name, rows, random.choice(donors, len(rows)))
    elif name in cells.schema.categorical:
        cells.put_code(name, rows, 0)
    else:
        cells.put(name, rows, np.full(len(rows), bounds_of(cells.schema.columns[name])[0]))


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
        if name in cells.schema.categorical:
            parts.append(cells.code(name).astype(np.float64))
        else:
            parts.append(np.where(cells.missing(name), np.inf, cells.numbers[:, cells.place[name]]))
            kinds = cells.axis.get(kind_axis(name))
            parts.append(
                cells.codes[:, kinds].astype(float) if kinds is not None else parts[-1] * 0
            )
    return [bytes(line) for line in np.stack(parts, 1)]


def _most_common(cells: EditableRows, claim: Determines) -> dict[bytes, tuple[int, float]]:
    axis = cells.axis.get(claim.column, cells.axis.get(kind_axis(claim.column)))
    place = cells.place.get(claim.column)
    seen: dict[bytes, dict[tuple[int, float], int]] = {}
    for row, key in enumerate(_keys(cells, claim.by)):
        code = int(cells.codes[row, axis]) if axis is not None else 0
        number = float(cells.numbers[row, place]) if place is not None else 0.0
        votes = seen.setdefault(key, {})
        votes[(code, number)] = votes.get((code, number), 0) + 1
    return {key: max(votes, key=votes.__getitem__) for key, votes in seen.items()}
