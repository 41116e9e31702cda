"""Errors are one short line, whatever they quote."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.errors import LONGEST_LINE, LONGEST_QUOTED, InputError, one_line, quoted, unknown_name, visible

HIDDEN = "\u202e\u202d\u2066\u2069\u200b\u200d\u200f\ufeff\u00ad\u2028\u2029\u0085\x00\x1b\x7f\x9b\ud800\u3164"


@given(st.text(st.characters() | st.sampled_from(HIDDEN), max_size=400))
def test_an_error_is_a_line_that_shows_all_that_is_in_it(text):
    said = str(InputError(text))
    assert len(said) <= max(len(text), 3)
    assert not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in said)
    assert set(HIDDEN).isdisjoint(said)
    assert said.splitlines() in ([said], [])
    assert str(InputError(said)) == said


def test_ordinary_text_stays_as_it_is():
    for text in ("C:/Users/Zoë/a  b.npz", "姓名, имя, اسم", "AUC 0.74 [0.70, 0.78]", "naïve 5 µm"):
        assert one_line(text) == visible(text) == text


ENDLESS = {
    "text": "x" * 10**6,
    "a list": ["x" * 1000] * 1000,
    "tables": {"a" * 999: [[[[1] * 99] * 99] * 99]},
    "a number": 10**5000,
    "directions": "\u202e" * 999,
    "line breaks": {"\n": "\r"},
}


@pytest.mark.parametrize("value", ENDLESS.values(), ids=ENDLESS.keys())
def test_values_are_quoted_short(value):
    assert len(quoted(value)) <= LONGEST_QUOTED
    assert quoted(value).isprintable()


def test_a_value_without_end_is_quoted_by_its_type():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert len(quoted(deep)) <= LONGEST_QUOTED


def test_long_errors_end():
    assert len(str(InputError("a name\n" * 10**5))) == LONGEST_LINE
    assert len(str(InputError("x" * 10**6))) <= LONGEST_LINE


def test_an_endless_name_is_no_work_and_no_noise():
    said = str(unknown_name("attack", "mi" * 10**6, ["mia", "lira", "y" * 10**6]))
    assert len(said) <= LONGEST_LINE
    assert "did you mean 'mia'?" in str(unknown_name("attack", "mai", ["mia", "lira"]))


def test_names_are_not_all_listed_where_there_are_many():
    many = [f"name-{number:02}" for number in range(40)]
    near, far = str(unknown_name("attack", "name-7", many)), str(unknown_name("attack", "quite other", many))
    assert "did you mean 'name-" in near
    for said in (near, far):
        assert said.count("name-") <= 14
        assert "more ('gaudit list attacks' lists them)" in said
    assert "gaudit list" not in str(unknown_name("attack setting", "quite other", many))
