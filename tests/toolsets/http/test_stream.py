"""Answers that are streams: handed on item by item, within bounds, without secrets; read in any cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actum import Agent, ToolCall
from actum.core.call import ToolResult
from actum.core.errors import CallError
from actum.core.event import CallFinished, CallProgress
from actum.core.json import Json, JsonObject, dumps, parse
from actum.policy.rules import Rule, Rules
from actum.protocols.openapi.items import ITEM_BYTES_MAX, LongItem, item_reader
from actum.protocols.openapi.reading import DocumentReader, read_api, result_schemas
from actum.protocols.openapi.setup import ApiSetup, SecretCredential
from actum.testing import ScriptedModel
from actum.toolsets.http.stream import StreamBounds
from actum.toolsets.http.toolset import ApiToolset
from tests.transport.wire_servers import length_of, listening, said, wire_server

from .test_toolset import context

DOCUMENT: JsonObject = {
    "openapi": "3.2.0",
    "info": {"title": "Logs", "version": "1"},
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "security": [{"key": []}],
    "paths": {
        "/logs": {
            "query": {
                "operationId": "watch_logs",
                "responses": {
                    "200": {
                        "content": {
                            "application/jsonl": {"itemSchema": {"type": ["object", "array", "string", "integer"]}},
                            "text/event-stream": {"itemSchema": {"type": "object"}},
                        }
                    }
                },
            },
        }
    },
}
HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: %s\r\n\r\n"
STREAMS: dict[str, tuple[bytes, list[Json]]] = {
    "application/jsonl": (b'{"a": 1}\n\n[2, "\xc3\xbc"]\r\n"x"\n3', [{"a": 1}, [2, "ü"], "x", 3]),
    "application/json-seq": (b'\x1e{"a":\n1}\n\x1e[2]\n', [{"a": 1}, [2]]),
    "text/event-stream": (
        b': hello\nevent: tick\ndata: {"n": 1}\n\ndata: a\ndata: b\n\ndata: [DONE',
        [{"data": {"n": 1}, "event": "tick"}, {"data": "a\nb"}, {"data": "[DONE"}],
    ),
}


def test_items_are_the_same_wherever_the_stream_is_cut() -> None:
    for kind, (wire, items) in STREAMS.items():
        for cut in range(len(wire) + 1):
            reader = item_reader(kind)
            assert reader is not None
            found = reader.feed(wire[:cut]) + reader.feed(wire[cut:]) + reader.close()
            assert [item.value for item in found] == items, (kind, cut)
        reader = item_reader(kind)
        assert reader is not None
        with pytest.raises(LongItem):
            for _ in range(40):
                reader.feed(b"data: " + b"x" * (ITEM_BYTES_MAX // 16))
    assert item_reader("application/json") is None


@asynccontextmanager
async def logs(*pieces: bytes, goes_on: bool = False, bounds: StreamBounds | None = None) -> AsyncIterator[ApiToolset]:
    """The tools of an API that answers with these bytes, and then hangs up or goes on for ever."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(length_of(await reader.readuntil(b"\r\n\r\n")))
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if goes_on:
            await reader.read()  # until the client hangs up

    async with listening(handle) as port:
        here = f"http://127.0.0.1:{port}"
        reader = DocumentReader(DOCUMENT)
        api = reader.api()
        setup = ApiSetup(
            name="logs",
            api=api,
            server=here,
            origins=(here,),
            credentials={"key": SecretCredential("k")},
            results=result_schemas(reader, api.operations),
        )
        toolset = ApiToolset(setup.approving(), bounds=bounds)
        yield toolset
        await toolset.aclose()


async def answered(toolset: ApiToolset, secret: str = "hush-4711-key") -> ToolResult:
    call = ToolCall("1", "watch_logs", {})
    return await toolset.execute(call, context("watch_logs", {}, {"k": secret}))


@pytest.mark.row("T2")
async def test_a_stream_is_handed_on_item_by_item_and_ends_at_a_bound() -> None:
    for kind, (wire, items) in STREAMS.items():
        async with logs(HEAD % kind.encode(), wire) as toolset:
            result = await answered(toolset)
            assert (result.structured, result.content) == (items, ()), kind
    line = b'{"n": 1}\n'
    head = HEAD % b"application/jsonl"
    endings = {
        "after 3 items": (StreamBounds(items=3), [head, line * 2, line * 2], 3),
        "after 20 bytes": (StreamBounds(bytes=20), [head, line * 4], 4),
        "after 0 seconds": (StreamBounds(seconds=0.3), [head, line * 2], 2),
        "too long": (StreamBounds(bytes=10**9), [head, line, b"x" * (ITEM_BYTES_MAX + 9)], 1),
    }
    for words, (bounds, pieces, count) in endings.items():
        async with logs(*pieces, goes_on=True, bounds=bounds) as toolset:
            result = await answered(toolset)
            assert result.structured == [{"n": 1}] * count, words
            assert words in result.text, (words, result.text)
    chunked = head.replace(b"connection: close", b"transfer-encoding: chunked") + b"9\r\n" + line + b"\r\n"
    async with logs(chunked) as toolset:
        result = await answered(toolset)
        assert result.structured == [{"n": 1}]
        assert "the connection failed" in result.text
    async with logs(head, line, b"no json\n") as toolset:
        assert "1 of its items are not JSON" in (await answered(toolset)).text
    async with logs(head, line, b"true\nnull\n") as toolset:
        result = await answered(toolset)
        assert result.structured == [{"n": 1}, True, None], "nothing is lost"
        assert "Item 2 is not as the API's document says" in result.text
        assert "Item 3" not in result.text, "one is enough"


async def test_whoever_watches_a_call_is_told_each_item_while_the_stream_goes_on_and_no_secret() -> None:
    secret = "hush-4711-key"
    items = [
        b'{"n": 1}\n',
        b'{"key": "hush-4711-key"}\n',
        b'{"key": "h\0u\0s\0h\0-\0004\0007\0001\0001\0-\0k\0e\0y\0"}\n',
    ]
    async with logs(HEAD % b"application/jsonl", *items, goes_on=True, bounds=StreamBounds(items=3)) as toolset:
        call = ToolCall("1", "watch_logs", {})
        agent = Agent(
            ScriptedModel([call, "done"]), [toolset], secrets={"k": secret}, policy=Rules(Rule("allow", tools="*"))
        )
        events = [event async for event in agent.stream("Watch.")]
    told = [event.value for event in events if isinstance(event, CallProgress)]
    assert told[:2] == [{"n": 1}, {"key": "[redacted: secret]"}]
    assert len(told) == 3
    ended = next(event for event in events if isinstance(event, CallFinished))
    assert events.index(ended) > max(at for at, event in enumerate(events) if isinstance(event, CallProgress))
    everything = dumps([told, ended.result.structured]) + ended.result.text
    assert secret not in everything.replace("\\u0000", "")


async def test_an_error_and_a_plain_answer_of_a_streaming_operation_are_as_of_any_other() -> None:
    async with logs(b'HTTP/1.1 422 No\r\ncontent-length: 16\r\n\r\n{"message": "x"}') as toolset:
        with pytest.raises(CallError, match="HTTP 422"):
            await answered(toolset)
    plain = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n[1]"
    async with logs(plain) as toolset:
        assert (await answered(toolset)).structured == [1]
    async with logs(b"", goes_on=True, bounds=StreamBounds(seconds=0.2)) as toolset:
        with pytest.raises(CallError):
            await answered(toolset)


async def test_a_redirect_of_a_stream_is_followed_where_the_call_only_reads() -> None:
    def answer(head: bytes, body: bytes) -> bytes:
        if b"/there" in head:
            return said(b'{"n": 1}\n', "200 OK", "content-type: application/x-ndjson")
        return said(b"", "307 Go", "location: /there")

    document = dumps(DOCUMENT)
    async with wire_server(answer) as server:
        here = f"http://127.0.0.1:{server.port}"
        for method, is_followed in (("get", True), ("post", False)):
            read, _ = parse(document.replace('"query":', f'"{method}":'))
            assert isinstance(read, dict)
            setup = ApiSetup(
                name="logs",
                api=read_api(read),
                server=here,
                origins=(here,),
                credentials={"key": SecretCredential("k")},
            )
            toolset = ApiToolset(setup.approving())
            if is_followed:
                assert (await answered(toolset)).text.strip() == '{"n": 1}'
            else:
                with pytest.raises(CallError, match="redirect that is not followed"):
                    await answered(toolset)
            await toolset.aclose()
