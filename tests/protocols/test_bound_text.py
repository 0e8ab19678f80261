"""Whatever a value is, a reader of the text finds the value at its place, and nothing else has changed."""

from __future__ import annotations

import json
import re
import shlex
from email import message_from_bytes, policy
from html.parser import HTMLParser
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Json
from actum.protocols.bound_text.address import bind_address, bind_path, bind_query
from actum.protocols.bound_text.form import bind_form, bind_multipart, form_of, multipart_of
from actum.protocols.bound_text.grammar import bind_body, bind_of, bind_pattern, bind_shell, bind_statement, is_known
from actum.protocols.bound_text.header import bind_header
from actum.protocols.bound_text.json_text import bind_json, structured
from actum.protocols.bound_text.markup import bind_markup
from actum.protocols.bound_text.part import VALUES_MAX, Given, Later, NoPlace, Part

pytestmark = pytest.mark.row("C1")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
of = Given.of


@given(TEXT, VALUE)
def test_json_says_what_its_author_and_the_values_say(text: str, value: Json) -> None:
    parts: list[Part] = ['{"a": "<', of(text), '>", "b": [', of(value), ', "', of(text), of("\\"), '"]}']
    assert json.loads(bind_json(parts)) == {"a": f"<{text}>", "b": [value, text + "\\"]}


@given(TEXT)
def test_forms_queries_and_addresses_say_what_the_values_say(text: str) -> None:
    pairs = [("a", text), ("b", f"1{text}")]
    assert parse_qsl(bind_form(["a=", of(text), "&b=1", of(text)]), keep_blank_values=True) == pairs
    assert parse_qsl(bind_query(["a=", of(text), "&b=1", of(text)]), keep_blank_values=True) == pairs
    assert parse_qsl(form_of({"a": text, "b": [text, "2"]}), keep_blank_values=True)[1:] == [("b", text), ("b", "2")]
    try:
        address = urlsplit(bind_address(["https://example.org/x/", of(text), "/y?q=", of(text)]))
    except NoPlace:
        return
    assert (address.netloc, address.fragment) == ("example.org", "")
    assert [unquote(each) for each in address.path.split("/")] == ["", "x", text, "y"]
    assert parse_qsl(address.query, keep_blank_values=True) == [("q", text)]


@given(TEXT)
def test_markup_commands_and_patterns_say_what_the_values_say(text: str) -> None:
    try:
        element = ElementTree.fromstring(bind_markup(['<a b="', of(text), '"><c>', of(text), "</c></a>"]))
    except NoPlace:
        pass
    else:
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        assert [each.tag for each in element.iter()] == ["a", "c"]
        assert (element[0].text or "") == plain
        assert list(element.attrib) == ["b"]
    assert re.fullmatch(bind_pattern(["<", of(text), ">"]), f"<{text}>")
    if "\0" not in text:
        assert shlex.split(bind_shell(["grep -- ", of(text), " file"])) == ["grep", "--", text, "file"]


@given(TEXT, TEXT)
def test_the_parts_of_a_form_are_those_of_its_author(name: str, text: str) -> None:
    body, media_type = multipart_of({"a": text, f"n{name}": "1"})
    message = message_from_bytes(b"Content-Type: " + media_type.encode() + b"\r\n\r\n" + body, policy=policy.HTTP)
    assert len(list(message.iter_parts())) == 2
    assert body.count(b"\r\n\r\n" + text.encode() + b"\r\n--actum-") >= 1


@pytest.mark.parametrize(
    ("parts", "bound"),
    [
        (['{"', of("a"), '": 1, "', of("b"), '": 2}'], '{"a": 1, "b": 2}'),
        (['{"to": 1, "', of("to"), '": 2}'], None),
        (['{"', of("a"), '": 1, "', of("a"), '": 2}'], None),
        (['{"to": 1, "to": 3, "', of("x"), '": 2}'], '{"to": 1, "to": 3, "x": 2}'),
        (['{"a": "\\', of("n"), '"}'], None),
        (['{"a": "\\\\', of("n"), '"}'], '{"a": "\\\\n"}'),
        (['{"a": "\\u00', of("41"), '"}'], None),
        (['{"a": "\\u0000', of("41"), '"}'], None),
        (["[", of(1), of(2), "]"], None),
        (["[1", of(2), "]"], None),
        (["{", of("a"), ": 1}"], None),
        (["[", of(float("1e300")), "]"], "[1e300]"),
        (['{"a": ', Later("${secret:K}"), ', "b": "', Later("${secret:K}"), of('"'), '"}'], None),
    ],
)
def test_a_value_of_json_has_a_place_or_none(parts: list[Part], bound: str | None) -> None:
    if any(isinstance(part, Later) for part in parts):
        assert bind_json(parts) == '{"a": ${secret:K}, "b": "${secret:K}\\""}'
    elif bound is None:
        with pytest.raises(NoPlace):
            bind_json(parts)
    else:
        assert json.loads(bind_json(parts)) == json.loads(bound)


@pytest.mark.parametrize(
    ("parts", "is_html", "has_place"),
    [
        (["<p>", "</p>"], True, True),
        (["<p title='", "'>"], True, True),
        (['<p title = "x ', '">'], True, True),
        (["<p title=", ">"], True, False),
        (["<p ", "=1>"], True, False),
        (["<", ">"], True, False),
        (["</", ">"], True, False),
        (["<!-- ", " -->"], True, False),
        (["<!doctype ", ">"], True, False),
        (["<?php ", " ?>"], True, False),
        (["<![CDATA[", "]]>"], False, False),
        (["<script>", "</script>"], True, False),
        (["<SCRIPT src='x'>a<b", "</SCRIPT>"], True, False),
        (["<script></script><p>", "</p>"], True, True),
        (["<style>", "</style>"], True, False),
        (["<style>", "</style>"], False, True),
        (["<p onclick='", "'>"], True, False),
        (["<p style='", "'>"], True, False),
        (["<p on='", "'>"], False, True),
        (["<p title='>", "'>"], True, True),
        (["<p title='a'>'", "'"], True, True),
        (["a < b and ", " c"], True, False),
    ],
)
def test_a_value_of_markup_has_a_place_or_none(parts: list[str], is_html: bool, has_place: bool) -> None:
    filled: list[Part] = [parts[0], of("<&\"'>"), parts[1]]
    if not has_place:
        with pytest.raises(NoPlace):
            bind_markup(filled, is_html=is_html)
        return
    assert bind_markup(filled, is_html=is_html) == f"{parts[0]}&lt;&amp;&quot;&#x27;&gt;{parts[1]}"


LINKS: dict[str, dict[str, str | None]] = {
    '<a href="{}">': {
        "/a?b=1&c=2": "/a?b=1&c=2",
        "https://example.org/": "https://example.org/",
        "mailto:ada@example.org": "mailto:ada@example.org",
        "javascript:alert(1)": None,
        "JavaScript:alert(1)": None,
        " java\tscript:alert(1)": None,
        "vbscript:x": None,
        "data:text/html,<script>": None,
    },
    "<a href='/notes/{}?a=1'>": {"a/b": "/notes/a%2Fb?a=1", "..": None, "x?to=eve#": "/notes/x%3Fto%3Deve%23?a=1"},
    '<a href="{}://x">': {"javascript": None, "https": "https://x"},
    '<img src="https://example.org/?a=1&amp;q={}&amp;z=2">': {
        "x&to=eve": "https://example.org/?a=1&q=x%26to%3Deve&z=2",
        '" onerror="x': "https://example.org/?a=1&q=%22%20onerror%3D%22x&z=2",
    },
    '<form action="https://{}/pay">': {
        "example.org": "https://example.org/pay",
        "evil.org/x?": None,
        "a@evil.org": None,
    },
    '<a href="//{}/pay">': {"example.org": "//example.org/pay", "evil.org#": None},
    '<a href="mailto:{}?subject=hi">': {
        "ada+1@x.org": "mailto:ada+1@x.org?subject=hi",
        "a?cc=b": "mailto:a%3Fcc%3Db?subject=hi",
    },
    '<a href="javascript:f(&quot;{}&quot;)">': {"1": None},
    '<img srcset="{} 2x">': {"a.png": None},
    '<a ping="{}">': {"https://x.org": None},
    '<meta http-equiv="refresh" content="0;url={}">': {"/next": None},
    '<meta content="{}" http-equiv="refresh">': {"0": None},
    '<meta name="author" content="{}">': {"Ada: 1": "Ada: 1"},
    '<object title="{}" data="/x">': {"javascript:": "javascript:"},
}


@pytest.mark.parametrize(("text", "value", "drawn"), [(text, *each) for text in LINKS for each in LINKS[text].items()])
def test_a_value_in_a_link_of_html_stays_in_its_part_and_leads_to_no_code(
    text: str, value: str, drawn: str | None
) -> None:
    before, behind = text.split("{}")
    parts: list[Part] = [before, of(value), behind, "<p>", of("<"), "</p>"]
    if drawn is None:
        with pytest.raises(NoPlace):
            bind_body("text/html", parts)
        return
    seen: list[tuple[str | None, ...]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append(tuple(value for _, value in attrs))

    reader = Reader()
    reader.feed(bind_body("text/html", parts))
    reader.close()
    assert drawn in seen[0]
    assert len(seen[0]) == len(re.findall(r"[\w-]+=[\"']", text))
    assert seen[1:] == [()]


def test_the_scripts_of_a_drawing_are_no_place() -> None:
    for text in ("<svg onload='{}'/>", "<svg><script>{}</script></svg>", "<svg><a xlink:href='{}'/></svg>"):
        before, behind = text.split("{}")
        with pytest.raises(NoPlace):
            bind_body("image/svg+xml", [before, of("javascript:x"), behind])


@pytest.mark.parametrize(
    ("parts", "bound"),
    [
        (["ls ", of("-rf"), ""], None),
        (["ls ", of("a -- b"), " ", of("--x")], None),
        (["ls ", of("a"), "-- ", of("-x")], None),
        (["ls -- ", of("-rf")], "ls -- -rf"),
        (["ls ", of("a"), " -- ", of("-x"), " ", of("-y")], "ls a -- -x -y"),
    ],
)
def test_a_value_is_no_option_of_a_command(parts: list[Part], bound: str | None) -> None:
    if bound is None:
        with pytest.raises(NoPlace):
            bind_shell(parts)
    else:
        assert bind_shell(parts) == bound


@pytest.mark.parametrize(
    "parts",
    [
        ["to=ada&", of("to"), "=eve"],
        ["t%6f=ada&", of("to"), "=eve"],
        [of("to"), "=eve&to=ada"],
        [of("a"), "=1&", of("a"), "=2"],
        ["a=%2", of("6to=eve")],
        ["a=%", of("26to")],
    ],
)
def test_a_value_is_no_second_field_of_a_name_and_no_half_of_an_escape(parts: list[Part]) -> None:
    for bind in (bind_form, bind_query, lambda given: bind_address(["https://example.org/?", *given])):
        with pytest.raises(NoPlace):
            bind(parts)
    assert bind_form(["a=1&a=2&", of("to"), "=", of("a")]) == "a=1&a=2&to=a"


@pytest.mark.parametrize(
    "parts",
    [
        ["\\", of("d")],
        ["\\x4", of("1")],
        ["\\u{", of("41}")],
        ["a{", of("5"), "}"],
        ["a{1,", of("5"), "}"],
        ["(?", of(":x"), ")"],
        ["(?P<", of("x"), ">a)"],
        ["x", of("ab"), "*"],
        ["x", of("ab"), "", "{2}"],
    ],
)
def test_a_value_of_a_pattern_means_nothing_but_itself(parts: list[Part]) -> None:
    with pytest.raises(NoPlace):
        bind_pattern(parts)


def test_a_pattern_that_passes_over_blanks_or_counts_groups_reads_a_value_as_it_is() -> None:
    assert re.fullmatch(bind_pattern(["(?x) ^", of("a b#c\n"), "$"]), "a b#c\n")
    assert re.fullmatch(bind_pattern(["(a)\\1", of("0"), ""]), "aa0")
    assert re.fullmatch(bind_pattern(["(?:", of("ab"), ")*\\\\", of("d")]), "abab\\d")


def test_a_value_of_a_form_in_parts_has_a_place_or_none() -> None:
    type_, head = "multipart/form-data; boundary=b", '--b\r\nContent-Disposition: form-data; name="'
    good: list[Part] = [head, of('x"; y="\r\n'), '"\r\n\r\n', of("a\r\n\r\n--c"), "\r\n--b--\r\n"]
    assert bind_multipart(type_, good) == f'{head}x%22; y=%22%0D%0A"\r\n\r\na\r\n\r\n--c\r\n--b--\r\n'
    bad: tuple[list[Part], ...] = (
        [of("x"), "--b\r\n"],
        ["--b\r\nX: ", of("x"), "\r\n\r\n1\r\n--b--"],
        [head, 'n"\r\n\r\n', of("\r\n--b"), "\r\n--b--"],
        [head, 'n"\r\n\r\n', of("\r\n--"), "b\r\n--b--"],
        [head, 'n"\r\n\r\n', of("\r\n-"), of("-b"), "\r\n--b--"],
        [head, 'to"\r\n\r\nada\r\n', head, of("to"), '"\r\n\r\neve\r\n--b--'],
        [head, of("x\\"), '"\r\n\r\n1\r\n--b--'],
    )
    for parts in bad:
        with pytest.raises(NoPlace):
            bind_multipart(type_, parts)
    with pytest.raises(NoPlace):
        bind_multipart("multipart/form-data", good)


def test_other_grammars_and_what_has_none() -> None:
    assert not is_known("text/csv")
    with pytest.raises(NoPlace, match="the grammar of text/csv is not known"):
        bind_body("text/csv", ["a,", of("b")])
    assert bind_body("", ["[warn] ", of('"'), "!"]) == '[warn] "!'
    assert bind_body("", ["[", of("a"), "]"]) == '["a"]'
    assert bind_body("", ["<a>", of("<"), "</a>"]) == "<a>&lt;</a>"
    assert bind_body("application/problem+json; charset=utf-8", ['{"a": "', of('"'), '"}']) == '{"a": "\\""}'
    assert bind_statement([of("select 1")]) == "select 1"
    assert bind_path([of("/data/x"), "/", of("a b"), ".md"]) == "/data/x/a b.md"
    assert bind_of({"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"}) is None
    assert bind_header("x", [of("a, b; c")]) == "a, b; c"
    many: list[Part] = [of("a"), " "] * (VALUES_MAX + 1)
    for bind in (bind_address, bind_markup, lambda parts: bind_header("x", parts)):
        with pytest.raises(NoPlace, match="expected at most"):
            bind(many)


def test_a_json_text_with_references_becomes_a_value_with_the_references_at_their_places() -> None:
    parts: list[str | int] = ['{"a": "x', 1, 'y", "b": ', 2, ', "c": [{"d": "', 3, '"}]}']
    found = structured(parts, lambda pieces: [str(each) for each in pieces], lambda reference: reference)
    assert found == {"a": ["x", "1", "y"], "b": 2, "c": [{"d": ["3"]}]}
    with pytest.raises(NoPlace):
        structured(['{"', 1, '": 2}'], lambda pieces: None, lambda reference: None)
