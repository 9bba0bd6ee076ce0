"""A stranger's release or schema can be used, or is refused in one clear line; soon, and in little
memory."""

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
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing

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
SECONDS = 2  # of processor time for one release or schema
PATIENCE = 20  # seconds until waiting is a failure, too
MEMORY = 200 * 2**20  # bytes that one of them may take more than was held before


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
    preset = Default(rounds=1, effort=Effort(rows=10, between_rounds=ONE_STEP, at_the_end=ONE_STEP))
    tv.RAPpp(tv.Schema.from_dict(SCHEMA), 5.0, preset=preset).fit(frame).save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# -- mutations -------------------------------------------------------------------------------------

ODD: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1e308, -0.0, 1e-320, "", "a", "\x00",
    "../../etc/passwd",
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
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
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
    with zipfile.ZipFile(
        made, "w", chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    ) as archive:
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


# -- what must hold --------------------------------------------------------------------------------


class TooSlow(BaseException):
    """A release that would keep us waiting."""


@contextmanager
def soon() -> Iterator[None]:
    """Fail when it takes too long, by the processor or by the clock."""

    def late(*_: object) -> None:
        raise TooSlow

    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, SECONDS),
        (signal.ITIMER_REAL, signal.SIGALRM, PATIENCE),
    )
    before = [signal.signal(number, late) for _, number, _ in timers]
    for timer, _, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, number, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


@contextmanager
def in_little_memory() -> Iterator[None]:
    """Fail when more memory is taken in between than one file may take."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = peak_memory()
    yield
    taken = peak_memory() - before
    assert taken < MEMORY, f"took {taken / 2**20:.0f} MB"


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
            with in_little_memory(), soon():
                seen[outcome(folder)] += 1
        except BaseException as problem:
            raise AssertionError(f"mutation {number} of seed {seed} got through") from problem
    return seen


def peak_memory() -> int:
    """The most memory that this process held since it was last asked to forget, in bytes."""
    [line] = [
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM")
    ]
    return int(line.split()[1]) * 1024


def test_the_release_itself_loads(whole: Files, tmp_path: Path) -> None:
    lay(tmp_path, whole, {})
    assert outcome(tmp_path) == "loaded"


def test_two_thousand_mutated_releases_load_or_are_refused(whole: Files, tmp_path: Path) -> None:
    seen = survive(whole, tmp_path, 2000, seed=0)
    assert seen["refused"] > 1000 and seen["loaded"] > 10  # both kinds were met


def test_mutated_releases_of_version_0_1_load_or_are_refused(tmp_path: Path) -> None:
    old = Path(__file__).parent / "stored" / "numbers-0.1"
    files = {path.name: path.read_bytes() for path in old.iterdir()}
    seen = survive(files, tmp_path, 500, seed=2)
    assert seen["refused"] > 200 and seen["loaded"] > 10


@pytest.mark.slow
def test_a_hundred_thousand_mutated_releases_load_or_are_refused(
    whole: Files, tmp_path: Path
) -> None:
    before, started = peak_memory(), time.monotonic()
    seen = survive(whole, tmp_path, 100_000, seed=1)
    print(
        seen,
        f"{time.monotonic() - started:.0f} s, memory grew by "
        f"{(peak_memory() - before) / 2**20:.0f} MB",
    )
    assert sum(seen.values()) == 100_000
    assert peak_memory() - before < 500 * 2**20


# -- schemas ---------------------------------------------------------------------------------------

EVERY_RULE = """\
columns:
  who: {type: id, style: pattern, pattern: 'P-####'}
  note: {type: drop}
  sex: &sex {type: categorical, values: &codes [F, M, x], other: true, nullable: true}
  mother: *sex
  job: {type: categorical, values: *codes, ordered: true, groups: {one: [F, M]}}
  vip: {type: boolean}
  wage: {type: numerical, min: 0, max: 99, decimals: 1, nullable: true}
  total: {type: numerical, min: 0, max: 200, decimals: 1, special_values: [-1]}
  in: {type: date, min: 2020-01-01, max: 2020-12-31}
  out: {type: datetime, min: '2020-01-01', max: '2021-06-30', unit: day, timezone: UTC,
  format: '%d.%m.%Y %H'}
  stay: {type: duration, min: -5, max: 500, unit: minute}
targets: [vip]
privacy: {unit: who, max_rows: 3}
constraints:
- wage <= total
- if sex is missing then wage is missing
- never sex == F and job == x
- {columns: [sex, job], never: [[F, x], [M, x]]}
- job, vip determines sex
found: {epsilon: 1.0, delta: 0.001, rho: 1/7}
"""
LARGEST = 100_000  # bytes; PyYAML reads about 130,000 a second, whatever they say
PIECES = [
    b"*codes", b"&a ", b"*a", b"[*a,*a,*a,*a]", b"{<<: *sex}", b"- ", b"? ", b": ", b"!!binary x",
    b"!!python/object ", b"[", b"{", b"'", b'"', b"#", b"|", b">", b"%", b"---\n", b"...\n",
    b"1:1:1:1",
    b"0x7fffffffffffffff", b"1e999", b".inf", b".nan", b"~", b"\t", b"\xe2\x80\xa8", b"[[" * 500,
    b"- " * 500, b"9" * 5000, b" and sex == F" * 300,
]  # fmt: skip


def piece(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + chance.choice(PIECES) + content[place + chance.randrange(3) :]


def repeated(content: bytes, chance: random.Random) -> bytes:
    a, b = sorted(chance.randrange(len(content)) for _ in range(2))
    return content[:b] + content[a:b] * chance.choice([1, 9, 100]) + content[b:]


def mutated_schema(suffix: str, content: bytes, chance: random.Random) -> bytes:
    changes = [one_byte, cut, shuffled, literal, piece, piece, repeated]
    if suffix == "json":
        changes += [odd_value] * 6
    for number in range(chance.randint(1, 3)):
        # What is no JSON any more cannot be changed as such.
        content = chance.choice([*changes[:7], *(changes[7:] if number == 0 else [])])(
            content or b" ", chance
        )
    return content[:LARGEST]


def try_schemas(folder: Path, tries: int, seed: int) -> dict[str, int]:
    chance, seen = random.Random(seed), {"loaded": 0, "refused": 0}
    (folder / "whole.yaml").write_text(EVERY_RULE)
    tv.Schema.load(folder / "whole.yaml").save(folder / "whole.json")
    whole = {suffix: (folder / f"whole.{suffix}").read_bytes() for suffix in ("yaml", "json")}
    for number in range(tries):
        suffix = chance.choice(["yaml", "json"])
        path = folder / f"schema.{suffix}"
        path.write_bytes(mutated_schema(suffix, whole[suffix], chance))
        try:
            with in_little_memory(), soon():
                seen[schema_outcome(path)] += 1
        except BaseException as problem:
            raise AssertionError(f"schema {number} of seed {seed} got through") from problem
    return seen


def schema_outcome(path: Path) -> str:
    """Loaded or refused; anything else is raised."""
    try:
        schema = tv.Schema.load(path)
    except InvalidInput as refusal:
        assert refusal.message and "\n" not in refusal.message and len(str(refusal)) < 1000
        return "refused"
    assert tv.Schema.from_dict(schema.to_dict()) == schema
    return "loaded"


def test_the_schema_itself_loads(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(EVERY_RULE)
    assert schema_outcome(tmp_path / "schema.yaml") == "loaded"


def test_a_thousand_mutated_schemas_load_or_are_refused(tmp_path: Path) -> None:
    seen = try_schemas(tmp_path, 1000, seed=0)
    assert seen["refused"] > 500 and seen["loaded"] > 10  # both kinds were met


@pytest.mark.slow
def test_ten_thousand_mutated_schemas_load_or_are_refused(tmp_path: Path) -> None:
    started = time.monotonic()
    seen = try_schemas(tmp_path, 10_000, seed=1)
    print(seen, f"{time.monotonic() - started:.0f} s")
    assert sum(seen.values()) == 10_000


# -- files that claim what they are not ------------------------------------------------------------


@pytest.mark.parametrize("header", HEADERS)
def test_an_array_that_claims_what_it_is_not_costs_no_memory(
    whole: Files, tmp_path: Path, header: str
) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in ("probabilities", "chances"):
            archive.writestr(f"{name}.npy", npy(header, bytes(64)))
    lay(tmp_path, {**whole, "table.npz": made.getvalue()}, {})
    before = peak_memory()
    with pytest.raises(InvalidInput, match=r"damaged|does not match"):
        tv.load(tmp_path)
    assert peak_memory() - before < 50 * 2**20


def test_a_bomb_of_zeros_is_not_unpacked(
    whole: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real limit takes long to reach.
    monkeypatch.setattr("tabveil.release.untrusted.LARGEST_ARRAYS", 10**7)
    made = io.BytesIO()
    claimed = "{'descr': '<f4', 'fortran_order': False, 'shape': (10, 1000000), }"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("probabilities", "chances"):
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
        with soon(), pytest.raises(InvalidInput):
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
