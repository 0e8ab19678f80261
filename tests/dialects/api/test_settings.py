"""Model settings in the words of each API: what is written is read back, and what has no field is named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from actum.core.errors import ContextOverflow
from actum.core.json import JsonObject
from actum.core.message import UserMessage
from actum.core.model import Request
from actum.dialects.api.anthropic.dialect import ANTHROPIC, ANTHROPIC_MESSAGES
from actum.dialects.api.gemini.dialect import GEMINI_CONTENT
from actum.dialects.api.ollama_generate import OLLAMA_GENERATE
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT
from actum.dialects.api.openai_completions import OPENAI_COMPLETIONS
from actum.dialects.api.openai_responses.dialect import OPENAI_RESPONSES
from actum.dialects.base import ApiDialect

ASKED = Request(
    messages=[UserMessage.of("Hi")], temperature=0.5, top_p=0.9, seed=7, max_tokens=20, stop=("END",), model="m"
)
SAMPLED: JsonObject = {"temperature": 0.5, "top_p": 0.9}
WRITTEN: list[tuple[ApiDialect, JsonObject, tuple[str, ...]]] = [
    (OPENAI_CHAT, {**SAMPLED, "seed": 7, "max_tokens": 20, "stop": ["END"]}, ()),
    (OPENAI_COMPLETIONS, {**SAMPLED, "seed": 7, "max_tokens": 20, "stop": ["END", "\nUser:"]}, ()),
    (OPENAI_RESPONSES, {**SAMPLED, "max_output_tokens": 20}, ("seed", "stop")),
    (ANTHROPIC_MESSAGES, {**SAMPLED, "max_tokens": 20, "stop_sequences": ["END"]}, ("seed",)),
    (ANTHROPIC, {"max_tokens": 20, "stop_sequences": ["END"]}, ("temperature", "top_p", "seed")),
    (
        GEMINI_CONTENT,
        {
            "generationConfig": {
                "temperature": 0.5,
                "topP": 0.9,
                "seed": 7,
                "maxOutputTokens": 20,
                "stopSequences": ["END"],
            }
        },
        (),
    ),
    (OLLAMA_GENERATE, {"options": {**SAMPLED, "seed": 7, "num_predict": 20, "stop": ["END", "\nUser:"]}}, ()),
]
MESSAGES = {"model", "messages", "input", "contents", "prompt", "raw", "stream"}


def test_each_api_is_told_the_settings_in_its_own_words() -> None:
    for dialect, expected, unsaid in WRITTEN:
        body = msgspec.json.decode(dialect.encode_request(ASKED), type=JsonObject)
        written = {name: value for name, value in body.items() if name not in MESSAGES}
        told = written.get("options", written)
        assert isinstance(told, dict)
        if "stop" in told and dialect in (OPENAI_COMPLETIONS, OLLAMA_GENERATE):
            told["stop"] = ["END", "\nUser:"]  # with the marks of the family
        assert written == expected, dialect.name
        assert getattr(dialect, "unsaid", lambda request: ())(ASKED) == unsaid, dialect.name
        read = dialect.decode_request(dialect.encode_request(ASKED))
        for name in ("temperature", "top_p", "seed", "max_tokens"):
            assert getattr(read, name) == (None if name in unsaid else getattr(ASKED, name)), (dialect.name, name)


def test_without_settings_nothing_is_asked_for() -> None:
    for dialect, _, _ in WRITTEN:
        body = dialect.encode_request(Request(messages=[UserMessage.of("Hi")]))
        for name in (b"temperature", b"top_p", b"topP", b"seed"):
            assert name not in body, (dialect.name, name)


class Refusal(Struct, frozen=True):
    """An endpoint's answer that there is none, and whether the conversation was too long for its model."""

    status: int
    too_long: bool
    body: msgspec.Raw


LINES = Path(__file__).with_name("too_long.jsonl").read_bytes().splitlines()
REFUSALS = [msgspec.json.decode(line, type=Refusal) for line in LINES]


@pytest.mark.row("A1")
def test_each_api_s_word_that_a_conversation_is_too_long_is_understood() -> None:
    assert {refusal.too_long for refusal in REFUSALS} == {True, False}
    for refusal in REFUSALS:
        error = OPENAI_CHAT.decode_error(refusal.status, None, bytes(refusal.body))
        assert (type(error) is ContextOverflow) is refusal.too_long, bytes(refusal.body)


def test_a_client_is_told_in_openai_s_word_that_a_conversation_is_too_long() -> None:
    answer = OPENAI_CHAT.encode_error(ContextOverflow("too long", status=400))
    assert (answer.status, b'"code":"context_length_exceeded"' in answer.body) == (400, True)
    assert type(OPENAI_CHAT.decode_error(answer.status, None, answer.body)) is ContextOverflow


def test_an_overflow_that_is_told_within_a_stream_is_one() -> None:
    wire = (
        b'event: error\ndata: {"type":"error","code":"context_length_exceeded",'
        b'"message":"Your input exceeds the context window of this model."}\n\n'
    )
    with pytest.raises(ContextOverflow):
        OPENAI_RESPONSES.decode(wire)
