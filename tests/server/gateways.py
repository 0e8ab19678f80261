"""A server, and gateways in front of it, each a process of its own; and callers at raw clients in front of those."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from actum.core.json import Json, JsonObject
from actum.protocols.mcp.config import McpEra, McpServer
from actum.toolsets.mcp.connection import McpConnection
from tests.peers.programs import free_port

ALL: JsonObject = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


@contextmanager
def running(module: str, *words: str) -> Iterator[str]:
    """The address of a server that listens, until the block ends."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", module, str(port), *words])
    try:
        while process.poll() is None:
            with socket.socket() as probe:
                probe.settimeout(0.05)
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def client(
    url: str, era: McpEra, *, token: str = "", changed: Callable[[str, JsonObject], None] | None = None
) -> McpConnection:
    """A client that sees what goes over the wire."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return McpConnection(
        McpServer(name="gateway", url=url, era=era, transport="http", headers=headers), changed=changed
    )


class Somebody:
    """Whoever makes a request: answers what is asked, and remembers it.

    Args:
        capabilities: that it declares.
    """

    def __init__(self, capabilities: JsonObject | None = None) -> None:
        self.capabilities: JsonObject = ALL if capabilities is None else capabilities
        self.asked: list[tuple[str, JsonObject]] = []
        self.heard: list[tuple[str, JsonObject]] = []
        self.news = asyncio.Event()

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        self.asked.append((method, {name: value for name, value in params.items() if name != "_meta"}))  # SDK's trace
        return ANSWERS[method]

    def told(self, method: str, params: JsonObject) -> None:
        self.heard.append((method, params))
        self.news.set()


ANSWERS: dict[str, JsonObject] = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada"}, "_meta": {"vendor/said": 1}},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "Hm."},
        "model": "m",
        "stopReason": "endTurn",
    },
    "roots/list": {"roots": [{"uri": "file:///tmp", "name": "t", "_meta": {"x": 1}}]},
}


def said(result: JsonObject) -> str:
    """The text of a result."""
    content = result["content"]
    assert isinstance(content, list)
    (block,) = content
    assert isinstance(block, dict)
    return str(block["text"])


def call(name: str, **arguments: Json) -> JsonObject:
    return {"name": name, "arguments": arguments}
