"""What a model found by `search_tools`, for APIs that can be told of it where it was found. Pure.

Such an API keeps the beginning of the request, so that its cache of the prompt holds. A tool is told so only while the
result that found it is part of the conversation: a tool that the model called by name, or whose search was left out of
a long conversation, is told in the list of tools.
"""

from __future__ import annotations

from msgspec import Struct

from ...core.call import names_found
from ...core.message import ToolMessage
from ...core.model import Request
from ...core.tool import Tool, digest_of


class NativeSearch(Struct, frozen=True):
    """The search of a request.

    Attributes:
        name: the name of the tool by which the model searches.
        found: the tools that the API is told of where they were found, by name.
    """

    name: str
    found: dict[str, Tool]

    @property
    def key(self) -> str:
        """What the encoding of the conversation depends on."""
        return f" {self.name} {digest_of(self.found.values())}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools that were found."""
        return tuple(self.found)


def native_search(request: Request, *, is_native: bool) -> NativeSearch | None:
    """The search of a request; None where the model is told of all tools in the list.

    Args:
        request: the request.
        is_native: whether the model has a search, where the request does not say how it is to be told.
    """
    way = request.tool_search or ("native" if is_native else "plain")
    if way == "plain" or not request.search:
        return None
    later = set(request.found)
    told = {
        name
        for message in (request.messages if later else ())
        if isinstance(message, ToolMessage) and message.name == request.search and message.result.error is None
        for name in names_found(message.result)
    }
    return NativeSearch(request.search, {tool.name: tool for tool in request.tools if tool.name in later & told})


def key_of(search: NativeSearch | None) -> str:
    """What the encoding of the conversation depends on."""
    return search.key if search is not None else ""
