from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Ambiguous, Json, JsonProblem, dumps, parse
from actum.dialects.json_mend import mend
from tests.dialects.text_corpus import values

plain = st.text(st.characters(codec="ascii", exclude_characters="'\"\\", exclude_categories=["Cc"]), max_size=8)
python_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_what_is_json_is_read_as_it_is(value: Json) -> None:
    text = json.dumps({"v": value}, ensure_ascii=False)
    read, repairs = mend(text)
    assert read == {"v": value} or "quote in a string" in repairs
    assert json.loads(text) == {"v": value}


@given(python_values)
def test_python_literals_are_read(value: Json) -> None:
    assert mend(repr(value))[0] == value


@pytest.mark.parametrize(
    ("text", "value", "repair"),
    [
        ("{'a': 1}", {"a": 1}, "single quotes"),
        ("{“a”：“b”，“c”：1}", {"a": "b", "c": 1}, "full-width punctuation"),
        ('{"a": True}', {"a": True}, "True is not JSON"),
        ('{"a": [1, 2,],}', {"a": [1, 2]}, "comma too many"),
        ("{a_b: 1}", {"a_b": 1}, "key without quotes"),
        ('{"a": Beijing}', {"a": "Beijing"}, "text without quotes"),
        ('{"a": 007}', {"a": "007"}, "text without quotes"),
        ('{"u": http://x.org/?a=b}', {"u": "http://x.org/?a=b"}, "text without quotes"),
        ('{"a": 1 // one\n}', {"a": 1}, "comment"),
        ('{"a": /* one */ 1}', {"a": 1}, "comment"),
        ('{"a": "x\ny"}', {"a": "x\ny"}, "line break or tab in a string"),
        ('{"a": "say "no" twice"}', {"a": 'say "no" twice'}, "quote in a string"),
        ("{'a': 'it's'}", {"a": "it's"}, "quote in a string"),
        (r'{"a": "C:\_x"}', {"a": r"C:\_x"}, "escape that JSON does not have"),
        ('{"a": 1}}', {"a": 1}, "bracket too many"),
        ("{'a': 2, 'a': 2}", {"a": 2}, "key 'a' is given twice with one value"),
        (r'{"a": "\ud83d\ude00 \ud83d",}', {"a": "😀 \ufffd"}, "half a surrogate pair: replaced by U+FFFD"),
    ],
)
def test_what_models_write_instead_of_json_is_mended_and_recorded(text: str, value: Json, repair: str) -> None:
    read, repairs = mend(text)
    assert read == value
    assert repair in repairs


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a"',
        '{"a": "b',
        '{"a": 1',
        '{"a": NaN}',
        "{'a': -Infinity}",
        '{"a": 1} and more',
        '{"a" 1}',
        "{,}",
        "[" * 200,
    ],
)
def test_what_can_not_be_meant_is_refused(text: str) -> None:
    with pytest.raises(JsonProblem):
        mend(text)


def test_missing_brackets_are_added_only_when_asked_and_a_string_is_never_completed() -> None:
    assert mend('{"a": [1, {"b": 2', close=True) == ({"a": [1, {"b": 2}]}, ("closing bracket missing",))
    with pytest.raises(JsonProblem):
        mend('{"a": "Beij', close=True)


@given(st.text(st.sampled_from("{}[]\"'“”,，:：\\a1 \n/*-"), max_size=40), st.booleans())
def test_any_text_is_read_or_refused(text: str, close: bool) -> None:
    with contextlib.suppress(JsonProblem):
        value, _ = mend(text, close=close)
        assert parse(dumps(value))[0] == value


@pytest.mark.row("C1")
def test_of_two_meanings_none_is_chosen() -> None:
    for text in (
        "{'a': 1, 'a': 2}",
        """{"a": "rm 'x' && echo "a", "b": "c"}""",
        """{'a': 'echo 'a', 'b': 'c'}""",
        """["say "no", "yes"]""",
    ):
        with pytest.raises(Ambiguous):
            mend(text)
    for text, value in (
        ("""{'a': 'don't, please'}""", "don't, please"),
        ("""{'a': 'the dogs' bowl'}""", "the dogs' bowl"),
        ("""{"a": "he said "no, no" to me"}""", 'he said "no, no" to me'),
        ("""{"a": "他说"好"了"}""", '他说"好"了'),
        ("""{"a": "a 5" pipe"}""", 'a 5" pipe'),
    ):
        assert mend(text)[0] == {"a": value}
