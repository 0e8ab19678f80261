"""A conversation as text: written as it grows, the same as if it were written at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import MediaPart, TextPart, ToolCall, ToolResult
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects import dialect, names
from actum.dialects.base import TextDialect
from actum.dialects.catalog import text_dialect
from actum.dialects.text.history import Writers, as_text

TOOLS = (
    Tool(
        name="add",
        description="Adds.",
        parameters={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    ),
)
TEXT_DIALECTS = [found for found in map(dialect, names()) if not hasattr(found, "decode_request")]


def turn(number: int, calls: int) -> list[Message]:
    said = [ToolCall(f"c{number}{index}", "add", {"a": index}) for index in range(calls)]
    results = [ToolMessage("add", ToolResult(call.id, (TextPart("3 </result>"),))) for call in said]
    return [Reply((TextPart(f"turn {number}"), *said)), *results]


def steps() -> st.SearchStrategy[list[list[Message]]]:
    """Conversations in the pieces in which they grow: turns, words of the user, and both in any order."""
    image = MediaPart("image/png", b"x")
    words: list[Message] = [UserMessage.of("And 4?"), UserMessage((image,)), SystemMessage("Be brief.")]
    piece = st.one_of(
        st.builds(turn, st.integers(0, 9), st.integers(0, 3)), st.lists(st.sampled_from(words), min_size=1, max_size=2)
    )
    return st.lists(piece, max_size=6)


@pytest.mark.parametrize("form", TEXT_DIALECTS, ids=lambda found: found.name)
@given(pieces=steps())
def test_what_is_written_as_a_conversation_grows_is_what_would_be_written_at_once(
    form: TextDialect, pieces: list[list[Message]]
) -> None:
    grown = Transcript([SystemMessage("You count."), UserMessage.of("Add 3.")])
    for piece in [[], *pieces]:
        grown.extend(piece)
        known = form.encode_request(Request(messages=grown, tools=TOOLS))
        fresh = form.encode_request(Request(messages=list(grown), tools=TOOLS))
        assert list(known.messages) == list(fresh.messages)


def test_a_past_message_is_written_as_text_once() -> None:
    count = 0

    def writers() -> Writers:
        def reply(said: Reply) -> list[TextPart | MediaPart]:
            nonlocal count
            count += 1
            return [TextPart(said.text)]

        return reply, lambda message, call, first: [TextPart(message.result.text)]

    grown = Transcript([UserMessage.of("Add.")])
    for number in range(50):
        grown.extend(turn(number, 1))
        as_text(grown, "counted", "", writers)
    assert count == 50


def test_other_instructions_stand_in_the_whole_conversation() -> None:
    grown = Transcript([UserMessage.of("Add."), *turn(1, 1)])
    hermes = text_dialect("hermes")
    first = hermes.encode_request(Request(messages=grown, tools=TOOLS))
    forced = hermes.encode_request(Request(messages=grown, tools=TOOLS, tool_choice="required"))
    again = hermes.encode_request(Request(messages=grown, tools=TOOLS))
    assert "must" in str(forced.messages[0])
    assert list(first.messages) == list(again.messages)
    assert len(first.messages) == len(forced.messages)
