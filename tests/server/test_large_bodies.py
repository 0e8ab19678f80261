"""A large body holds up nobody: between two turns of the event loop only little work is done on it.

The work is counted and not timed: calls of functions in the thread of the event loop, Python's and C's, between two
turns. What a worker thread does is not counted, since the loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType

import pytest

from .test_deep_json import asked
from .test_matrix import served

SIZE = 1_000_000
HELD_MAX = 30_000
"""So many calls between two turns: less than three times what reading the same bytes as JSON makes, which is a call for
each of their objects with `object_pairs_hook`."""


def many(before: str, unit: str, after: str, between: str = ",") -> bytes:
    return (before + between.join([unit] * (SIZE // (len(unit) + 1))) + after).encode()


CHAT = '{"model": "desk", "messages": ['
BODIES: dict[str, bytes] = {
    "names": ("{" + ",".join(f'"name{n}": {n}' for n in range(SIZE // 20)) + "}").encode(),
    "arguments": ('{"arguments": {' + ",".join(f'"x{n}": {n}' for n in range(SIZE // 16)) + "}}").encode(),
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
}  # fmt: skip


class Turns:
    """The turns of the loop of this thread.

    Attributes:
        held: the most calls that were made between two turns.
    """

    def __init__(self) -> None:
        self.held = 0
        self._calls = 0

    def count(self, frame: FrameType, event: str, what: object) -> None:
        if event in ("call", "c_call"):
            self._calls += 1

    async def turn(self) -> None:
        while True:
            self._calls = 0
            await asyncio.sleep(0)
            self.held = max(self.held, self._calls)


@asynccontextmanager
async def turns_counted() -> AsyncIterator[Turns]:
    turns, before = Turns(), sys.getprofile()
    turning = asyncio.create_task(turns.turn())
    sys.setprofile(turns.count)  # of this thread alone
    try:
        yield turns
    finally:
        sys.setprofile(before)
        turning.cancel()


BODIES_OF: dict[str, tuple[str, ...]] = {
    "/v1/chat/completions": ("names", "no end", "messages", "parts", "calls"),
    "/v1/responses": ("names", "responses"),
    "/v1/messages": ("messages",),
    "/v1beta/models/desk:generateContent": ("gemini",),
    "/v1/tools/add/call": ("arguments",),
    "/v1/runs": ("names", "question"),
    "/mcp": ("rpc",),
    "/a2a/desk": ("a2a", "a2a, old"),
    "/a2a/desk/legacy": ("a2a, old",),
    "/a2a/desk/rest/message:send": ("a2a, rest", "names"),
}


@pytest.mark.parametrize("path", BODIES_OF)
async def test_a_large_body_leaves_the_loop_to_others_and_healthz_answers_meanwhile(tmp_path: Path, path: str) -> None:
    held: dict[str, int] = {}
    async with served(tmp_path) as it:
        await it.add_keys()
        for name in BODIES_OF[path]:
            async with turns_counted() as turns:
                answering = asyncio.create_task(asked(it, "POST", path, BODIES[name]))
                assert (await it.client.get("/healthz")).status_code == 200
                status, text = await answering
            assert status < 500, text[:200]
            held[name] = turns.held
    assert all(calls < HELD_MAX for calls in held.values()), held
