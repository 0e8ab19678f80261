"""`WatchedResource`: a resource elsewhere whose content may change, such as one of an MCP server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .content import WatchedContent


class WatchedResource(Protocol):
    """A resource, for whoever watches it. Both `listen` and `read` raise ActumError where the resource can not be
    reached.
    """

    @property
    def address(self) -> str:
        """What the events of the resource call it."""

    async def listen(self, changed: Callable[[], None]) -> None:
        """From now on call `changed` whenever the resource is said to have changed, as far as anybody says so. To ask
        for the same again changes nothing.
        """

    async def read(self) -> WatchedContent:
        """The content as it is now."""

    async def close(self) -> None:
        """Let go of the resource."""
