"""How the examples' tools ask a service."""

from __future__ import annotations

import httpx2

from actum import ToolError
from actum.core.json import Json, parse


async def ask(url: str, path: str, /, **query: str | int) -> Json:
    """Get JSON from a service.

    Args:
        url: its address.
        path: what is looked up there.
        query: what about.

    Raises:
        ToolError: it has nothing, or does not answer; its words are fit for a model.
    """
    try:
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=60) as client:  # all on this machine
            response = await client.get(f"{url}/{path}", params=query)
        body, _ = parse(response.content)
    except (httpx2.HTTPError, ValueError):
        raise ToolError(f"The service for {path!r} does not answer.") from None
    if response.status_code == httpx2.codes.OK:
        return body
    raise ToolError(str(body["error"]) if isinstance(body, dict) and "error" in body else "It went wrong.")
