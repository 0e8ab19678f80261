"""Decode with one API's dialect, encode with another's: what was said comes out, whole and streamed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from actum.core.call import TextPart, ToolCall
from actum.core.errors import ModelError
from actum.core.event import CallDelta, Delta, ReasoningDelta, TextDelta
from actum.core.json import JsonObject
from actum.core.message import RefusalPart, Reply
from actum.dialects import dialect
from actum.dialects.base import ApiDialect
from actum.dialects.catalog import ApiName
from tests.dialects.api_corpus import CORPUS
from tests.each import each
from tests.effort import effort

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


def in_pieces(kind: str, count: int) -> list[Delta]:
    match kind:
        case "text":
            return [TextDelta("x")] * count
        case "reasoning":
            return [ReasoningDelta("x")] * count
        case "by turns":
            return [TextDelta("x"), ReasoningDelta("y")] * (count // 2)
        case "arguments":
            return [CallDelta(0, "f", '{"a": "', "c"), *[CallDelta(0, arguments="x")] * count]
        case _:
            return [CallDelta(at, "f", "{}", f"c{at}") for at in range(count // 4)]


@pytest.mark.parametrize("kind", ["text", "reasoning", "by turns", "arguments", "calls"])
@pytest.mark.parametrize("name", [*NAMES, "openai_completions", "openai_functions", "ollama_generate"])
def test_pieces_of_one_letter_cost_the_same_however_many_came_before(name: ApiName, kind: str) -> None:
    def spent(count: int) -> tuple[int, int]:
        encoder, decoder = dialect(name).encoder(), dialect(name).decoder()
        with effort() as written:
            wire = [encoder.feed(delta) for delta in in_pieces(kind, count)]
        with effort() as read, suppress(ModelError):  # the stream does not end as it should
            for piece in wire:
                decoder.feed(piece)
            decoder.close()
        return written.calls, read.calls

    once, twice = spent(1_000), spent(2_000)
    for few, many in zip(once, twice, strict=True):
        assert many < min(2.2 * few + 2_000, 250 * 2_000), (few, many)
