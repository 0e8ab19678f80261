"""What a server answered to a call, as the result of the call."""

from __future__ import annotations

from ...core.call import ToolResult
from ...core.errors import ToolError
from ...core.json import JsonObject
from ...protocols.mcp.content import refusal_of, result_of

ERROR_CHARS_MAX = 8_000


def told_by_server(call_id: str, raw: JsonObject, *, reads_only: bool) -> ToolResult:
    """What a server answered to a call, as its result.

    Raises:
        ToolError: the server says that it failed.
    """
    refusal = refusal_of(raw)
    if refusal:
        raise ToolError(refusal[:ERROR_CHARS_MAX], effect="none" if reads_only else "unknown")
    return result_of(call_id, raw)


def with_notice(raw: JsonObject, words: str) -> JsonObject:
    """A server's answer to a call, with words of ours before its own."""
    content = raw.get("content")
    block: JsonObject = {"type": "text", "text": words}
    return {**raw, "content": [block, *(content if isinstance(content, list) else [])]}
