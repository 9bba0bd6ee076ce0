"""Fits in processes of their own: they outlive browser and server, and go on after a crash."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tabveil import disk
from tabveil.errors import InvalidInput, TabveilError
from tabveil.machine.files import atomic_write

NAME = re.compile(r"release-[1-9]\d{0,3}")
ROUND = re.compile(r"round (\d+) of (\d+): noisy loss (\S+)")
_children: list[subprocess.Popen[bytes]] = []  # kept so that the system forgets them when they end


@dataclass(frozen=True)
class Progress:
    """How far a fit has come, from what it logs: public and noisy quantities."""

    state: str  # running, done, or stopped
    rounds: int
    of: int
    losses: tuple[float, ...]
    said: str  # the last words of a fit that ended
    since: datetime | None


@dataclass(frozen=True)
class Fit:
    """One `tabveil fit` in a folder: its order, its log, its last words, and its release.

    The process holds a lock as long as it lives, so that nobody has to guess whether it does.
    """

    folder: Path
    name: str

    @property
    def release(self) -> Path:
        """The folder that the fit writes."""
        return self.folder / self.name

    @property
    def schema(self) -> Path:
        """What the fit was told, kept as it was."""
        return self.folder / f"{self.name}-schema.yaml"

    @property
    def words(self) -> list[str]:
        """The command, without the program."""
        found: list[str] = json.loads(self._order.read_bytes())
        return found

    def start(self, words: Sequence[str] | None = None) -> None:
        """Run the command, or the one of before again, which goes on from the answers it bought."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _hold(handle)
            if words is not None:
                atomic_write(self._order, json.dumps(list(words)).encode())
            self._spawn(handle)
        finally:
            os.close(handle)  # the child holds on to it

    def _spawn(self, lock: int) -> None:
        log = ["--log-file", str(self._log)]
        with self._said.open("wb") as said:
            child = subprocess.Popen(
                [sys.executable, "-m", "tabveil", *self.words, *log],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=(lock,),
                start_new_session=True,  # Ctrl-C in the terminal ends the studio, not the fit
            )
        _children.append(child)
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(child.pid).encode(), 0)

    def stop(self) -> None:
        """Interrupt the process; what is paid stays paid, and the same command goes on."""
        if self.running:
            os.kill(int(self._lock.read_text(encoding="utf-8")), signal.SIGINT)

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        for child in [child for child in _children if child.poll() is not None]:
            _children.remove(child)
        try:
            handle = os.open(self._lock, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            return disk.is_locked(handle)
        finally:
            os.close(handle)

    def progress(self) -> Progress:
        """What can be said of the fit now."""
        running = self.running  # asked first: a fit that ends meanwhile is seen at the next look
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        rounds = [found for line in lines if (found := ROUND.search(line))]
        # A fit that went on begins to count again.
        fresh = [place for place, found in enumerate(rounds) if found[1] == "1"]
        rounds = rounds[fresh[-1] :] if fresh else rounds
        state = "running" if running else "done" if self.release.is_dir() else "stopped"
        return Progress(
            state=state,
            rounds=int(rounds[-1][1]) if rounds else 0,
            of=int(rounds[-1][2]) if rounds else 0,
            losses=tuple(float(found[3]) for found in rounds),
            said="" if running else _last_words(self._said),
            since=_begun(self._said),
        )

    @property
    def _order(self) -> Path:
        return self.folder / f"{self.name}-order.json"

    @property
    def _log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def _said(self) -> Path:
        return self.folder / f"{self.name}-said.txt"

    @property
    def _lock(self) -> Path:
        return self.folder / f"{self.name}.lock"


def fits_in(folder: Path) -> list[Fit]:
    """All fits that were begun in a folder, newest first."""
    names = [path.name.removesuffix("-order.json") for path in folder.glob("*-order.json")]
    found = [Fit(folder, name) for name in names if NAME.fullmatch(name)]
    return sorted(found, key=lambda fit: -int(fit.name.removeprefix("release-")))


def fit_named(folder: Path, name: str) -> Fit:
    """The fit of this name."""
    found = next((fit for fit in fits_in(folder) if fit.name == name), None)
    if found is None:
        raise InvalidInput("There is no such release here.", "Choose one that the screen shows.")
    return found


def next_fit(folder: Path) -> Fit:
    """A fit under a name that nothing has yet."""
    newest = next(iter(fits_in(folder)), None)
    number = int(newest.name.removeprefix("release-")) + 1 if newest else 1
    return Fit(folder, f"release-{number}")


def _hold(handle: int) -> None:
    if not disk.lock(handle):
        raise TabveilError("This fit is running already.", "Look at its progress.")


def _last_words(said: Path) -> str:
    """What a command printed last; commands print nothing private."""
    text = said.read_text(encoding="utf-8", errors="replace").strip() if said.exists() else ""
    if text.endswith("KeyboardInterrupt"):  # the program was still loading
        return "Stopped before it had begun: nothing was spent."
    if "Traceback" in text:  # which may quote a cell
        return f"It failed in a way that nobody foresaw; {said.name} says more."
    return text


def _begun(said: Path) -> datetime | None:
    return datetime.fromtimestamp(said.stat().st_ctime) if said.exists() else None
