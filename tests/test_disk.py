"""The contract of `disk.py`, on which the ledger stands, on this system and on the other half."""

import ast
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tabveil import disk

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tabveil"
NEW = os.O_RDWR | os.O_CREAT | os.O_APPEND


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no modes, pipes or forks")


@posix
def test_a_new_file_is_its_owners_alone(path: Path) -> None:
    os.close(disk.opened(path, NEW))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_link_is_refused_and_what_it_points_to_is_left_alone(path: Path, target: str) -> None:
    (path.parent / "there").write_bytes(b"kept")
    path.symlink_to(target)
    with pytest.raises(OSError) as refused:
        disk.opened(path, NEW)
    assert refused.value.errno == errno.ELOOP
    assert [p.name for p in sorted(path.parent.iterdir())] == ["file", "there"]
    assert (path.parent / "there").read_bytes() == b"kept"


def test_a_link_that_appears_between_two_looks_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path.parent / "there").write_bytes(b"kept")
    path.symlink_to("there")
    monkeypatch.setattr(Path, "is_symlink", lambda self: False)
    with pytest.raises(OSError) as refused:
        disk.opened(path, NEW)
    assert refused.value.errno == errno.ELOOP


@posix
def test_no_folder_or_pipe_is_opened_or_waited_for(path: Path) -> None:
    os.mkfifo(path)
    for place in (path, path.parent):
        with pytest.raises(disk.NotOrdinary):
            os.close(disk.opened(place, os.O_RDONLY | os.O_NONBLOCK))


def test_one_handle_holds_the_lock_and_readers_are_not_kept_out(path: Path) -> None:
    first, second, reader = (disk.opened(path, NEW) for _ in range(3))
    assert disk.lock(first) and not disk.lock(second)
    disk.write_all(first, b"line\n")
    assert disk.read_all(reader) == b"line\n"
    disk.unlock(first)
    assert disk.lock(second)
    for handle in (first, second, reader):
        os.close(handle)


def test_closing_lets_others_in(path: Path) -> None:
    first, second = disk.opened(path, NEW), disk.opened(path, NEW)
    assert disk.lock(first)
    os.close(first)
    assert disk.lock(second)
    os.close(second)


def test_a_system_without_locks_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(handle: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(disk, "_lock", none)
    with pytest.raises(OSError, match=os.strerror(errno.ENOLCK)):
        disk.lock(0)


def test_bytes_are_kept_as_they_are_and_added_at_the_end(path: Path) -> None:
    handle = disk.opened(path, NEW)
    assert disk.lock(handle)  # which moves to another place in the file on Windows
    for content in (b"a\r\n", b"\x1a\n", bytes(3_000_000)):
        disk.write_all(handle, content)
        disk.sync(handle)
        assert disk.read_all(handle).endswith(content)
    disk.keep_to_owner(handle)
    os.close(handle)
    disk.sync_folder(path.parent)
    assert path.read_bytes() == b"a\r\n\x1a\n" + bytes(3_000_000)


def python(*arguments: str) -> None:
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "tests"])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]


# What Windows has not: forks, modes, and folders that are synced. And what starts this run.
NOT_THERE = "fork or owner or answer_is_used or other_half or without_the_names"


@posix
def test_the_ledger_keeps_its_contract_on_the_other_half_of_the_file() -> None:
    python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "without_posix"),
        *("-k", f"not ({NOT_THERE})", "tests/test_disk.py", "tests/privacy/test_ledger.py"),
    )


EVERYTHING = """
import importlib, pkgutil, without_posix, tabveil
from tabveil import disk
names = [m.name for m in pkgutil.walk_packages(tabveil.__path__, "tabveil.")]
for name in names:
    if not name.endswith(("__main__", "_script")):
        importlib.import_module(name)
assert len(names) > 150 and disk.FAR_BEYOND
"""


@posix
def test_everything_is_imported_without_the_names_of_posix() -> None:
    python("-c", EVERYTHING)


def words_of(node: ast.Call) -> set[str | None]:
    return {word.arg for word in node.keywords}


def test_every_text_is_read_and_written_as_utf_8() -> None:
    """Python's own choice is another one on Windows."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("read_text", "write_text")
        and "encoding" not in words_of(node)
    ]
    assert found == []
