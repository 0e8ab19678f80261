"""Lists of an MCP server that come in pages: walked to their end, within bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...core.json import JsonObject
from .error import INVALID_REQUEST, McpError

PAGES_MAX = 200
ITEMS_MAX = 10_000
TTL_MS_MAX = 1e12


async def all_pages(
    method: str, send: Callable[[JsonObject], Awaitable[JsonObject]]
) -> tuple[list[JsonObject], float | None]:
    """All that a list holds, and for how many seconds it holds, where the server tells.

    Args:
        method: `tools/list`, `resources/list`, `resources/templates/list` or `prompts/list`.
        send: asks for a page with these parameters.

    Raises:
        McpError: the server refuses, or its pages do not end.
    """
    field = {"resources/templates/list": "resourceTemplates"}.get(method, method.partition("/")[0])
    items: list[JsonObject] = []
    seen: set[str] = set()
    ttls: list[float] = []
    params: JsonObject = {}
    for _ in range(PAGES_MAX):
        page = await send(params)
        found, ttl_ms, cursor = page.get(field), page.get("ttlMs"), page.get("nextCursor")
        items += [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
        if isinstance(ttl_ms, int | float) and not isinstance(ttl_ms, bool):
            ttls.append(max(0.0, min(TTL_MS_MAX, ttl_ms)) / 1000)
        if not isinstance(cursor, str):
            return items, min(ttls, default=None)
        if cursor in seen or len(items) > ITEMS_MAX:
            raise McpError(INVALID_REQUEST, f"the pages of {method} do not end")
        seen.add(cursor)
        params = {"cursor": cursor}
    raise McpError(INVALID_REQUEST, f"{method} has more than {PAGES_MAX} pages")
