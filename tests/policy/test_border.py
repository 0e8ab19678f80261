"""Where a value ends inside a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.policy.border import (
    lower,
    same_but_for_case,
    spaced,
    stands_whole,
)

pytestmark = pytest.mark.row("C3")

WHOLE = [
    ("call Ada.", "Ada"),
    ("Ada's house", "Ada"),
    ("Ada’s house", "Ada"),
    ("(Ada)", "Ada"),
    ("'ada'", "ada"),
    ("**Ada**", "Ada"),
    ("@ada said", "ada"),
    ("ada;bob", "ada"),
    ("1. Pay", "1"),
    ("付给ada转账", "ada"),
    ("收款人:ada-main", "ada-main"),
    ("北京电力公司", "电力"),
    ("エイダに送る", "エイダ"),
    ("to=ada", "ada"),
    ("call pay to=ada@x.com", "ada@x.com"),
    ("mailto:a@b.com", "a@b.com"),
    ("<a@b.com>, c", "a@b.com"),
    ("a@b.com,c@d.com", "a@b.com"),
    ("a@b.com;c@d.com", "c@d.com"),
    ("see https://a.com/x, and", "https://a.com/x"),
    ("(https://a.com/x)", "https://a.com/x"),
    ("https://a.com,https://b.com", "https://a.com"),
    ("看https://a.com吧", "https://a.com"),
    ("https://a.com/", "https://a.com"),
    ("#12", "12"),
    ("20%", "20"),
    ("$20", "20"),
    ("US$20", "20"),
    ("20€", "20"),
    ("付20元", "20"),
    ("3 cats,4 dogs", "4"),
    ("hello there! Bye", "hello there!"),
]
PIECES = [
    ("ada@x.com", "ada"),
    ("ada@x.com", "x.com"),
    ("bob+ada@x.com", "ada@x.com"),
    ("x.ada@x.com", "ada@x.com"),
    ("ada@x.com.evil", "ada@x.com"),
    ("ada@x.com@evil", "ada@x.com"),
    ("ada@x.company", "ada@x.com"),
    ("ada@公司.cn", "ada"),
    ("O'Brien", "O"),
    ("mallory-1", "mallory"),
    ("INV-1-2", "INV-1"),
    ("ada_main", "ada"),
    ("ada/bob", "ada"),
    ("/srv/data", "srv"),
    ("/srv/data", "srv/data"),
    (".env", "env"),
    ("x?to=ada", "ada"),
    ("ada%40x", "ada"),
    ("ada\u200bx", "ada"),
    ("ada\u200b", "ada"),
    ("ada\u0301", "ada"),
    ("ada\u2011x", "ada"),
    ("エイダに", "エイ"),
    ("1000", "100"),
    ("1,000.00", "1"),
    ("1,000.00", "000.00"),
    ("1.5", "1"),
    ("-20", "20"),
    ("20EUR", "20"),
    ("10:30", "10"),
    ("2026-12-01", "12"),
    ("https://a.com/evil", "https://a.com"),
    ("https://a.com/x,y", "https://a.com/x"),
    ("https://a.com.evil.org", "https://a.com"),
    ("xhttps://a.com", "https://a.com"),
]


def test_a_value_stands_whole_only_between_borders() -> None:
    for cases, whole in ((WHOLE, True), (PIECES, False)):
        for text, value in cases:
            for before, after in (("", ""), ("so ", " then"), ('"', '"')):
                start = text.rindex(value) + len(before)
                around = f"{before}{text}{after}"
                assert (around, value, stands_whole(around, start, start + len(value))) == (around, value, whole)


@given(st.text(min_size=1), st.data())
def test_a_whole_text_is_whole_and_no_place_raises(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert stands_whole(text, start, end) in (True, False)
    assert stands_whole(f"say {text} now", 4, 4 + len(text))


@given(st.text())
def test_lower_case_keeps_every_place(text: str) -> None:
    assert len(lower(text)) == len(text)
    assert lower(lower(text)) == lower(text)


def test_what_looks_alike_is_not_the_same() -> None:
    for value, other in (
        ("mar\u212a", "mark"),  # the Kelvin sign
        ("m\u0430rk", "mark"),  # a Cyrillic letter
        ("stra\u00dfe", "strasse"),
        ("\uff41da", "ada"),  # full width
        ("a\u200bda", "ada"),
        ("a\u00adda", "ada"),
        ("\u0131d", "id"),
        ("fi\ufb01", "fifi"),
    ):
        assert (value, lower(spaced(value)) == lower(spaced(other))) == (value, False)
    assert lower(spaced("CAFE\u0301")) == lower(spaced("caf\u00e9"))


def test_case_says_nothing_in_names_and_something_in_links_and_ids() -> None:
    for value, found, same in (
        ("ada", "Ada", True),
        ("Ada.B3@x.com", "ada.b3@X.com", True),
        ("DE77", "de77", True),
        ("aB3", "AB3", False),
        ("ab3", "aB3", False),
        ("https://x.com/aB", "HTTPS://X.com/aB", True),
        ("https://x.com/ab", "https://x.com/aB", False),
        ("/srv/Data", "/srv/data", False),
    ):
        assert (value, found, same_but_for_case(value, found)) == (value, found, same)
