"""A release from a stranger loads and can be sampled, or is refused in one clear line; no more happens."""

import io
import json
import os
import random
import signal
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tabveil as tv
from tabveil.errors import InvalidInput, TabveilError
from tabveil.presets import Default
from tabveil.projection import Annealing

ONE_STEP = Annealing(8.0, stages=1, steps=1, tolerance=0.0)
SCHEMA = {
    "columns": {
        "city": {"type": "categorical", "values": ["a", "b", "c"], "other": True},
        "income": {"type": "categorical", "values": ["low", "high"], "nullable": True},
        "age": {"type": "numerical", "min": 0, "max": 100, "decimals": 0, "special_values": [0]},
    },
    "targets": ["income"],
}
Files = dict[str, bytes]
SECONDS = 20  # for one release; a hang is a failure


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("whole") / "release"
    chance = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "city": chance.choice(list("abc"), 80),
            "income": chance.choice(["low", "high"], 80),
            "age": chance.integers(0, 100, 80),
        }
    )
    preset = Default(rows=10, rounds=1, between_rounds=ONE_STEP, at_the_end=ONE_STEP)
    tv.RAPpp(tv.Schema.from_dict(SCHEMA), 5.0, preset=preset).fit(frame).save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# -- mutations ----------------------------------------------------------------------------------------------

ODD: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1e308, -0.0, 1e-320, "", "a", "\x00", "../../etc/passwd",
    "a" * 5000, [], {}, [[]], {"a": {}}, [1] * 300, "=1+1", "NaN", "__import__('os')",
]  # fmt: skip
LITERALS = [
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"9" * 5000,
    b"[" * 3000,
    b'{"a":' * 3000,
    b"\xff\xfe",
]


def one_byte(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]


def cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def shuffled(content: bytes, chance: random.Random) -> bytes:
    a, b = sorted(chance.randrange(len(content)) for _ in range(2))
    return content[:a] + content[b:] + content[a:b]


def literal(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + chance.choice(LITERALS) + content[place:]


def places_in(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The paths to everything inside a JSON document."""
    yield path
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places_in(inner, (*path, key))


def odd_value(content: bytes, chance: random.Random) -> bytes:
    document = json.loads(content)
    path = chance.choice(list(places_in(document)))
    if not path:
        return json.dumps(chance.choice(ODD)).encode()
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    if chance.random() < 0.2:
        del holder[path[-1]]
    elif isinstance(holder, dict) and chance.random() < 0.2:
        holder[str(chance.choice(ODD))] = holder.pop(path[-1])
    else:
        holder[path[-1]] = chance.choice(ODD)
    return json.dumps(document).encode()


def npy(header: str, content: bytes, version: bytes = b"\x01\x00") -> bytes:
    text = header.encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + content


HEADERS = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (4, -1), }",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (4, 4), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (4, 4), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 4), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 10**9), }",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 2), }",
    "__import__('os').system('true')",
    "(" * 5000,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 0), }",
]


def odd_array(content: bytes, chance: random.Random) -> bytes:
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    name = chance.choice(list(arrays))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for other, array in arrays.items():
            if other != name:
                plain = io.BytesIO()
                np.save(plain, array)
                archive.writestr(f"{other}.npy", plain.getvalue())
        kind = chance.randrange(4)
        if kind == 0:
            archive.writestr(f"{name}.npy", npy(chance.choice(HEADERS), bytes(64)))
        elif kind == 1:
            array = arrays[name].copy()
            if array.size:
                array.flat[chance.randrange(array.size)] = chance.choice(
                    [np.nan, np.inf, -1.0, 2.0, 1e38, 1e-45]
                )
            plain = io.BytesIO()
            np.save(plain, array)
            archive.writestr(f"{name}.npy", plain.getvalue())
        elif kind == 2:
            plain = io.BytesIO()
            np.save(plain, np.zeros((chance.randrange(12), chance.randrange(12)), np.float32))
            archive.writestr(f"{name}.npy", plain.getvalue())
    return made.getvalue()


def mutated(files: Files, chance: random.Random) -> Files:
    """The same release with one of its files changed."""
    name = chance.choice(sorted(files))
    changes: list[Callable[[bytes, random.Random], bytes]] = [one_byte, cut, shuffled, literal]
    changes += [odd_array] * 6 if name.endswith(".npz") else [odd_value] * 8
    return {**files, name: chance.choice(changes)(files[name], chance)}


# -- what must hold -----------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """A release that would keep us waiting."""


@contextmanager
def soon(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def lay(folder: Path, files: Files, known: Files) -> None:
    """Write the files of a release over those of the last one."""
    for name, content in files.items():
        if known.get(name) is not content:
            (folder / name).write_bytes(content)
            known[name] = content


def outcome(folder: Path) -> str:
    """Loaded or refused; anything else is raised."""
    try:
        release = tv.load(folder)
    except InvalidInput as refusal:
        assert refusal.message and "\n" not in refusal.message and len(str(refusal)) < 1000
        return "refused"
    try:
        rows = release.sample(20, seed=0, kind="pandas")
        release.measured()
    except TabveilError:
        return "refused"
    assert len(rows) == 20
    return "loaded"


def survive(whole: Files, folder: Path, tries: int, seed: int) -> dict[str, int]:
    chance, known, seen = random.Random(seed), {}, {"loaded": 0, "refused": 0}
    for number in range(tries):
        lay(folder, mutated(whole, chance), known)
        try:
            with soon(SECONDS):
                seen[outcome(folder)] += 1
        except BaseException as problem:
            raise AssertionError(f"mutation {number} of seed {seed} got through") from problem
    return seen


def peak_memory() -> int:
    """The most memory that this process ever held, in bytes."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def test_the_release_itself_loads(whole: Files, tmp_path: Path) -> None:
    lay(tmp_path, whole, {})
    assert outcome(tmp_path) == "loaded"


def test_two_thousand_mutated_releases_load_or_are_refused(whole: Files, tmp_path: Path) -> None:
    seen = survive(whole, tmp_path, 2000, seed=0)
    assert seen["refused"] > 1000 and seen["loaded"] > 10  # both kinds were met


@pytest.mark.slow
def test_a_hundred_thousand_mutated_releases_load_or_are_refused(whole: Files, tmp_path: Path) -> None:
    before, started = peak_memory(), time.monotonic()
    seen = survive(whole, tmp_path, 100_000, seed=1)
    print(
        seen, f"{time.monotonic() - started:.0f} s, memory grew by {(peak_memory() - before) / 2**20:.0f} MB"
    )
    assert sum(seen.values()) == 100_000
    assert peak_memory() - before < 500 * 2**20


@pytest.mark.parametrize("header", HEADERS)
def test_an_array_that_claims_what_it_is_not_costs_no_memory(
    whole: Files, tmp_path: Path, header: str
) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in ("probabilities", "numbers", "slack"):
            archive.writestr(f"{name}.npy", npy(header, bytes(64)))
    lay(tmp_path, {**whole, "table.npz": made.getvalue()}, {})
    before = peak_memory()
    with pytest.raises(InvalidInput, match=r"damaged|does not match"):
        tv.load(tmp_path)
    assert peak_memory() - before < 50 * 2**20


def test_a_bomb_of_zeros_is_not_unpacked(
    whole: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tabveil.strangers.LARGEST_ARRAYS", 10**7)  # the real limit takes long to reach
    made = io.BytesIO()
    claimed = "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 1000000), }"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("probabilities", "numbers", "slack"):
            archive.writestr(f"{name}.npy", npy(claimed, bytes(4 * 10**7)))
    assert len(made.getvalue()) < 10**6
    lay(tmp_path, {**whole, "table.npz": made.getvalue()}, {})
    before = peak_memory()
    with pytest.raises(InvalidInput, match="damaged"):
        tv.load(tmp_path)
    assert peak_memory() - before < 10**7


def test_a_pipe_or_a_folder_in_place_of_a_file_is_refused(whole: Files, tmp_path: Path) -> None:
    for name in whole:
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        lay(folder, whole, {})
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with soon(SECONDS), pytest.raises(InvalidInput):
            tv.load(folder)


def test_a_release_larger_than_any_we_write_is_not_read(whole: Files, tmp_path: Path) -> None:
    for name in ("measurements.json", "table.npz"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        lay(folder, whole, {})
        os.truncate(folder / name, 3 * 2**30)  # a hole: it takes no room
        before = peak_memory()
        with pytest.raises(InvalidInput, match="damaged"):
            tv.load(folder)
        assert peak_memory() - before < 50 * 2**20
