"""What every type of column promises, walked over the list: a new type is tested by being on it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tabveil as tv
from odd_cells import LEARNT, RULES_TO_TRY
from tabveil.columns import RULES, CategoryCodec, Column, NumberCodec
from tabveil.columns.codec import CellCodec
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.release.output import write
from tabveil.release.spreadsheets import plain_cells
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.sources.checking import check
from tabveil.tables.table import Codec, Table

ONE_STEP = Annealing(8.0, stages=1, steps=1, tolerance=0.0)
QUICK = Default(rounds=1, effort=Effort(rows=20, between_rounds=ONE_STEP, at_the_end=ONE_STEP))


def rule_of(name: str) -> Column:
    rule = RULES_TO_TRY[name]
    return RULES[rule["type"]](**rule)


def random_rows(schema: Schema, rows: int = 200) -> Table:
    """Codes and numbers of every sort that a schema has, special and missing ones too."""
    random, codec = np.random.default_rng(0), Codec(schema)
    codes = [random.integers(0, size, rows) for size in codec.domain.sizes]
    numbers = [random.uniform(n.min, n.max, rows) for n in schema.numbers.values()]
    table = Table(
        np.array(codes, np.int32).T.reshape(rows, -1), np.array(numbers).T.reshape(rows, -1)
    )
    return codec.settled(table)


@pytest.mark.parametrize("name", RULES_TO_TRY)
def test_a_rule_can_be_spelled_and_read_again(name: str) -> None:
    rule = rule_of(name)
    assert type(rule) is RULES[rule.type]
    assert type(rule)(**rule.spelled()) == rule


def told_apart(rows: Table, schema: Schema) -> np.ndarray:
    """Rows that can be read as what they were: an ordinary number may not equal a special value."""
    apart = np.ones(rows.rows, bool)
    for place, rule in enumerate(schema.numbers.values()):
        ordinary = rows.codes[:, 0] == 0 if rows.codes.shape[1] else apart
        apart &= ~(ordinary & np.isin(rows.numbers[:, place], rule.special_values))
    return apart


@pytest.mark.parametrize("name", LEARNT)
def test_what_is_written_is_read_as_what_it_was(name: str) -> None:
    schema = Schema(columns={"x": RULES_TO_TRY[name]})
    codec, rows = Codec(schema), random_rows(schema)
    written = codec.decode(rows, np.random.default_rng(1))
    read, apart = codec.encode(written), told_apart(rows, schema)
    assert np.array_equal(read.codes[apart], rows.codes[apart])
    ordinary = apart & (rows.codes[:, 0] == 0) if schema.numbers and rows.codes.size else apart
    assert np.array_equal(read.numbers[ordinary], rows.numbers[ordinary])
    assert check(written, schema) == []  # and it follows its own rule


@pytest.mark.parametrize("name", LEARNT)
def test_the_same_seed_writes_the_same_cells(name: str) -> None:
    schema = Schema(columns={"x": RULES_TO_TRY[name]})
    once, twice = (
        Codec(schema).decode(random_rows(schema), np.random.default_rng(5)) for _ in range(2)
    )
    assert once.equals(twice)


def all_sorts(name: str) -> list[str | None]:
    """Cells as texts: all that the type itself writes, its examples, nothing, and rubbish."""
    schema = Schema(columns={"x": RULES_TO_TRY[name]})
    random = np.random.default_rng(1)
    [written] = plain_cells(Codec(schema).decode(random_rows(schema, 40), random), raw=True).columns
    example = RULES[RULES_TO_TRY[name]["type"]].example
    texts = [None if cell is None else str(cell) for cell in written.to_pylist()]
    return [*texts, str(example.usual), str(example.odd), None, "", "rubbish", "1e400"]


@pytest.mark.parametrize("name", LEARNT)
def test_what_a_cell_becomes_depends_on_that_cell_alone(name: str) -> None:
    schema = Schema(columns={"x": RULES_TO_TRY[name]})
    codec, cells = Codec(schema), all_sorts(name)

    def read(some: list[str | None]) -> list[tuple[bytes, bytes]]:
        table = codec.encode(pa.table({"x": pa.array(some, pa.string())}))
        assert table.codes.dtype == np.int32
        assert (table.codes >= 0).all() and (table.codes < codec.domain.sizes).all()
        pairs = zip(table.codes, table.numbers, strict=True)
        return [(codes.tobytes(), numbers.tobytes()) for codes, numbers in pairs]

    whole = read(cells)
    assert len(set(whole)) > 1  # or the test would say nothing
    assert whole == [read([cell])[0] for cell in cells]
    assert whole[::-1] == read(cells[::-1])
    for left_out in range(len(cells)):
        rest = cells[:left_out] + cells[left_out + 1 :]
        assert read(rest) == whole[:left_out] + whole[left_out + 1 :]


@pytest.mark.parametrize("name", LEARNT)
def test_codes_come_from_the_codec_as_whole_numbers(name: str) -> None:
    codec = rule_of(name).codec
    cells = pa.chunked_array([pa.array(all_sorts(name), pa.string())])
    if isinstance(codec, CategoryCodec):
        assert codec.encode(cells).dtype == np.int32
    if isinstance(codec, NumberCodec):
        assert [part.dtype for part in codec.encode(cells)] == [np.int32, np.float64]


@pytest.mark.parametrize("name", LEARNT)
def test_a_csv_file_is_read_as_what_was_written(name: str, tmp_path: Path) -> None:
    schema = Schema(columns={"x": RULES_TO_TRY[name]})
    codec, rows = Codec(schema), random_rows(schema)
    write(codec.decode(rows, np.random.default_rng(1)), tmp_path / "rows.csv")
    [batch] = Source.of(tmp_path / "rows.csv", schema).batches()
    apart = told_apart(rows, schema)
    assert np.array_equal(codec.encode(batch).codes[apart], rows.codes[apart])


@pytest.mark.parametrize("name", LEARNT)
def test_what_a_check_says_quotes_no_cell(name: str) -> None:
    codec = rule_of(name).codec
    assert codec is not None
    cells = ["CANARY", "CANARY 1, 2", "-987654.25, 987654.25", "987654.25", "2999-12-31", None]
    for sentence in codec.broken(pa.chunked_array([pa.array(cells, pa.string())])):
        assert not any(str(cell) in sentence for cell in cells if cell)


@pytest.mark.parametrize("name", LEARNT)
def test_the_type_of_written_cells_follows_from_the_rule_alone(name: str) -> None:
    schema = Schema(columns={"x": RULES_TO_TRY[name]})
    rows = random_rows(schema)
    some = Table(rows.codes[:1], rows.numbers[:1])
    whole, part = (Codec(schema).decode(t, np.random.default_rng(0)) for t in (rows, some))
    assert whole.schema == part.schema


@pytest.mark.parametrize("name", LEARNT)
def test_codes_have_names_and_the_last_is_missing_where_cells_may_be(name: str) -> None:
    codec = rule_of(name).codec
    assert codec is not None and len(set(codec.labels)) == len(codec.labels)
    assert codec.nullable == bool(RULES_TO_TRY[name].get("nullable"))
    assert codec.nullable == (codec.missing is not None)
    assert codec.missing is None or codec.labels[codec.missing] == "missing"
    if isinstance(codec, CategoryCodec):
        declared = codec.labels[: codec.declared]
        assert [codec.declared_code(label) for label in declared] == list(range(len(declared)))
        assert codec.declared_code(object()) is None


def on_a_line() -> list[str]:
    codecs: dict[str, CellCodec | None] = {name: rule_of(name).codec for name in LEARNT}
    return [name for name, codec in codecs.items() if codec is not None and codec.ruler]


@pytest.mark.parametrize("name", on_a_line())
def test_quantities_come_back_from_their_line_and_have_neighbours_on_it(name: str) -> None:
    schema = Schema(columns={"x": RULES_TO_TRY[name]})
    codec, rows = schema.codecs["x"], random_rows(schema)
    codes = rows.codes[:, 0] if rows.codes.shape[1] else np.zeros(rows.rows, np.int32)
    numbers = rows.numbers[:, 0] if rows.numbers.shape[1] else np.zeros(rows.rows)
    line = codec.on_line(codes, numbers)
    line = line[~np.isnan(line)]
    low, high = codec.bounds
    assert ((line >= low) & (line <= high)).all()
    assert np.array_equal(codec.on_line(*codec.from_line(line)), line)
    assert np.array_equal(codec.above(line, strict=False), line)
    assert np.array_equal(codec.below(line, strict=False), line)
    inside = line[(line > low) & (line < high)]
    if isinstance(codec, NumberCodec):
        assert (codec.above(inside, strict=True) > inside).all()
        assert (codec.below(inside, strict=True) < inside).all()


@pytest.mark.parametrize("kind", RULES)
def test_the_example_of_a_type_is_a_rule_a_cell_that_follows_it_and_one_that_does_not(
    kind: str,
) -> None:
    example = RULES[kind].example
    beside = {"boolean": {"type": "boolean"}}
    schema = Schema(columns={"x": {"type": kind, **example.rule}, **beside})
    if "x" not in schema.codecs:
        return  # cells are not read
    codec = Codec(schema)

    def cells(cell: object) -> bytes:
        read = codec.encode(pa.table({"x": pa.array([str(cell)]), "boolean": [True]}))
        return read.codes.tobytes() + read.numbers.tobytes()

    usual = pd.DataFrame({"x": pd.Series([example.usual], dtype=object), "boolean": [True]})
    assert check(usual, schema) == []
    assert cells(example.usual) != cells(example.odd)


def test_a_table_with_every_type_is_fitted_sampled_and_shown() -> None:
    columns = {name: {"type": name, **kind.example.rule} for name, kind in RULES.items()}
    schema = Schema(columns=columns)
    cells = {name: [kind.example.usual, kind.example.odd] for name, kind in RULES.items()}
    frame = pd.DataFrame({name: pd.Series(pair, dtype=object) for name, pair in cells.items()})
    model = tv.RAPpp(schema, 5.0, preset=QUICK).fit(pd.concat([frame] * 50, ignore_index=True))
    synthetic = model.sample(50, seed=0)
    assert list(synthetic) == [name for name in columns if name != "drop"]
    assert check(synthetic.drop(columns="id"), schema) == []
    for name in schema.codecs:
        shares = model.error(name)["synthetic"]
        assert shares.sum() == pytest.approx(1)
