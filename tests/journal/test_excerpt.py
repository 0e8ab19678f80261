"""A long result is cut where a model can read on, and nothing passes by the limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from actum.core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import ToolError
from actum.core.interfaces import Context
from actum.core.json import Json
from actum.journal.excerpt import (
    ResultReader,
    excerpt,
    other_bytes,
    text_bytes,
)

pytestmark = pytest.mark.row("C5")


class Kept:
    """One whole result, called `1.0`."""

    def __init__(self, text: str) -> None:
        self.result = ToolResult("c", (TextPart(text),))

    def whole(self, name: str) -> ToolResult | None:
        return self.result if name == "1.0" else None


async def read(kept: Kept, size: int, **arguments: Json) -> str:
    call = ToolCall("r", "read_result", {"id": "1.0", **arguments})
    context = Context(run_id="r", call=call, key="", attempt=1, principal="", deps=None, attachments={})
    return (await ResultReader(kept, size).execute(call, context)).text


@given(st.text(min_size=1), st.integers(1, 50))
def test_the_beginning_is_whole_characters_within_the_limit(text: str, size: int) -> None:
    shown = excerpt(ToolResult("c", (TextPart(text),)), size, "1.0").text.rpartition("\n[Cut here: ")[0]
    assert text.startswith(shown)
    assert len(shown.encode()) <= size
    assert len(text[: len(shown) + 1].encode()) > size or shown == text


@pytest.mark.parametrize(
    "result",
    [
        ToolResult("c", structured={"rows": ["x" * 100] * 10}),
        ToolResult("c", structured="x" * 1000),
        ToolResult("c", (TextPart("x" * 1000),), structured={"rows": ["x" * 1000]}),
        ToolResult("c", (TextPart("x" * 600), TextPart("y" * 600))),
        ToolResult("c", error=Failure("tool_error", "x" * 1000)),
    ],
    ids=["object", "string", "text beside a value", "two texts", "failure"],
)
def test_no_shape_of_a_result_passes_the_limit(result: ToolResult) -> None:
    assert text_bytes(result) > 500
    shown = excerpt(result, 500, "1.0")
    assert len(shown.text) < 500 + 160
    assert "read_result(id='1.0', offset=500)" in shown.text
    assert shown.structured is UNSET
    assert (shown.error is None) == (result.error is None)


def test_media_stay_and_count_for_the_whole() -> None:
    image = MediaPart("image/png", b"x" * 1000)
    result = ToolResult("c", (TextPart("y" * 100), image))
    assert excerpt(result, 10, "1.0").content[1] == image
    assert other_bytes(result) == 1000


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=300))
async def test_the_parts_put_together_are_the_whole(text: str) -> None:
    kept, offset, parts = Kept(text), 0, list[str]()
    while offset < len(text):
        part = (await read(kept, 200, offset=offset)).rpartition("\n[Characters ")[0]
        parts.append(part)
        offset += len(part)
    assert "".join(parts) == text


async def test_a_length_may_be_asked_for() -> None:
    assert await read(Kept("abcdefgh"), 1000, offset=2, length=3) == "cde\n[Characters 2 to 5 of 8.]"


@pytest.mark.parametrize(("name", "offset"), [("7.7", 0), ("1.0", 3)])
async def test_what_is_not_there_is_said_in_words(name: str, offset: int) -> None:
    with pytest.raises(ToolError, match=r"No result '7\.7'|there is nothing from 3 on"):
        await read(Kept("abc"), 1000, id=name, offset=offset)


def test_a_failed_result_tells_its_files_once_also_when_its_message_is_cut() -> None:
    made = MediaPart("text/csv", b"1,2", name="part.csv", handle="att_1")
    whole = ToolResult("c", (made,), error=Failure("resource_limit", "x" * 300, "none"))
    assert whole.text == "x" * 300 + "\n[att_1: text/csv, part.csv, 3 bytes]"
    cut = excerpt(whole, 200, "1.0").text
    assert cut.count("[att_1: ") == 1
    assert cut.startswith("x" * 200 + "\n[Cut here: ")
