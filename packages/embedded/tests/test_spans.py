"""The typed pieces of a question."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum_embedded.text.clauses import read
from packages.embedded.tests.harness import TODAY


def spans(text: str, *kinds: str) -> list[tuple[str, object]]:
    return [(span.kind, span.value) for span in read(text, TODAY).spans if span.kind in kinds]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mail bob@example.com or a.b+c@x.co.uk", [("email", "bob@example.com"), ("email", "a.b+c@x.co.uk")]),
        ("open https://x.org/a?b=1, then www.y.cn.", [("url", "https://x.org/a?b=1"), ("url", "www.y.cn")]),
        ("call +1234567890 now", [("code", "+1234567890")]),
        ("打开 https://example.org 看看", [("url", "https://example.org")]),
        ("find *.py in src/actum and README.md", [("file", "*.py"), ("file", "src/actum"), ("file", "README.md")]),
        ("把草稿.docx改名叫终稿.docx", [("file", "草稿.docx"), ("file", "终稿.docx")]),
        ("打印合同.pdf", [("file", "合同.pdf")]),
        ("将D:/报告/季度.xlsx复制到E:/备份", [("file", "D:/报告/季度.xlsx"), ("file", "E:/备份")]),
        ("密码是Pwd123，相机调到ISO3200", [("code", "Pwd123"), ("code", "ISO3200")]),
        ("drone A-17, order #42, stock AAPL", [("code", "A-17"), ("code", "42"), ("code", "AAPL")]),
        (
            "say “hi”, 「你好」 and 'good morning' in Bob's room",
            [("quoted", "hi"), ("quoted", "你好"), ("quoted", "good morning")],
        ),
        ("Ada Lovelace and Ludwig van Beethoven", [("name", "Ada Lovelace"), ("name", "Ludwig van Beethoven")]),
        ("歌手邓紫棋的歌", [("chunk", "邓紫棋")]),
        ("Paris, 纽约 and United States", [("city", "Paris"), ("city", "纽约"), ("country", "United States")]),
        ("translate into French 或日语", [("language", "French"), ("language", "日语")]),
        ("let us meet, it is nice", []),
        ("2024-01-05 10-3", [("date", "2024-01-05"), ("expression", "10-3")]),
        ("5月1号是周几？离那天还有几天", [("date", "2026-05-01"), ("date", "2026-05-01")]),
        ("我的号码是159 0041 2287", [("code", "159 0041 2287")]),
        ("所有png图片", [("file", "*.png")]),
        ("Set the light", []),
        ("T-101显示，给t_order加字段", [("code", "T-101"), ("code", "t_order")]),
        ("call 415-555-0132 or +1-202-555-0173", [("code", "415-555-0132"), ("code", "+1-202-555-0173")]),
        ("放行10.10.0.0/16到10.20.1.8", [("code", "10.10.0.0/16"), ("code", "10.20.1.8")]),
        ("find all .py in ~/projects/demo里", [("file", ".py"), ("file", "~/projects/demo")]),
        ("执行/opt/x.sh，每公斤5元/kg", [("file", "/opt/x.sh")]),
        ("对https://example.com/page做压测", [("url", "https://example.com/page")]),
        ("把api.test.io解析到", [("url", "api.test.io")]),
        ("5x10, cos60, 2e30 kg, 图片调成295x413", []),
    ],
)
def test_pieces_are_found(text: str, found: list[tuple[str, object]]) -> None:
    kinds = {kind for kind, _ in found} or {"city", "country", "name", "code"}
    assert spans(text, *kinds) == found


def test_a_number_knows_its_unit_and_a_unit_whether_it_stands_alone() -> None:
    found = [(span.kind, span.value, span.detail) for span in read("5 miles to km, $100, 3 in Berlin", TODAY).spans]
    assert ("number", 5, "length:mi") in found
    assert ("unit", "miles", "length:mi") in found
    assert ("unit", "km", "length:km:free") in found
    assert ("number", 100, "USD") in found
    assert ("number", 3, "") in found


@given(st.text(max_size=80))
def test_a_piece_stands_where_it_is_said_to(text: str) -> None:
    for span in read(text, TODAY).spans:
        assert 0 <= span.start <= span.end <= len(text)
        assert span.text == text[span.start : span.end]


LONG = [
    "1",
    "x 3 ",
    "2x ",
    "a 1 ",
    "3a/",
    "2  a",
    "A 1/2 ",
    "hundred ",
    "一",
    "9e99",
    "1,",
    "x^2 + ",
    "9x^2 = 9",
    "http://",
    "(1+",
]


@pytest.mark.no_cover
@pytest.mark.parametrize("again", LONG)
def test_the_longest_message_of_one_thing_again_and_again_is_read(again: str) -> None:
    """None of these came to an end, or they ended in an error: there were as many ways to read them as subsets."""
    for message in ((again * 2_000)[:2_000], (again * 2_000)[:1_990] + " = Z!"):
        for span in read(message, TODAY).spans:
            if span.kind == "number":
                assert isinstance(span.value, int | float)
                assert math.isfinite(span.value)
                assert abs(span.value) < 1e18 or isinstance(span.value, float)
