"""The schema accepts what it can keep, and refuses the rest in one line that helps."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pytest

from tabveil.errors import InvalidInput
from tabveil.schema import Categorical, Numerical, Schema, key

AGE = {"type": "numerical", "min": 16, "max": 99, "decimals": 0}
SEX = {"type": "categorical", "values": ["F", "M"]}
DAYS = {"type": "datetime", "min": "2013-01-01", "max": "2014-01-01"}


def refusal(document):
    with pytest.raises(InvalidInput) as caught:
        Schema.from_dict(document)
    assert "\n" not in caught.value.message and "\n" not in caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (0.5, "0.5"),
        ("No", "No"),
        (b"a\xff", "a�"),
        (Decimal("1.50"), "1.5"),
        (Decimal("2.00"), "2"),
        (2**63, "9223372036854775808"),
        (1e22, "1" + "0" * 22),
        (float("inf"), "inf"),
        (datetime.date(2013, 1, 31), "2013-01-31"),
        (datetime.datetime(2013, 1, 31), "2013-01-31"),
        (datetime.datetime(2013, 1, 31, 5, 0, 0, 500_000), "2013-01-31 05:00:00.5"),
    ],
)
def test_a_category_has_one_canonical_text(value, text):
    assert key(value) == text


def test_no_number_is_too_large_for_a_canonical_text():
    assert key(10**5000).startswith("0x") and key(Decimal("1E+999999")) == "inf"


@pytest.mark.parametrize("name", ["s.yaml", "s.yml", "s.json"])
def test_a_saved_schema_loads_as_itself(tmp_path, name):
    schema = Schema(
        columns={
            "age": AGE,
            "wage": {
                "type": "numerical",
                "min": 0,
                "max": 0.1,
                "special_values": [-1, 1e-9],
                "nullable": True,
            },
            "sex": SEX,
            "odd": {
                "type": "categorical",
                "values": ["no", True, 1, 0.5, "", "2013-01-01", "é\n"],
                "other": True,
            },
        },
        targets=["sex"],
    )
    schema.save(tmp_path / name)
    assert Schema.load(tmp_path / name) == schema
    assert Schema.from_dict(schema.to_dict()) == schema


def test_columns_keep_their_order_and_are_listed_by_type():
    schema = Schema(columns={"b": SEX, "a": AGE, "c": SEX})
    assert (schema.categorical, schema.numerical) == (("b", "c"), ("a",))


def test_rules_and_plain_mappings_declare_the_same_schema():
    rules = {"age": Numerical(min=16, max=99, decimals=0), "sex": Categorical(values=("F", "M"))}
    assert Schema(columns=rules) == Schema(columns={"age": AGE, "sex": SEX})


def test_numpy_values_are_as_good_as_python_values():
    rule = Categorical(values=np.array([1, 2]), nullable=np.bool_(True))
    assert rule == Categorical(values=(1, 2), nullable=True)
    assert Numerical(min=np.int64(0), max=np.float32(1)) == Numerical(min=0, max=1)


def test_targets_can_be_changed_and_are_checked_again():
    schema = Schema(columns={"age": AGE, "sex": SEX})
    assert schema.with_targets(["sex"]).targets == ("sex",)
    with pytest.raises(InvalidInput, match="numerical"):
        schema.with_targets(["age"])
    with pytest.raises(InvalidInput, match="targets must be a list"):
        schema.with_targets("sex")


def test_a_schema_cannot_be_changed():
    schema = Schema(columns={"sex": SEX})
    with pytest.raises(Exception, match="frozen"):
        schema.targets = ("sex",)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (AGE | {"min": 99, "max": 16}, "Column age: min 99 is not below max 16."),
        (AGE | {"min": 16, "max": 16}, "Column age: min 16 is not below max 16."),
        (AGE | {"min": float("nan")}, "Column age: min is not a finite number."),
        (AGE | {"max": float("inf")}, "Column age: max is not a finite number."),
        (AGE | {"max": 10**400}, "Column age: max is not a finite number."),
        (AGE | {"min": -1.7e308, "max": 1.7e308}, "too wide"),
        (AGE | {"min": True}, "Column age: min must be a number."),
        (AGE | {"min": datetime.date(2013, 1, 1)}, "Column age: min must be a number."),
        (AGE | {"min": 0.5}, "Column age: min 0.5 has more than 0 decimals."),
        (AGE | {"decimals": 13}, "Column age: decimals must be a whole number from 0 to 12"),
        (AGE | {"decimals": 1.5}, "Column age: decimals must be a whole number"),
        (AGE | {"nullable": "yes"}, "Column age: nullable must be true or false."),
        (AGE | {"special_values": 0}, "Column age: special_values must be a list of numbers."),
        (AGE | {"special_values": [0, 0.0]}, "Column age: a special value is declared twice."),
        (
            AGE | {"special_values": [float("nan")]},
            "Column age: special_values is not a finite number.",
        ),
        (
            AGE | {"decimal": 1},
            "Column age: decimal is not a known key.\nHint: Did you mean decimals?",
        ),
        (
            {"type": "numerical", "max": 1},
            "Column age: min is missing.\nHint: It must be a number.",
        ),
        (
            {"type": "numeric"},
            "Column age: type numeric is not known.\nHint: Did you mean numerical?",
        ),
        ({"type": ["x"]}, "Column age: type ['x'] is not known."),
        ({"min": 1}, "Column age: type is missing."),
        ({"type": "text"}, "Column age: free text cannot be learnt."),
        ({"type": "datetime", "min": "2013-01-01"}, "Column age: max is missing."),
        (DAYS | {"min": "soon"}, "Column age: min must be a day or a moment such as 2013-01-31."),
        (DAYS | {"max": "2013-01-01"}, "is not at least one second before max"),
        (DAYS | {"unit": "week"}, "Column age: unit must be"),
        (DAYS | {"timezone": "Mars"}, "Column age: timezone Mars is not known."),
        (DAYS | {"format": "%Y-%m-%d"}, "does not hold the second"),
        (DAYS | {"format": "%!"}, "cannot be read back"),
        (
            {"type": "date", "min": "2013-01-01", "max": "2014-01-01", "timezone": "UTC"},
            "timezone must be",
        ),
        ({"type": "duration", "min": 0, "max": 0.5}, "max 0.5 has more than 0 decimals"),
        ({"type": "boolean", "values": [1, 2]}, "a boolean is false or true"),
        (SEX | {"groups": {"all": ["F", "X"]}}, "group all holds X, which is not a declared value"),
        (SEX | {"groups": {"a": ["F"], "b": ["F"]}}, "value F is in two groups"),
        ({"type": "id", "style": "pattern"}, "style: pattern and a pattern go together"),
        ({"type": "id", "style": "pattern", "pattern": "same"}, "all ids would be the same"),
        ({"type": "id"}, "The schema declares no column to learn."),
        (AGE | {"min": "TODO"}, "Column age: min is still TODO; fill in a number."),
        (SEX | {"values": "TODO"}, "Column age: values is still TODO"),
        (SEX | {"values": ["TODO"]}, "Column age: values is still TODO"),
        (SEX | {"values": []}, "Column age: values is empty."),
        (SEX | {"values": ["F", "F"]}, "Column age: value F is declared twice."),
        (SEX | {"values": [1, 1.0]}, "Column age: value 1 is declared twice."),
        (SEX | {"values": [True, "true"]}, "Column age: value true is declared twice."),
        (
            SEX | {"values": [None]},
            "Column age: values must be a list of texts, numbers or true/false.",
        ),
        (SEX | {"values": "FM"}, "Column age: values must be a list"),
        (SEX | {"values": {"F", "M"}}, "Column age: values must be a list"),
        (SEX | {"values": [["F"]]}, "Column age: values must be a list"),
        (SEX | {"values": [float("nan")]}, "Column age: value nan is not a finite number."),
        (SEX | {"values": ["\ud800"]}, "not valid Unicode"),
        (SEX | {"values": ["OTHER"], "other": True}, "Column age: OTHER is declared as a value"),
        (SEX | {1: 2}, "Column age: 1 is not a known key."),
        (SEX | {"self": 2}, "Column age: self is not a known key."),
    ],
)
def test_a_bad_rule_is_refused_by_column_and_rule(rule, line):
    assert line in refusal({"columns": {"age": rule}})


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ([], "A schema must be a mapping"),
        (None, "A schema must be a mapping"),
        ({}, "columns is missing."),
        ({"columns": {}}, "The schema declares no column."),
        ({"columns": []}, "columns must be a mapping"),
        ({"columns": {"age": "numerical"}}, "Column age: its rule must be a mapping."),
        ({"columns": {1: SEX}}, "Column name 1 is not text."),
        ({"columns": {"": SEX}}, "A column has an empty name."),
        ({"columns": {"a\nb": {}}}, "Column 'a\\nb': type is missing."),
        (
            {"columns": {"age": AGE, "age:kind": SEX}},
            "the name is kept for the special values of age",
        ),
        (
            {"columns": {"sex": SEX}, "target": []},
            "target is not a known key.\nHint: Did you mean targets?",
        ),
        ({"columns": {"sex": SEX}, "privacy": {}}, "unit is missing."),
        ({"columns": {"sex": SEX}, "privacy": {"unit": "who", "max_rows": 0}}, "max_rows must be"),
        (
            {"columns": {"sex": SEX}, "privacy": {"unit": "sex", "max_rows": 1}},
            "so it cannot be learnt",
        ),
        ({"columns": {"sex": SEX}, "constraints": "sex"}, "constraints must be a list"),
        ({"columns": {"sex": SEX}, True: 1}, "True is not a known key."),
        (
            {"columns": {"sex": SEX}, "targets": ["sx"]},
            "Target sx is not a declared column.\nHint: Did you mean sex?",
        ),
        ({"columns": {"age": AGE}, "targets": ["age"]}, "Target age is numerical"),
        ({"columns": {"sex": SEX}, "targets": ["sex", "sex"]}, "Target sex is named twice."),
        ({"columns": {"sex": SEX}, "targets": "sex"}, "targets must be a list of column names."),
        ({"columns": {"sex": SEX}, "targets": [1]}, "targets must be a list of column names."),
    ],
)
def test_a_bad_schema_is_refused_in_one_line(document, line):
    assert line in refusal(document)


def load_refusal(path, content=None):
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInput) as caught:
        Schema.load(path)
    assert caught.value.message.count("\n") == 0
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("s.toml", "", "is not a schema file"),
        ("s.yaml", "a: [1", "is not valid YAML (line 1)"),
        ("s.yaml", "- a", "A schema must be a mapping"),
        ("s.yaml", "", "A schema must be a mapping"),
        ("s.yaml", "a: 1\na: 2\n", "Hint: The key a appears twice."),
        ("s.yaml", "a: &x {b: 1}\nc: {<<: *x}\n", "Merge keys"),
        ("s.yaml", "a: 2013-99-99", "is not valid YAML"),
        ("s.yaml", "a: !!python/object/apply:os.system [ls]", "is not valid YAML"),
        ("s.yaml", "a: " + "[" * 3000, "nested too deeply"),
        ("s.yaml", "a: \x00", "is not valid YAML"),
        ("s.yaml", b"\xff\xfe", "is not UTF-8"),
        ("s.yaml", "columns: &a {b: *a}", "an alias stands inside what it names."),
        ("s.json", '{"a": 1,}', "is not valid JSON (line 1)"),
        ("s.json", '{"a": 1, "a": 2}', "The key a appears twice."),
        ("s.json", "[" * 100_000, "nested too deeply"),
        ("s.json", '{"a": ' + "1" * 5000 + "}", "is not valid JSON"),
    ],
)
def test_a_file_that_cannot_be_a_schema_is_refused(tmp_path, name, content, line):
    assert line in load_refusal(tmp_path / name, content)


def test_missing_large_and_misplaced_schema_files_are_refused(tmp_path):
    assert "does not exist" in load_refusal(tmp_path / "none.yaml")
    assert "is a folder" in load_refusal(tmp_path)
    assert "larger than 10 MB" in load_refusal(tmp_path / "big.json", b" " * 10_000_001)


def test_yaml_reads_bare_words_and_dates_as_the_docs_say(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "columns:\n  a: {type: categorical, values: [no, 'no', 2013-01-01, 2013-01-01 05:00:00]}\n"
    )
    assert Schema.load(path).columns["a"].values == (
        False,
        "no",
        "2013-01-01",
        "2013-01-01 05:00:00",
    )


def test_yaml_numbers_in_scientific_notation_are_numbers(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("columns:\n  a: {type: numerical, min: 0, max: 1e6}\n")
    assert Schema.load(path).columns["a"].max == 1_000_000


def test_the_json_schema_names_the_types_and_keys():
    exported = json.dumps(Schema(columns={"sex": SEX}).json_schema())
    assert all(
        word in exported for word in ("categorical", "numerical", "special_values", "targets")
    )


def test_strata_are_named_like_targets_and_refused_in_one_line() -> None:
    columns = {"a": {"type": "boolean"}, "n": {"type": "numerical", "min": 0, "max": 1}}
    schema = Schema.from_dict({"columns": columns, "strata": ["a"]})
    assert schema.strata == ("a",) and Schema.from_dict(schema.to_dict()) == schema
    for named, says in [
        (["n"], "Stratum n is numerical, and strata must be categorical."),
        (["A"], "Stratum A is not a declared column."),
        (["a", "a"], "Stratum a is named twice."),
    ]:
        with pytest.raises(InvalidInput) as refused:
            Schema.from_dict({"columns": columns, "strata": named})
        assert refused.value.message == says
