from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types import Completion

from actum.core.call import TextPart, ToolCall
from actum.core.errors import ModelGarbled, ModelUnavailable, UsageError
from actum.core.event import Delta, TextDelta
from actum.core.message import Message, Reply, SystemMessage, Usage, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects.api.openai_completions import OPENAI_COMPLETIONS, OpenAiCompletions
from actum.dialects.chat_marks import CHATML

HI: list[Message] = [SystemMessage("Be brief."), UserMessage.of("Hi")]
IN_CHATML = OpenAiCompletions(marks=CHATML)


def read(chunks: list[bytes]) -> tuple[str, Reply, bool]:
    decoder = OPENAI_COMPLETIONS.decoder()
    deltas: list[Delta] = [delta for chunk in chunks for delta in decoder.feed(chunk)] + decoder.close()
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)), decoder.reply, decoder.ended


def test_the_prompt_is_the_conversation_in_the_family_s_marks() -> None:
    body = json.loads(IN_CHATML.encode_request(Request(messages=HI, model="base", temperature=0.5, stop=("###",))))
    assert body == {
        "model": "base",
        "prompt": "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
        "max_tokens": 2048,
        "temperature": 0.5,
        "stop": ["###", "<|im_end|>", "<|endoftext|>"],
    }


def test_a_base_model_gets_plain_turns_and_stops_before_the_user_s() -> None:
    body = json.loads(
        OPENAI_COMPLETIONS.encode_request(Request(messages=[*HI, Reply.of("Yes?"), UserMessage.of("2+3")]))
    )
    assert body["prompt"] == "Be brief.\n\nUser: Hi\n\nAssistant: Yes?\n\nUser: 2+3\n\nAssistant:"
    assert body["stop"] == ["\nUser:"]


def test_a_wish_for_json_is_said_in_words() -> None:
    body = json.loads(IN_CHATML.encode_request(Request(messages=HI, output_schema={"type": "integer"})))
    assert '{"type":"integer"}' in body["prompt"]


def test_tools_are_refused_with_a_word_on_what_to_do() -> None:
    with pytest.raises(UsageError, match="text dialect"):
        OPENAI_COMPLETIONS.encode_request(Request(messages=HI, tools=(Tool(name="f"),)))


def test_a_client_s_prompt_becomes_a_message() -> None:
    wire = b'{"model": "m", "prompt": ["Once"], "max_tokens": 5, "stop": "x", "stream": true, "seed": 7}'
    request = OPENAI_COMPLETIONS.decode_request(wire)
    assert request.messages == [UserMessage.of("Once")]
    assert (request.max_tokens, request.stop, request.stream, request.seed) == (5, ("x",), True, 7)
    with pytest.raises(UsageError, match="prompt"):
        OPENAI_COMPLETIONS.decode_request(b'{"prompt": [1, 2]}')


REPLY = Reply((TextPart("It is 5.\n文😀"),), "length", Usage(3, 4), "m", "cmpl-1")


def test_the_official_sdk_reads_what_is_served() -> None:
    read_by_sdk = Completion.model_validate_json(OPENAI_COMPLETIONS.encode_reply(REPLY))
    assert (read_by_sdk.choices[0].text, read_by_sdk.choices[0].finish_reason) == ("It is 5.\n文😀", "length")
    assert OPENAI_COMPLETIONS.decode(OPENAI_COMPLETIONS.encode_reply(REPLY)) == REPLY


@given(st.lists(st.integers(0, 2000), max_size=8))
def test_a_streamed_answer_reads_the_same_in_any_cut(places: list[int]) -> None:
    encoder = OPENAI_COMPLETIONS.encoder(id_="cmpl-1", model="m")
    wire = b"".join(encoder.feed(TextDelta(text)) for text in ("It is", " 5.", "\n文😀")) + encoder.close(REPLY)
    edges = [0, *sorted(place % (len(wire) + 1) for place in places), len(wire)]
    pieces = [wire[begin:end] for begin, end in pairwise(edges)]
    assert read(pieces) == ("It is 5.\n文😀", REPLY, True)


def test_a_stream_that_broke_off_is_told() -> None:
    encoder = OPENAI_COMPLETIONS.encoder()
    text, reply, ended = read([encoder.feed(TextDelta("It is")), b'data: {"choi'])
    assert (text, reply.text, ended) == ("It is", "It is", False)


@pytest.mark.parametrize("wire", [b"", b"<html>", b"[1]", b'{"object": "x"}', b"data: {\n\n"])
def test_what_is_no_completion_is_garbled(wire: bytes) -> None:
    with pytest.raises(ModelGarbled):
        OPENAI_COMPLETIONS.decode(wire)


def test_an_error_in_the_stream_is_raised() -> None:
    with pytest.raises(ModelUnavailable, match="out of memory"):
        read([b'data: {"error": {"message": "out of memory", "type": "server_error"}}\n\n'])


def test_calls_are_not_said_by_this_api() -> None:
    encoder = OPENAI_COMPLETIONS.encoder()
    reply = Reply.of("Hm.", [ToolCall("a", "f", {})])
    assert read([encoder.close(reply)])[0] == "Hm."
