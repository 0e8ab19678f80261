"""The transcript that a run grows, and what is derived from it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import MediaPart, TextPart, ToolCall, ToolResult
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, Transcript, Usage, UserMessage

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
messages: st.SearchStrategy[Message] = st.one_of(
    texts.map(SystemMessage),
    texts.map(UserMessage.of),
    texts.map(lambda text: Reply.of(text, [ToolCall("1", "t", {"a": text})], reasoning=text)),
    texts.map(lambda text: ToolMessage("t", ToolResult("1", (TextPart(text), MediaPart("image/png", b"\x89"))))),
)


@given(st.lists(messages, max_size=6))
def test_every_message_comes_back_from_its_bytes(said: list[Message]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(said), type=list[Message]) == said


@given(st.lists(messages, min_size=1, max_size=6))
def test_the_digest_rolls_on_and_tells_every_transcript_apart(said: list[Message]) -> None:
    grown = Transcript()
    for message in said:
        before = grown.digest
        grown.append(message)
        assert grown.digest != before
    assert grown.digest == Transcript(said).digest
    assert grown.digest != Transcript(said[:-1]).digest


def test_a_past_message_is_encoded_once() -> None:
    encoded: list[Message] = []

    def encode(message: Message) -> bytes:
        encoded.append(message)
        return b"."

    transcript = Transcript([UserMessage.of("a")])
    for text in ("b", "c", "d"):
        transcript.render("dialect", encode)
        transcript.append(UserMessage.of(text))
    assert len(transcript.render("dialect", encode)) == 4
    assert len(encoded) == 4


class Taken:
    """A follower that keeps what it was given, piece by piece."""

    def __init__(self) -> None:
        self.pieces: list[int] = []

    def extend(self, messages: Sequence[Message], /) -> None:
        self.pieces.append(len(messages))


def test_what_follows_a_conversation_is_given_only_what_is_new_and_begun_anew_at_a_word_of_the_user() -> None:
    transcript = Transcript([UserMessage.of("a"), UserMessage.of("b")])
    first = transcript.follow("x", None, Taken)
    transcript.extend([Reply.of("c"), ToolMessage("t", ToolResult("1"))])
    assert transcript.follow("x", None, Taken) is first
    assert transcript.follow("x", None, Taken).pieces == [2, 2]
    transcript.append(UserMessage.of("d"))
    second = transcript.follow("x", None, Taken)
    assert second.pieces == [5]
    assert transcript.follow("x", "told otherwise", Taken).pieces == [5]
    assert transcript.follow("y", None, Taken).pieces == [5]
    assert Transcript().follow("x", None, Taken).pieces == []


def test_a_reply_keeps_the_order_in_which_things_were_said() -> None:
    reply = Reply((TextPart("a"), ToolCall("1", "t", {}), TextPart("b")))
    assert (reply.text, len(reply.calls), reply.reasoning) == ("ab", 1, "")


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
    assert Usage(1, 2).total_tokens == 3


@pytest.mark.row("T1")
def test_a_model_reads_media_as_a_line_and_never_as_bytes() -> None:
    result = ToolResult("1", (TextPart("here:"), MediaPart("image/png", b"\x89PNG", name="plan.png", handle="att_1")))
    assert result.text == "here:\n[att_1: image/png, plan.png, 4 bytes]"


def test_a_structured_result_reads_as_json_and_a_string_as_itself() -> None:
    assert ToolResult("1", structured={"城市": [1, None]}).text == '{"城市":[1,null]}'
    assert ToolResult("1", structured="sunny").text == "sunny"
    assert ToolResult("1", structured=None).text == "null"
    assert ToolResult("1").text == ""
