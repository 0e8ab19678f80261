"""An HTTP client for the SDK's transport, in which a refusal of ours ends one request and not the connection.

The SDK's transport ends when sending raises, and with it all that is under way on it. A login that is missing or fails
concerns one request: it is answered in the protocol, as an error that only this process can have written, and
`refusal_of` finds what it stands for.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Any

import httpx2
import msgspec
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from ..core.errors import ActumError, CallError, PermissionDenied

REFUSED_HERE = -32098
_KEPT_MAX = 1000
_kept: OrderedDict[str, CallError] = OrderedDict()
"""What was refused, by a name that nobody can guess, until whoever asked has heard of it."""


class _Asked(Struct):
    id: str | int | None = None


class ProtocolClient(httpx2.AsyncClient):
    """A client whose own refusals come back as answers of the protocol."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401  # as they are
        try:
            return await super().send(request, **options)
        except ActumError as refused:
            asked = _id(request)
            if asked is None:
                raise
            name = secrets.token_hex(16)
            _kept[name] = refused if isinstance(refused, CallError) else PermissionDenied(str(refused))
            while len(_kept) > _KEPT_MAX:
                _kept.popitem(last=False)
            error = {"code": REFUSED_HERE, "message": str(refused), "data": name}
            return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked, "error": error}, request=request)


def refusal_of(error: MCPError) -> CallError | None:
    """What was refused here, if it was: a server that writes the same code is not believed."""
    return _kept.pop(error.data, None) if error.code == REFUSED_HERE and isinstance(error.data, str) else None


def _id(request: httpx2.Request) -> str | int | None:
    """The id of the request in a body; None where there is none to answer."""
    try:
        return msgspec.json.decode(request.content, type=_Asked).id
    except (msgspec.MsgspecError, httpx2.RequestNotRead):
        return None
