"""What must hold in every row: a small language of comparisons, sums, conditions, combinations."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tabveil.columns import CategoryCodec, CellCodec, Column
from tabveil.columns.words import did_you_mean, shown
from tabveil.errors import InvalidInput

LANGUAGE = (
    "For example: a <= b, a + b == c, if x == v then y is missing, never x == v and y == w, x "
    "determines y."
)
OPPOSITE = {"<=": ">", ">": "<=", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}
MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "==", "!=": "!="}
TOKEN = re.compile(
    r"\s*(?:`([^`]+)`|'([^']*)'|\"([^\"]*)\"|(<=|>=|==|!=|[<>=+*,\[\]])|([^\s<>=!+*,\[\]`'\"]+))"
)
WORDS = {"if", "then", "and", "never", "is", "not", "missing", "in", "determines"}
MOST = 1000  # constraints: whether they contradict each other is asked of all of them together


@dataclass(frozen=True)
class Compares:
    """A number against another column's, or against a constant."""

    column: str
    sign: str
    other: str | float

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.other) if isinstance(self.other, str) else (self.column,)

    def negated(self) -> "Compares":
        return replace(self, sign=OPPOSITE[self.sign])


@dataclass(frozen=True)
class OneOf:
    """A category among some codes."""

    column: str
    codes: frozenset[int]
    inside: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def negated(self) -> "OneOf":
        return replace(self, inside=not self.inside)


@dataclass(frozen=True)
class Missing:
    """A cell that is empty, or one that is not."""

    column: str
    empty: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def negated(self) -> "Missing":
        return replace(self, empty=not self.empty)


@dataclass(frozen=True)
class AddsUp:
    """Whole multiples of some numbers add up to another."""

    terms: tuple[tuple[int, str], ...]
    total: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(name for _, name in self.terms), self.total)


@dataclass(frozen=True)
class Combination:
    """Categories of several columns that may only occur together as listed."""

    columns: tuple[str, ...]
    allowed: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Determines:
    """Rows that agree in some columns agree in another one too."""

    by: tuple[str, ...]
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.by, self.column)


Claim = Compares | OneOf | Missing | AddsUp | Combination | Determines


@dataclass(frozen=True)
class Constraint:
    """Where all `conditions` are surely true, `claim` must hold; about a missing cell it does."""

    text: str
    conditions: tuple[Claim, ...]
    claim: Claim


def parse_constraints(
    constraints: Sequence[str | Mapping[str, Any]], columns: Mapping[str, Column]
) -> tuple[Constraint, ...]:
    """The constraints that these texts spell; refused if not understood or contradictory."""
    if len(constraints) > MOST:
        raise InvalidInput(
            f"There are more than {MOST:,} constraints.", "Keep those that matter most."
        )

    found: list[Constraint] = []
    for constraint in constraints:
        if isinstance(constraint, str):
            found.append(_Sentence(constraint, columns).constraint())
        else:
            found += _combinations(constraint, columns)
    _check_bounds(found, columns)
    return tuple(found)


class _Sentence:
    """One constraint as a list of tokens, read from left to right."""

    def __init__(self, text: str, columns: Mapping[str, Column]) -> None:
        self.text, self.columns = text, columns
        self.tokens = list(self._tokens())
        self.at = 0

    def _tokens(self) -> Iterator[tuple[str, str]]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            found = TOKEN.match(self.text, at)
            if not found:
                raise self._odd("it cannot be read")
            at = found.end()
            name, single, double, sign, word = found.groups()
            if name is not None:
                yield "name", name
            elif sign is not None:
                yield "sign", "==" if sign == "=" else sign
            elif word is not None:
                yield ("word" if word in WORDS and word not in self.columns else "bare"), word
            else:
                yield "text", single if single is not None else double

    def _odd(self, why: str, hint: str = LANGUAGE) -> InvalidInput:
        return InvalidInput(f"The constraint {shown(self.text)} is not understood: {why}.", hint)

    def constraint(self) -> Constraint:
        if self._next("word", "if"):
            conditions = self._claims()
            if not self._next("word", "then"):
                raise self._odd("the word then is missing")
            return self._finished(conditions, self._claim())
        if self._next("word", "never"):
            *conditions, last = self._claims()
            if isinstance(last, AddsUp | Combination | Determines):
                raise self._odd("sums cannot be forbidden")
            return self._finished(conditions, last.negated())
        names = self._names_before_determines()
        if names:
            claim: Claim = Determines(tuple(names), self._column())
            if claim.columns[-1] in names:
                raise self._odd("a column cannot determine itself")
            return self._finished([], claim)
        return self._finished([], self._claim())

    def _finished(self, conditions: list[Claim], claim: Claim) -> Constraint:
        if self.at < len(self.tokens):
            raise self._odd(f"{shown(self.tokens[self.at][1])} stands at the end")
        if any(isinstance(c, AddsUp | Combination | Determines) for c in conditions):
            raise self._odd("a condition cannot be a sum")
        return Constraint(self.text, tuple(conditions), claim)

    def _names_before_determines(self) -> list[str]:
        if ("word", "determines") not in self.tokens:
            return []
        names = [self._column()]
        while self._next("sign", ","):
            names.append(self._column())
        if not self._next("word", "determines"):
            raise self._odd("only column names may stand before determines")
        return names

    def _claims(self) -> list[Claim]:
        claims = [self._claim()]
        while self._next("word", "and"):
            claims.append(self._claim())
        return claims

    def _claim(self) -> Claim:
        terms = self._terms()
        coefficient, name = terms[0]
        if len(terms) == 1 and coefficient == 1:
            if self._next("word", "is"):
                empty = not self._next("word", "not")
                if not self._next("word", "missing"):
                    raise self._odd("after is, it can only say missing")
                return self._missing(name, empty)
            inside = not self._next("word", "not")
            if self._next("word", "in"):
                return self._one_of(name, self._list(), inside)
            if not inside:
                raise self._odd("not must be followed by in")
        sign = self._sign()
        if len(terms) == 1 and coefficient == 1:
            return self._comparison(name, sign)
        if sign != "==":
            raise self._odd("a sum can only be compared by ==")
        return self._sum(terms, self._column())

    def _comparison(self, name: str, sign: str) -> Claim:
        kind, word = self._token()
        codec = self._codec(name)
        if kind == "name" or (kind == "bare" and word in self.columns):
            self.at -= 1
            terms = self._terms()
            if len(terms) > 1 or terms[0][0] != 1:
                if sign != "==":
                    raise self._odd("a sum can only be compared by ==")
                return self._sum(terms, name)
            other = terms[0][1]
            self._number_column(name)
            self._number_column(other)
            if codec.ruler != self._codec(other).ruler:
                raise self._odd(
                    f"{shown(name)} and {shown(other)} are not the same kind of quantity"
                )
            return Compares(name, sign, other)
        if isinstance(codec, CategoryCodec):
            if sign not in ("==", "!="):
                raise self._odd(f"categories such as {shown(name)} are compared by == and !=")
            return self._one_of(name, [word], sign == "==")
        if re.fullmatch(r"\d+", word) and self._peek() == ("sign", "*"):
            self.at -= 1
            return self._sum(self._terms(), name)
        return Compares(name, sign, self._constant(name, word))

    def _sum(self, terms: list[tuple[int, str]], total: str) -> AddsUp:
        if total in {name for _, name in terms} or len({name for _, name in terms}) < len(terms):
            raise self._odd("a column stands in the sum twice")
        for name in (*(name for _, name in terms), total):
            self._number_column(name)
            if not self._codec(name).summable:
                raise self._odd(f"{shown(name)} needs declared decimals to be part of a sum")
        if isinstance(self._codec(total), CategoryCodec):
            raise self._odd(f"{shown(total)} is categorical, and a total must be numerical")
        finest = max(self._codec(name).decimals or 0 for _, name in terms)
        if finest > (self._codec(total).decimals or 0):
            raise self._odd(f"{shown(total)} has fewer decimals than its parts")
        return AddsUp(tuple(terms), total)

    def _terms(self) -> list[tuple[int, str]]:
        terms = [self._term()]
        while self._next("sign", "+"):
            terms.append(self._term())
        return terms

    def _term(self) -> tuple[int, str]:
        kind, word = self._peek()
        if kind == "bare" and word not in self.columns and re.fullmatch(r"[1-9]\d{0,8}", word):
            self.at += 1
            if not self._next("sign", "*"):
                raise self._odd(f"after {word}, a * and a column must follow")
            return int(word), self._column()
        return 1, self._column()

    def _list(self) -> list[str]:
        if not self._next("sign", "["):
            raise self._odd("after in, a list such as [a, b] must follow")
        words = [self._token()[1]]
        while self._next("sign", ","):
            words.append(self._token()[1])
        if not self._next("sign", "]"):
            raise self._odd("the list is not closed")
        return words

    def _one_of(self, name: str, words: list[str], inside: bool) -> OneOf:
        codec = self._codec(name)
        if not isinstance(codec, CategoryCodec):
            raise self._odd(f"{shown(name)} is not categorical")
        return OneOf(name, frozenset(code_of(name, codec, word) for word in words), inside)

    def _missing(self, name: str, empty: bool) -> Missing:
        if not self.columns[name].nullable:
            raise self._odd(f"{shown(name)} is not nullable", "Declare nullable: true.")
        return Missing(name, empty)

    def _constant(self, name: str, word: str) -> float:
        number = self._codec(name).quantity(word)
        if math.isnan(number):
            raise self._odd(f"{shown(word)} is neither a column nor a value of {shown(name)}")
        return number

    def _number_column(self, name: str) -> None:
        if self._codec(name).ruler is None:
            raise self._odd(f"{shown(name)} has values that are not numbers")

    def _codec(self, name: str) -> CellCodec:
        """How a column is learnt; `_column` has let no other pass."""
        codec = self.columns[name].codec
        assert codec is not None
        return codec

    def _column(self) -> str:
        kind, word = self._token()
        if kind not in ("name", "bare") or word not in self.columns:
            raise self._odd(
                f"{shown(word)} is not a declared column", did_you_mean(word, self.columns)
            )
        if self.columns[word].codec is None:
            raise self._odd(f"{shown(word)} is not learnt")
        return word

    def _sign(self) -> str:
        kind, word = self._token()
        if kind != "sign" or word not in OPPOSITE:
            raise self._odd(f"{shown(word)} stands where a comparison was expected")
        return word

    def _token(self) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            raise self._odd("it ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", "")

    def _next(self, kind: str, word: str) -> bool:
        found = self._peek() == (kind, word)
        self.at += found
        return found


def code_of(name: str, codec: CategoryCodec, value: object) -> int:
    """The code of a declared value; texts may spell its numbers and truths."""
    code = codec.declared_code(value)
    if code is None and codec.nullable and codec.tokens.stand_for(str(value).encode()):
        raise InvalidInput(
            f"{shown(str(value))} stands for a missing cell of {shown(name)}.",
            f"Write: {shown(name)} is missing.",
        )
    if code is None:
        raise InvalidInput(
            f"{shown(str(value))} is not a declared value of {shown(name)}.",
            did_you_mean(str(value), codec.labels[: codec.declared])
            or f"For example {shown(codec.labels[0])}.",
        )
    return code


def _combinations(constraint: Mapping[str, Any], columns: Mapping[str, Column]) -> list[Constraint]:
    """{columns: [a, b], only: [[1, 2], ...]} or {columns: [a, b], never: [[1, 2], ...]}."""
    text = shown(str(dict(constraint)))
    names, kinds = constraint.get("columns"), set(constraint) - {"columns"}
    if not isinstance(names, list) or len(kinds) != 1 or not kinds <= {"only", "never"}:
        raise InvalidInput(
            f"The constraint {text} is not understood.",
            "Write {columns: [a, b], only: [[1, 2], [1, 3]]}.",
        )
    codecs: list[CategoryCodec] = []
    for name in names:
        rule = columns.get(name) if isinstance(name, str) else None
        codec = rule.codec if rule else None
        if not isinstance(codec, CategoryCodec):
            raise InvalidInput(
                f"The constraint {text} names {shown(str(name))}, which is not a categorical "
                "column.",
                did_you_mean(str(name), columns),
            )
        codecs.append(codec)
    kind = kinds.pop()
    lines = constraint[kind]
    if (
        not isinstance(lines, list)
        or not lines
        or any(not isinstance(line, list) or len(line) != len(names) for line in lines)
    ):
        raise InvalidInput(
            f"The constraint {text} needs a list of lists of values.", "One value per column."
        )
    codes = tuple(tuple(map(code_of, names, codecs, line)) for line in lines)
    if kind == "only":
        return [Constraint(text, (), Combination(tuple(names), codes))]
    found = []
    for line in codes:
        claims = [OneOf(name, frozenset([code])) for name, code in zip(names, line, strict=True)]
        found.append(Constraint(text, tuple(claims[:-1]), claims[-1].negated()))
    return found


def bounds_of(rule: Column) -> tuple[float, float]:
    """The least and the largest that a column can be, on the line that it is compared on."""
    assert rule.codec is not None
    return rule.codec.bounds


def tightened(
    constraints: Sequence[Constraint], columns: Mapping[str, Column]
) -> dict[str, tuple[float, float]]:
    """Bounds that leave room for all unconditional orders of columns; empty where there is none."""
    compared = [c.claim for c in constraints if not c.conditions and isinstance(c.claim, Compares)]
    limits = {
        name: bounds_of(columns[name]) for name in {n for claim in compared for n in claim.columns}
    }
    for _ in range(len(limits) + 1):
        before = dict(limits)
        for claim in compared:
            _tighten(claim, limits)
        if limits == before:
            break
    return limits


def _tighten(claim: Compares, limits: dict[str, tuple[float, float]]) -> None:
    sign = claim.sign
    low, high = limits[claim.column]
    if isinstance(claim.other, str):
        other_low, other_high = limits[claim.other]
    else:
        other_low = other_high = claim.other
    if sign in ("<=", "<", "=="):
        high, other_low = min(high, other_high), max(other_low, low)
    if sign in (">=", ">", "=="):
        low, other_high = max(low, other_low), min(other_high, high)
    limits[claim.column] = low, high
    if isinstance(claim.other, str):
        limits[claim.other] = other_low, other_high


def _check_bounds(constraints: Sequence[Constraint], columns: Mapping[str, Column]) -> None:
    """Refuse orders that bounds rule out, circles of strict orders and sums out of reach."""
    limits, bounds = tightened(constraints, columns), cache(lambda name: bounds_of(columns[name]))
    for constraint in constraints:
        claim = constraint.claim
        if constraint.conditions:
            continue
        if isinstance(claim, Compares):
            empty = any(limits[name][0] > limits[name][1] for name in claim.columns)
            tight = limits[claim.column][0] == limits[claim.column][1]
            same = (
                isinstance(claim.other, float | int) or limits[claim.other] == limits[claim.column]
            )
            if empty or (tight and same and claim.sign in ("<", ">")):
                raise InvalidInput(
                    f"The constraint {shown(constraint.text)} contradicts the bounds of its "
                    "columns or "
                    "another constraint.",
                    "Widen min and max, or take it out.",
                )
        if isinstance(claim, AddsUp):
            parts = [(k, bounds(name)) for k, name in claim.terms]
            low, high = bounds(claim.total)
            if sum(k * b[0] for k, b in parts) > high or sum(k * b[1] for k, b in parts) < low:
                raise InvalidInput(
                    f"The constraint {shown(constraint.text)} can never hold inside the bounds.",
                    "Widen the bounds of the total.",
                )
    _check_circles(constraints)


def _check_circles(constraints: Sequence[Constraint]) -> None:
    below: dict[str, set[tuple[str, bool]]] = {}
    for constraint in constraints:
        claim = constraint.claim
        if (
            constraint.conditions
            or not isinstance(claim, Compares)
            or not isinstance(claim.other, str)
        ):
            continue
        smaller, larger = claim.column, claim.other
        if claim.sign in (">", ">="):
            smaller, larger = larger, smaller
        if claim.sign in ("<", ">", "<=", ">="):
            below.setdefault(smaller, set()).add((larger, claim.sign in ("<", ">")))
        if claim.sign == "==":
            below.setdefault(smaller, set()).add((larger, False))
            below.setdefault(larger, set()).add((smaller, False))
    for start in below:
        reached, open_ends = set(), [(start, False)]
        while open_ends:
            name, strict = open_ends.pop()
            for larger, step in below.get(name, ()):
                if larger == start and (strict or step):
                    raise InvalidInput(
                        f"The constraints say that {shown(start)} is less than itself.",
                        "Take one of them out.",
                    )
                if (larger, strict or step) not in reached:
                    reached.add((larger, strict or step))
                    open_ends.append((larger, strict or step))
