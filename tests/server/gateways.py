"""Callers at raw clients of a gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actum.core.json import Json, JsonObject
from actum.protocols.mcp.config import McpEra, McpServer
from actum.toolsets.mcp.connection import McpConnection

ALL: JsonObject = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


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
