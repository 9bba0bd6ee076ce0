"""Cells of any type as integers, floats or bytes of text: total functions, each cell by itself."""

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabveil.columns.words import key

Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]
Plain = int | float | bytes | None
"""A cell by itself, as `plain` gives it."""

EXACT = 2.0**51  # below this, a scaled number rounds to the same decimal every time


class Objects(pa.ExtensionType):
    """Python objects: the text of each and, of a time, its clock reading, instant or length."""

    PARTS = pa.struct(
        {
            "text": pa.large_binary(),
            "wall": pa.timestamp("us"),
            "instant": pa.timestamp("us", "UTC"),
            "length": pa.duration("us"),
        }
    )

    def __init__(self) -> None:
        super().__init__(self.PARTS, "tabveil.objects")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "Objects":
        return cls()


def rounded(numbers: Numbers, decimals: int | None) -> Numbers:
    """Each number at the nearest multiple of 10^-decimals; those too large for decimals stay."""
    if decimals is None:
        return numbers
    with np.errstate(over="ignore"):
        scaled = numbers * 10.0**decimals
    return np.where(np.abs(scaled) < EXACT, np.rint(scaled) / 10.0**decimals, numbers)


def numbers_in(column: pa.ChunkedArray) -> Numbers:
    """The numbers of a column of any type; what is no number is nan."""
    return np.concatenate(
        [np.empty(0), *(laid_out(chunk, _numbers_of, math.nan) for chunk in column.chunks)]
    )


def number_in(text: str) -> float:
    """The number that a text spells, or nan; true is 1 and false is 0."""
    try:
        return float(text) if "_" not in text else math.nan  # Python reads 1_000 as a number
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(text.lower(), math.nan)


def is_missing(value: Plain) -> bool:
    """Whether a plain value counts as a missing cell: null, nan or the empty text."""
    return value is None or value == b"" or value != value


def blank_numbers(values: pa.Array) -> NDArray[np.bool_]:
    """Which plain values count as missing where a number is meant: the text "nan" too."""
    return np.array([is_missing(v) or _spells_nan(v) for v in values.to_pylist()], bool)


def _spells_nan(value: Plain) -> bool:
    return isinstance(value, bytes) and value.strip().lower() == b"nan"


def by_value(
    column: pa.ChunkedArray, answer: Callable[[pa.Array], NDArray], missing: float
) -> NDArray:
    """Answer once per distinct plain value (see `plain`) and lay the answers out over the rows.

    `answer` is given an array of distinct values, null perhaps among them, or an empty one;
    `missing` is what it would say of null, for cells that are kept elsewhere than in the column.

    >>> column = pa.chunked_array([["a", "b", "a", None]])
    >>> by_value(column, lambda values: np.array([v == b"a" for v in values.to_pylist()]), False)
    array([ True, False,  True, False])
    """
    chunks = [
        laid_out(chunk, lambda cells: once_each(cells, answer), missing) for chunk in column.chunks
    ]
    return np.concatenate(chunks or [answer(pa.array([], pa.large_binary()))])


def once_each(cells: pa.Array, answer: Callable[[pa.Array], NDArray]) -> NDArray:
    """Answer once per distinct plain value, null being one; answers take the place of the cells."""
    distinct = plain(cells).dictionary_encode("encode")
    return answer(distinct.dictionary)[
        _filled(distinct.indices.cast(pa.int64()), np.array(0, np.int64))
    ]


def laid_out(chunk: pa.Array, read: Callable[[pa.Array], NDArray], missing: float) -> NDArray:
    """Read cells inside dictionaries, runs and extensions, and lay answers out over the rows."""
    if isinstance(chunk.type, pa.BaseExtensionType) and not isinstance(chunk.type, Objects):
        return laid_out(chunk.storage, read, missing)
    if not _is_shared(chunk.type):
        return read(chunk)
    cells, places = _shared(chunk)
    answers = laid_out(cells, read, missing)
    return np.append(answers, answers.dtype.type(missing))[places]  # place -1 is the last: missing


def plain(array: pa.Array) -> pa.Array:
    """The same cells as integers, float64 or bytes of text; cells of any other type are null."""
    kind = array.type
    if isinstance(kind, Objects):
        return array.storage.field("text")
    if isinstance(kind, pa.BaseExtensionType):
        return plain(array.storage)
    if _is_shared(kind):
        cells, places = _shared(array)
        return plain(cells).take(pa.array(places, mask=places < 0))
    if pa.types.is_integer(kind):
        return array
    if pa.types.is_floating(kind):
        return array.cast(pa.float64())
    if _is_text(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_boolean(kind):
        return array.cast(pa.large_string()).cast(pa.large_binary())
    if pa.types.is_decimal(kind):
        return _without_zeros(_written_out(array.cast(pa.large_string())))
    if pa.types.is_date(kind) or pa.types.is_time(kind):
        return _without_zeros(array.cast(pa.large_string()))
    if pa.types.is_timestamp(kind):
        return _without_zeros(array.cast(pa.timestamp(kind.unit)).cast(pa.large_string()))  # in UTC
    return pa.nulls(len(array), pa.large_binary())


def texts_in(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A column of text or bytes of any type as large strings of valid UTF-8; None for others."""
    kind = column.type
    while isinstance(kind, pa.BaseExtensionType) or _is_shared(kind):
        kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind.value_type
    if not _is_text(kind):
        return None
    cells = pa.chunked_array([plain(chunk) for chunk in column.chunks], pa.large_binary())
    try:
        return cells.cast(pa.large_string())
    except pa.ArrowInvalid:
        texts = (
            cell if cell is None else cell.decode("utf-8", "replace") for cell in cells.to_pylist()
        )
        return pa.chunked_array([pa.array(texts, pa.large_string())])


def spelled_durations(lengths: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Durations as texts that columns of time read: hours, minutes and seconds."""

    def text(length: int | None) -> str | None:
        if length is None:
            return None
        seconds, rest = divmod(abs(length), 1_000_000)
        fraction = f".{rest:06d}" if rest else ""
        sign = "-" if length < 0 else ""
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"

    whole = lengths.cast(pa.duration("us"), safe=False).cast(pa.int64())
    return pa.array([text(length) for length in whole.to_pylist()], pa.string())


def spelled(cells: pa.Array) -> pa.Array:
    """Cells of a synthetic column as texts that are read as the same."""
    is_length = pa.types.is_duration(cells.type)
    return spelled_durations(cells) if is_length else cells.cast(pa.string())


def _is_shared(kind: pa.DataType) -> bool:
    """Whether several rows share one stored cell."""
    return bool(pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind))


def _shared(array: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The stored cells of a dictionary or of runs, and where each row's is among them; -1 for none.

    Arrow can decode neither for every type of cell.
    """
    if pa.types.is_dictionary(array.type):
        return array.dictionary, _filled(array.indices.cast(pa.int64()), np.array(-1, np.int64))
    ends = _filled(array.run_ends.cast(pa.int64()), np.array(0, np.int64))
    return array.values, np.searchsorted(
        ends, np.arange(array.offset, array.offset + len(array)), "right"
    )


def _is_text(kind: pa.DataType) -> bool:
    checks = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return any(check(kind) for check in checks)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _written_out(texts: pa.Array) -> pa.Array:
    """Decimals without exponents, as `key` writes them; Arrow has exponents for some scales."""
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    whole = [
        text if text is None or "E" not in text else key(Decimal(text))
        for text in texts.to_pylist()
    ]
    return pa.array(whole, pa.large_string())


def _without_zeros(texts: pa.Array) -> pa.Array:
    """Decimals and times without trailing zeros, dates without midnight, as `words.key` has it."""
    texts = pc.replace_substring_regex(texts, r"(\.\d*[1-9])0+$", r"\1")
    texts = pc.replace_substring_regex(texts, r"( 00:00:00)?(\.0+)?$", "")
    return texts.cast(pa.large_binary())


def _numbers_of(cells: pa.Array) -> Numbers:
    return _as_numbers(plain(cells)) if _is_number(cells.type) else once_each(cells, _as_numbers)


def _as_numbers(values: pa.Array) -> Numbers:
    """Plain values as float64, with nan where there is no number."""
    if _is_number(values.type):
        return _filled(values.cast(pa.float64(), safe=False), np.array(math.nan))
    texts = (b"" if text is None else text for text in values.to_pylist())
    return np.fromiter(
        (number_in(text.decode("utf-8", "replace")) for text in texts), np.float64, len(values)
    )


def _filled(values: pa.Array, missing: NDArray) -> NDArray:
    """Values with another in the place of nulls.

    Without `pa.scalar` and `to_numpy`, which load pandas.
    """
    fill = pa.Array.from_buffers(values.type, 1, [None, pa.py_buffer(missing)])[0]
    return np.from_dlpack(values.fill_null(fill))
