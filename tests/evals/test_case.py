"""A file of cases is read as it is meant, and whatever can not be meant is refused with its line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import UsageError
from actum.evals.case import CASE_BYTES_MAX, Case, digest_of_cases, read_case, read_cases
from actum.evals.pattern import fits, matches

pytestmark = pytest.mark.row("F4")

TALK = '[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."},{"role":"user","content":"And now?"}]'


def written(folder: Path, text: str | bytes, name: str = "cases.jsonl") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_cases_are_read_and_what_was_written_is_read_back(tmp_path: Path) -> None:
    lines = [
        '{"id":"a","input":"How many bolts?","expected":{"calls":[{"name":"stock"}],"others":"read"},"tags":["x"]}',
        f'{{"id":"b","input":{TALK},"expected":{{"output":null}},"must":true}}',
        "",
        '{"id":"c","input":"Nothing."}',
    ]
    cases = read_cases(written(tmp_path, "\n".join(lines)))
    assert [case.id for case in cases] == ["a", "b", "c"]
    assert (cases[1].question, len(cases[1].messages)) == ("And now?", 3)
    assert [case.expected.says_nothing for case in cases] == [False, False, True]
    again = read_cases(written(tmp_path, b"\n".join(msgspec.json.encode(case) for case in reversed(cases))))
    assert digest_of_cases(again) == digest_of_cases(cases)
    assert digest_of_cases(again[1:]) != digest_of_cases(cases)


def test_csv_has_a_text_to_contain_and_tags(tmp_path: Path) -> None:
    text = '\ufeffid,input,expected,tags\na,"How many\nbolts?",12,x y\nb,Hi,,\n'
    first, second = read_cases(written(tmp_path, text, "cases.csv"))
    assert (first.input, first.expected.text and first.expected.text.contains, first.tags) == (
        "How many\nbolts?",
        "12",
        ("x", "y"),
    )
    assert second.expected.says_nothing


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"id":"a","input":"x","expect":{}}', "expect"),
        ('{"id":"a","input":"x","expected":{"calls":[{"name":"t","args":{}}]}}', "args"),
        ('{"id":"first","input":"x"}', "line 1"),
        ('{"id":"","input":"x"}', "id"),
        ('{"id":"a","input":[]}', "input"),
        ('{"id":"a","input":[{"role":"assistant","content":"Hi"}]}', "input"),
        ('{"id":"a","input":"x","expected":{"text":{"matches":"(?=a)b"}}}', "expected.text.matches"),
        ('{"id":"a","input":"x","expected":{"calls":[{"name":"t","arguments":{"n":{"$matches":"("}}}]}}', "calls[0]"),
        ('{"id":"a","input":"x","expected":{"calls":[{"name":"t"}],"no_calls":true}}', "no_calls"),
        ('{"id":"a","input":"x","expected":{"text":{"number":1e999}}}', "number"),
        ('{"id":"a","input":"x","results":{"t":' + "[" * 5_000 + "]" * 5_000 + "}}", "nested"),
        ('{"id":"a","input":"x"', ""),
        ("\x00", ""),
        ('{"id":"a","input":"' + "x" * 100_000 + '"}', "bytes"),
    ],
)
def test_a_line_that_is_no_case_is_refused_with_its_number(line: str, why: str, tmp_path: Path) -> None:
    path = written(tmp_path, f'{{"id":"first","input":"x"}}\n{line}\n{{"id":"third","input":"x"}}\n')
    with pytest.raises(UsageError) as caught:
        read_cases(path)
    assert f"{path.name}:2:" in str(caught.value)
    assert why in str(caught.value)


def test_a_line_of_fifty_megabytes_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    with path.open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    with pytest.raises(UsageError, match=f"jsonl:1: a case has at most {CASE_BYTES_MAX} bytes"):
        read_cases(path)


def test_a_pattern_that_would_keep_others_busy_is_harmless() -> None:
    assert not matches("^(a+)+$", "a" * 50_000 + "!")
    assert matches("b.?lt", "two bolts")


@given(st.text(min_size=1).filter(str.strip))
def test_the_same_question_is_always_on_the_same_side(text: str) -> None:
    one, other = Case(id="a", input=text), Case(id="b", input=f"  {text.upper().lower()}\n")
    plain = Case(id="c", input=" ".join(text.upper().lower().split()))
    assert other.split == plain.split
    assert one.split in ("train", "held_out")


def test_a_fifth_of_all_questions_is_held_out() -> None:
    sides = [Case(id="a", input=f"question {number}").split for number in range(2_000)]
    assert 330 < sides.count("held_out") < 470


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_a_value_fits_itself_and_open_values_fit_what_they_say(value: object, other: object) -> None:
    assert fits(value, value)  # type: ignore[arg-type]
    assert fits({"$anything": True}, value)  # type: ignore[arg-type]
    assert fits({"$any": [other, value]}, value)  # type: ignore[list-item,arg-type]
    assert fits(value, other) == fits(other, value)  # type: ignore[arg-type]


def test_numbers_are_equal_by_value_and_true_is_no_number() -> None:
    assert fits(2, 2.0)
    assert not fits(1, True)
    assert not fits(True, 1)
    assert not fits({"$matches": "1"}, 1)


def test_a_case_is_no_file_of_its_own() -> None:
    with pytest.raises(UsageError, match=r"^here: "):
        read_case(b"[]", "here")
