"""Drafts say what is open, take over what others know, and read lists as people paste them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabveil.schema import TODO
from tabveil.schema.drafts import (
    bought_columns,
    code_list,
    draft_of_names,
    filled,
    is_open,
    taken_over,
    trouble_in,
    usable,
)

AGE = {"type": "numerical", "min": 0, "max": 99}
OPEN = {"type": "numerical", "min": TODO, "max": 99}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("id", "id"),
        ("patient_id", "id"),
        ("uuid", "id"),
        ("birth_date", "date"),
        ("date_of_birth", "date"),
        ("created_at", "datetime"),
        ("timestamp", "datetime"),
        ("age", TODO),
        ("candidate", TODO),
        ("paid", TODO),
        ("monday", TODO),
    ],
)
def test_names_tell_ids_and_dates(name: str, kind: str) -> None:
    assert draft_of_names([name])["columns"][name]["type"] == kind


def test_a_rule_is_open_until_nothing_is_left_to_say() -> None:
    assert is_open(OPEN) and is_open({"type": TODO}) and not is_open(AGE)
    assert "still TODO" in str(trouble_in({"age": OPEN})["age"])
    assert trouble_in({"age": AGE}) == {}


def test_only_sound_columns_are_used_and_what_follows_from_an_open_one_waits() -> None:
    region = {"type": "categorical", "values": ["n", "s"]}
    size = {"type": "follows", "of": "region", "map": {"n": 1, "s": 2}}
    wage = {"type": "follows", "of": "age", "cuts": [18], "values": ["no", "yes"]}
    columns = {"region": region, "size": size, "age": OPEN, "wage": wage}
    draft = {"columns": columns, "targets": ["age"], "strata": ["region"]}
    assert usable(draft) == {
        "columns": {"region": region, "size": size},
        "targets": [],
        "strata": ["region"],
    }
    assert "age, which it follows" in trouble_in(columns)["wage"].message


def test_another_draft_fills_only_what_is_open() -> None:
    mine = {"columns": {"age": AGE, "wage": OPEN, "city": {"type": TODO}}}
    theirs = {"columns": {"age": OPEN, "wage": AGE, "extra": AGE}, "targets": ["city"]}
    both = filled(mine, theirs)
    assert both["columns"] == {"age": AGE, "wage": AGE, "city": {"type": TODO}}
    assert both["targets"] == ["city"]


def test_a_schema_that_is_taken_over_says_all_about_the_columns_that_are_there() -> None:
    mine = {"columns": {"age": OPEN, "id": {"type": "id"}}}
    theirs = {"columns": {"age": AGE, "extra": AGE}, "targets": ["city"]}
    assert taken_over(mine, theirs) == {
        "columns": {"age": AGE, "id": {"type": "id"}},
        "targets": ["city"],
    }


def test_a_changed_rule_is_no_longer_a_bought_one() -> None:
    from tabveil.schema import rule_mark

    found = {"epsilon": 1.0, "delta": 1e-6, "rho": "1/100", "columns": {"age": rule_mark(AGE)}}
    assert bought_columns({"columns": {"age": AGE, "b": OPEN}, "found": found}) == {"age"}
    changed = {"columns": {"age": AGE | {"max": 98}}, "found": found}
    assert bought_columns(changed) == set()
    assert bought_columns({"columns": {"age": AGE}}) == set()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("F\nM\n", ["F", "M"]),
        ("F, M", ["F", "M"]),
        ("1\tmale\n2\tfemale", [1, 2]),
        ("1 = male\n2 = female", [1, 2]),
        ("01\n02", ["01", "02"]),
        ("0.5\n1", [0.5, 1.0]),
        ("'1'\n\"2\"", [1, 2]),
        ("Smith, John\nMiller, Ann", ["Smith, John", "Miller, Ann"]),
        ("false\ntrue", [False, True]),
        ("true\nfalse\nperhaps", ["true", "false", "perhaps"]),
        ("", []),
    ],
)
def test_code_lists_are_read_as_people_paste_them(text: str, values: list) -> None:
    assert code_list(text) == values


@given(st.lists(st.from_regex(r"[a-z][a-z ]{0,8}[a-z]", fullmatch=True), min_size=2))
def test_a_list_of_words_comes_back_as_it_was(words: list[str]) -> None:
    assert code_list("\n".join(words)) == words
