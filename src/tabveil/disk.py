"""What systems do differently about the owner's files: links, modes, locks and syncs.

Everything else here uses what Linux, macOS and Windows have in common. Libraries for locks do not
serve a ledger: on Windows they keep its readers out, too, or they want a second file beside it.
"""

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

# No link is followed, where the system can promise that.
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
# Bytes as they are; closed in programs that are started; a pipe is refused and not waited for.
PLAIN = sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NONBLOCK"))

if sys.platform == "win32":
    import msvcrt

    # Windows locks bytes, and keeps others from reading them: one far beyond any end serves.
    FAR_BEYOND = 1 << 40

    def _lock(handle: int) -> None:
        os.lseek(handle, FAR_BEYOND, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _unlock(handle: int) -> None:
        os.lseek(handle, FAR_BEYOND, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

    def _look(handle: int) -> None:
        _lock(handle)
        _unlock(handle)

    def keep_to_owner(handle: int) -> None:
        """Nothing: there are no modes here, and a file is as open as its folder."""

    def sync_folder(folder: Path) -> None:
        """Nothing: there is no such call here, and the file system keeps a journal of names."""

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)

    def _look(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(handle, fcntl.LOCK_UN)

    def keep_to_owner(handle: int) -> None:
        """Take an open file from everybody but its owner."""
        os.fchmod(handle, 0o600)

    def sync_folder(folder: Path) -> None:
        """Make names in a folder, or that they are gone, survive a power cut."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class NotOrdinary(OSError):
    """What stands at a path is no ordinary file, but a folder, a pipe or a device."""


def opened(path: Path, flags: int) -> int:
    """A handle on an ordinary file, its owner's alone if it is new; a link is an ELOOP."""
    if not NO_LINKS and path.is_symlink():
        raise _link(path)
    handle = os.open(path, flags | NO_LINKS | PLAIN, 0o600)
    try:
        here = os.fstat(handle)
        if not stat.S_ISREG(here.st_mode):
            raise NotOrdinary(errno.EINVAL, "not an ordinary file", str(path))
        if not NO_LINKS and not os.path.samestat(os.lstat(path), here):
            raise _link(path)  # it became one in between
    except OSError:
        os.close(handle)
        raise
    return handle


def lock(handle: int) -> bool:
    """Keep others who lock this file out until it is unlocked or closed; False if one is there."""
    return _let_in(_lock, handle)


def is_locked(handle: int) -> bool:
    """Whether somebody keeps others out of this file; looking keeps nobody out."""
    return not _let_in(_look, handle)


def lock_in_turn(handle: int) -> None:
    """Wait until others have unlocked this file, then keep them out."""
    while not lock(handle):
        time.sleep(0.01)


def _let_in(way: Callable[[int], None], handle: int) -> bool:
    try:
        way(handle)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def unlock(handle: int) -> None:
    """Let others in, to a file that was locked."""
    _unlock(handle)


def sync(handle: int) -> None:
    """Return when all that was written to an open file would survive a power cut."""
    os.fsync(handle)
    if sys.platform == "darwin":  # there, so far it is only in the disk's own memory
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)


def read_all(handle: int) -> bytes:
    """Everything in an open file, from its beginning."""
    os.lseek(handle, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(handle, 1 << 20), b""))


def write_all(handle: int, content: bytes) -> None:
    """Write all of it, however little the system takes at a time."""
    while content:
        content = content[os.write(handle, content) :]


def _link(path: Path) -> OSError:
    return OSError(errno.ELOOP, "a symbolic link", str(path))
