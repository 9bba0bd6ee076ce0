"""No cell and no exact count of the private rows is in anything that a fit prints, writes, logs or
raises."""

import gzip
import io
import json
import logging
import re
import traceback
import warnings
import zipfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import tabveil as tv
from samples import curator_of
from tabveil.curator import Answer, Curator, TableCount, Workload
from tabveil.fitting.presets import Default, Effort, Paper, PaperEffort, Preset, Task
from tabveil.fitting.projection import Annealing
from tabveil.fitting.rappp import Result
from tabveil.fitting.rows import EncodedRows
from tabveil.privacy import Allowance, Door, Ledger, OpenDPNoise, Protection, Relation
from tabveil.queries import QueryFamily
from tabveil.sources import Source
from tabveil.sources.checking import check
from tabveil.sources.drafting import draft_schema
from tabveil.tables.numbers import KINDS
from tabveil.tables.table import Codec, Table

FAST = Annealing(8.0, stages=2, steps=3, tolerance=0.0)
TINY: dict[str, Preset] = {
    "default": Default(rounds=2, effort=Effort(rows=40, between_rounds=FAST, at_the_end=FAST)),
    "paper": Paper(
        thresholds=100, threshold_epochs=2, picks=2, effort=PaperEffort(rows=40, annealing=FAST)
    ),
}
SCHEMA = {
    "columns": {
        "city": {"type": "categorical", "values": ["a", "b", "c"], "other": True},
        "income": {"type": "categorical", "values": ["low", "high"]},
        "age": {"type": "numerical", "min": 0, "max": 100, "decimals": 0},
    },
    "targets": ["income"],
}
CELLS = ("CANARY-7319", "8675309.123", "8675309", "-4242424242", "4242424242")
CITIES = {"a": 1009, "b": 2003, "c": 4001, "CANARY-7319": 503}  # primes, like every count below
LOW, YOUNG = 5003, 3001
LITTLE = 1e-8
"""So small an ε that σ > 10⁸: a noisy count equals an exact one by chance once in a million runs or
so."""


def private_frame() -> pd.DataFrame:
    """Cells that nobody declared, numbers far out of bounds, and counts that are distinctive
    primes."""
    city = np.repeat(
        [f"{name}-{i}" if "-" in name else name for i, name in enumerate(CITIES)],
        [*CITIES.values()],
    )
    rows = len(city)
    order = np.random.default_rng(0).permutation(rows)
    income = np.where(np.arange(rows) < LOW, "low", "high")[order]
    age = np.where(np.arange(rows) < YOUNG, 20.0, 8675309.123)[order[::-1]]
    age[np.nonzero(age > 100)[0][:3]] = -4242424242.0
    return pd.DataFrame({"city": city, "income": income, "age": age, "note": "CANARY-7319-note"})


def exact_counts(frame: pd.DataFrame) -> set[str]:
    """Counts of all rows, of every column and of every pair of columns, as far as they are
    distinctive."""
    names = ["city", "income", "age"]
    counts = {len(frame)}
    for one in names:
        counts |= set(frame[one].value_counts())
        for two in names:
            if one != two:
                counts |= set(frame.groupby([one, two]).size())
    return {str(count) for count in counts if count > 1000}


def hits(text: str, counts: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """The canaries in a text: cells anywhere, counts where they stand as whole numbers."""
    cells = [cell for cell in CELLS if cell in text]
    return cells + sorted(counts & set(re.findall(r"(?<![\w.])\d+(?![\w.])", text)))


def test_the_search_finds_what_it_looks_for() -> None:
    assert hits("cell CANARY-7319-3") and hits("age=8675309.123") and hits("n: 1009,", {"1009"})
    assert not hits("ρ = 0.1009, 10091", {"1009"})


# -- everything that a fit gives out ---------------------------------------------------------------


@dataclass
class Outcome:
    """A fit, the folder it wrote, and every word that was said meanwhile."""

    model: tv.RAPpp
    folder: Path
    ledger: Path
    said: str
    counts: set[str]


@pytest.fixture(scope="module", params=TINY)
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder, frame = tmp_path_factory.mktemp("secrets"), private_frame()
    data: Any = frame
    if request.param == "paper":  # one of the two reads a file
        data = folder / "people.csv"
        frame.to_csv(data, index=False)
    said = io.StringIO()
    handler, root = logging.StreamHandler(said), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            redirect_stdout(said),
            redirect_stderr(said),
        ):
            warnings.simplefilter("always")
            model = tv.RAPpp(
                tv.Schema.from_dict(SCHEMA),
                LITTLE,
                preset=TINY[request.param],
                ledger=folder / "fit.ledger",
            )
            model.fit(data, watch=lambda status: print(status, file=said))
            model.save(folder / "release")
            model.sample(300, seed=0)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    for warning in caught:
        said.write(str(warning))
    return Outcome(
        model, folder / "release", folder / "fit.ledger", said.getvalue(), exact_counts(frame)
    )


def test_nothing_is_said_about_the_rows(outcome: Outcome) -> None:
    assert "Status(round=1" in outcome.said
    assert hits(outcome.said, outcome.counts) == []


def test_nothing_of_the_rows_is_in_the_files(outcome: Outcome) -> None:
    for file in [*outcome.folder.glob("*.json"), outcome.ledger]:
        assert hits(file.read_text(encoding="utf-8"), outcome.counts) == [], file.name
    with zipfile.ZipFile(outcome.folder / "table.npz") as members:
        for name in members.namelist():
            assert hits(members.read(name).decode("latin-1")) == [], name


def test_nothing_of_the_rows_is_in_what_was_sampled(outcome: Outcome) -> None:
    for kind in ("pandas", "polars", "arrow"):
        synthetic = outcome.model.release_.sample(500, seed=1, kind=kind)
        frame = synthetic if kind == "pandas" else synthetic.to_pandas()
        assert hits(frame.to_csv(index=False)) == []
        assert set(frame["city"]) <= {"a", "b", "c", "OTHER"} and frame["age"].between(0, 100).all()


def test_no_object_shows_its_rows(outcome: Outcome) -> None:
    frame, release = private_frame(), outcome.model.release_
    codec = Codec(tv.Schema.from_dict(SCHEMA))
    source = Source.of(frame, codec.schema)
    table = codec.encode(next(iter(source.batches())))
    ledger = Ledger.read(outcome.ledger)
    allowance = Ledger.in_memory(Relation.ADD_REMOVE).allowance(Fraction(1), "test")
    rows = EncodedRows(source, codec)
    curator = curator_of(rows, allowance, Relation.ADD_REMOVE)
    curator.total(Fraction(1, 10**12))
    objects = (
        outcome.model, release, release.placement, release.schema, release.measurements,
        outcome.model.ledger_,
        outcome.model.measurements_, codec, codec.domain, source, source.reader, source.describe(),
        table,
        ledger, ledger.charges, allowance, rows, curator,
    )  # fmt: skip
    for thing in objects:
        for text in (repr(thing), str(thing), f"{thing}"):
            assert hits(text, outcome.counts) == [], type(thing).__name__


def test_measured_counts_are_never_the_exact_ones(outcome: Outcome) -> None:
    measured = outcome.model.measurements_["count"]
    assert len(measured) and not set(measured.astype(str)) & outcome.counts


@pytest.mark.parametrize("name", TINY)
def test_nothing_of_the_rows_is_in_the_journal_of_an_unfinished_fit(
    name: str, tmp_path: Path
) -> None:
    def stop(status: Any) -> None:
        if status.stage == "fitting":
            raise KeyboardInterrupt

    frame, ledger = private_frame(), tmp_path / "fit.ledger"
    data = tmp_path / "people.csv"
    frame.to_csv(data, index=False)
    with pytest.raises(KeyboardInterrupt):
        tv.RAPpp(tv.Schema.from_dict(SCHEMA), LITTLE, preset=TINY[name], ledger=ledger).fit(
            data, watch=stop
        )
    [journal] = tmp_path.glob("*.journal")
    text = journal.read_text(encoding="utf-8")
    assert len(text.splitlines()) >= 3 and hits(text + journal.name, exact_counts(frame)) == []


# -- the folder ------------------------------------------------------------------------------------


def test_a_release_is_json_and_plain_arrays_and_nothing_else(outcome: Outcome) -> None:
    known = {
        "schema.json",
        "privacy.json",
        "ledger.json",
        "release.json",
        "measurements.json",
        "table.npz",
    }
    assert {file.name for file in outcome.folder.rglob("*")} == known
    for file in outcome.folder.glob("*.json"):
        json.loads(file.read_text(encoding="utf-8"))
    with np.load(outcome.folder / "table.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) in ({"probabilities", *kind.arrays} for kind in KINDS.values())
        for name in arrays.files:
            assert (
                arrays[name].dtype.kind == "f"
                and (arrays[name] >= 0).all()
                and (arrays[name] <= 1.001).all()
            )
    for file in outcome.folder.iterdir():
        assert not file.read_bytes().startswith((b"\x80\x03", b"\x80\x04", b"\x80\x05")), "a pickle"


# -- errors ----------------------------------------------------------------------------------------


def text_of(fail: Callable[[], object]) -> str:
    """The traceback of the error that this raises, as Python prints it."""
    with pytest.raises(BaseException) as caught:
        fail()
    assert not isinstance(caught.value, pytest.fail.Exception), "nothing was raised"
    return "".join(traceback.format_exception(caught.value)) + repr(caught.value)


def fit(data: object, **settings: Any) -> tv.RAPpp:
    return tv.RAPpp(tv.Schema.from_dict(SCHEMA), 1.0, preset=TINY["paper"], **settings).fit(data)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def half_gzipped(folder: Path) -> Path:
    whole = gzip.compress(private_frame().to_csv(index=False).encode())
    return write(folder / "half.csv.gz", whole[: len(whole) // 2])


def damaged_parquet(folder: Path) -> Path:
    buffer = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pandas(private_frame()), buffer, compression="snappy")
    content = bytearray(buffer.getvalue())
    content[100:2000] = b"\xff" * 1900
    return write(folder / "damaged.parquet", bytes(content))


def damaged_feather(folder: Path) -> Path:
    buffer = io.BytesIO()
    pa.feather.write_feather(pa.Table.from_pandas(private_frame()), buffer, "uncompressed")
    content = bytearray(buffer.getvalue())
    content[1000:3000] = b"\xff" * 2000
    return write(folder / "damaged.feather", bytes(content))


def renamed(folder: Path) -> pd.DataFrame:
    return private_frame().rename(columns={"city": "CANARY-7319-column"})


BAD_DATA: dict[str, Callable[[Path], object]] = {
    "no header line": lambda f: write(f / "x.csv", "CANARY-7319,low,8675309.123\nb,low,4\n"),
    "semicolons": lambda f: write(f / "x.csv", "city;income;age\nCANARY-7319;low;8675309.123\n"),
    "no column names, one cell": lambda f: write(f / "x.csv", "CANARY-7319\n"),
    "half a file": half_gzipped,
    "no gzip at all": lambda f: write(
        f / "x.csv.gz", "city,income,age\nCANARY-7319,low,8675309.123\n"
    ),
    "damaged parquet": damaged_parquet,
    "damaged feather": damaged_feather,
    "no parquet at all": lambda f: write(f / "x.parquet", "CANARY-7319,low,8675309.123\n" * 99),
    "another extension": lambda f: write(f / "x.txt", "CANARY-7319,low,8675309.123\n"),
    "an array": lambda f: private_frame().to_numpy(),
    "a list": lambda f: private_frame().head().to_dict("records"),
    "a series": lambda f: private_frame()["city"],
    "another column name": renamed,
    "a column twice": lambda f: pd.concat([private_frame()] * 2, axis=1),
}


@pytest.mark.parametrize("bad", BAD_DATA)
def test_bad_data_is_refused_without_quoting_it(bad: str, tmp_path: Path) -> None:
    data = BAD_DATA[bad](tmp_path)
    text = text_of(lambda: fit(data))
    assert "InvalidInput" in text and "Hint" in text
    assert hits(text) == []


MID_FIT: dict[str, Callable[[pytest.MonkeyPatch], dict]] = {
    "the watcher": lambda patch: {"watch": lambda status: 1 / 0},
    "the user": lambda patch: {"watch": lambda status: (_ for _ in ()).throw(KeyboardInterrupt())},
    "the noise": lambda patch: patch.setattr(OpenDPNoise, "gaussian", lambda *_: 1 / 0) or {},
    "the choice": lambda patch: patch.setattr(OpenDPNoise, "top", lambda *_: 1 / 0) or {},
    "the counting": lambda patch: (
        patch.setattr("tabveil.curator.WorkloadCounts.__call__", lambda *_: 1 / 0) or {}
    ),
    "the optimiser": lambda patch: (
        patch.setattr("tabveil.fitting.rappp.project", lambda *_: 1 / 0) or {}
    ),
}


@pytest.mark.parametrize("culprit", MID_FIT)
def test_an_error_in_the_middle_of_a_fit_quotes_no_cell(
    culprit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = MID_FIT[culprit](monkeypatch)
    model = tv.RAPpp(tv.Schema.from_dict(SCHEMA), LITTLE, preset=TINY["paper"])
    frame = private_frame()
    text = text_of(lambda: model.fit(frame, **settings))
    assert "Traceback" in text and hits(text, exact_counts(frame)) == []
    assert hits(repr(model)) == []


def test_bad_settings_are_refused_without_quoting_the_data() -> None:
    frame = private_frame()
    for settings in (
        {"targets": ["cty"]},
        {"targets": ["age"]},
        {"neighbours": "cousins"},
        {"seed": -1},
    ):
        assert hits(text_of(lambda settings=settings: fit(frame, **settings))) == []


def test_a_schema_that_does_not_fit_is_refused_without_quoting_the_data(tmp_path: Path) -> None:
    data = write(tmp_path / "people.csv", private_frame().to_csv(index=False))
    for broken in (
        {"columns": {}},
        {"columns": {"cit": SCHEMA["columns"]["city"]}},
        {"columns": {"age": {}}},
    ):
        text = text_of(lambda broken=broken: tv.RAPpp(tv.Schema.from_dict(broken), 1.0).fit(data))
        assert hits(text) == []


def test_a_check_and_a_draft_name_columns_and_no_cells() -> None:
    frame = private_frame()
    problems = check(frame, tv.Schema.from_dict(SCHEMA))
    assert problems and hits("\n".join(problems), exact_counts(frame)) == []
    assert hits(json.dumps(draft_schema(frame, public=False)), exact_counts(frame)) == []


# -- the optimiser and the rows --------------------------------------------------------------------


class LockedRows:
    """Rows that can be reached only while the curator is being asked, and raise at any other
    time."""

    def __init__(self, table: Table) -> None:
        self._table, self.locked, self.looks = table, True, 0

    def total(self, count: TableCount, columns: Sequence[str] | None = None) -> list[np.ndarray]:
        return count(self._look())

    def count(self) -> int:
        return self._look().rows

    def _look(self) -> Table:
        assert not self.locked, "someone other than the curator looked at the rows"
        self.looks += 1
        return self._table


class LockingCurator(Curator):
    """Unlocks the rows for the time of one paid answer; afterwards it forgets what it counted, and
    locks."""

    def __init__(self, rows: LockedRows, allowance: Allowance) -> None:
        super().__init__(rows, Door(allowance, Protection()))
        self.locked_rows, self.given = rows, []  # type: ignore[var-annotated]

    def _asked(self, answer: Callable[[], Any]) -> Any:
        self.locked_rows.locked = False
        try:
            self.given.append(answer())
        finally:
            self.locked_rows.locked, self._exact, self._exact_by_point = True, None, None
        return self.given[-1]

    def total(self, *asked: Any) -> Any:
        return self._asked(lambda: Curator.total(self, *asked))

    def select(self, *asked: Any, **more: Any) -> Any:
        return self._asked(lambda: Curator.select(self, *asked, **more))

    def measure(self, *asked: Any) -> Any:
        return self._asked(lambda: Curator.measure(self, *asked))

    def intervals(self, *asked: Any) -> Any:
        return self._asked(lambda: Curator.intervals(self, *asked))


class Transcript:
    """A curator without any rows: it repeats what another one gave out."""

    protection = Protection()

    def __init__(self, given: list[Any]) -> None:
        self._given = iter(given)

    def _next(self, *_: Any, **__: Any) -> Any:
        return next(self._given)

    total = select = intervals = _next

    def measure(self, workload: Workload, family: QueryFamily, *_: Any) -> Answer:
        return replace(self._next(), family=family)  # the same queries, made anew from the seed

    def noise_of(self, queries: QueryFamily, picks: int, rho: Fraction) -> float:
        return Curator.noise_of(self, queries, picks, rho)  # type: ignore[arg-type]


def run(preset: Preset, curator: Any, codec: Codec, rho: Fraction) -> Result:
    return preset(curator, Task(codec.schema, rho, seed=3), lambda status: None)


@pytest.mark.parametrize("name", TINY)
def test_a_fit_follows_from_the_noisy_answers_alone(name: str) -> None:
    codec = Codec(tv.Schema.from_dict(SCHEMA))
    table = codec.encode(pa.Table.from_pandas(private_frame().sample(500, random_state=0)))
    rho = tv.Budget(1.0, 1e-9).rho
    rows = LockedRows(table)
    allowance = Ledger.in_memory(Relation.ADD_REMOVE).allowance(rho, "test")
    curator = LockingCurator(rows, allowance)
    result = run(TINY[name], curator, codec, rho)  # the rows were locked during every projection
    assert rows.looks == len(allowance.charges) == len(curator.given)  # one look for each charge
    rows._table = None  # type: ignore[assignment]
    again = run(TINY[name], Transcript(curator.given), codec, rho)
    for first, second in zip(result.table.parameters, again.table.parameters, strict=True):
        assert (first == second).all() and np.isfinite(first).all()
    assert isinstance(again.workload, Workload) and again.total == result.total


def test_locked_rows_would_be_noticed() -> None:
    with pytest.raises(AssertionError, match="someone other"):
        LockedRows(Table(np.zeros((1, 1), np.int32), np.zeros((1, 1)))).count()
