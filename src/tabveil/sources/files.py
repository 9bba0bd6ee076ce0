"""Files: formats are told apart by their names; folders of Parquet, here or in a cloud's store."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.fs

from tabveil.errors import InvalidInput, either
from tabveil.sources.address import Address
from tabveil.sources.databases import DATABASES
from tabveil.sources.formats import FORMATS
from tabveil.sources.formats.parquet import ParquetFiles
from tabveil.sources.reader import Reader, explained

READABLE = f"Use a {either(FORMATS)} file, or a folder of .parquet files."


def open_path(data: object) -> Reader | None:
    """The reader of a path or an address such as s3://bucket/folder; None for anything else."""
    if not isinstance(data, str | Path):
        return None
    address = Address.of(data)
    if address.scheme in DATABASES:
        return DATABASES[address.scheme](address)
    if address.scheme:
        return _open_address(str(data))
    return _open_local(Path(address.place), address.declared)


def _open_local(path: Path, declared: dict[str, str]) -> Reader:
    if path.is_dir():
        _require_known(path, declared, ())
        files = sorted(f for f in path.iterdir() if f.suffix.lower() == ".parquet" and f.is_file())
        if not files:
            raise InvalidInput(f"The folder {path} holds no .parquet files.", READABLE)
        return ParquetFiles.of([str(f) for f in files], f"the Parquet folder {path.name}")
    opener = opener_of(path.name)
    if opener is None:
        raise InvalidInput(f"{path} has an unknown extension.", READABLE)
    if not path.is_file():
        raise InvalidInput(f"The file {path} does not exist.", "Check the name and the folder.")
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path} is an empty file.", "Export the table again.")
    _require_known(path, declared, tuple(signature(opener).parameters)[1:])
    return opener(path, **declared)


def _require_known(path: Path, declared: dict[str, str], known: tuple[str, ...]) -> None:
    """Refuse what a format has no use for: a slip in a name would go unnoticed."""
    for name in declared:
        if name not in known:
            hint = f"Its format takes: {', '.join(known)}." if known else "Leave it out."
            raise InvalidInput(f"{path.name} cannot be read with {name}=...", hint)


def opener_of(name: str) -> Callable[..., Reader] | None:
    """What opens a file of this name; None where no format has its ending."""
    lower = name.lower()
    return next((opener for suffix, opener in FORMATS.items() if lower.endswith(suffix)), None)


def _open_address(address: str) -> Reader:
    """A Parquet file or folder in any store that Arrow knows (s3, gs, abfs, hdfs, file)."""
    with explained(f"{address} cannot be reached.", "Check the address and the rights to read it."):
        store, place = pa.fs.FileSystem.from_uri(address)
        is_file = store.get_file_info(place).type == pa.fs.FileType.File
        found = store.get_file_info(place if is_file else pa.fs.FileSelector(place))
    files = sorted(
        f.path for f in ([found] if is_file else found) if f.path.lower().endswith(".parquet")
    )
    if not files:
        raise InvalidInput(
            f"{address} holds no .parquet files.",
            "An address must be a .parquet file or a folder of them.",
        )
    kind = "file" if is_file else "folder"
    return ParquetFiles.of(files, f"the Parquet {kind} {PurePosixPath(place).name}", store)
