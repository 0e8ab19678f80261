from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import TextPart
from actum.core.errors import ModelGarbled, ModelUnavailable, UsageError
from actum.core.event import Delta, TextDelta
from actum.core.message import Reply, Usage, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects.api.ollama_generate import OLLAMA_GENERATE, OllamaGenerate
from actum.dialects.chat_marks import CHATML

REPLY = Reply((TextPart("It is 5.\n文😀"),), "length", Usage(3, 4), "m")
DOCUMENTED = (
    b'{"model":"llama3.2","created_at":"2023-08-04T08:52:19.385406455-07:00","response":"The","done":false}\n'
    b'{"model":"llama3.2","created_at":"2023-08-04T19:22:45.499127Z","response":"","done":true,"done_reason":"stop",'
    b'"total_duration":10706818083,"prompt_eval_count":26,"eval_count":259}\n'
)
"""After Ollama's documentation of its API, 'Generate a completion'."""


def read(chunks: list[bytes]) -> tuple[str, Reply, bool]:
    decoder = OLLAMA_GENERATE.decoder()
    deltas: list[Delta] = [delta for chunk in chunks for delta in decoder.feed(chunk)] + decoder.close()
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)), decoder.reply, decoder.ended


def test_the_prompt_goes_past_the_server_s_template() -> None:
    asked = Request(messages=[UserMessage.of("Hi")], model="m", max_tokens=9, temperature=0, extras={"top_k": 5})
    assert json.loads(OllamaGenerate(marks=CHATML).encode_request(asked)) == {
        "model": "m",
        "prompt": "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
        "raw": True,
        "stream": False,
        "options": {"stop": ["<|im_end|>", "<|endoftext|>"], "num_predict": 9, "temperature": 0, "top_k": 5},
    }


def test_a_request_comes_back() -> None:
    asked = Request(messages=[UserMessage.of("Hi")], model="m", max_tokens=9, stop=("x",), extras={"top_k": 5})
    read_back = OLLAMA_GENERATE.decode_request(OLLAMA_GENERATE.encode_request(asked))
    assert (read_back.model, read_back.max_tokens, read_back.extras, read_back.stream) == ("m", 9, {"top_k": 5}, False)
    assert read_back.stop == ("x", "\nUser:")
    assert OLLAMA_GENERATE.decode_request(b'{"prompt": "Hi"}').stream  # as Ollama does where nothing is said


def test_tools_are_refused() -> None:
    with pytest.raises(UsageError, match="text dialect"):
        OLLAMA_GENERATE.encode_request(Request(messages=[], tools=(Tool(name="f"),)))


def test_the_documented_stream_is_read() -> None:
    assert read([DOCUMENTED]) == ("The", Reply((TextPart("The"),), "stop", Usage(26, 259), "llama3.2"), True)


def test_a_whole_answer_comes_back() -> None:
    assert OLLAMA_GENERATE.decode(OLLAMA_GENERATE.encode_reply(REPLY)) == REPLY


@given(st.lists(st.integers(0, 2000), max_size=8))
def test_a_streamed_answer_reads_the_same_in_any_cut(places: list[int]) -> None:
    encoder = OLLAMA_GENERATE.encoder(model="m")
    wire = b"".join(encoder.feed(TextDelta(text)) for text in ("It is", " 5.", "\n文😀")) + encoder.close(REPLY)
    edges = [0, *sorted(place % (len(wire) + 1) for place in places), len(wire)]
    assert read([wire[begin:end] for begin, end in pairwise(edges)]) == ("It is 5.\n文😀", REPLY, True)


def test_a_stream_that_broke_off_is_told() -> None:
    encoder = OLLAMA_GENERATE.encoder()
    assert read([encoder.feed(TextDelta("It is")), b'{"respo'])[::2] == ("It is", False)


@pytest.mark.parametrize("wire", [b"", b"<html>", b"[1]", b'{"object": "x"}', b'{"response": "a'])
def test_what_is_no_answer_of_it_is_garbled(wire: bytes) -> None:
    with pytest.raises(ModelGarbled):
        OLLAMA_GENERATE.decode(wire)


def test_an_error_in_the_stream_is_raised() -> None:
    with pytest.raises(ModelUnavailable, match="out of memory"):
        read([b'{"error": "out of memory"}\n'])
