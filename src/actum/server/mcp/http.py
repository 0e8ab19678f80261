"""An MCP server over HTTP: Streamable HTTP in both eras at one path, and HTTP+SSE for clients that know no other.

Who may come in is `Access`, which stands in `server/access` because it is the same for every protocol.

Limits: TLS is the business of whatever stands before this. An SSE session takes its messages from any request that
knows its id and shows the credential that opened it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ..access import Accepted, Access, accepted, fits, refuse_open
from ..identity import Verifier
from .auth import ChallengedScopes, SdkVerifier, settings
from .endpoint import BODY_BYTES_MAX, McpEndpoint
from .sessions import SESSIONS_MAX

log = logging.getLogger("actum.mcp")


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
    refuse_open(host, access)
    hosts, origins = accepted(host, access)
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    return McpEndpoint(server, security, hang_up)


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
    middleware: list[Middleware] = [Middleware(OwnNames, accepted=accepted(host, access))]
    if auth is not None and access.verifier is not None:
        middleware += [
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


class OwnNames:
    """An ASGI app for requests to this server's own names, and of pages that may speak to it. Any page could have its
    own name resolved to this machine otherwise. The SDK looks as well, but takes anything behind the colon for a port.

    Args:
        app: the app.
        accepted: the values of `Host` and `Origin` that are let through.
    """

    def __init__(self, app: ASGIApp, accepted: Accepted) -> None:
        self._app = app
        self._accepted = accepted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = _header(scope, b"host")
            if len(hosts) != 1 or not fits(hosts[0], self._accepted.hosts):
                await Response("Invalid Host header", status_code=421)(scope, receive, send)
                return
            if not all(fits(origin, self._accepted.origins) for origin in _header(scope, b"origin") if origin):
                await Response("Invalid Origin header", status_code=403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _header(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _backend(auth: AuthSettings, verifier: Verifier) -> BearerAuthBackend:
    return BearerAuthBackend(
        SdkVerifier(verifier), resource_server_url=auth.resource_server_url if auth.validate_token_resource else None
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
