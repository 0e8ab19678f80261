"""What a person does not see is not told to a model."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import whole_text
from actum.protocols.plain_text import plain, plain_json, shown

pytestmark = pytest.mark.row("T4")

NUMBER_SIGNS = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
KEPT = set("\t\n") | NUMBER_SIGNS


@pytest.mark.parametrize(
    ("hidden", "left"),
    [
        ("a\u200bb\u2060c\ufeffd", "abcd"),
        ("pay \u202eecila\u202c", "pay ecila"),
        ("x\u2066y\u2069", "xy"),
        ("hi" + "".join(chr(0xE0000 + ord(letter)) for letter in "obey"), "hi"),
        ("hi" + "".join(chr(0xE0100 + number) for number in (1, 2, 3)), "hi"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07end\x00\x08", "red end"),
        ("soft\u00adhyphen", "softhyphen"),
        ("one\rtwo\u2028three\x85four\r\nfive", "one\ntwo\nthree\nfour\r\nfive"),
        ("a\u200db", "ab"),
        ("\ufe0f", ""),
        ("\u3164\u115f", ""),
        ("\U0001f600\u200d\ufe0f", "\U0001f600"),
        ("a\ufe0f\u200d\U0001f600", "a\U0001f600"),
    ],
)
def test_hidden_characters_are_taken_out(hidden: str, left: str) -> None:
    assert plain(hidden) == left


@pytest.mark.parametrize(
    "text",
    [
        "Zürich, 北京, かな\u3099\n\tindented",  # not normalised
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f\u200d\U0001f525 1\ufe0f\u20e3",
        "می\u200cخواهم",
        "क्\u200dष",
        "\u0661\u0600\u0662",
    ],
)
def test_what_a_script_needs_stays(text: str) -> None:
    assert plain(text) == text


def test_every_control_and_format_character_is_known() -> None:
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") and letter not in KEPT:
            assert shown(f"a{letter}b") == f"a\\u{{{code:x}}}b"
            assert plain(f"a{letter}b") in ("ab", "a\nb"), hex(code)


@given(st.text())
def test_what_is_plain_stays_as_it_is(text: str) -> None:
    once = plain(text)
    assert plain(once) == once
    assert [letter for letter in shown(once) if letter in "\u200b\u202e\x1b\x00"] == []


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"], exclude_characters="\u115f\u1160\u3164\uffa0")))
def test_letters_digits_and_signs_are_never_touched(text: str) -> None:
    assert plain(text) == whole_text(text)


def test_texts_of_a_value_are_plain_and_keys_too() -> None:
    assert plain_json({"a\u200b": ["x\u202e", 1, None, {"b": True}]}) == {"a": ["x", 1, None, {"b": True}]}
