"""How values and names are written: one canonical text per value, one-line names, near matches."""

import datetime
from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches

from tabveil.errors import InvalidInput

LONGEST = 100  # signs of a pattern, of a format, or of a name that is compared with others
MOST_COMPARED = 1000


def key(value: object) -> str:
    """The canonical text of a category: 1, 1.0 and "1" are one, and so are true and "true".

    >>> key(1.0), key(0.5), key(True), key("a"), key(datetime.date(2013, 1, 31))
    ('1', '0.5', 'true', 'a', '2013-01-31')
    """
    match value:
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int():
            return _whole(value)
        case float():
            return _whole(int(value)) if value.is_integer() else repr(float(value))
        case bytes() | bytearray():
            return bytes(value).decode("utf-8", "replace")
        case Decimal():
            return _decimal(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return _moment(value)
    raise TypeError(f"A {type(value).__name__} cannot be a category.")


def _whole(value: int) -> str:
    # Python refuses to write integers of more than 4,300 digits in base 10.
    return str(value) if value.bit_length() < 10_000 else hex(value)


def _decimal(value: Decimal) -> str:
    """Every digit and no exponent, as of a text; beyond any float, what a float makes of it."""
    if not value or not value.is_finite() or abs(value.adjusted()) >= 400:
        return key(float(value))
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _moment(value: datetime.date | datetime.time) -> str:
    """ISO text; times are in UTC, and midnight and trailing zeros are left out."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        text = value.isoformat(sep=" ").removesuffix(" 00:00:00")
    else:
        text = value.isoformat()
    return text.rstrip("0") if "." in text else text


def short(number: float) -> int | float:
    """Whole numbers without their .0."""
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def shown(name: str) -> str:
    """A name as it can stand in a one-line message."""
    name = name if name.isprintable() else ascii(name)
    return name if len(name) <= 80 else name[:77] + "..."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the closest known name, or the known names when there are few."""
    known = list(known)
    close = closest(name, known)
    if close:
        return f"Did you mean {shown(close)}?"
    return f"Known: {', '.join(map(shown, known))}." if len(known) <= 10 else ""


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that differs least, by case alone if there is one."""
    known = list(known)
    same = [other for other in known if other.strip().lower() == name.lower()]
    # What is compared sign by sign is kept short: a stranger's list may be long.
    return next(iter(same or get_close_matches(name[:LONGEST], known[:MOST_COMPARED], n=1)), None)


def check_text(text: str, what: str, longest: int | None = None) -> None:
    """Refuse what cannot be written as UTF-8, or is longer than it may be."""
    if longest is not None and len(text) > longest:
        raise InvalidInput(f"{what} is longer than {longest} signs.", "Shorten it.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is not valid Unicode text.", "Retype it.") from None
