"""A door: what one protocol adds to a server. The house puts doors together.

The house looks at every request first: `Host` and `Origin`, sizes, time limits, who asks. A door behind it finds in the
scope of the request who asks, and answers in the words of its own protocol.

This file loads a web framework: import it only where a server is to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.routing import BaseRoute
from starlette.types import Scope

from .identity import Identity

IDENTITY = "actum.identity"
"""Under this key the scope of a request holds who makes the request."""


class Door(Protocol):
    """One protocol of a server."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What the protocol answers to."""

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """What has to be open while the server runs; entered once, before the first request."""

    async def end_streams(self) -> None:
        """Tell the clients of open streams that the server stops, and end these streams. Called once, at the stop."""


def identity_of(scope: Scope) -> Identity:
    """Who makes a request.

    Args:
        scope: the ASGI scope of the request.

    Returns:
        Who it is; nobody in particular where the server wants no key.
    """
    found = scope.get(IDENTITY)
    return found if isinstance(found, Identity) else Identity()
