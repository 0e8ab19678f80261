"""Documents of every kind are read in a jail as what a person would see, and what can not be read has a reason."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.knowledge.cutting import PASSAGE_CHARS_MAX, passages_of
from actum.knowledge.jailed_reader import JailedReader, checked
from actum.knowledge.reading.child import read
from actum.knowledge.reading.page import DocumentPage, Heading, UnreadableDocument
from actum.sandbox.backend import NoJail

from . import files

pytestmark = pytest.mark.row("F8")


@pytest.fixture
async def reader() -> AsyncIterator[JailedReader]:
    async with JailedReader() as made:
        yield made


def named(page: DocumentPage) -> list[str]:
    return [page.text[each.start : each.end] for each in page.headings]


def test_html_is_what_a_person_would_see() -> None:
    page = read("html", files.HTML.encode())
    assert page.title == "Travel rules"
    assert page.text == (
        "Hotels\n\nA hotel may cost 120 euros. See the year before.\n\nZerowidth words.\n\n- Keep the bill\n"
        "- Ask before\n1. first\n\nCity | Limit\nRome | 150\n\na  =  1\n  b"
    )
    assert named(page) == ["Hotels"]
    assert [(page.text[each.start : each.end], each.target) for each in page.links] == [("the year before", "old.html")]
    units = [page.text[each.start : each.end] for each in page.units]
    assert {"Hotels", "Keep the bill", "City", "Rome", "150"} <= set(units)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("one <span hidden>two</span> three", "one three"),
        ("one <span style='display:none'>two <i hidden>2</i> <span>2</span> 2</span> three", "one three"),
        ("one <script>two</script> `<span hidden>` three", "one <span hidden> three"),
        ("one <span hidden>two\n\nthree", "one\n\nthree"),
        ("<div style='display: none'>\n\none **two**\n\n- two\n\n```\ntwo\n```\n\n</div>\n<p>three</p>", "three"),
        ("<div hidden><div>\n\none\n\n</div>\n\ntwo\n\n</div>\n\nthree", "three"),
        ("<p hidden>one\n\ntwo\n\n<details>\n<summary>three</summary>\n\nfour\n\n</details>", "two\n\nthree\n\nfour"),
    ],
)
def test_what_html_hides_in_markdown_is_left_out(text: str, seen: str) -> None:
    assert read("markdown", text.encode()).text == seen


async def test_pdf_words_broken_at_the_end_of_a_line_are_whole_and_pages_are_counted(reader: JailedReader) -> None:
    data = files.pdf("Notice\nThe period of no-\ntice is three months.", "Rent\nIt is due.", title="Lease")
    page = await reader.read("lease.PDF", data)
    assert reader.is_jailed
    assert page.title == "Lease"
    assert "The period of notice is three months." in page.text
    assert named(page) == ["Notice", "Rent"]
    assert page.position(page.text.index("due")).page == 2


async def test_office_files_are_read_without_what_is_hidden(reader: JailedReader) -> None:
    lease = await reader.read("a.docx", files.word("The rent is 900 euros."))
    assert "The rent is 900 euros." in lease.text
    assert "- Keep the bill" in lease.text
    assert named(lease) == ["Lease"]
    prices = await reader.read("a.xlsx", files.sheet())
    assert prices.text == "Prices\n\nCity | Limit\nRome | 150\nOslo | 180.5"
    assert prices.position(prices.text.index("Oslo")).line == 4
    plan = await reader.read("a.pptx", files.slides())
    assert "We go in May 0." in plan.text
    assert named(plan) == ["Plan", "Costs"]
    assert plan.position(plan.text.index("May 2")).page == 3
    assert "x-" not in prices.text + plan.text


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16", "gb18030", "utf-8"])
async def test_a_charset_is_found_by_its_mark_or_by_how_the_text_looks(charset: str, reader: JailedReader) -> None:
    text = "酒店每晚最多一百二十欧元。请保留发票，出差之前先问经理。"
    assert (await reader.read("a.txt", text.encode(charset))).text == text
    told = f"<meta charset={'gb18030' if charset == 'gb18030' else 'utf-8'}><p>{text}"
    if charset in ("gb18030", "utf-8"):
        assert (await reader.read("a.html", told.encode(charset))).text == text


def hostile() -> list[tuple[str, bytes, str]]:
    """Documents that can not be read, and why; some are large, and made only for their test."""
    return [
        ("a.pdf", files.pdf("Secret", password="open"), "encrypted"),
        ("a.pdf", files.pdf(""), "no_text"),
        ("a.pdf", files.pdf("x")[:400], "broken"),
        ("a.pdf", files.pdf(*["x"] * 501), "too_many_pages"),
        ("a.docx", b"\xd0\xcf\x11\xe0" + b"x" * 600, "encrypted"),
        ("a.docx", b"PK\x03\x04 no archive", "broken"),
        ("a.docx", files.repacked(files.word("x"), "word/document.xml", files.LAUGHS), "broken"),
        (
            "a.docx",
            files.repacked(files.word("x"), "word/document.xml", b"<!--" + b"x" * 9_000 + b"-->" + files.LAUGHS[21:]),
            "broken",
        ),
        ("a.docx", files.repacked(files.word("x"), "word/document.xml", b" " * 90_000 + files.LAUGHS[21:]), "broken"),
        ("a.docx", files.repacked(files.word("x"), "word/big.xml", b"0" * 210 * 1024 * 1024), "too_large"),
        ("a.xlsx", files.word("x"), "broken"),
        ("a.html", b"<p>" + b"<b>" * 20_000 + b"x", ""),
        ("a.txt", b"\0\1\2\3" * 1_000, "broken"),
        ("a.txt", b" \n ", "empty"),
        ("a.html", b"<p hidden>x", "empty"),
        ("a.txt", b"word " * 500_000, "too_much_text"),
        ("a.jpg", b"x", "unknown_kind"),
        ("a.txt", b"x" * (50 * 1024 * 1024 + 1), "too_large"),
    ]


async def told(reader: JailedReader, name: str, data: bytes) -> str:
    """Why a document can not be read; empty where it can."""
    try:
        page = await reader.read(name, data)
    except UnreadableDocument as error:
        return error.problem
    assert "root:" not in page.text
    return ""


async def test_what_can_not_be_read_says_why_and_the_next_document_is_read(reader: JailedReader) -> None:
    for name, data, problem in hostile():
        assert await told(reader, name, data) == problem, (name, data[:40])
    assert (await reader.read("a.md", b"# Hello")).text == "Hello"


async def test_a_document_that_takes_too_long_is_given_up_and_its_process_is_ended() -> None:
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    async with JailedReader(read_s=3.0) as reader:
        with pytest.raises(UnreadableDocument) as refused:
            await reader.read("a.html", f"<p {attributes}>x".encode())
        assert refused.value.problem == "too_slow"
        assert (await reader.read("a.md", b"# Hello")).text == "Hello"


async def test_without_a_jail_documents_are_read_and_it_is_said() -> None:
    async with JailedReader(NoJail(sys.platform)) as reader:
        assert (await reader.read("a.md", b"# Hello")).text == "Hello"
        assert not reader.is_jailed


async def test_a_reader_that_is_cancelled_reads_the_next_document(reader: JailedReader) -> None:
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await reader.read("a.html", f"<p {attributes}>x".encode())
    assert (await reader.read("a.md", b"# Hello")).text == "Hello"


def test_what_a_child_answers_is_not_believed() -> None:
    with pytest.raises(UnreadableDocument):
        checked(DocumentPage("", "short", headings=(Heading(0, 99, 1),)))
    with pytest.raises(UnreadableDocument):
        checked(DocumentPage("", "short", headings=(Heading(-1, 2, 1),)))


@given(st.lists(st.one_of(st.text(max_size=40), st.sampled_from(["# H", "- item", "x" * 3_000, "one. two. " * 300]))))
def test_passages_hold_every_word_of_a_page_once(parts: list[str]) -> None:
    data = "\n\n".join(parts).encode(errors="replace")
    try:
        page = read("markdown", data)
    except UnreadableDocument:
        return
    passages = passages_of(page)
    assert "".join("".join(page.text[each.start : each.end].split()) for each in passages) == "".join(page.text.split())
    assert all(each.end - each.start <= PASSAGE_CHARS_MAX for each in passages)


def test_a_passage_knows_its_heading_and_its_lines() -> None:
    page = read("markdown", b"# Travel\n\nFirst.\n\n## Hotels\n\nA hotel\nmay cost 120.\n\n- item\n")
    told = [(each.heading, each.first, each.last) for each in passages_of(page)]
    assert told == [("Travel", 1, 3), ("Hotels", 5, 10)]
