"""Passing through: bytes that stay as they are, upstreams that fail, hang, flood and lie, and keys that go nowhere."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from decimal import Decimal

import httpx2
import openai
import pytest
from msgspec import structs

from actum.core.budget import Price
from actum.core.call import ToolCall
from actum.core.event import TextDelta
from actum.core.json import JsonObject
from actum.core.message import Reply, Usage
from actum.core.stored.key import new_key
from actum.core.user import User
from actum.dialects.api.anthropic.dialect import ANTHROPIC_MESSAGES
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT, OPENAI_FUNCTIONS
from actum.dialects.api.openai_chat.request import forms_of
from actum.dialects.base import ApiDialect
from actum.models.catalog import ModelPlace
from actum.server.access import Access
from actum.server.models.event_watch import EventWatch
from actum.server.models.upstream import ModelRoute, ModelUpstream
from actum.server.verifier import Keys
from actum.testing import FakeClock
from tests.chat_server import ChatServer, Raw, Said
from tests.effort import turns_counted
from tests.patience import HANGS_S
from tests.server.models.gateway import DIALECTS, KEY, STREAM, RawServer, gateway, http, upstream
from tests.transport.wire_servers import always, said, wire_server

REPLY = structs.replace(Reply.of("It is 5.", calls=[ToolCall("call_1", "add", {"a": 2, "b": 3})]), usage=Usage(11, 7))
REPLY = structs.replace(REPLY, model="model-1-2026")
ENDS = {"chat": "tool_calls", "responses": "completed", "messages": "tool_use", "gemini": "STOP"}
"""Why the model stopped that said this, in the word of each API."""
ADD = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
CHAT_BODY: dict[str, object] = {
    "model": "fast",
    "messages": [{"role": "user", "content": "Add 2 and 3."}],
    "tools": [{"type": "function", "function": {"name": "add", "parameters": ADD}}],
}
CALLED = {"type": "function_call_output", "call_id": "call_1", "output": "5"}
BODIES: dict[str, tuple[str, dict[str, object]]] = {
    "chat": ("/v1/chat/completions", CHAT_BODY),
    "responses": (
        "/v1/responses",
        {"model": "fast", "input": "Add 2 and 3.", "tools": [{"type": "function", "name": "add", "parameters": ADD}]},
    ),
    "messages": (
        "/v1/messages",
        {
            "model": "fast",
            "max_tokens": 99,
            "messages": [{"role": "user", "content": "Add 2 and 3."}],
            "tools": [{"name": "add", "input_schema": ADD}],
        },
    ),
    "gemini": (
        "/v1beta/models/fast:{method}",
        {
            "contents": [{"role": "user", "parts": [{"text": "Add 2 and 3."}]}],
            "tools": [{"functionDeclarations": [{"name": "add", "parameters": ADD}]}],
        },
    ),
}


def asked_for(api: str, *, stream: bool) -> tuple[str, dict[str, object]]:
    """The address and the body of a request."""
    path, body = BODIES[api]
    if api == "gemini":
        return path.format(method="streamGenerateContent?alt=sse" if stream else "generateContent"), body
    return path, {**body, "stream": True} if stream else body


@pytest.mark.row("S9")
async def test_every_api_reaches_every_other_whole_and_streamed() -> None:
    for stream in (False, True):
        for there in BODIES:
            with ChatServer(lambda _: REPLY) as server:
                url = server.url if there != "gemini" else server.url.replace("/v1", "/v1beta")
                async with gateway({"fast": upstream(url, there)}) as (_, client, lines):
                    for here in BODIES:
                        path, body = asked_for(here, stream=stream)
                        answer = await client.post(path, json=body)
                        assert answer.status_code == 200, (here, there, answer.text)
                        text = answer.text
                        assert "It is 5." in text, (here, there)
                        assert '"add"' in text, (here, there)
                        line = lines.kept[-1]
                        assert (line.end, line.input_tokens, line.output_tokens) == ("answered", 11, 7), (here, there)
                        assert (line.response_model, line.finish_reasons) == ("model-1-2026", (ENDS[there],)), there
                        assert here != there or "x-actum-lost" not in answer.headers
                        sent = server.requests[-1]
                        assert KEY in " ".join(sent.headers.values())
                        assert here == "gemini" or there == "gemini" or sent.json["model"] == "model-1"


async def test_the_same_api_is_passed_on_byte_for_byte_but_for_the_model() -> None:
    odd = b'{ "model" : "fast", "seed":1.0,"messages": [ {"role":"user","content":"Gr\xc3\xbc\xc3\x9fe"} ], "new": {}}'
    answered = b'{ "id":"x" , "choices": [], "new_field": 1.50, "usage": {"prompt_tokens": 3}}'
    server = RawServer([http(answered)])
    async with server.serving() as url, gateway({"fast": upstream(url)}) as (_, client, lines):
        answer = await client.post("/v1/chat/completions", content=odd)
    assert answer.content == answered
    assert server.asked[0].partition(b"\r\n\r\n")[2] == odd.replace(b'"fast"', b'"model-1"')
    assert (lines.kept[0].input_tokens, lines.kept[0].upstream.startswith("chat@")) == (3, True)


def piece(**more: object) -> bytes:
    return b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", **more}).encode() + b"\n\n"


WORDS = [
    piece(choices=[{"index": 0, "delta": {"content": "Hello \u00e9"}, "finish_reason": None}], usage=None),
    piece(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]),
]
USAGE = piece(choices=[], usage={"prompt_tokens": 5, "completion_tokens": 2})
DONE = b"data: [DONE]\n\n"


ASKS = {"role": "user", "content": "Add 2 and 3."}
FUNCTION = {"name": "add", "parameters": ADD}
SAID = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
OLD_TURN: list[dict[str, object]] = [
    {"role": "assistant", "content": None, "function_call": SAID},
    {"role": "function", "name": "add"},
]
NEW_CALL = {"id": "call_7", "type": "function", "function": SAID}
NEW_TURN: list[dict[str, object]] = [
    {"role": "assistant", "tool_calls": [NEW_CALL]},
    {"role": "tool", "tool_call_id": "call_7"},
]
FORMS: dict[str, tuple[list[dict[str, object]], dict[str, object], bool]] = {
    "2023": ([], {"functions": [FUNCTION], "function_call": {"name": "add"}}, True),
    "2023 as Anthropic says": ([], {"functions": [FUNCTION], "tool_choice": {"type": "tool", "name": "add"}}, True),
    "2023, the second request": (OLD_TURN, {}, True),
    "2023, after tools": (NEW_TURN, {"functions": [FUNCTION]}, True),
    "today": ([], {"tools": [{"type": "function", "function": FUNCTION}], "tool_choice": "required"}, False),
    "today, the second request": (NEW_TURN, {}, False),
    "today, after functions": (OLD_TURN, {"tools": [{"type": "function", "function": FUNCTION}]}, False),
    "both": ([], {"tools": [{"type": "function", "function": FUNCTION}], "functions": [FUNCTION]}, True),
    "both, one a turn": ([], {"functions": [FUNCTION], "parallel_tool_calls": False}, True),
    "2023, none": ([], {"functions": []}, True),
    "neither": ([], {}, False),
}
NOT_OF_2023 = {"tools", "tool_choice", "parallel_tool_calls", "stream_options"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("case", FORMS)
async def test_an_upstream_is_asked_in_the_form_that_it_knows_and_its_client_answered_in_its_own(
    case: str, stream: bool
) -> None:
    before, fields, is_old = FORMS[case]
    messages = [ASKS, *[{"content": "5", **message} for message in before]]
    for name, dialect in (("chat", OPENAI_CHAT), ("functions", OPENAI_FUNCTIONS)):

        def api(body: JsonObject) -> Said:
            alien = {"functions", "function_call"} if name == "chat" else NOT_OF_2023  # noqa: B023  # asked in the loop
            if forms_of(body) - {"tools" if name == "chat" else "functions"} or alien & body.keys():  # noqa: B023
                return Raw((b'{"error":{"message":"Unsupported parameter"}}',), status=400)
            said = Reply.of(calls=[ToolCall("call_1", "add", {"a": 2, "b": 3})])
            told = dialect.encoder().close(said) if body.get("stream") else dialect.encode_reply(said)  # noqa: B023
            return Raw((told,))

        with ChatServer(api) as chat:
            place = ModelPlace(url=chat.url, model="model-1", key=KEY, dialect=dialect)
            route = ModelRoute([ModelUpstream(name, place, timeout_s=HANGS_S)])
            async with gateway({"fast": route}) as (_, client, _):
                asked = {"model": "fast", "messages": messages, "stream": stream, **fields}
                answer = await client.post("/v1/chat/completions", json=asked)
        assert answer.status_code == 200, answer.text
        said = OPENAI_CHAT.decode(answer.content)
        assert [(call.name, call.arguments) for call in said.calls] == [("add", {"a": 2, "b": 3})]
        if case != "neither":
            assert ('"function_call":' in answer.text) == is_old


THREE = [{"type": "function", "function": {"name": name, "parameters": ADD}} for name in ("add", "take", "count")]
FLAT = [{"name": name, "input_schema": ADD} for name in ("add", "take", "count")]
AMONG = {"type": "allowed_tools", "mode": "required", "tools": [{"name": "take"}, {"name": "count"}]}
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
CHOICES: list[tuple[str, dict[str, object], str, object]] = [
    (CHAT, {"tools": THREE, "tool_choice": "required"}, "functions", None),
    (CHAT, {"tools": THREE[:1], "tool_choice": "required"}, "functions", {"name": "add"}),
    (CHAT, {"tools": THREE, "tool_choice": AMONG}, "functions", None),
    (CHAT, {"tools": THREE, "tool_choice": {**AMONG, "tools": ["take"]}}, "functions", {"name": "take"}),
    (CHAT, {"tools": THREE, "tool_choice": {**AMONG, "mode": "auto", "tools": []}}, "functions", "none"),
    (CHAT, {"tools": THREE, "tool_choice": AMONG}, "messages", {"type": "any"}),
    (CHAT, {"tool_choice": "required"}, "messages", None),
    (MESSAGES, {"max_tokens": 9, "tools": FLAT, "tool_choice": {"type": "any"}}, "functions", None),
    (MESSAGES, {"max_tokens": 9, "tools": FLAT, "tool_choice": {"type": "any"}}, "chat", "required"),
    (MESSAGES, {"max_tokens": 9, "tool_choice": {"type": "any"}}, "chat", None),
]  # fmt: skip
KINDS: dict[str, ApiDialect] = {"chat": OPENAI_CHAT, "functions": OPENAI_FUNCTIONS, "messages": ANTHROPIC_MESSAGES}


@pytest.mark.parametrize(("path", "fields", "kind", "heard"), CHOICES)
async def test_a_call_that_is_demanded_is_demanded_of_the_upstream_or_refused(
    path: str, fields: dict[str, object], kind: str, heard: object
) -> None:
    bodies: list[JsonObject] = []

    def api(body: JsonObject) -> Said:
        bodies.append(body)
        return Raw((KINDS[kind].encode_reply(Reply.of("Hi.")),))

    with ChatServer(api) as chat:
        place = ModelPlace(url=chat.url, model="model-1", key=KEY, dialect=KINDS[kind])
        async with gateway({"fast": ModelRoute([ModelUpstream(kind, place, timeout_s=HANGS_S)])}) as (_, client, _):
            answer = await client.post(path, json={"model": "fast", "messages": [ASKS], **fields})
    if heard is None:
        assert (answer.status_code, bodies) == (400, [])
        assert "tool_choice: a call is demanded" in answer.json()["error"]["message"]
    else:
        assert answer.status_code == 200, answer.text
        assert [body.get("function_call", body.get("tool_choice")) for body in bodies] == [heard]


async def test_the_usage_of_a_chat_stream_is_asked_for_and_its_event_left_out() -> None:
    for wanted in (False, True):
        server = RawServer([STREAM, *WORDS, USAGE, DONE])
        async with server.serving() as url, gateway({"fast": upstream(url)}) as (_, client, lines):
            options = {"stream_options": {"include_usage": True}} if wanted else {}
            answer = await client.post("/v1/chat/completions", json={**CHAT_BODY, **options, "stream": True})
        assert json.loads(server.asked[0].partition(b"\r\n\r\n")[2])["stream_options"] == {"include_usage": True}
        assert answer.content == b"".join([*WORDS, *([USAGE] if wanted else []), DONE])
        assert (lines.kept[0].input_tokens, lines.kept[0].output_tokens, lines.kept[0].end) == (5, 2, "answered")


async def test_an_upstream_that_knows_no_stream_options_is_asked_again_without_them() -> None:
    refused = http(b'{"error": {"message": "unknown field stream_options"}}', status=400)
    server = RawServer([refused], [STREAM, *WORDS, DONE], [STREAM, *WORDS, DONE])
    async with server.serving() as url, gateway({"fast": upstream(url)}) as (_, client, _):
        for _ in range(2):
            answer = await client.post("/v1/chat/completions", json={**CHAT_BODY, "stream": True})
            assert answer.content == b"".join([*WORDS, DONE])
    assert [b"stream_options" in each for each in server.asked] == [True, False, False]


def test_a_stream_says_the_same_wherever_it_is_cut() -> None:
    for end in (b"\n", b"\r\n", b"\r"):
        whole = b"".join([*WORDS, USAGE, DONE]).replace(b"\n", end)
        expected = b"".join([*WORDS, DONE]).replace(b"\n", end)
        for cut in range(len(whole) + 1):
            watch = EventWatch(drops_usage=True)
            told = watch.feed(whole[:cut]) + watch.feed(whole[cut:]) + watch.close()
            assert _plain(told) == _plain(expected), (end, cut)
            assert (watch.ended, watch.usage.input_tokens, watch.error) == (True, 5, None)


def test_a_stream_says_which_model_has_answered_and_why_it_stopped() -> None:
    first, last = piece(model="m", choices=[]), piece(choices=[{"index": 0, "finish_reason": "stop"}])
    second = piece(choices=[{"index": 1, "delta": {}, "finish_reason": "length"}])
    said = json.dumps({"content": '"finish_reason": "no"'}).encode()
    streams: dict[bytes, tuple[str, tuple[str, ...]]] = {
        b": ping\n\n" + first + second + last + DONE: ("m", ("stop", "length")),
        first + b"data: " + said + b"\n\n" + second + DONE: ("m", ("length",)),
        piece(model="m" * 999, choices=[{"index": at, "finish_reason": "s" * 999} for at in range(999)]): (
            "m" * 200,
            ("s" * 200,) * 16,
        ),
        piece(model=5, choices=[{"index": 0, "finish_reason": "stop"}]): ("", ()),
        piece(choices=["finish_reason", {"finish_reason": "stop"}]): ("", ()),
        b'data: {"finish_reason": "stop", "response":' + b'{"response":' * 50_000 + b"\n\n": ("", ()),
        b'data: {"finish_reason": "stop", "choices": [' + b"{}," * 200_000 + b"{}]}\n\n": ("", ()),
        b'data: {"type": "response.incomplete", "response": {"model": "r", "status": "incomplete", '
        b'"incomplete_details": {"reason": "max_output_tokens"}}}\n\n': ("r", ("max_output_tokens",)),
    }
    for stream, expected in streams.items():
        watch = EventWatch()
        watch.feed(stream)
        assert (watch.end.model, watch.end.reasons) == expected, stream[:200]


def _plain(wire: bytes) -> bytes:
    return re.sub(b"\n\n+", b"\n\n", wire.replace(b"\r\n", b"\n").replace(b"\r", b"\n").strip())


async def test_a_stream_that_breaks_off_ends_with_the_error_of_its_api_wherever_it_is_cut() -> None:
    whole = b"".join(WORDS)
    end_of_words = len(WORDS[0])
    for cut in (1, 20, end_of_words - 1, end_of_words, end_of_words + 9, len(whole) - 30):
        server = RawServer([STREAM.replace(b"connection: close", b"transfer-encoding: chunked"), _chunk(whole[:cut])])
        async with server.serving() as url, gateway({"fast": upstream(url)}) as (_, client, lines):
            answer = await client.post("/v1/chat/completions", json={**CHAT_BODY, "stream": True})
        if cut < end_of_words:  # nothing was heard
            assert answer.status_code in (502, 503), cut
            assert lines.kept[0].end == "refused"
        else:
            told = answer.text.split("\n\n")
            assert told[0] + "\n\n" == WORDS[0].decode(), cut
            assert "error" in json.loads(told[1].removeprefix("data: ")), cut
            assert lines.kept[0].end == "broke_off"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


DEEP = b"[" * 20_000 + b"]" * 20_000
TROUBLE: list[tuple[list[bytes], int, str]] = [
    ([http(b'{"error": {"message": "down", "more": ' + DEEP + b"}}", status=500)], 500, ""),
    ([http(b'{"error": {"message": "slow down"}}', status=429, more="retry-after: 7\r\n")], 429, "slow down"),
    ([http(b'{"error": {"message": "down"}}', status=500)], 500, "down"),
    ([http(b'{"error": {"message": "Incorrect key sk-12345678901"}}', status=401)], 502, "refuses this server"),
    ([http(f'{{"error": {{"message": "key {KEY}"}}}}'.encode(), status=500)], 500, "[key]"),
    ([http(b"<html>", kind="text/html")], 502, "something else"),
    ([http(b"", status=307, more="location: http://127.0.0.1:1/\r\n")], 502, "something else"),
    ([http(b"xx", more="content-encoding: gzip\r\n")], 502, "something else"),
    ([b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{}"], 503, "reached"),
    ([b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\n{}abc"], 503, ""),
    ([b"\x00\x01\x02 nonsense\r\n\r\n"], 502, ""),
    ([], 503, "reached"),
    ([b""], 504, "in time"),
    ([http(b'{"error": {"message": "context_length_exceeded: too long", "code": "context_length_exceeded"}}',
           status=400)], 400, "too long"),
    ([http(b'{"error": {"message": "temperature is too high"}}', status=400)], 400, "temperature"),
]  # fmt: skip


async def test_what_an_upstream_does_wrong_is_told_without_its_secrets_and_the_next_one_is_asked() -> None:
    good = http(b'{"id": "good", "choices": []}')
    for answers, status, words in TROUBLE:
        bad, other = RawServer(answers, answers), RawServer([good])
        async with bad.serving() as url, other.serving() as second:
            hasty = upstream(url, timeout_s=0.3 if status == 504 else HANGS_S)
            route = ModelRoute([hasty, upstream(second)])
            async with gateway({"one": hasty, "two": route}) as (_, client, lines):
                alone = await client.post("/v1/chat/completions", json={**CHAT_BODY, "model": "one"})
                both = await client.post("/v1/chat/completions", json={**CHAT_BODY, "model": "two"})
        message = alone.json()["error"]["message"]
        assert (alone.status_code, words in message) == (status, True), (answers, alone.status_code, message)
        assert KEY not in alone.text
        assert url not in alone.text
        assert alone.headers.get("retry-after") == ("7" if status == 429 else None)
        falls_back = words != "temperature"
        assert both.status_code == (200 if falls_back else status), (answers, both.text)
        assert [line.tried for line in lines.kept] == [1, 2 if falls_back else 1]


async def test_an_upstream_that_says_not_to_ask_again_is_believed_at_every_api_by_client_and_gateway() -> None:
    """Behind it may stand an agent whose tools have run, such as one of ours behind another gateway."""
    failed = http(b'{"error": {"message": "The run failed."}}', status=503, more="x-should-retry: false\r\n")
    for api in ("chat", "messages"):
        for here in BODIES:
            for stream in (False, True):
                first, second = RawServer([failed]), RawServer([failed])
                async with first.serving() as url, second.serving() as other:
                    route = ModelRoute([upstream(url, api), upstream(other, api)])
                    async with gateway({"fast": route}) as (_, client, _):
                        path, body = asked_for(here, stream=stream)
                        answer = await client.post(path, json=body)
                case = (api, here, stream, answer.text)
                assert (answer.status_code, answer.headers["x-should-retry"]) == (503, "false"), case
                assert (len(first.asked), len(second.asked)) == (1, 0), case


async def test_an_upstream_that_tells_its_own_address_in_an_error_is_not_passed_on_so() -> None:
    """Whole, as the first event of a stream and in its midst, at every API, with the slashes written either way."""
    for api in ("chat", "messages", "responses", "gemini"):
        for way in ("whole", "first", "later", "torn"):
            for here in BODIES:
                server = RawServer()
                async with server.serving() as url:
                    said = "cannot connect to " + (url if way != "later" else url.replace("/", "\\/"))
                    error = b'{"error": {"message": "%s", "type": "server_error"}}' % said.encode()
                    begun = b'data: {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}\n\n'
                    event = b"data: " + error + b"\n\n"
                    pieces = {
                        "whole": [http(error, status=400)],
                        "first": [STREAM + event],
                        "later": [STREAM + begun, event],
                        "torn": [STREAM + begun + event[:60], event[60:]],
                    }[way]
                    server.answers = [pieces]
                    async with gateway({"fast": upstream(url, api)}) as (_, client, _):
                        path, body = asked_for(here, stream=way != "whole")
                        answer = await client.post(path, json=body)
                    where = url.removesuffix("/v1").partition("//")[2]
                assert where not in answer.text + str(answer.headers), (api, way, here, answer.text)
                assert where.partition(":")[2] not in answer.text, (api, way, here, answer.text)
                if api == "chat" and way != "whole":
                    assert "[upstream]" in answer.text, (way, here, answer.text)


async def test_an_answer_without_end_is_cut_and_one_event_without_end_too() -> None:
    flood = RawServer([STREAM, *WORDS[:1], b"data: ", *[b"x" * 1_000_000] * 40])
    async with flood.serving() as url, gateway({"fast": upstream(url)}) as (_, client, lines):
        answer = await client.post("/v1/chat/completions", json={**CHAT_BODY, "stream": True})
    assert answer.text.startswith(WORDS[0].decode())
    assert "longer than" in answer.text
    assert lines.kept[0].end == "broke_off"


async def test_a_client_that_hangs_up_ends_the_request_upstream_before_and_in_the_answer() -> None:
    for answers in ([b""], [STREAM, WORDS[0], b""]):
        server = RawServer(answers)
        async with server.serving() as url, gateway({"fast": upstream(url)}) as (origin, _, lines):
            async with httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as leaving:
                body = {**CHAT_BODY, "stream": len(answers) > 1}
                asking = asyncio.create_task(_read_a_piece(leaving, body, until_first=len(answers) > 1))
                await asyncio.wait_for(server.came.wait(), HANGS_S)
                if len(answers) > 1:
                    await asyncio.wait_for(asking, HANGS_S)
                asking.cancel()
                await asyncio.wait([asking])
            await asyncio.wait_for(server.gone.wait(), HANGS_S)
            await asyncio.wait_for(lines.came.wait(), HANGS_S)
        assert lines.kept[0].end == "client_left"
        assert (lines.kept[0].input_tokens > 0, lines.kept[0].estimated) == (True, True)


@pytest.mark.parametrize("api", ["chat", "responses", "messages", "gemini"])
async def test_a_client_that_leaves_each_stream_before_its_end_has_not_asked_for_free(api: str) -> None:
    encoder = DIALECTS[api].encoder()
    said = [encoder.feed(TextDelta('Some "words" more. ')) for _ in range(100)]
    server = RawServer([STREAM, *said, b""])
    price = {"model-1": Price(input=Decimal(1), output=Decimal(10))}
    async with server.serving() as url, gateway({"fast": upstream(url, api, prices=price)}) as (_, client, lines):
        heard = ""
        async with client.stream("POST", "/v1/chat/completions", json={**CHAT_BODY, "stream": True}) as answer:
            async for piece_ in answer.aiter_text():
                heard += piece_
                if heard.count("more.") == 100:
                    break
        await asyncio.wait_for(lines.came.wait(), HANGS_S)
    line = lines.kept[0]
    assert (line.end, line.estimated, line.cost) == (
        "client_left",
        True,
        price["model-1"].of(Usage(line.input_tokens, line.output_tokens)),
    )
    assert line.input_tokens > 0
    assert 450 <= line.output_tokens <= 560  # 1,900 bytes, and the quotes are longer on the wire


async def test_the_tokens_of_an_answer_that_tells_none_are_estimated_and_those_that_are_told_are_not_changed() -> None:
    reply = structs.replace(Reply.of("Some words. " * 10, [ToolCall("1", "add", {"a": 1})]), usage=Usage())
    bare, told = (OPENAI_CHAT.encode_reply(structs.replace(reply, usage=usage)) for usage in (Usage(), Usage(5_000, 7)))
    refused = http(b'{"error": {"message": "unknown field stream_options"}}', status=400)
    server = RawServer([http(bare)], [http(told)], [refused], [STREAM, *WORDS, DONE])
    async with server.serving() as url, gateway({"fast": upstream(url)}) as (_, client, lines):
        for stream in (False, False, True):
            answer = await client.post("/v1/chat/completions", json={**CHAT_BODY, "stream": stream})
            assert answer.status_code == 200
    assert [(line.estimated, line.input_tokens > 0) for line in lines.kept] == [
        (True, True),
        (False, True),
        (True, True),
    ]
    assert (30 <= lines.kept[0].output_tokens <= 40, lines.kept[1].output_tokens) == (True, 7)
    assert lines.kept[2].output_tokens > 0


async def _read_a_piece(client: httpx2.AsyncClient, body: dict[str, object], *, until_first: bool) -> None:
    async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
        async for _ in answer.aiter_raw():
            if until_first:
                return


async def test_a_client_that_reads_nothing_holds_a_bounded_buffer() -> None:
    many = [piece(choices=[{"index": 0, "delta": {"content": "x" * 60_000}}])] * 600
    server = RawServer([STREAM, *many, DONE])
    body = {**CHAT_BODY, "stream": True}
    async with (
        server.serving() as url,
        gateway({"fast": upstream(url)}) as (_, client, _),
        client.stream("POST", "/v1/chat/completions", json=body) as answer,
    ):
        chunks = answer.aiter_raw()
        await anext(chunks)
        await asyncio.wait_for(server.waits.wait(), HANGS_S)  # all buffers on the way are full
        assert server.sent < 20_000_000  # of 36 MB: what the sockets' own buffers hold
        assert [chunk async for chunk in chunks]
    assert server.sent > 36_000_000


async def test_keys_and_accounts_of_a_client_never_go_upstream() -> None:
    text, key = new_key("ana", principal="ana")
    server = RawServer(*[[http(b"{}")]] * 4)
    headers = {
        "openai-organization": "org-mine",
        "openai-project": "proj-mine",
        "cookie": "session=1",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "new-thing-1",
        "x-forwarded-for": "10.1.1.1",
        "x-evil": "1",
        "transfer-encoding": "chunked",
    }
    shown: list[dict[str, str]] = [{"authorization": f"Bearer {text}"}, {"x-api-key": text}, {"x-goog-api-key": text}]
    access = Access(verifier=Keys([key]))
    async with (
        server.serving() as url,
        gateway({"fast": upstream(url, "messages")}, access=access) as (_, client, _),
    ):
        for one in shown:
            body = json.dumps(asked_for("messages", stream=False)[1])
            answer = await client.post("/v1/messages", content=_pieces(body), headers={**headers, **one})
            assert answer.status_code == 200
    for sent in server.asked:
        head = sent.partition(b"\r\n\r\n")[0].lower()
        assert text.encode().lower() not in sent.lower()
        for word in (b"org-mine", b"proj-mine", b"cookie", b"x-forwarded", b"x-evil", b"transfer-encoding"):
            assert word not in head
        assert head.count(b"content-length") == 1
        assert b"anthropic-version: 2023-06-01" in head
        assert b"anthropic-beta: new-thing-1" in head
        assert b"x-api-key: " + KEY.encode() in head


async def _pieces(body: str) -> AsyncIterator[bytes]:
    yield body.encode()


async def test_a_second_name_of_a_model_hidden_in_a_body_goes_nowhere() -> None:
    hidden = [
        b'{"model": "other", "model": "fast", "messages": []}',
        b'{"mod\\u0065l": "other", "model": "fast", "messages": []}',
        b'{"model": "fast", "messages": [], "stream": true, "stream": false}',
    ]
    server = RawServer(*[[http(b"{}")]] * 3)
    async with server.serving() as url, gateway({"fast": upstream(url)}) as (_, client, _):
        for body in hidden:
            assert (await client.post("/v1/chat/completions", content=body)).status_code == 200
    for sent in server.asked:
        body = sent.partition(b"\r\n\r\n")[2]
        assert body.count(b'"model"') == 1
        assert b"other" not in body
        assert b"true" not in body


async def test_a_name_that_leads_elsewhere_at_the_upstream_is_refused() -> None:
    server = RawServer(*[[http(b"{}")]] * 3)
    async with server.serving() as url:
        place = ModelPlace(url=url, model="*", key=KEY, dialect=DIALECTS["gemini"])
        async with gateway({"g*": ModelUpstream("any", place)}) as (_, client, _):
            for name in ("g/../../admin", "g%2F..%2F..%2Fadmin", "g/%2e%2e/x", "g//x"):
                answer = await client.post(f"/v1beta/models/{name}:generateContent", json={})
                assert answer.status_code in (400, 404), name
            answer = await client.post("/v1/chat/completions", json={**CHAT_BODY, "model": "g/../x"})
            assert answer.status_code == 400
            assert (await client.post("/v1beta/models/g/x?a=1%23:generateContent", json={})).status_code in (
                400,
                404,
                405,
            )
            assert (await client.post("/v1beta/models/g%3Fx=1&y%23:generateContent", json={})).status_code == 200
    (asked,) = server.asked
    assert asked.startswith(b"POST /v1/models/g%3Fx%3D1%26y%23:generateContent HTTP/1.1\r\n")


async def test_an_upstream_that_failed_again_and_again_is_left_alone_and_tried_later() -> None:
    clock = FakeClock()
    down = http(b'{"error": {"message": "down"}}', status=500)
    server = RawServer(*[[down]] * 5, [http(b'{"id": "up"}')])
    async with server.serving() as url, gateway({"fast": upstream(url)}, clock=clock) as (_, client, _):
        for _ in range(5):
            assert (await client.post("/v1/chat/completions", json=CHAT_BODY)).status_code == 500
        resting = await client.post("/v1/chat/completions", json=CHAT_BODY)
        assert (resting.status_code, len(server.asked)) == (503, 5)
        assert 0 < int(resting.headers["retry-after"]) <= 30
        clock.advance(31)
        assert (await client.post("/v1/chat/completions", json=CHAT_BODY)).status_code == 200


async def test_one_client_whose_requests_fail_keeps_nobody_else_from_an_upstream() -> None:
    made = {name: new_key(name, scopes=["models"]) for name in ("bad", "good")}
    access = Access(verifier=Keys(key for _, key in made.values()))
    for status in (400, 403, 404, 408, 422, 500):
        refusal = http(b'{"error": {"message": "no"}}', status=status)
        server = RawServer(*[[refusal]] * 5, [http(b'{"id": "up"}')], *[[refusal]] * 2)
        async with server.serving() as url, gateway({"fast": upstream(url)}, access=access) as (_, client, _):

            async def ask(name: str, client: httpx2.AsyncClient = client) -> int:
                headers = {"authorization": f"Bearer {made[name][0]}"}
                return (await client.post("/v1/chat/completions", json=CHAT_BODY, headers=headers)).status_code

            for _ in range(5):
                await ask("bad")
            assert await ask("good") == 200, status
            await ask("bad")
            rests = status in (403, 408, 500)
            assert len(server.asked) == (6 if rests else 7), status


async def test_tools_of_the_provider_go_to_the_same_api_only() -> None:
    tools: dict[str, dict[str, object]] = {
        "chat": {"web_search_options": {}},
        "responses": {"tools": [{"type": "web_search"}, {"type": "mcp", "server_url": "http://x"}]},
        "messages": {"tools": [{"type": "web_search_20260101", "name": "web_search"}]},
        "gemini": {"tools": [{"googleSearch": {}}]},
    }
    with ChatServer(lambda _: Reply.of("ok")) as server:
        for there in BODIES:
            url = server.url if there != "gemini" else server.url.replace("/v1", "/v1beta")
            async with gateway({"fast": upstream(url, there)}) as (_, client, _):
                for here, own in tools.items():
                    path, body = asked_for(here, stream=False)
                    answer = await client.post(path, json={**body, **own})
                    assert answer.status_code == (200 if here == there else 400), (here, there, answer.text)
                    if here != there:
                        assert "earch" in answer.json()["error"]["message"]


async def test_what_is_lost_in_another_api_is_told_in_a_header_and_in_the_last_comment_of_a_stream() -> None:
    with ChatServer(lambda _: Reply.of("Hi")) as server:
        async with gateway({"fast": upstream(server.url, "chat")}) as (_, client, _):
            path, body = asked_for("messages", stream=False)
            answer = await client.post(path, json={**body, "top_k": 5})
            assert any("top_k" in lost for lost in json.loads(answer.headers["x-actum-lost"]))
    events = [
        piece(choices=[{"index": 0, "delta": {"content": "Hi"}, "logprobs": {"content": [{"token": "Hi"}]}}]),
        WORDS[1],
        DONE,
    ]
    for here in ("messages", "gemini"):
        raw = RawServer([STREAM, *events])
        async with raw.serving() as url, gateway({"fast": upstream(url)}) as (_, client, _):
            path, body = asked_for(here, stream=True)
            text = (await client.post(path, json=body)).text
        assert ("\n: lost [" in text) == (here == "messages"), text
        assert (text.rstrip().splitlines()[-1].startswith(": lost")) == (here == "messages")


async def test_users_stay_with_their_arm_and_arms_get_their_share() -> None:
    route = ModelRoute([upstream("http://a/v1", weight=9.0), upstream("http://b/v1", weight=1.0), upstream("http://c")])
    firsts = [route.order("fast", User("", f"user-{number}"))[0].name for number in range(2_000)]
    assert firsts == [route.order("fast", User("", f"user-{number}"))[0].name for number in range(2_000)]
    assert 1_700 < firsts.count("chat@http://a/v1") < 1_900
    assert firsts.count("chat@http://c") == 0
    assert len(route.order("fast", User("", "ana"))) == 3
    plain = ModelRoute([upstream("http://a/v1"), upstream("http://b/v1")])
    assert plain.order("fast", User("", "bo")) == plain.upstreams


async def test_callers_without_a_key_are_not_one_user_to_the_weights() -> None:
    with ChatServer(lambda _: REPLY) as one, ChatServer(lambda _: REPLY) as other:
        route = ModelRoute([upstream(one.url, weight=1.0), upstream(other.url, weight=1.0)])
        async with gateway({"fast": route}) as (_, client, _):
            for _ in range(30):
                await client.post("/v1/chat/completions", json=CHAT_BODY)
        assert all(server.requests for server in (one, other)), "each request is drawn for itself"


async def test_tokens_are_counted_where_the_upstream_can_and_estimated_elsewhere() -> None:
    body = asked_for("messages", stream=False)[1]
    server = RawServer([http(b'{"input_tokens": 17}')])
    async with server.serving() as url, gateway({"fast": upstream(url, "messages")}) as (_, client, _):
        answer = await client.post("/v1/messages/count_tokens", json=body)
        assert (answer.json(), "x-actum-estimated" in answer.headers) == ({"input_tokens": 17}, False)
    counted = RawServer([http(b'{"totalTokens": 18}')])
    content = {"contents": [{"parts": [{"text": "How are you today?"}]}]}
    async with counted.serving() as url, gateway({"fast": upstream(url, "gemini")}) as (_, client, _):
        answer = await client.post("/v1/models/fast:countTokens", json=content)
        assert (answer.json(), "x-actum-estimated" in answer.headers) == ({"totalTokens": 18}, False)
    async with gateway({"fast": upstream("http://127.0.0.1:9/v1")}) as (_, client, _):
        answer = await client.post("/v1/messages/count_tokens", json=body)
        assert answer.headers["x-actum-estimated"] == "true"
        assert 3 < answer.json()["input_tokens"] < 60
        for asked in (content, {"generateContentRequest": content}):
            answer = await client.post("/v1beta/models/fast:countTokens", json=asked)
            assert (answer.headers["x-actum-estimated"], 3 < answer.json()["totalTokens"] < 60) == ("true", True)


async def test_embeddings_are_passed_on_and_refused_where_there_are_none() -> None:
    server = RawServer([http(b'{"object": "list", "data": [], "usage": {"prompt_tokens": 4}}')])
    async with server.serving() as url, gateway(
        {"fast": upstream(url), "other": upstream(url, "messages")}
    ) as (_, client, lines):  # fmt: skip
        answer = await client.post("/v1/embeddings", json={"model": "fast", "input": "Hi"})
        assert (answer.json()["object"], lines.kept[0].input_tokens) == ("list", 4)
        assert (await client.post("/v1/embeddings", json={"model": "other", "input": "Hi"})).status_code == 501


async def test_bodies_are_kept_only_where_the_operator_says_so() -> None:
    with ChatServer(lambda _: Raw((b'{"id": "secret-answer"}',))) as server:
        routes = {
            "fast": ModelRoute([upstream(server.url)]),
            "kept": ModelRoute([upstream(server.url)], keeps_bodies=True),
        }
        async with gateway(routes) as (_, client, lines):
            for name in routes:
                await client.post("/v1/chat/completions", json={**CHAT_BODY, "model": name})
    assert [line.answer_body for line in lines.kept] == [b"", b'{"id": "secret-answer"}']
    assert [b"Add 2" in line.request_body for line in lines.kept] == [False, True]


CALLS = b",".join(
    b'{"index":%d,"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}' % (n, n) for n in range(900)
)


async def test_a_stream_of_tiny_or_large_events_leaves_the_loop_to_others_while_it_is_transcoded() -> None:
    last = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    events = {
        "first": b"",
        "comments": b":\n\n" * 10_000,
        "empty": b"data: {}\n\n" * 4_000,
        "errors": b'data: {"error":{}}\n\n' * 2_000,
        "words": b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n' * 500,
        "calls in one event": b'data: {"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}\n\n' % CALLS,
        "lines of one event": b"data: {}\n" * 10_000 + b"\n",
        "usage": b'data: {"choices":[],"usage":{"a":1},"y":[%s1]}\n\n' % (b"[1]," * 20_000),
        "not asked for": b'data: {"choices":[{"index":0,"delta":{"content":"x"}%s}]}\n\n' % (b',"a":1' * 20_000),
    }
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}], "stream": True}
    held: dict[str, int] = {}
    for name, wire in events.items():
        async with (
            wire_server(always(said(wire + last, "200 OK", "content-type: text/event-stream"))) as server,
            gateway({"m": upstream(f"http://127.0.0.1:{server.port}/v1")}) as it,
            turns_counted() as turns,
        ):
            answer = await it.client.post("/v1/messages", json=body)
        assert answer.status_code in (200, 502), answer.text
        held[name] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= 30_000} == {}


@pytest.mark.parametrize(
    ("named", "param", "code"),
    [
        ({"input": [{"type": "item_reference", "id": "fc_1"}, CALLED]}, "input", None),
        ({"input": [{"id": "msg_1"}, CALLED]}, "input", None),
        ({"input": "Sure?", "previous_response_id": "r"}, "previous_response_id", "previous_response_not_found"),
        ({"input": "Sure?", "conversation": {"id": "conv_1"}}, "conversation", None),
    ],
)
async def test_what_only_its_own_api_has_stored_is_not_left_out_of_a_conversation(
    named: dict[str, object], param: str, code: str | None
) -> None:
    server = RawServer()
    async with (
        server.serving() as url,
        gateway({"fast": upstream(url)}) as (origin, _, lines),
        openai.AsyncOpenAI(base_url=f"{origin}/v1", api_key="any", max_retries=0) as client,
    ):
        for stream in (False, True):
            with pytest.raises(openai.APIStatusError) as told:
                await client.responses.create(model="fast", stream=stream, **named)  # type: ignore[call-overload]
            error = told.value
            assert (error.type, error.param, error.code) == ("invalid_request_error", param, code)
            assert error.status_code == (400 if code else 404)
    assert (server.asked, [line.end for line in lines.kept]) == ([], ["refused", "refused"])


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_of_responses_repeats_its_request_where_another_api_has_given_it(stream: bool) -> None:
    """LangChain reads a streamed text as an object only where the answer repeats the schema."""
    form = {"type": "json_schema", "name": "sum", "schema": {"type": "object", "properties": {}}, "strict": True}
    tool = {"type": "function", "name": "add", "parameters": ADD, "strict": False}
    more = {"text": {"format": form}, "tools": [tool], "tool_choice": "required", "temperature": 0.5}
    with ChatServer(lambda _: "{}") as chat:
        async with (
            gateway({"fast": upstream(chat.url, "messages")}) as (origin, _, _),
            openai.AsyncOpenAI(base_url=f"{origin}/v1", api_key="any") as client,
        ):
            told = await client.responses.create(model="fast", input="?", stream=stream, **more)  # type: ignore[call-overload]
            if stream:
                events = [event async for event in told]
                assert events[0].response.text.format.type == "json_schema"
                told = events[-1].response
    assert told.to_dict().items() >= more.items()
    assert told.store is False


FREE = {"type": "custom", "name": "shell", "description": "Run it."}
UPLOADED = {"type": "file", "file": {"file_id": "file-1"}}
OF_ITS_OWN_API: dict[str, tuple[str, dict[str, object]]] = {
    "a custom tool of Chat": ("chat", {"tools": [{"type": "custom", "custom": {"name": "shell"}}]}),
    "a custom tool of Responses": ("responses", {"tools": [FREE]}),
    "a demanded custom tool": ("responses", {"tools": [FREE], "tool_choice": {"type": "custom", "name": "shell"}}),
    "a file in Chat": ("chat", {"messages": [{"role": "user", "content": [UPLOADED]}]}),
    "a picture in Responses": (
        "responses",
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]}]},
    ),
    "a picture in Messages": (
        "messages",
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}]},
    ),
    "a tool without a type": ("chat", {"tools": [{"function": {"name": "add", "parameters": ADD}}]}),
}


@pytest.mark.parametrize("case", OF_ITS_OWN_API)
async def test_what_is_set_aside_of_a_request_does_not_lose_its_answer(case: str) -> None:
    api, more = OF_ITS_OWN_API[case]
    for there in DIALECTS.keys() - {api}:
        with ChatServer(lambda _: REPLY) as chat:
            async with gateway(
                {"fast": upstream(chat.url if there != "gemini" else chat.url.replace("/v1", "/v1beta"), there)}
            ) as (_, client, lines):
                for stream in (False, True):
                    path, body = asked_for(api, stream=stream)
                    answer = await client.post(path, json={**body, "tools": [], **more})
                    assert (answer.status_code, "It is 5." in answer.text) == (200, True), (there, answer.text)
            assert [line.end for line in lines.kept] == ["answered", "answered"]
            assert len(chat.requests) == 2


async def test_a_picture_in_a_result_of_a_chat_client_reaches_a_model_that_sees() -> None:
    """The API takes texts alone; LangChain sends a picture that a tool has given all the same."""
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    said = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "This:"}, picture]},
    ]
    with ChatServer(lambda _: REPLY) as chat:
        async with gateway({"fast": upstream(chat.url, "messages")}) as (_, client, _):
            answer = await client.post("/v1/chat/completions", json={**CHAT_BODY, "messages": said})
        (asked,) = chat.requests
    assert answer.status_code == 200, answer.text
    assert b'"type":"image"' in asked.body
    assert b"iVBORw0KGgo=" in asked.body
    assert "content[1]" not in answer.headers.get("x-actum-lost", "")
