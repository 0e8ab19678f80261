"""Decode with one API's dialect, encode with another's: what was said comes out, whole and streamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum.core.call import TextPart, ToolCall
from actum.core.json import JsonObject
from actum.core.message import RefusalPart, Reply
from actum.dialects import dialect
from actum.dialects.base import ApiDialect
from actum.dialects.catalog import ApiName
from tests.dialects.api_corpus import CORPUS
from tests.each import each

NAMES: tuple[ApiName, ...] = ("anthropic_messages", "gemini_content", "openai_chat", "openai_responses")
APIS: dict[str, ApiDialect] = {name: dialect(name) for name in NAMES}
MEDIA = {"whole_file", "whole_image"}
"""Not every API has a place for these; they are then described in words."""
WIRES = sorted(path for name in APIS for path in (CORPUS / name).glob("*.wire") if path.stem not in MEDIA)


def said(reply: Reply) -> tuple[list[tuple[str, JsonObject]], str]:
    """The calls that can be made, and all words of the answer in any order of its refusal."""
    calls: list[ToolCall] = [call for call in reply.calls if call.complete]
    refusal = "".join([part.text for part in reply.content if isinstance(part, RefusalPart)])
    spoken = "".join([part.text for part in reply.content if isinstance(part, TextPart)])
    return [(call.name, call.arguments) for call in calls], f"{spoken}|{refusal}"


@pytest.mark.row("S5")
@each({f"{path.parent.name}-{path.stem} to {api}": (path, api) for path in WIRES for api in APIS})
def test_what_one_api_says_another_says_too(path: Path, target: str) -> None:
    source, written = APIS[path.parent.name], APIS[target]
    wire = path.read_bytes()
    reply = source.decode(wire)
    whole = written.decode(written.encode_reply(reply))
    decoder, encoder = source.decoder(), written.encoder()
    passed = [encoder.feed(delta) for n in range(0, len(wire), 7) for delta in decoder.feed(wire[n : n + 7])]
    passed += [encoder.feed(delta) for delta in decoder.close()]
    streamed = written.decode(b"".join([*passed, encoder.close(decoder.reply)]))
    assert said(streamed) == said(reply)
    assert said(whole) == said(reply)
    if all(call.complete for call in reply.calls):
        assert [call.id for call in whole.calls] == [call.id for call in streamed.calls]
