"""What an MCP server sends becomes parts of ours, whatever it sends, and ours become its."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from actum.core.call import Failure, MediaPart, TextPart, ToolResult
from actum.core.json import Json, JsonObject
from actum.core.message import Reply, UserMessage
from actum.protocols.mcp.content import (
    answer_of,
    blocks_of,
    contents_of,
    messages_of,
    parts_of,
    refusal_of,
    result_of,
)

pytestmark = pytest.mark.row("T4")

PNG = base64.b64encode(b"\x89PNG").decode()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)
KINDS = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "video"])


def test_each_kind_of_block_has_its_part() -> None:
    blocks: list[Json] = [
        {"type": "text", "text": "Hi\u200b\U000e0041"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "audio", "data": PNG, "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a/b.pdf", "mimeType": "application/pdf", "blob": PNG}},
        {"type": "resource", "resource": {"uri": "memo://x", "text": "Memo."}},
        {"type": "resource_link", "uri": "file:///etc/passwd", "name": "pw", "mimeType": "text/plain"},
    ]
    assert parts_of(blocks) == (
        TextPart("Hi"),
        MediaPart("image/png", data=b"\x89PNG"),
        MediaPart("audio/wav", data=b"\x89PNG"),
        MediaPart("application/pdf", data=b"\x89PNG", name="b.pdf"),
        TextPart("[resource: memo://x]\nMemo."),
        TextPart("[resource: pw, file:///etc/passwd, text/plain]"),
    )


@given(JSON | st.lists(st.fixed_dictionaries({"type": KINDS}, optional={"text": JSON, "data": JSON, "resource": JSON})))
def test_no_block_is_lost_and_none_breaks_the_result(content: Json) -> None:
    parts = parts_of(content)
    expected = len(content) if isinstance(content, list) else 0 if content is None else 1
    assert len(parts) == expected
    assert all(isinstance(part, TextPart | MediaPart) for part in parts)


def test_a_damaged_picture_is_said_to_be_one() -> None:
    (part,) = parts_of([{"type": "image", "data": "###", "mimeType": "image/png"}])
    assert part == TextPart("[image that can not be read: what came is no base64]")


def test_a_number_that_is_none_is_told_by_its_name() -> None:
    raw: JsonObject = {"structuredContent": {"mean": float("nan"), "most": [1.5, float("inf")]}}
    assert result_of("1", raw).structured == {"mean": "NaN", "most": [1.5, "Infinity"]}


@pytest.mark.parametrize("value", [None, 5, "five", [1, 2], {"a": {"b": None}}, False])
def test_a_structured_value_is_any_json(value: Json) -> None:
    assert result_of("1", {"content": [], "structuredContent": value}).structured == value


def test_a_value_beside_pictures_only_is_told_in_words_too() -> None:
    raw: JsonObject = {
        "content": [{"type": "image", "data": PNG, "mimeType": "image/png"}],
        "structuredContent": {"a": "\u202eb"},
    }
    result = result_of("1", raw)
    assert result.content[0] == TextPart('{"a":"b"}')
    assert result.structured == {"a": "b"}


def test_links_are_there_as_values_too() -> None:
    link: JsonObject = {"type": "resource_link", "uri": "memo://x", "name": "x"}
    assert result_of("1", {"content": [link]}).structured == {"resourceLinks": [link]}
    assert result_of("1", {"content": []}).structured is UNSET


def test_only_an_error_is_one() -> None:
    assert refusal_of({"content": [{"type": "text", "text": "no\x1b[0m"}], "isError": True}) == "no"
    assert refusal_of({"content": [], "isError": True}) == "The tool failed and did not say why."
    assert refusal_of({"content": [{"type": "text", "text": "no"}], "isError": "yes"}) == ""


def test_the_contents_of_a_resource_and_the_messages_of_a_prompt() -> None:
    raw: JsonObject = {"contents": [{"uri": "a://b", "text": "T"}, {"uri": "a://c", "blob": PNG}, {"uri": "a://d"}]}
    assert contents_of(raw) == (
        TextPart("[resource: a://b]\nT"),
        MediaPart("application/octet-stream", data=b"\x89PNG", name="c"),
        TextPart("[resource without contents: a://d]"),
    )
    said: list[Json] = [
        {"role": "user", "content": {"type": "text", "text": "Hi"}},
        {"role": "assistant", "content": {"type": "text", "text": "Yes?"}},
    ]
    assert messages_of({"messages": said}) == (UserMessage((TextPart("Hi"),)), Reply((TextPart("Yes?"),)))


PARTS = st.lists(
    st.builds(TextPart, st.text(st.characters(categories=["L", "N", "P"])))
    | st.builds(MediaPart, st.sampled_from(["image/png", "audio/wav"]), data=st.binary(min_size=1))
)


@given(PARTS)
def test_parts_come_back_from_their_blocks(parts: list[TextPart | MediaPart]) -> None:
    assert list(parts_of(blocks_of(parts))) == parts


def test_a_result_of_ours_is_told_in_words_and_as_a_value() -> None:
    assert answer_of(ToolResult("1", structured=5)) == {
        "content": [{"type": "text", "text": "5"}],
        "structuredContent": 5,
        "isError": False,
    }
    failed = ToolResult("1", error=Failure("tool_error", "No."))
    assert answer_of(failed) == {"content": [{"type": "text", "text": "No."}], "isError": True}
    file = ToolResult(
        "1", (MediaPart("text/csv", data=b"a", name="t.csv"), MediaPart("text/csv", url="https://x/t.csv"))
    )
    blocks = answer_of(file)["content"]
    assert isinstance(blocks, list)
    assert [block["type"] for block in blocks if isinstance(block, dict)] == ["resource", "resource_link"]


def test_a_failed_result_of_ours_has_its_error_and_the_files_that_were_made_before_it() -> None:
    made = MediaPart("text/csv", b"1,2", name="part.csv", handle="att_1")
    answer = answer_of(ToolResult("c1", (made,), error=Failure("resource_limit", "At the limit.", "none")))
    assert answer["isError"] is True
    content = answer["content"]
    assert isinstance(content, list)
    assert content[0] == {"type": "text", "text": "At the limit."}
    assert isinstance(content[1], dict)
    assert content[1]["type"] == "resource"
