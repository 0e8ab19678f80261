"""A reply that was cut short in one API is told as cut short in every other, whole and streamed."""

from __future__ import annotations

import json

import pytest

from actum.core.call import TextPart, ToolCall
from actum.core.message import Reply
from actum.dialects.api.anthropic.dialect import ANTHROPIC_MESSAGES
from actum.dialects.api.gemini.dialect import GEMINI_CONTENT
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT, OPENAI_FUNCTIONS
from actum.dialects.api.openai_completions import OPENAI_COMPLETIONS
from actum.dialects.api.openai_responses.dialect import OPENAI_RESPONSES
from actum.dialects.base import ApiDialect

LENGTH = ("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length", "model_context_window_exceeded")
FILTER = ("content_filter", "refusal", "SAFETY", "RECITATION", "BLOCKLIST", "sensitive")
BROKEN = ("OTHER", "MALFORMED_FUNCTION_CALL", "LANGUAGE", "incomplete", "error", "insufficient_system_resource")
WHOLE = ("", "stop", "end_turn", "STOP", "completed", "eos", "a word that nobody knows")
DIALECTS: tuple[ApiDialect, ...] = (
    OPENAI_CHAT,
    OPENAI_FUNCTIONS,
    OPENAI_COMPLETIONS,
    OPENAI_RESPONSES,
    ANTHROPIC_MESSAGES,
    GEMINI_CONTENT,
)
ENDS = ('"stop"', '"end_turn"', '"STOP"', '"status":"completed","background"')
"""How the APIs say that an answer is whole."""


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_no_reply_that_was_cut_short_is_told_as_a_whole_answer(dialect: ApiDialect) -> None:
    for word in (*LENGTH, *FILTER, *BROKEN, *WHOLE):
        reply = Reply((TextPart("a"),), word)
        for wire in (dialect.encode_reply(reply), dialect.encoder().close(reply)):
            told = wire.decode()
            is_whole = any(end in told.replace(": ", ":") for end in ENDS)
            assert is_whole == (word in WHOLE), (dialect.name, word, told)


def test_a_word_for_an_error_takes_no_call_from_its_client() -> None:
    reply = Reply((ToolCall("c", "add", {}),), "OTHER")
    said = json.loads(OPENAI_CHAT.encode_reply(reply))
    assert said["choices"][0]["finish_reason"] == "tool_calls"
