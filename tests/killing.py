"""One fit, killed at a chosen point: by an exception after which nothing works any more, or by
SIGKILL.

Run as a program, it kills a fit many times: it loads everything once and forks for each try, before
JAX starts any thread. Tries say what they are about to do and what they have done, so that the
files can be held against it."""

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import tabveil as tv
from tabveil.errors import TabveilError
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.privacy import Allowance, Ledger, OpenDPNoise
from tabveil.privacy.journal import Journal

ONE_STEP = Annealing(8.0, stages=1, steps=1, tolerance=0.0)
FEW = Effort(rows=8, between_rounds=ONE_STEP, at_the_end=ONE_STEP)
# Equal parts, and all tables of two columns chosen: otherwise the number of charges would follow
# from noise.
PRESET = Default(rounds=3, by_size=0.0, most_noise=0.0, effort=FEW)
SCHEMA = {
    "columns": {
        "a": {"type": "categorical", "values": ["x", "y"]},
        "b": {"type": "categorical", "values": ["x", "y", "z"]},
        "n": {"type": "numerical", "min": 0, "max": 7, "decimals": 0},
    },
    "targets": ["b"],
}
Said = list[list[Any]]


def table() -> pd.DataFrame:
    chance = np.random.default_rng(0)
    columns = {"a": list("xy"), "b": list("xyz"), "n": range(8)}
    return pd.DataFrame({name: chance.choice(list(values), 50) for name, values in columns.items()})


def fit(folder: Path) -> tv.RAPpp:
    """The fit that is killed; its release goes to `folder` too."""
    model = tv.RAPpp(tv.Schema.from_dict(SCHEMA), 1.0, preset=PRESET, ledger=folder / "a.ledger")
    return model.fit(table(), save=folder / "release")


class Dead(BaseException):
    """What a process sees that is no more."""


def by_signal() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def by_exception() -> None:
    raise Dead


class Doom:
    """Counts down over every touch of the disk and the noise; at the end, nothing works any
    more."""

    def __init__(self, left: int, say: Callable[..., None], die: Callable[[], None]) -> None:
        self.left, self.say, self.die = left, say, die
        self.write = os.write

    def tick(self) -> None:
        self.left -= 1
        if self.left < 0:
            self.die()

    def around(self, call: Callable) -> Callable:
        def mortal(*arguments: Any, **more: Any) -> Any:
            self.tick()
            result = call(*arguments, **more)
            self.tick()
            return result

        return mortal

    def torn_write(self, handle: int, content: bytes) -> int:
        self.tick()
        if self.left == 0:
            self.write(handle, content[: len(content) // 2])
        self.tick()
        written = self.write(handle, content)
        self.tick()
        return written

    def noise(self, call: Callable) -> Callable:
        def drawn(*words: Any) -> Any:
            self.say("drawing")
            return self.around(call)(*words)

        return drawn


@contextmanager
def doomed(doom: Doom) -> Iterator[None]:
    """Everything that a fit does to the disk and the noise brings its end nearer."""
    charge, buy = Allowance.charge, Allowance.buy

    def charged(self: Allowance, *words: Any, **more: Any) -> Any:
        done = charge(self, *words, **more)
        doom.say("charged", done.what)
        return done

    def bought(self: Allowance, *words: Any, **more: Any) -> Any:
        answer = buy(self, *words, **more)
        doom.say("used", np.asarray(answer).tolist())
        return answer

    with (
        patch.multiple(Allowance, charge=charged, buy=bought),
        patch.multiple(
            OpenDPNoise, gaussian=doom.noise(OpenDPNoise.gaussian), top=doom.noise(OpenDPNoise.top)
        ),
        patch.multiple(os, write=doom.torn_write),
        patch.multiple(os, **{name: doom.around(getattr(os, name)) for name in TOUCHES}),
    ):
        yield


TOUCHES = ("open", "fsync", "rename", "replace", "unlink", "ftruncate")


def forked_try(folder: Path, left: int) -> Said:
    """What a try in a process of its own said before it was killed, or before it ended well."""
    read, write = os.pipe()
    told = os.write
    child = os.fork()
    if child == 0:
        os.close(read)
        say = lambda *words: told(write, json.dumps(words).encode() + b"\n")  # noqa: E731
        try:
            with doomed(Doom(left, say, by_signal)):
                fit(folder)
            say("done")
        except BaseException as problem:
            say("failed", repr(problem))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = [json.loads(line) for line in pipe]
    os.waitpid(child, 0)
    return said


def try_here(folder: Path, left: int) -> Said:
    """The same within this process."""
    said: Said = []
    try:
        with doomed(Doom(left, lambda *words: said.append(list(words)), by_exception)):
            fit(folder)
        said.append(["done"])
    except Dead:
        pass
    return said


def require_true_files(folder: Path, said: Said, before: int, stored: list[Any]) -> list[Any]:
    """Hold the ledger and the journal against what the last try said; returns the answers now
    stored."""
    words = [word for word, *_ in said]
    assert "failed" not in words, said[-1]
    made = charges_in(folder) - before
    assert made >= words.count("charged"), "a charge was lost"
    assert made >= words.count("drawing"), "something was measured that is not in the ledger"
    assert made <= words.count("charged") + 1, "something was charged twice"
    answers = [b.answer.tolist() for path in folder.glob("*.journal") for b in Journal(path).bought]
    used = [answer for word, *more in said if word == "used" for answer in more]
    assert used[: len(stored)] == stored[: len(used)], "a stored answer was drawn again"
    if "release" not in {path.name for path in folder.iterdir()}:
        assert answers[: len(stored)] == stored, "a stored answer was changed"
        assert answers[: len(used)] == used, "an answer was used that is not stored"
    return answers


def charges_in(folder: Path) -> int:
    try:
        return len(Ledger.read(folder / "a.ledger").charges)
    except (
        TabveilError
    ):  # not there yet, or killed within its first line: no charge can have been made
        return 0


def require_whole(folder: Path) -> None:
    """The fit has ended: its release is there, spent its budget, and its journal is gone."""
    release = tv.load(folder / "release")
    assert release.privacy["rho_spent"] == release.privacy["rho"]
    assert not list(folder.glob("*.journal"))


def main(folder: Path, kills: int, seed: int, most_events: int) -> None:
    chance, killed, finished = random.Random(seed), 0, 0
    while killed < kills:
        here = folder / str(finished)
        here.mkdir()
        stored: list[Any] = []
        while not (here / "release").exists():
            before, left = (
                charges_in(here),
                chance.randrange(most_events) if killed < kills else 10**9,
            )
            said = forked_try(here, left)
            stored = require_true_files(here, said, before, stored)
            killed += said[-1:] != [["done"]]
        finished += 1
    print(json.dumps({"kills": killed, "finished": finished}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
