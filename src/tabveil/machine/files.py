"""Files appear whole or not at all, readable by their owner alone."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tabveil import disk
from tabveil.errors import InvalidInput


def atomic_write(path: str | Path, content: bytes | Callable[[BinaryIO], None]) -> None:
    """Write a file under a temporary name in the same folder, sync it, rename it into place."""
    path = Path(path)
    _require_folder(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            disk.sync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    disk.sync_folder(path.parent)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` when the block ends well, and else vanishes."""
    path = Path(path)
    require_new(path)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))  # mode 0700
    try:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                file.chmod(0o600)
                _sync_file(file)
        disk.sync_folder(temporary)
        require_new(path)
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    disk.sync_folder(path.parent)


def require_new(path: str | Path) -> None:
    """Refuse a path where something already stands, or whose folder does not exist."""
    path = Path(path)
    if os.path.lexists(path):
        raise InvalidInput(
            f"{path} exists already, and nothing is overwritten.",
            "Choose another name, or move the old one away.",
        )
    _require_folder(path.parent)


def _require_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise InvalidInput(
            f"The folder {folder} does not exist.", f"Create it first: mkdir -p {folder}"
        )


def _sync_file(path: Path) -> None:
    with path.open("r+b") as file:
        disk.sync(file.fileno())
