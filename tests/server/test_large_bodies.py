"""A large body holds up nobody: between two turns of the event loop only little work is done on it.

The work is counted and not timed: calls of functions in the thread of the event loop, Python's and C's, between two
turns. What a worker thread does is not counted, since the loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.effort import turns_counted

from .test_deep_json import asked
from .test_matrix import served

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
BODIES: dict[str, str] = {
    "names": ("{" + ",".join(f'"name{n}": {n}' for n in range(SIZE // 20)) + "}"),
    "arguments": ('{"arguments": {' + ",".join(f'"x{n}": {n}' for n in range(SIZE // 16)) + "}}"),
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
    "a2a, rest": many('{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [', '{"text": "Hi"}', "]}}"),
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
        *("names", "no end", "messages", "parts", "calls", "tools", "schemas", "form"),
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
    "/v1/tools/add/call": ("arguments",),
    "/v1/runs": ("names", "question", "4 MB, names"),
    "/mcp": ("rpc", "4 MB, no end"),
    "/a2a/desk": ("a2a", "a2a, old", "4 MB, names"),
    "/a2a/desk/legacy": ("a2a, old",),
    "/a2a/desk/rest/message:send": ("a2a, rest", "names"),
}


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
