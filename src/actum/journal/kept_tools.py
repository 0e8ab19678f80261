"""The definitions of tools that a journal keeps for its records: each one once, under its own digest.

What a record names (`Started.tools`, `ToolsChanged.tools`) is the digest of a list, and the list holds the digests of
the definitions. Where one of ten thousand tools has changed, one is written anew. A list of an earlier version
holds the definitions themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from ..core.errors import ActumError, JournalError, UnknownName
from ..core.interfaces import Journal
from ..core.tool import Tool, digest_of


def keep_tools(journal: Journal, digest: str, tools: Sequence[Tool]) -> None:
    """Keep the definitions of tools for a record that follows.

    Args:
        journal: where the record will be written.
        digest: `digest_of` the tools.
        tools: the tools, in the order in which a model is shown them.
    """
    if journal.keeps(digest):
        return
    for tool in tools:
        if not journal.keeps(tool.digest):
            journal.keep(tool.digest, tool.definition)
    journal.keep(digest, msgspec.json.encode([tool.digest for tool in tools]))


async def kept_tools(journal: Journal, digest: str) -> tuple[Tool, ...]:
    """The definitions of tools that a journal keeps under the digest of their list.

    Raises:
        JournalError: they are gone, or are not those of this digest.
    """
    try:
        listed = msgspec.json.decode(await journal.kept(digest), type=tuple[str | Tool, ...])
        tools = tuple([each if isinstance(each, Tool) else await _kept_tool(journal, each) for each in listed])
        if digest_of(tools) == digest:
            return tools
    except UnknownName:
        raise JournalError("the tool definitions {digest} are gone", digest=digest[:12]) from None
    except (msgspec.DecodeError, ValueError, RecursionError, ActumError):
        pass
    raise JournalError("the tool definitions {digest} were changed", digest=digest[:12])


async def _kept_tool(journal: Journal, digest: str) -> Tool:
    """One definition.

    Raises:
        UnknownName: it is gone.
        ValueError: it is not the one of this digest.
    """
    definition = await journal.kept(digest)
    if hashlib.sha256(definition).hexdigest() != digest:
        raise ValueError(digest)
    return msgspec.json.decode(definition, type=Tool)
