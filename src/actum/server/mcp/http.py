"""An MCP server over HTTP: Streamable HTTP in both eras at one path, and HTTP+SSE for clients that know no other.

Who may come in is `Access`. A server that only this machine can reach needs nothing: `Host` and `Origin` are held to
its names, so that a page in a browser can not speak to it. One that others can reach wants a token of each request.

Limits: TLS is the business of whatever stands before this. An SSE session takes its messages from any request that
knows its id and shows the credential that opened it.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from msgspec import Struct
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...core.errors import UsageError
from .auth import ChallengedScopes, settings
from .endpoint import BODY_BYTES_MAX, McpEndpoint
from .sessions import SESSIONS_MAX

log = logging.getLogger("actum.mcp")

KEY_CHARS_MIN = 16
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
EVERYWHERE = ("", "0.0.0.0", "::", "[::]")


class Access(Struct, frozen=True, kw_only=True):
    """Who may come in.

    Attributes:
        verifier: checks the token that each request has to show; None to want none.
        resource: this server's address as clients write it; its tokens are meant for it.
        issuer: who grants them; published, so that clients find their way there. Empty where there are only keys.
        scopes: that each request needs.
        names: under which the server is reached, beside those that follow from where it listens: `example.org`.
        origins: of pages in a browser that may speak to it, beside its own: `https://example.org`.
        insecure: whoever reaches it may come in, although others than this machine do.
    """

    verifier: TokenVerifier | None = None
    resource: str = ""
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    insecure: bool = False


LOCAL = Access()
"""Whoever is on this machine."""


class SharedKey:
    """One key for all who may come in: the `TokenVerifier` of a small set-up.

    Args:
        key: its text.
        principal: on whose behalf whoever shows it is served.

    Raises:
        UsageError: it is too short to keep anybody out.
    """

    def __init__(self, key: str, principal: str) -> None:
        if len(key) < KEY_CHARS_MIN:
            raise UsageError(f"the key has {len(key)} characters, and needs {KEY_CHARS_MIN}: `openssl rand -hex 32`")
        self._hash = _hash(key)
        self._principal = principal

    async def verify_token(self, token: str) -> AccessToken | None:
        """What a token allows; None where it is not the key."""
        if not hmac.compare_digest(_hash(token), self._hash):
            return None
        claims = {"roles": [], "key_id": "shared"}
        return AccessToken(token="", client_id="shared", scopes=[], subject=self._principal, claims=claims)


def endpoint_of(server: Server[Any], *, host: str, access: Access, hang_up: Callable[[], None]) -> McpEndpoint:
    """A server, as it is served over HTTP to those who may come in by their way.

    Args:
        server: what is served.
        host: the name or address of this machine at which it listens.
        access: who may come in.
        hang_up: ends the streams of those who listen without a handshake.

    Raises:
        UsageError: others than this machine would reach it, and it wants nothing of them.
    """
    if not is_loopback(host) and access.verifier is None and not access.insecure:
        raise UsageError(
            f"others than this machine reach {host or 'every address'}, and nobody would have to show who they are: "
            "have tokens checked, listen at 127.0.0.1, or say insecure if you mean it"
        )
    return McpEndpoint(server, _security(host, access), hang_up)


def http_app(endpoint: McpEndpoint, *, path: str, host: str, access: Access, sse: bool = False) -> Starlette:
    """It as an application for any ASGI server.

    Args:
        endpoint: of what is served.
        path: where.
        host, access: as above.
        sse: also the old way, at `/sse` and `/messages/`.
    """
    auth = None
    if access.verifier is not None:
        auth = settings(access.resource or f"http://{host}{path}", issuer=access.issuer, scopes=access.scopes)
    guarded = _guard(auth)
    routes: list[BaseRoute] = [Route(path, endpoint=guarded(endpoint))]
    middleware: list[Middleware] = []
    if auth is not None and access.verifier is not None:
        middleware = [
            Middleware(ChallengedScopes, scopes=access.scopes),
            Middleware(AuthenticationMiddleware, backend=_backend(auth, access.verifier)),
            Middleware(AuthContextMiddleware),
        ]
    if auth is not None and auth.resource_server_url is not None:
        routes += create_protected_resource_routes(
            auth.resource_server_url, [auth.issuer_url], scopes_supported=auth.required_scopes
        )
    if sse:
        routes += _sse_routes(endpoint.server, endpoint.security, guarded)
    return Starlette(routes=routes, middleware=middleware, lifespan=lambda _: endpoint.run())


def is_loopback(host: str) -> bool:
    """Only this machine reaches what listens there."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _security(host: str, access: Access) -> TransportSecuritySettings:
    """Which `Host` and `Origin` are let through.

    Raises:
        UsageError: it listens everywhere, and nobody said under which name.
    """
    own = LOOPBACK if is_loopback(host) else () if host in EVERYWHERE else (f"[{host}]" if ":" in host else host,)
    names = [*own, *access.names]
    if not names:
        raise UsageError("it listens at every address: say under which names it is reached, such as example.org")
    hosts = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[*origins, *access.origins])


def _backend(auth: AuthSettings, verifier: TokenVerifier) -> BearerAuthBackend:
    return BearerAuthBackend(
        verifier, resource_server_url=auth.resource_server_url if auth.validate_token_resource else None
    )


def _guard(auth: AuthSettings | None) -> Callable[[ASGIApp], ASGIApp]:
    """Wants a token of whoever comes, if one is wanted at all."""
    if auth is None:
        return lambda app: app
    told = build_resource_metadata_url(auth.resource_server_url) if auth.resource_server_url else None
    scopes = auth.required_scopes or []
    return lambda app: RequireAuthMiddleware(app, scopes, told)


def _sse_routes(
    server: Server[Any], security: TransportSecuritySettings, guarded: Callable[[ASGIApp], ASGIApp]
) -> Sequence[Route | Mount]:
    transport = SseServerTransport("/messages/", security, BODY_BYTES_MAX)
    return [
        Route("/sse", endpoint=guarded(_Sse(server, transport, TransportSecurityMiddleware(security)))),
        Mount("/messages/", app=guarded(transport.handle_post_message)),
    ]


class _Sse:
    """The stream of one client of the old kind; it is served for as long as that is open."""

    def __init__(
        self, server: Server[Any], transport: SseServerTransport, security: TransportSecurityMiddleware
    ) -> None:
        self._server = server
        self._transport = transport
        self._security = security
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self._security.validate_request(Request(scope, receive))
        if scope["method"] != "GET":
            refusal = Response(status_code=405, headers={"Allow": "GET"})
        if self._open >= SESSIONS_MAX:
            refusal = Response("Too many sessions", status_code=503)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        self._open += 1
        try:
            async with self._transport.connect_sse(scope, receive, send) as (read, write):
                await self._server.run(read, write, self._server.create_initialization_options())
        finally:
            self._open -= 1


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
