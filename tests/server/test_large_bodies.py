"""A large body holds up nobody: between two turns of the event loop only little work is done on it.

The work is counted and not timed: calls of functions in the thread of the event loop, Python's and C's, between two
turns. What a worker thread does is not counted, since the loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import grpc
import httpx2
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old_a2a
from a2a.types import a2a_pb2 as a2a
from google.protobuf.message import Message as ProtoMessage
from google.protobuf.struct_pb2 import ListValue, Struct, Value

from actum import tool
from actum.core.json import Json, JsonObject, dumps
from actum.protocols.a2a import legacy
from actum.server import Folder, McpService, Resource, prompt
from actum.server.a2a.jsonrpc import METHODS as NEW_METHODS
from actum.server.a2a.jsonrpc import OLD_METHODS, OLD_STREAMS, STREAMS
from actum.server.a2a.reading import TooMuch, read_json
from tests.effort import effort, turns_counted
from tests.patience import HANGS_S

from .a2a.serving import said
from .a2a.test_grpc_limits import desk
from .api.application import answering
from .doors import DOORS
from .test_deep_json import asked
from .test_matrix import served


@tool
async def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def about(day: str) -> str:
    return f"About {day[:10]}."


@prompt
def review(code: str) -> str:
    """Review code."""
    return f"Review this: {code[:10]}"


SIZE = 1_000_000
HELD_MAX = 30_000
"""So many calls between two turns: less than three times what reading the same bytes as JSON makes, which is a call for
each of their objects with `object_pairs_hook`."""


def many(before: str, unit: str, after: str, between: str = ",", size: int = SIZE) -> str:
    return before + between.join([unit] * (size // (len(unit) + 1))) + after


def properties(size: int) -> str:
    names = ",".join(f'"n{n:07}":{{"type":"string"}}' for n in range(size // 28))
    return f'{{"type":"object","properties":{{{names}}}}}'


def schema(number: int) -> str:
    return f'{{"type":"function","function":{{"name":"f{number}","parameters":{properties(400_000)}}}}}'


TOOL = '{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}'
NODES = ",".join(f'"n{n}":{{"type":"say","text":"Hi."}}' for n in range(3_000))
GRAPH = f'{{"actum":"workflow/1","name":"hello","nodes":{{{NODES}}},"edges":[]}}'
CHAT = '{"model": "desk", "messages": ['
A2A = (
    '{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", '
    '"params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": ['
)
BODIES: dict[str, str] = {
    "names": ("{" + ",".join(f'"name{n}": {n}' for n in range(SIZE // 20)) + "}"),
    "arguments": ('{"arguments": {' + ",".join(f'"x{n}": {n}' for n in range(SIZE // 16)) + "}}"),
    "arguments, nested": '{"arguments": {' + ",".join(f'"x{n}": {{"y{n}": []}}' for n in range(SIZE // 22)) + "}}",
    "an argument, nested": '{"arguments": {"x": [' + ",".join(f'{{"y{n}": {{}}}}' for n in range(SIZE // 14)) + "]}}",
    "secrets": '{"arguments": {' + ",".join(f'"x{n}": {{"password": "p{n}"}}' for n in range(SIZE // 30)) + "}}",
    "no end": many('{"model": "desk", "messages": [', '{"role": "user"', ""),
    "messages": many(CHAT, '{"role": "user", "content": "Hi"}', "]}"),
    "parts": many(CHAT + '{"role": "user", "content": [', '{"type": "text", "text": "Hi"}', "]}]}"),
    "calls": many(CHAT, '{"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", '
    '"function": {"name": "f", "arguments": "{\'a\':1,}"}}]}', "]}"),
    "tools": many(CHAT + '{"role": "user", "content": "Hi"}], "tools": [', '{"type": "function", "function": '
    '{"name": "f", "parameters": {"type": "object"}}}', "]}"),
    "responses": many('{"model": "desk", "input": [', '{"role": "user", "content": "Hi"}', "]}"),
    "gemini": many('{"contents": [{"role": "user", "parts": [', '{"text": "Hi"}', "]}]}"),
    "rpc": many('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": [',
    '{"b": 1}', "]}}}"),
    "a2a": many('{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"messageId": "m", "role": '
    '"ROLE_USER", "parts": [', '{"text": "Hi"}', "]}}}"),
    "a2a, old": many('{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"messageId": "m", '
    '"kind": "message", "role": "user", "parts": [', '{"kind": "text", "text": "Hi"}', "]}}}"),
    "functions": many(CHAT + '{"role": "user", "content": "Hi"}], "functions": [', '{"name": "f", "parameters": '
    '{"type": "object"}}', "]}"),
    "task": many('{"agent": "desk", "question": "Hi", "execute_async": true, "x": [', '{"b": 1}', "]}"),
    "a2a of 2025": many('{"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": {"id": "t", "message": {"role": '
    '"user", "parts": [', '{"type": "text", "text": "Hi"}', "]}}}"),
    "a2a, rest": many('{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [', '{"text": "Hi"}', "]}}"),
    "a2a, data": many(A2A + '{"data": [', '{"b": "x"}', "]}]}}}", size=4_000_000),
    "a2a, a text": many(A2A + '{"text": "', "x ", '"}]}}}', "", size=4_000_000),
    "a2a, a file": many(A2A + '{"mediaType": "image/png", "raw": "', "QUFB", '"}]}}}', "", size=4_000_000),
    "a2a, old, data": many('{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"messageId": '
    '"m8", "kind": "message", "role": "user", "parts": [{"kind": "data", "data": {"a": [', '{"b": "x"}', "]}}]}}}",
    size=4_000_000),
    "a2a, rest, data": many('{"message": {"messageId": "m10", "role": "ROLE_USER", "parts": [{"data": [', '{"b": "x"}',
    "]}]}}", size=4_000_000),
    "a2a, rest, a text": many('{"message": {"messageId": "m11", "role": "ROLE_USER", "parts": [{"text": "', "x ",
    '"}]}}', "", size=4_000_000),
    "a2a, rest, metadata": many('{"message": {"messageId": "m12", "role": "ROLE_USER", "metadata": {"a": [', "1",
    ']}, "parts": [{"text": "Hi"}]}}', size=39_900),
    "a2a, old rest": many('{"request": {"messageId": "m13", "role": "ROLE_USER", "content": [', '{"text": "Hi"}',
    "]}}", size=7_000),
    "a2a, old rest, data": many('{"request": {"messageId": "m14", "role": "ROLE_USER", "content": [{"data": {"data": '
    '{"a": [', "1", "]}}}]}}", size=580),
    "a2a, old rest, a text": many('{"request": {"messageId": "m15", "role": "ROLE_USER", "content": [{"text": "', "x ",
    '"}]}}', "", size=4_000_000),
    "a2a, metadata": many('{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"metadata": {"a": [', "1",
    ']}, "message": {"messageId": "m9", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}}}', size=4_000_000),
    "question": many('{"question": "', "[{<'", '"}', ""),
    "schemas": (CHAT + '{"role": "user", "content": "Hi"}], "tools": [' + ",".join(schema(n) for n in range(2)) + "]}"),
    "form": CHAT + '{"role": "user", "content": "Hi"}], "response_format": {"type": "json_schema", "json_schema": '
    '{"name": "f", "schema": ' + properties(100_000) + "}}}",
    "assistant": many('{"model": "desk", "tools": [', TOOL, "]}"),
    "assistant with schemas": '{"model": "desk", "tools": [' + ",".join(schema(n) for n in range(2)) + "]}",
    "thread": many('{"messages": [', '{"role": "user", "content": "x"}', "]}"),
    "thread and run": many('{"assistant_id": "desk", "thread": {"messages": [', '{"role": "user", "content": "x"}',
    "]}}"),
    "parts of a message": many('{"role": "user", "content": [', '{"type": "text", "text": "x"}', "]}"),
    "conversation": many('{"items": [', '{"type": "message", "role": "user", "content": "x"}', "]}"),
    "texts": many('{"model": "desk", "input": [', '"x"', "]}"),
    "definition": json.dumps({"text": GRAPH}),
    "definition, yaml": json.dumps({"text": "actum: workflow/1\nname: hello\nx:\n" + "- a\n" * 20_000}),
    "definition, no end": json.dumps({"text": "[" + "{a: [" * 200_000}),
    "inputs": many('{"inputs": {"a": [', '{"b": 1}', "]}}"),
    "4 MB": many(CHAT, '{"role": "user", "content": "Hi"}', "]}", size=4_000_000),
    "4 MB, names": "{" + ",".join(f'"name{n}": {n}' for n in range(4_000_000 // 20)) + "}",
    "4 MB, no end": many("", '{"a":[', "", "", size=4_000_000),
}  # fmt: skip


BODIES_OF: dict[str, tuple[str, ...]] = {
    "/v1/chat/completions": (
        *("names", "no end", "messages", "parts", "calls", "tools", "schemas", "form", "functions"),
        *("4 MB", "4 MB, names", "4 MB, no end"),
    ),
    "/v1/completions": ("names",),
    "/v1/embeddings": ("texts",),
    "/v1/responses": ("names", "responses"),
    "/v1/conversations": ("conversation",),
    "/v1/assistants": ("names", "assistant", "assistant with schemas"),
    "/v1/threads": ("thread",),
    "/v1/threads/runs": ("thread and run",),
    "/v1/threads/nowhere/messages": ("parts of a message",),
    "/v1/messages/count_tokens": ("messages",),
    "/v1/workflows/hello/check": ("definition", "definition, yaml", "definition, no end"),
    "/v1/workflows/hello/run": ("inputs", "names"),
    "/v1/messages": ("messages", "4 MB"),
    "/v1beta/models/desk:generateContent": ("gemini",),
    "/v1/tools/add/call": (*("arguments", "arguments, nested", "an argument, nested", "secrets"),),
    "/v1/runs": ("names", "question", "task", "4 MB, names"),
    "/mcp": ("rpc", "4 MB, no end"),
    "/a2a/desk": (
        *("a2a", "a2a, old", "4 MB, names", "a2a, data", "a2a, a text", "a2a, a file", "a2a, old, data"),
        "a2a, metadata",
    ),
    "/a2a/desk/legacy": ("a2a, old", "a2a of 2025", "a2a, old, data"),
    "/a2a/desk/rest/message:send": (
        *("a2a, rest", "names", "4 MB, names", "a2a, rest, data", "a2a, rest, a text", "a2a, rest, metadata"),
    ),
    "/a2a/desk/rest/v1/message:send": (
        *("a2a, rest", "4 MB, names", "a2a, old rest", "a2a, old rest, data", "a2a, old rest, a text"),
    ),
}


GRPC = "gRPC"
PATHS_OF_DOORS: dict[str, str] = {
    "runs": "/v1/runs",
    "tasks": "/v1/runs",
    "tools": "/v1/tools/add/call",
    "chat": "/v1/chat/completions",
    "chat of 2023": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/desk:generateContent",
    "assistants": "/v1/threads/runs",
    "mcp": "/mcp",
    "a2a": "/a2a/desk",
    "a2a rest": "/a2a/desk/rest/message:send",
    "a2a original": "/a2a/desk/legacy",
    "a2a grpc": GRPC,
}


def test_each_door_where_a_stranger_comes_in_has_a_row() -> None:
    assert {door.name for door in DOORS if not door.keyless} == set(PATHS_OF_DOORS)
    assert set(PATHS_OF_DOORS.values()) <= {GRPC, *BODIES_OF}


@pytest.mark.parametrize("name", ["a2a, data", "a2a, old, data", "a2a, metadata", "4 MB, names"])
def test_a_request_with_more_values_than_a_message_needs_is_refused_before_the_sdk_looks_at_them(name: str) -> None:
    with effort() as spent, pytest.raises(TooMuch, match="more than 20000 values"):
        read_json(BODIES[name].encode())
    assert spent.calls < 500
    read_json(dumps({"a": ["a, b, [c], {d}" * 10_000], "b": list(range(19_000))}).encode())  # marks in a text are none


async def refusal(call: grpc.aio.UnaryUnaryCall) -> str:
    """The words with which a call is refused."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.details() or ""
    return ""


async def test_large_messages_of_grpc_leave_the_loop_to_others() -> None:
    parts = [a2a.Part(text="Hi")] * 60_000
    nested, below, old_below = a2a.Part(), a2a.Part(), a2a.Part()
    nested.data.struct_value.update({f"n{n}": {"b": [n]} for n in range(10_000)})
    below.data.struct_value.update({"a": list(range(19_900))})
    old_below.data.struct_value.update({"a": list(range(290))})
    messages: dict[str, bytes | a2a.SendMessageRequest] = {
        "small": said("Hi").SerializeToString(),
        "parts": a2a.SendMessageRequest(message=a2a.Message(message_id="m2", role=a2a.ROLE_USER, parts=parts)),
        "nested": a2a.SendMessageRequest(message=a2a.Message(message_id="m3", role=a2a.ROLE_USER, parts=[nested])),
        "just let through": a2a.SendMessageRequest(
            message=a2a.Message(message_id="m6", role=a2a.ROLE_USER, parts=[below])
        ),
        "4 MB": a2a.SendMessageRequest(
            message=a2a.Message(message_id="m7", role=a2a.ROLE_USER, parts=[a2a.Part(text="Hi")]),
            metadata=Struct(fields={"a": Value(list_value=ListValue(values=[Value()] * 1_900_000))}),
        ),
    }
    bodies = {name: each if isinstance(each, bytes) else each.SerializeToString() for name, each in messages.items()}
    bodies["no end"] = bodies["parts"][:-1]
    message = old_a2a.Message(message_id="m4", role=old_a2a.ROLE_USER, content=[old_a2a.Part(text="Hi")] * 60_000)
    in_data, in_less = (
        old_a2a.Part(data=old_a2a.DataPart(data=part.data.struct_value)) for part in (nested, old_below)
    )
    old = {
        "small": b"",
        "parts": old_a2a.SendMessageRequest(request=message).SerializeToString(),
        "nested": old_a2a.SendMessageRequest(
            request=old_a2a.Message(message_id="m5", role=old_a2a.ROLE_USER, content=[in_data])
        ).SerializeToString(),
        "no end": message.SerializeToString()[:-1],
        "just let through": old_a2a.SendMessageRequest(
            request=old_a2a.Message(message_id="m8", role=old_a2a.ROLE_USER, content=[in_less])
        ).SerializeToString(),
    }
    held: dict[str, int] = {}
    answered: dict[str, str] = {}
    async with desk(answering(*["Hi."] * 8)) as (port, _), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        sends = {  # bytes, as they are
            "1.0": channel.unary_unary("/lf.a2a.v1.A2AService/SendMessage"),
            "0.3": channel.unary_unary("/a2a.v1.A2AService/SendMessage"),
        }
        for name, body in bodies.items():
            for version, send in sends.items():
                metadata = (("a2a-version", version), ("authorization", "Bearer ann"))
                async with turns_counted() as turns:
                    answered[f"{name}, {version}"] = await refusal(
                        send(old.get(name, body) if version == "0.3" else body, metadata=metadata)
                    )
                held[f"{name}, {version}"] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= HELD_MAX} == {}
    assert "more than 20000 values" in answered["4 MB, 1.0"]
    assert "use A2A 1.0" in answered["nested, 0.3"]
    assert answered["just let through, 1.0"] == answered["just let through, 0.3"] == ""


@pytest.mark.parametrize("path", BODIES_OF)
async def test_a_large_body_leaves_the_loop_to_others_and_healthz_answers_meanwhile(tmp_path: Path, path: str) -> None:
    held: dict[str, int] = {}
    async with served(tmp_path) as it:
        await it.add_keys()
        for small in (b"{}", b'{"model": "nobody", "assistant_id": "nobody"}'):
            await asked(it, "POST", path, small)  # what is loaded at the first request is loaded now
        for name in BODIES_OF[path]:
            async with turns_counted() as turns:
                answering = asyncio.create_task(asked(it, "POST", path, BODIES[name].encode()))
                assert (await it.client.get("/healthz")).status_code == 200
                status, text = await answering
            assert status < 500, text[:200]
            held[name] = turns.held
    assert all(calls < HELD_MAX for calls in held.values()), held


HEAD_SIZE = 30_000
QUERIES: dict[str, str] = {
    "names": "a&" * (HEAD_SIZE // 2),
    "different names": "&".join(f"a{n}=" for n in range(HEAD_SIZE // 7)),
    "encoded names": "%61&" * (HEAD_SIZE // 4),
    "no names": "&" * HEAD_SIZE,
    "just not too many names": "a&" * 499,
    "just not too many encoded names": "&".join(f"%61{n}=%41" for n in range(500)),
    "escapes": "a=" + "%41" * (HEAD_SIZE // 3),
}
HEADERS: dict[str, dict[str, str]] = {
    "cookies": {"cookie": "a=;" * (HEAD_SIZE // 3)},
    "different cookies": {"cookie": ";".join(f"a{n}=1" for n in range(HEAD_SIZE // 8))},
    "parameters and cookies that are just let through": {"cookie": ";".join(f"a{n}=1" for n in range(500))},
    "headers": {f"x{n}": "1" for n in range(900)},
    "a token": {"authorization": "Bearer " + "eyJh.eyJp." + "a" * HEAD_SIZE},
    "parts of a token": {"authorization": "Bearer " + "a." * (HEAD_SIZE // 2)},
    "forwarded": {"x-forwarded-for": "1.1.1.1," * (HEAD_SIZE // 8)},
    "kinds": {"accept": "a/b;q=1," * (HEAD_SIZE // 8 - 100), "content-type": "a/b;c=d," * 100},
    "languages": {"accept-language": "zh;q=1," * (HEAD_SIZE // 7)},
    "encodings": {"accept-encoding": "gzip," * (HEAD_SIZE // 5)},
    "tags": {"if-none-match": '"a",' * (HEAD_SIZE // 4)},
}
PATHS = ("/v1/runs", "/v1/models", "/v1beta/models", "/v1/responses/resp_1", "/a2a/desk/rest/tasks", "/studio/",
    "/login", "/healthz")  # fmt: skip


async def test_a_large_address_and_large_headers_leave_the_loop_to_others(tmp_path: Path) -> None:
    held: dict[str, int] = {}
    async with served(tmp_path) as it:
        await it.add_keys()
        key = {"authorization": f"Bearer {it.keys['north']}"}
        for path in PATHS:
            asks = {
                **{name: (f"{path}?{query}", key) for name, query in QUERIES.items()},
                **{name: (path, {**key, **headers}) for name, headers in HEADERS.items()},
            }
            await it.client.get(path, headers={**key, "accept-language": "zh"})  # what is loaded at first is loaded now
            for name, (address, headers) in asks.items():
                async with turns_counted() as turns:
                    answer = await it.client.get(address, headers=headers)
                assert answer.status_code < 500, answer.text[:200]
                held[f"{path}, {name}"] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= HELD_MAX} == {}


MCP_SIZE = 100_000
VALUES: dict[str, Json] = {
    "names": {f"name{n}": n for n in range(MCP_SIZE // 16)},
    "list": [{"b": "xy"} for _ in range(MCP_SIZE // 12)],
    "deep": [json.loads('{"a":' * 90 + "1" + "}" * 90) for _ in range(MCP_SIZE // 600)],
    "escapes": "notes:///" + "%41" * (MCP_SIZE // 3),
    "folders": "notes:///" + "/" * MCP_SIZE,
    "template": "memo://" + "a/" * (MCP_SIZE // 2),
}
METHODS: dict[str, Callable[[Json], JsonObject]] = {
    "initialize": lambda value: {"protocolVersion": "2025-11-25", "capabilities": value, "clientInfo": value},
    "prompts/get": lambda value: {"name": "review", "arguments": {"code": value}},
    "prompts/list": lambda value: {"cursor": value},
    "resources/read": lambda value: {"uri": value},
    "resources/subscribe": lambda value: {"uri": value},
    "completion/complete": lambda value: {
        "ref": {"type": "ref/resource", "uri": "notes:///{+path}"},
        "argument": {"name": "path", "value": value},
        "context": {"arguments": value},
    },
    "logging/setLevel": lambda value: {"level": value},
    "tools/call": lambda value: {"name": "add", "arguments": {}, "requestState": value, "inputResponses": value},
    "ping": lambda value: {"_meta": value},
    "no/such": lambda value: {"x": value},
}
NOTIFICATIONS: dict[str, Callable[[Json], JsonObject]] = {
    "notifications/cancelled": lambda value: {"requestId": value, "reason": value},
    "notifications/progress": lambda value: {"progressToken": value, "progress": 1, "message": value},
    "notifications/roots/list_changed": lambda value: {"_meta": value},
}


async def test_a_large_message_of_any_method_of_mcp_leaves_the_loop_to_others(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Hello.", "utf-8")
    memo = Resource("memo://{day}", about)
    app = McpService([add], prompts=[review], resources=[Folder("notes", tmp_path), memo]).app()
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    transport = httpx2.ASGITransport(app)
    held: dict[str, int] = {}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8000", headers=headers, timeout=HANGS_S
        ) as way,
    ):

        async def told(message: JsonObject) -> httpx2.Response:
            return await way.post("/mcp", content=dumps({"jsonrpc": "2.0", **message}), headers=headers)

        hello = METHODS["initialize"]({}) | {"clientInfo": {"name": "t", "version": "1"}}
        opened = await told({"id": 0, "method": "initialize", "params": hello})
        headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        await told({"method": "notifications/initialized"})

        def asked(name: str, made: Callable[[Json], JsonObject], about: JsonObject) -> Callable[[Json], JsonObject]:
            return lambda value: {**about, "method": name, "params": made(value)}

        messages: dict[str, Callable[[Json], JsonObject]] = {
            **{name: asked(name, made, {"id": 1}) for name, made in METHODS.items()},
            **{name: asked(name, made, {}) for name, made in NOTIFICATIONS.items()},
            "an answer": lambda value: {"id": 7, "result": {"a": value}},
            "an error": lambda value: {"id": 7, "error": {"code": 1, "message": value, "data": value}},
        }
        for name, message in messages.items():
            await told(message("small"))  # what is loaded at the first request is loaded now
            for kind, value in VALUES.items():
                async with turns_counted() as turns:
                    answer = await told(message(value))
                assert answer.status_code < 500, answer.text[:200]
                held[f"{name}: {kind}"] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= HELD_MAX} == {}


COUNT = 3_000
"""Of values: a body of less than 64 KB, which was once read on the event loop for its size alone."""
A2A_VALUES: dict[str, Json] = {
    "names": {f"n{n}": n for n in range(COUNT)},
    "list": [1] * COUNT,
    "deep": [json.loads('{"a":' * 30 + "1" + "}" * 30) for _ in range(COUNT // 30)],
}
MESSAGE: JsonObject = {"messageId": "w", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}
OLD_MESSAGE: JsonObject = {
    "messageId": "w", "kind": "message", "role": "user", "parts": [{"kind": "text", "text": "Hi"}]
}  # fmt: skip
FIRST_MESSAGE: JsonObject = {"role": "user", "parts": [{"type": "text", "text": "Hi"}]}


def in_fields(kind: type[ProtoMessage], value: Json) -> JsonObject:
    """The value under each name that a message of 1.0 has."""
    return {field.json_name: value for field in kind.DESCRIPTOR.fields}


def in_message(message: JsonObject, part: JsonObject, value: Json) -> list[JsonObject]:
    """Parameters with the value in each place of a message where any JSON may be, and in the place of the message."""
    return [
        {"message": {**message, "metadata": {"a": value}}},
        {"message": message, "metadata": {"a": value}},
        {"message": {**message, "parts": [{**part, "data": {"a": value}}]}},
        {"message": {**message, "parts": value if isinstance(value, list) else [value], "extensions": value}},
        {"message": value, "configuration": value},
    ]


def questions_of_a2a(value: Json) -> dict[str, list[tuple[str, JsonObject]]]:
    """Each method with parameters in which the value is, by the path and the method."""
    asked: dict[str, list[tuple[str, JsonObject]]] = {"1.0": [], "0.3": [], "0.1": []}
    for name, method in {**NEW_METHODS, **STREAMS}.items():
        asked["1.0"].append((name, in_fields(method.params, value)))
        if method.params is a2a.SendMessageRequest:
            asked["1.0"] += [(name, params) for params in in_message(MESSAGE, {}, value)]
    about: JsonObject = {"id": "run_none", "metadata": {"a": value}, "pushNotificationConfig": value, "taskId": value}
    for name in [*OLD_METHODS, *OLD_STREAMS]:
        asked["0.3"] += [(name, about), (name, {**about, "id": value})]
        if name.startswith("message/"):
            asked["0.3"] += [(name, params) for params in in_message(OLD_MESSAGE, {"kind": "data"}, value)]
    for name in legacy.METHODS:
        asked["0.1"] += [(name, {"id": "none", "pushNotification": value, "metadata": {"a": value}, "x": value})]
        if name.startswith("tasks/send"):
            told = in_message(FIRST_MESSAGE, {"type": "data"}, value)
            asked["0.1"] += [(name, {"id": f"t{number}", **params}) for number, params in enumerate(told)]
    return asked


@pytest.mark.parametrize("version", ["1.0", "0.3", "0.1"])
async def test_a_large_message_of_any_method_of_a2a_leaves_the_loop_to_others(tmp_path: Path, version: str) -> None:
    held: dict[str, int] = {}
    async with served(tmp_path) as it:
        await it.add_keys()
        headers = {
            "authorization": f"Bearer {it.keys['north']}",
            "a2a-version": "0.3" if version == "0.1" else version,
            "content-type": "application/json",
        }
        path = "/a2a/desk/legacy" if version == "0.1" else "/a2a/desk"
        for kind, value in {"small": [], **A2A_VALUES}.items():  # what is loaded at the first request is loaded now
            for number, (method, params) in enumerate(questions_of_a2a(value)[version]):
                body = dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                async with turns_counted() as turns:
                    answer = await it.client.post(path, content=body, headers=headers)
                assert answer.status_code < 500, answer.text[:200]
                held[f"{kind}: {method} {number}"] = turns.held if kind != "small" else 0
    assert {name: calls for name, calls in held.items() if calls >= HELD_MAX} == {}
