"""Our HTTP layer beside the SDK's own server: what the SDK refuses, we refuse as well.

Requests are made out of good ones by spoiling them at random, from a fixed seed. Being stricter than the SDK is
allowed; letting more in is not.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx2
from mcp.server import MCPServer
from msgspec import Struct

from actum.server.mcp.service import McpService
from tests.mcp_service import served
from tests.patience import HANGS_S
from tests.web import serving

SEED, MESSAGES = 2026_07_28, int(os.environ.get("ACTUM_TEST_MESSAGES", "300"))
SENT_AT = "io.modelcontextprotocol/"
META = {f"{SENT_AT}protocolVersion": "2026-07-28", f"{SENT_AT}clientCapabilities": {}}
INTRODUCTION = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "fuzz", "version": "1"},
}
Headers = dict[str, str]
Raw = dict[str, Any]


class Message(Struct, kw_only=True):
    """An HTTP request, before it is sent to either server: `SESSION` in a header stands for the session there."""

    method: str = "POST"
    headers: Headers
    body: bytes


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def good(dice: random.Random) -> Message:
    """A request that both servers answer."""
    number = dice.choice([1, 7, "one", 2**40])
    method, params = dice.choice(
        [
            ("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}}),
            ("tools/list", {}),
        ]
    )
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    if dice.random() < 0.5:
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        if method == "tools/call":
            headers["mcp-name"] = "add"
        params = {**params, "_meta": META}
    else:
        headers |= {"mcp-protocol-version": "2025-11-25", "mcp-session-id": "SESSION"}
    return Message(headers=headers, body=json.dumps(request(number, method, params)).encode())


def request(number: object, method: str, params: Raw) -> Raw:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


# Ways to spoil a request ----------------------------------------------------------------------------------------------


def other_header(message: Message, dice: random.Random) -> None:
    name = dice.choice([*message.headers, "host", "origin", "content-length-not", "mcp-session-id", "mcp-name"])
    message.headers[name] = dice.choice(
        [
            "",
            "x",
            "text/html",
            "application/json",
            "text/event-stream",
            "2025-11-25",
            "2026-07-28",
            "2024-01-01",
            "tools/list",
            "tools/call",
            "evil.example.com",
            "http://evil.example.com",
            "127.0.0.1:80.evil.example.com",
            "sub",
            "0" * 32,
            "add2",
            "ADD",
        ]
    )


def no_header(message: Message, dice: random.Random) -> None:
    message.headers.pop(dice.choice([*message.headers]), None)


def cut(message: Message, dice: random.Random) -> None:
    message.body = message.body[: dice.randrange(len(message.body) + 1)]


def flipped(message: Message, dice: random.Random) -> None:
    if message.body:
        at = dice.randrange(len(message.body))
        message.body = message.body[:at] + bytes([dice.randrange(256)]) + message.body[at + 1 :]


def other_field(message: Message, dice: random.Random) -> None:
    try:
        said: Raw = json.loads(message.body)
    except ValueError:
        return
    if not isinstance(said, dict):
        return
    inner = said.get("params")
    at = inner if isinstance(inner, dict) and dice.random() < 0.5 else said
    name = dice.choice([*at, "id", "jsonrpc", "method", "params", "_meta", "arguments", "name", "cursor"])
    if dice.random() < 0.3:
        at.pop(name, None)
    else:
        at[name] = dice.choice([None, True, -1, 1.5, "", "x", [], {}, [said.get("id")], {"a": 1}, "2.0", "1.0", "ping"])
    message.body = json.dumps(said).encode()


def wrapped(message: Message, dice: random.Random) -> None:
    before, behind = dice.choice([(b"[", b"]"), (b"\xef\xbb\xbf", b""), (b"", b"{}"), (b" \n", b" "), (b"\x00", b"")])
    message.body = before + message.body + behind


def other_method(message: Message, dice: random.Random) -> None:
    message.method = dice.choice(["PUT", "PATCH", "OPTIONS", "HEAD"])


SPOILING: list[Callable[[Message, random.Random], None]] = [
    other_header,
    other_header,
    no_header,
    cut,
    flipped,
    other_field,
    other_field,
    wrapped,
    other_method,
]


# Sending --------------------------------------------------------------------------------------------------------------


class Target:
    """A server, and a session there."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client, self._url = client, url
        self._session = ""

    async def open(self) -> None:
        headers = {"accept": "application/json, text/event-stream"}
        opened = await self._client.post(self._url, json=request(0, "initialize", INTRODUCTION), headers=headers)
        self._session = opened.headers["mcp-session-id"]
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self._client.post(self._url, json=told, headers={**headers, "mcp-session-id": self._session})

    async def takes(self, message: Message) -> tuple[bool, str]:
        """Whether it does what is asked, and what it says."""
        headers = [
            (name.encode(), value.replace("SESSION", self._session).encode()) for name, value in message.headers.items()
        ]
        async with asyncio.timeout(HANGS_S):
            answer = await self._client.request(message.method, self._url, headers=headers, content=message.body)
        text = answer.text
        if "text/event-stream" in answer.headers.get("content-type", ""):
            text = next((line[6:] for line in text.splitlines() if line.startswith("data: {")), "")
        try:
            said = json.loads(text)
        except ValueError:
            said = {}
        failed = isinstance(said, dict) and ("error" in said or said.get("result", {}).get("isError") is True)
        return answer.status_code < 400 and not failed, f"{answer.status_code} {text[:200]}"


async def test_nothing_that_the_sdk_refuses_comes_in() -> None:
    dice, taken = random.Random(SEED), Counter[tuple[bool, bool]]()
    sdk = MCPServer("fuzz", log_level="CRITICAL")
    sdk.tool()(add)
    wrong: list[str] = []
    async with (
        served(McpService([add])) as ours,
        serving(sdk.streamable_http_app()) as theirs,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
    ):
        targets = [Target(client, ours), Target(client, f"{theirs}/mcp")]
        for target in targets:
            await target.open()
        for number in range(MESSAGES):
            message = good(dice)
            for spoil in dice.choices(SPOILING, k=dice.choice([0, 1, 1, 1, 2, 3])):
                spoil(message, dice)
            (we, our_words), (they, their_words) = [await target.takes(message) for target in targets]
            taken[we, they] += 1
            if we and not they:
                wrong.append(f"message {number}: {message}\n  ours: {our_words}\n  theirs: {their_words}")
    assert not wrong, "\n".join(wrong[:20])
    assert taken[True, True] > MESSAGES / 10, taken
    assert taken[False, False] > MESSAGES / 10, taken
