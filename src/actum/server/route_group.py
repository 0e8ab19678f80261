"""A route group: what one protocol adds to a server. The application puts route groups together.

The application looks at every request first: `Host` and `Origin`, sizes, time limits, who asks. A route group behind it
finds in the scope of the request who asks, and answers in the words of its own protocol.

This file loads a web framework: import it only where a server is to run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol, runtime_checkable

from starlette.routing import BaseRoute
from starlette.types import Scope

from ..core.identity import Identity
from ..core.language.translation import Language, accepted
from .refusal import Headers, HttpRefusal

IDENTITY = "actum.identity"
"""Under this key the scope of a request holds who makes the request."""
REQUEST_ID = "actum.request_id"
"""Under this key the scope of a request holds the id that the request has in the log."""


class RouteGroup(Protocol):
    """One protocol of a server.

    A route group may be more than this: `NeedsScopes`, `OpenRoutes`, `TakesFiles`, `Recognizer`,
    `KeysElsewhere`, `OwnWords`. A route group may also raise
    `HttpRefusal` of `refusal.py` as long as its answer has not begun.
    """

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What the protocol answers to. The first part of each path is fixed, such as `v1` in `/v1/runs/{id}`: by this
        part the application knows the route group."""

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """What has to be open while the server runs; entered once, before the first request."""

    async def end_streams(self) -> None:
        """Tell the clients of open streams that the server stops, and end these streams. Called once, at the stop."""


@runtime_checkable
class NeedsScopes(Protocol):
    """A route group that wants more of each request than a valid key."""

    @property
    def scopes(self) -> Sequence[str]:
        """The scopes that each request at this route group needs, where the server wants keys."""


@runtime_checkable
class OpenRoutes(Protocol):
    """A route group with some paths for clients that have no key yet, such as a page to log in."""

    @property
    def open_paths(self) -> Collection[str]:
        """These paths, whole. A request for one of them that shows a key is checked all the same."""


@runtime_checkable
class TakesFiles(Protocol):
    """A route group with paths that take files in the bodies of requests."""

    @property
    def file_bytes(self) -> Mapping[str, int]:
        """These paths, whole, each with how many bytes its files may have together. In a body they are in Base64."""


@runtime_checkable
class Recognizer(Protocol):
    """A route group that knows who makes a request by something else than a key, such as the cookie of somebody logged
    in."""

    async def recognize(self, scope: Scope) -> Identity | None:
        """Who makes a request, to whatever route group it goes; None where this route group does not know.

        Args:
            scope: of a request without the header `Authorization`, at a server that wants keys.

        Raises:
            HttpRefusal: the request may not be made with what it shows, such as one from another site.
        """


@runtime_checkable
class KeysElsewhere(Protocol):
    """A route group whose clients show their key elsewhere than in the header `Authorization`, as those of some model
    APIs do."""

    def take_keys(self, scope: Scope) -> list[str]:
        """The keys that a request to this route group shows, beside `Authorization`. They are taken out of the scope,
        so that nothing behind the application can log them or send them on.

        Args:
            scope: of the request; its `headers` and its `query_string` are replaced.
        """


class Worded(NamedTuple):
    """The body of a refusal.

    Attributes:
        media_type: of the body.
        body: its bytes.
        headers: of the response, beside those of its body.
    """

    media_type: bytes
    body: bytes
    headers: Headers = ()


@runtime_checkable
class OwnWords(Protocol):
    """A route group whose protocol has a form of its own for errors."""

    def word(self, refusal: HttpRefusal, scope: Scope) -> Worded:
        """Tell a refusal in the form of the protocol.

        Args:
            refusal: of a request to this route group.
            scope: of the request; at `REQUEST_ID` it holds the id that the request has in the log.
        """


def language_of(scope: Scope) -> Language:
    """The language that the client's person reads, by the header `Accept-Language`.

    Args:
        scope: the ASGI scope of the request.
    """
    said = next((value for name, value in scope["headers"] if name == b"accept-language"), b"")
    return accepted(said.decode("latin-1"))


def identity_of(scope: Scope) -> Identity:
    """Who makes a request.

    Args:
        scope: the ASGI scope of the request.

    Returns:
        Who it is; nobody in particular where the server wants no key.
    """
    found = scope.get(IDENTITY)
    return found if isinstance(found, Identity) else Identity()
