"""Lets our modules, and only them, see what Python has on Windows (`pytest -p without_posix`).

What POSIX alone has is not there, `sys.platform` says win32, and `msvcrt` locks as it does there:
a lock belongs to a handle, and a second one is refused. This is no Windows: it shows which names
are used, and that the other half of `disk.py` keeps its contract.
"""

import builtins
import errno
import fcntl
import os
import sys
from types import ModuleType
from typing import Any

POSIX_MODULES = {
    "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty",
}  # fmt: skip
# Names of `os` whose documentation says "Availability: Unix".
POSIX_NAMES = {
    "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "chown", "chroot", "confstr",
    "ctermid", "fchdir", "fchmod", "fchown", "fdatasync", "fork", "forkpty", "fpathconf",
    "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority",
    "getresuid", "getsid", "getuid", "killpg", "lchown", "lockf", "mkfifo", "mknod", "nice",
    "openpty", "pathconf", "pipe2", "posix_fallocate", "posix_spawn", "pread", "preadv", "pwrite",
    "readv", "register_at_fork", "sched_getaffinity", "sched_setaffinity", "sched_yield",
    "sendfile", "setegid", "seteuid", "setgid", "setsid", "setuid", "statvfs", "sync", "sysconf",
    "tcgetpgrp", "ttyname", "uname", "wait", "wait3", "wait4", "waitid", "writev",
}  # fmt: skip


class Seen(ModuleType):
    """A module as our code sees it: some names are gone, some are others."""

    def __init__(self, real: ModuleType, hidden: set[str], **others: Any) -> None:
        super().__init__(real.__name__)
        vars(self).update(others, _real=real, _hidden=hidden)

    def __getattr__(self, name: str) -> Any:
        if name in vars(self)["_hidden"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} on Windows")
        return getattr(vars(self)["_real"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_real"], name, value)


def locking(handle: int, mode: int, nbytes: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_UN if mode == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None


MSVCRT = ModuleType("msvcrt")
vars(MSVCRT).update(locking=locking, LK_UNLCK=0, LK_NBLCK=2)
INSTEAD = {
    "os": Seen(os, POSIX_NAMES, name="nt"),
    "sys": Seen(sys, set(), platform="win32"),
    "msvcrt": MSVCRT,
}


def hide() -> None:
    """From now on, what tabveil imports is what it would find on Windows."""
    real = builtins.__import__

    def seen(name: str, globals: Any = None, *rest: Any, **others: Any) -> Any:
        ours = (globals or {}).get("__name__", "").split(".")[0] == "tabveil"
        if ours and name in POSIX_MODULES:
            raise ImportError(f"No module named {name!r} on Windows", name=name)
        return (ours and INSTEAD.get(name)) or real(name, globals, *rest, **others)

    builtins.__import__ = seen


hide()
