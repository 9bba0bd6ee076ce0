"""A refusal is a line that explains and a line that helps."""

import pytest

from tabveil.errors import BudgetExceeded, Interrupted, InvalidInput, TabveilError, either


@pytest.mark.parametrize(
    ("choices", "words"),
    [(["a"], "a"), (["a", "b"], "a or b"), ({"a": 1, "b": 2, "c": 3}, "a, b or c")],
)
def test_choices_are_put_into_words(choices, words: str) -> None:
    assert either(choices) == words


def test_a_hint_stands_on_a_line_of_its_own_and_may_be_left_out() -> None:
    assert str(InvalidInput("No.", "Try yes.")) == "No.\nHint: Try yes."
    assert str(InvalidInput("No.")) == "No."


def test_exit_codes_tell_refusals_apart() -> None:
    codes = [kind.exit_code for kind in (TabveilError, InvalidInput, BudgetExceeded, Interrupted)]
    assert codes == [1, 1, 3, 130]
