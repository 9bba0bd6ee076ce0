"""Schemas of other tools: what they say is taken over, what they leave open is left to the
owner."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.errors import InvalidInput
from tabveil.schema import Schema
from tabveil.schema.importers import IMPORTERS

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "who": {"type": "id", "style": "pattern", "pattern": "P-###"},
            "sex": {"type": "categorical", "values": ["F", "M"]},
            "vip": {"type": "boolean"},
            "age": {"type": "numerical", "min": 16, "max": 99, "decimals": 0, "nullable": True},
            "price": {"type": "numerical", "min": 0, "max": 9.5},
            "seen": {
                "type": "datetime",
                "min": "2013-01-01",
                "max": "2014-01-01",
                "unit": "minute",
            },
            "born": {"type": "date", "min": "1990-01-01", "max": "2000-01-01"},
            "stay": {"type": "duration", "min": 0, "max": 9},
            "note": {"type": "drop"},
        },
        "privacy": {"unit": "who", "max_rows": 3},
    }
)


@pytest.mark.parametrize("tool", IMPORTERS)
def test_what_a_tool_writes_it_also_reads(tool: str) -> None:
    written = json.loads(json.dumps(IMPORTERS[tool].write(SCHEMA)))
    columns = IMPORTERS[tool].read(written)["columns"]
    assert columns["sex"]["type"] == "categorical" and columns["age"]["type"] == "numerical"
    assert set(columns) <= set(SCHEMA.columns)
    if tool != "sdv":
        assert (columns["age"]["min"], columns["age"]["max"]) == (16, 99)
    if tool in ("dpsynth", "dpmm"):
        assert columns["sex"]["values"] == ["F", "M"]


def test_sdv_metadata_of_one_table() -> None:
    metadata = {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            "guests": {
                "primary_key": "id",
                "columns": {
                    "id": {"sdtype": "id", "regex_format": "HID_[0-9]{3}"},
                    "email": {"sdtype": "email", "pii": True},
                    "room": {"sdtype": "categorical"},
                    "size": {"sdtype": "categorical", "order": ["S", "L"]},
                    "fee": {"sdtype": "numerical", "computer_representation": "Int64"},
                    "in": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
                    "vip": {"sdtype": "boolean"},
                },
            }
        },
    }
    assert IMPORTERS["sdv"].read(metadata)["columns"] == {
        "id": {"type": "id", "style": "pattern", "pattern": "HID_###"},
        "email": {"type": "drop"},
        "room": {"type": "categorical", "values": "TODO"},
        "size": {"type": "categorical", "values": ["S", "L"], "ordered": True},
        "fee": {"type": "numerical", "min": "TODO", "max": "TODO", "decimals": 0},
        "in": {"type": "datetime", "min": "TODO", "max": "TODO", "format": "%d %b %Y"},
        "vip": {"type": "boolean"},
    }
    single = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {"vip": {"sdtype": "boolean"}}}
    assert IMPORTERS["sdv"].read(single) == {"columns": {"vip": {"type": "boolean"}}}
    with pytest.raises(InvalidInput, match="describes 2 tables"):
        IMPORTERS["sdv"].read({"tables": {"a": {}, "b": {}}})


def test_a_domain_of_dpsynth() -> None:
    domain = yaml.safe_load(
        "age: {clip_to_range: true, dtype: int, max_value: 50.0, min_value: 10.0}\n"
        "wage: {clip_to_range: false, dtype: float, max_value: 9.5, min_value: 0.0}\n"
        "gender: {out_of_domain_index: 0, possible_values: [M, F]}\n"
        "city: {default_value: <OOD>}\n"
    )
    draft = IMPORTERS["dpsynth"].read(domain)["columns"]
    assert draft["age"] == {"type": "numerical", "min": 10, "max": 50, "decimals": 0}
    assert draft["wage"]["nullable"] is True and draft["gender"]["values"] == ["M", "F"]
    assert draft["city"] == {"type": "categorical", "values": "TODO", "other": True}


def test_a_domain_of_dpmm() -> None:
    draft = IMPORTERS["dpmm"].read(
        {
            "age": {"lower": 0, "upper": 120},
            "ph": [0.0, 14.0],
            "type": {"categories": ["red", None]},
        }
    )
    assert draft["columns"] == {
        "age": {"type": "numerical", "min": 0, "max": 120, "decimals": 0},
        "ph": {"type": "numerical", "min": 0.0, "max": 14.0},
        "type": {"type": "categorical", "values": ["red"], "nullable": True},
    }


def test_a_file_of_smartnoise() -> None:
    table = {
        "max_ids": 2,
        "rows": 1000,
        "pid": {"type": "int", "private_id": True},
        "age": {"type": "int", "lower": 0, "upper": 100},
        "sex": {"type": "string", "cardinality": 2},
        "vip": {"type": "boolean"},
    }
    draft = IMPORTERS["smartnoise"].read({"Database": {"PUMS": {"PUMS": table}}})
    assert draft["privacy"] == {"unit": "pid", "max_rows": 2}
    assert draft["columns"]["pid"] == {"type": "id"} and draft["columns"]["sex"]["values"] == "TODO"
    by_row = {"": {"s": {"t": table | {"row_privacy": True}}}}
    assert "privacy" not in IMPORTERS["smartnoise"].read(by_row)


@pytest.mark.parametrize("tool", IMPORTERS)
@pytest.mark.parametrize(
    "document", [{}, {"a": 3}, {"tables": 3}, {"columns": {"a": 3}}, {1: {}}], ids=str
)
def test_odd_files_are_refused_in_one_line(tool: str, document: dict) -> None:
    try:
        IMPORTERS[tool].read(document)
    except InvalidInput as refusal:
        assert "\n" not in refusal.message


def test_the_commands_import_and_export(tmp_path) -> None:
    SCHEMA.save(tmp_path / "ours.yaml")
    run = CliRunner().invoke
    theirs, back = str(tmp_path / "theirs.json"), str(tmp_path / "back.yaml")
    written = run(
        app, ["schema", "export", str(tmp_path / "ours.yaml"), "--to", "dpmm", "-o", theirs]
    )
    assert written.exit_code == 0, written.output
    read = run(app, ["schema", "import", theirs, "--from", "dpmm", "-o", back])
    assert read.exit_code == 0 and "columns" in read.output
    assert yaml.safe_load((tmp_path / "back.yaml").read_text())["columns"]["age"]["max"] == 99
