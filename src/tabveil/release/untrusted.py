"""Files from someone we do not know: what they claim is checked before anything is made of it."""

import json
import math
import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

LARGEST_TEXT = 128 * 2**20  # bytes of one JSON file
LARGEST_ARRAYS = 2 * 2**30  # bytes of all arrays together, unpacked


class Damaged(Exception):
    """A file that is not what it should be; whoever opened it says so in their own words."""


def json_in(path: Path) -> Any:
    """The content of a JSON file of bounded size."""
    return json.loads(_bytes(path).decode("utf-8"), parse_constant=_refuse)


def arrays_in(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Tables of 32-bit floats from an npz file; their sizes are added up before any is unpacked."""
    _require_file(path, LARGEST_ARRAYS)
    with zipfile.ZipFile(path) as archive:
        shapes = {name: _shape(archive, name) for name in names}
        if sum(4 * math.prod(shape) for shape in shapes.values()) > LARGEST_ARRAYS:
            raise Damaged
        return {name: _array(archive, name, shape) for name, shape in shapes.items()}


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    with archive.open(f"{name}.npy") as member:
        shape = _header(member)
        # An archive that unpacks to more or less than its header says is not one that we wrote.
        if archive.getinfo(f"{name}.npy").file_size != member.tell() + 4 * math.prod(shape):
            raise Damaged
    return shape


def _array(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...]) -> np.ndarray:
    with archive.open(f"{name}.npy") as member:
        _header(member)
        return np.frombuffer(member.read(), np.float32).reshape(shape)


def _header(member: Any) -> tuple[int, ...]:
    """The shape of a plain table of floats, read without unpacking it or running anything."""
    if np.lib.format.read_magic(member) != (1, 0):
        raise Damaged
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
    if by_columns or dtype != np.dtype("<f4") or len(shape) != 2 or min(shape) < 0:
        raise Damaged
    return shape


def _bytes(path: Path) -> bytes:
    _require_file(path, LARGEST_TEXT)
    with path.open("rb") as file:
        content = file.read(LARGEST_TEXT + 1)
    if len(content) > LARGEST_TEXT:
        raise Damaged
    return content


def _require_file(path: Path, largest: int) -> None:
    """An ordinary file: a pipe would keep us waiting."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode) or about.st_size > largest:
        raise Damaged


def _refuse(constant: str) -> Any:
    raise Damaged  # NaN and the infinities are not JSON
