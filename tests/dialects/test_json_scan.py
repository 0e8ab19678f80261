from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.dialects.json_scan import JsonScan
from tests.dialects.text_corpus import cuts, pieces_of, values


def marks(pieces: Iterable[str]) -> list[tuple[int, str, int]]:
    """Place in the whole text, mark, and depth behind it, up to the end of the value."""
    scan, found, start = JsonScan(), [], 0
    for piece in pieces:
        at = 0
        while True:
            at, mark = scan.next(piece, at)
            if not mark:
                break
            found.append((start + at, mark, scan.depth))
            at += 1
            if not scan.depth:
                return found
        start += len(piece)
    return found


def end_of(text: str) -> int:
    place, _, depth = marks([text])[-1]
    return place + 1 if depth == 0 else -1


@given(values, cuts)
def test_the_end_of_a_value_is_found_whatever_stands_behind_it_and_however_it_is_cut(
    value: object, places: list[int]
) -> None:
    text = json.dumps([value], ensure_ascii=False)
    whole = marks([text + ' ]}"'])
    assert whole[-1] == (len(text) - 1, "]", 0)
    assert marks(pieces_of(text, places)) == whole


@given(st.text(st.sampled_from("{}[]\"'“”,，\\a :\n"), max_size=40), cuts)
def test_marks_do_not_depend_on_the_cuts_in_any_text(text: str, places: list[int]) -> None:
    assert marks(pieces_of("{" + text, places)) == marks(["{" + text])


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "}", "b": "\\"}"}',
        "{'a': '}', 'it': \"it's }\"}",
        "{“a”：“}”，“b”：1}",
        '{"a": "他说“好}”"}',
        "{a: don't}",
        '{"a": "\\\\"}',
    ],
)
def test_brackets_in_strings_of_all_kinds_are_passed_over(text: str) -> None:
    assert end_of(text + "}") == len(text)


def test_a_bracket_closes_what_stands_open_inside_its_own() -> None:
    assert end_of('{"a": [1, {"b": 2]}') == 19
    assert marks(['{"a": ]}'])[-1] == (7, "}", 0)


def test_a_scan_that_ends_in_a_string_says_so() -> None:
    scan = JsonScan()
    scan.next('{"a": "b', 1)
    assert scan.in_string
    scan.next('"', 0)
    assert not scan.in_string
