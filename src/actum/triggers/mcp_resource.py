"""`McpResource`: a resource of an MCP server, watched. The server is asked to tell of changes, where it offers that.

resource = McpResource("notes://today", lambda changed: McpToolset(server, changed=changed))
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from ..core.errors import InvalidResult
from ..core.json import Json, JsonObject
from .content import WatchedContent

if TYPE_CHECKING:
    from ..toolsets.mcp.toolset import McpToolset

Notified: TypeAlias = Callable[[str, JsonObject], None]
"""Hears of notifications: the method, and its parameters."""
UPDATED = "notifications/resources/updated"


class McpResource:
    """A resource of an MCP server.

    Args:
        uri: the address of the resource, which only the server understands.
        open: makes the toolset of the server, which tells its argument of notifications. Nothing is asked of the server
            before it is needed.
    """

    def __init__(self, uri: str, open: Callable[[Notified], McpToolset]) -> None:
        self._uri = uri
        self._toolset = open(self._heard)
        self._changed: Callable[[], None] | None = None
        self._is_asked = False

    @property
    def address(self) -> str:
        """The address at the server."""
        return self._uri

    async def listen(self, changed: Callable[[], None]) -> None:
        """See `WatchedResource`. A session that breaks is opened anew, and the server asked again."""
        self._changed = changed
        facts = await self._toolset.facts()
        offered = facts.capabilities.get("resources")
        if not self._is_asked and isinstance(offered, dict) and offered.get("subscribe"):
            await self._toolset.subscribe(self._uri)
            self._is_asked = True

    async def read(self) -> WatchedContent:
        """See `WatchedResource`.

        Raises:
            CallError: the server can not be reached, was not approved, or has no such resource.
        """
        await self._toolset.facts()  # a server that was not approved is asked nothing
        raw = await self._toolset.connection.request("resources/read", {"uri": self._uri})
        return resource_content(raw)

    async def close(self) -> None:
        """End the server, or leave it."""
        await self._toolset.close()

    def _heard(self, method: str, params: JsonObject) -> None:
        if method == UPDATED and self._changed is not None:
            self._changed()


def resource_content(raw: JsonObject) -> WatchedContent:
    """What a `ReadResourceResult` holds. What the server says about the contents, such as a time, does not count.

    Args:
        raw: the result, as the server sent it.

    Raises:
        InvalidResult: it holds no contents.

    >>> resource_content({"contents": [{"uri": "notes://a", "text": "Hello", "_meta": {"at": 7}}]}).text
    'Hello'
    """
    listed = raw.get("contents")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise InvalidResult("The MCP server did not tell the contents of its resource.")
    contents = [each for each in listed if isinstance(each, dict)]
    texts = [text for each in contents if isinstance(text := each.get("text"), str)]
    said: list[Json] = [[each.get("uri"), each.get("text"), each.get("blob")] for each in contents]
    whole = WatchedContent.of([json.dumps(said).encode()])
    if len(texts) < len(contents):
        return WatchedContent(whole.digest)
    return WatchedContent(whole.digest, WatchedContent.of(["\n".join(texts).encode(errors="replace")]).text)
