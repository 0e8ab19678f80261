"""Lists of an MCP server that come in pages: walked to their end, within bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from ...core.errors import CallError, CallTimeout, InvalidResult
from ...core.json import JsonObject, dumps, size_of_json
from ...core.process.worker_thread import WALKED, off_loop
from .error import INVALID_REQUEST, Lost, McpError

PAGES_MAX = 200
ITEMS_MAX = 10_000
BYTES_MAX = 32 * 1024 * 1024
"""All pages of a list together may be as long as one message."""
TTL_MS_MAX = 1e12


class Listed(Struct, frozen=True):
    """What a server lists, as far as it could be had.

    Attributes:
        items: what was listed.
        holds_s: seconds for which the list holds, where the server tells.
        fault: why the rest could not be had; None where this is all.
    """

    items: list[JsonObject]
    holds_s: float | None = None
    fault: CallError | None = None


async def all_pages(method: str, send: Callable[[JsonObject], Awaitable[JsonObject]]) -> Listed:
    """All that a list holds, or what it held before a page of it failed or did not come. An empty cursor is the end.

    Args:
        method: `tools/list`, `resources/list`, `resources/templates/list` or `prompts/list`.
        send: asks for a page with these parameters.

    Raises:
        CallError: the server refuses the first page, or the page can't be had or read; or the connection is lost.
    """
    field = {"resources/templates/list": "resourceTemplates"}.get(method, method.partition("/")[0])
    items: list[JsonObject] = []
    seen: set[str] = set()
    ttls: list[float] = []
    params: JsonObject = {}
    fault: CallError | None = None
    size = 0
    while True:
        try:
            page = await send(params)
            found, ttl_ms, cursor = page.get(field), page.get("ttlMs"), page.get("nextCursor")
            if found is not None and not isinstance(found, list):
                raise InvalidResult(
                    "The server's answer to {method} has no list of {field}.", method=method, field=field
                )
        except (McpError, InvalidResult, CallTimeout) as error:
            if not seen or isinstance(error, Lost):
                raise
            fault = error
            break
        size += size_of_json(page)
        items += [item for item in (found or ())[: ITEMS_MAX + 1 - len(items)] if isinstance(item, dict)]
        if isinstance(ttl_ms, int | float) and not isinstance(ttl_ms, bool):
            ttls.append(max(0.0, min(TTL_MS_MAX, ttl_ms)) / 1000)
        is_too_long = len(items) > ITEMS_MAX or size > BYTES_MAX
        if not is_too_long and (not isinstance(cursor, str) or not cursor):
            break
        if is_too_long or cursor in seen or len(seen) + 1 == PAGES_MAX:
            items = (await off_loop(WALKED * size, _different, items))[:ITEMS_MAX]
            fault = McpError(INVALID_REQUEST, f"the pages of {method} do not end")
            break
        seen.add(str(cursor))
        params = {"cursor": cursor}
    return Listed(items, min(ttls, default=None), fault)


def _different(items: list[JsonObject]) -> list[JsonObject]:
    """What a server lists again and again is one thing."""
    return list({dumps(item): item for item in items}.values())
