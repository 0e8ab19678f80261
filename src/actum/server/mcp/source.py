"""What is served by the Model Context Protocol, and the server that both eras of clients speak to.

`McpService` is the source of what is built here, and `McpGateway` the source of what other servers have. Each has a
`SourceServer`, which serves it.

The SDK's low-level server has the transports and the handshake; requests for what a source serves are answered by the
source on raw messages, so that nothing of a schema is lost and nothing is validated twice.

Source: Model Context Protocol, 2026-07-28 and 2025-11-25.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeAlias, cast

import mcp_types as types
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette

from ...core.errors import UsageError
from ...core.identity import Identity
from ...core.interfaces import Clock
from ...core.json import JsonObject
from ...core.policy import Facts, Policy
from ...core.tool import Tool
from ...policy.published import look_at
from ...policy.rules import DEFAULT, Barring
from ..access import LOCAL, Access
from ..web_application import WebApplication, WebApplicationSettings
from .auth import identity_of
from .calls import INVALID_PARAMS
from .holders import Client, Clients
from .http import McpRoutes
from .page import LISTS

INTERNAL_ERROR = -32603
RUNS_KEPT = 1_000
"""The most runs that a journal in memory keeps, where no journal is given."""

Context: TypeAlias = ServerRequestContext[Any, Any]
Handler: TypeAlias = Callable[[Context, JsonObject], Awaitable[JsonObject]]
"""Answers the requests of one method: raw parameters to the raw result."""
Listen: TypeAlias = Callable[
    [Context, types.SubscriptionsListenRequestParams], Awaitable[types.SubscriptionsListenResult]
]
Visible: TypeAlias = Callable[[Tool, Identity], bool]

_CACHED = frozenset({*LISTS, "resources/read"})
_INTRODUCTIONS = frozenset({"initialize", "server/discover"})
_MODERN_ONLY = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
_HANDSHAKE_ONLY = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})


class Source(Protocol):
    """What a `SourceServer` serves."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What answers each method; the SDK answers the others."""

    def capabilities(self, *, modern: bool) -> types.ServerCapabilities:
        """What is offered, in either era."""

    async def introduce(self, ctx: Context, introduction: JsonObject) -> JsonObject:
        """What a client is told that introduces itself.

        Args:
            ctx: of the client's `initialize` or `server/discover`.
            introduction: the result as the SDK makes it.
        """

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """The schema of a tool's arguments, as some may have to come in headers too; None for no such tool."""

    async def join(self, ctx: Context) -> None:
        """A client with a handshake is there: from now on it is told what changes."""

    async def start(self) -> None:
        """A transport begins to serve; others may serve already."""

    async def stop(self) -> None:
        """The last transport has ended."""

    def hang_up(self) -> None:
        """End the streams of those who only listen."""


class SourceServer:
    """Serves one source to clients of both eras, over any transport.

    Args:
        source: what is served.
        name, version, instructions: what clients and models are told of it.
        who: the user for clients that show no token.
        keys: secrets with which the state of a call that waits is sealed, as for `McpService`.
        listen: serves `subscriptions/listen`, where that is not one of the source's handlers.

    Attributes:
        server: the SDK's.

    Raises:
        UsageError: a key is none.
    """

    def __init__(
        self,
        source: Source,
        *,
        name: str,
        version: str = "",
        instructions: str = "",
        who: Identity | None = None,
        keys: Sequence[bytes] = (),
        listen: Listen | None = None,
    ) -> None:
        self._source = source
        self._handlers = source.handlers
        self._who = who or Identity()
        self._clients = Clients()
        self._served = 0
        self.server: Server[Any] = _Server(
            source, self._alive, name, version=version, instructions=instructions or None, listen=listen
        )
        self._stamp: JsonObject = {types.SERVER_INFO_META_KEY: self.server.server_info_stamp}
        self.server.add_notification_handler("notifications/initialized", types.NotificationParams, self._join)
        # Not the SDK's own, which would tell of each call a second time, beside the record that spans are made from.
        self.server.middleware[:] = [RequestStateBoundary(_security(keys), default_audience=name), self._serve]

    def who(self) -> Identity:
        """The user of the current request: by its token, where it has one."""
        access = get_access_token()
        return self._who if access is None else identity_of(access)

    def client(self, ctx: Context) -> Client:
        """The client that makes this request."""
        return self._clients.client(ctx, self.who())

    async def _serve(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer what the source serves; the SDK answers the rest."""
        handler = self._handlers.get(ctx.method)
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if ctx.method in _INTRODUCTIONS and ctx.request_id is not None:
            return cast(HandlerResult, await self._source.introduce(ctx, cast(JsonObject, await call_next(ctx))))
        if handler is None or ctx.request_id is None or ctx.method in (_HANDSHAKE_ONLY if modern else _MODERN_ONLY):
            return await call_next(ctx)
        if not modern and ctx.session.client_params is None:
            raise MCPError(INVALID_PARAMS, "The connection was not initialized")
        meta = (ctx.params or {}).get("_meta")
        if meta is not None and not isinstance(meta, Mapping):
            raise MCPError(INVALID_PARAMS, "_meta: an object was expected")
        with self.client(ctx).at_work():
            result = await handler(ctx, cast(JsonObject, dict(ctx.params or {})))
        if modern:
            result.setdefault("resultType", "complete")
            if ctx.method in _CACHED and result["resultType"] == "complete":
                result = {"ttlMs": 0, "cacheScope": "private", **result}
            meta = result.get("_meta")
            result["_meta"] = {**self._stamp, **(meta if isinstance(meta, dict) else {})}
        return cast(HandlerResult, result)

    async def _join(self, ctx: Context, params: types.NotificationParams) -> None:
        await self._source.join(ctx)

    @asynccontextmanager
    async def _alive(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        """While any transport serves, the source is at work."""
        self._served += 1
        try:
            await self._source.start()
            yield {}
        finally:
            self._served -= 1
            if not self._served:
                self._clients.close()
                await self._source.stop()

    # Ways to serve ----------------------------------------------------------------------------------------------------

    def app(self, path: str, *, host: str, access: Access = LOCAL, sse: bool = False) -> Starlette:
        """Streamable HTTP in both eras at one path; see `McpService.app`."""
        door = self.door(path, sse=sse)
        return WebApplication([door], WebApplicationSettings(access=access, host=host), who=self._who).app

    def door(self, path: str = "/mcp", *, sse: bool = False, scopes: Sequence[str] = ()) -> McpRoutes:
        """Streamable HTTP as one door of an application; see `McpService.door`."""
        return McpRoutes(self.server, self._source.hang_up, path=path, sse=sse, scopes=scopes)

    async def run_stdio(self) -> None:
        """Serve the process that started this one, by its pipes, until it closes them."""
        async with stdio_server() as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())


class _Server(Server[dict[str, Any]]):
    """The SDK's server, which says of itself what the source does."""

    def __init__(
        self,
        source: Source,
        alive: Callable[[Server[Any]], Any],
        name: str,
        *,
        version: str,
        instructions: str | None,
        listen: Listen | None,
    ) -> None:
        super().__init__(
            name,
            version=version,
            instructions=instructions,
            on_subscriptions_listen=listen,
            get_tool_input_schema=source.schema_of,
            lifespan=alive,
        )
        self._source = source

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        return self._source.capabilities(modern=protocol_version in MODERN_PROTOCOL_VERSIONS)


def _security(keys: Sequence[bytes]) -> RequestStateSecurity:
    """What seals the state of calls that wait.

    Raises:
        UsageError: a key is too short, or stands twice.
    """
    if not keys:
        return RequestStateSecurity.ephemeral()
    try:
        return RequestStateSecurity(keys=list(keys))
    except ValueError:
        raise UsageError("keys: each has 32 bytes or more, and stands there once; os.urandom(32) makes one") from None


class Visibility:
    """Who is shown which tool: no tool that the key of a user may not use, and none that is denied whatever they say.

    Args:
        visible: says so of a tool and a user; everybody is shown all when it is left out.
        policy: a tool that it denies somebody whatever the arguments are is not shown to them either.
        agent: in whose name calls are made, for the policy.
        clock: time, for the policy.
    """

    def __init__(self, visible: Visible | None, policy: Policy | None, agent: str, clock: Clock) -> None:
        self._visible = visible
        self._policy = DEFAULT if policy is None else policy
        self._agent = agent
        self._clock = clock

    def may_call(self, tool: Tool, who: Identity) -> bool:
        """Whether a user may call a tool with the key that they showed, as far as that is not the policy's to say."""
        return who.may_use("tool", tool.name) and (self._visible is None or self._visible(tool, who))

    async def shown_to(self, who: Identity) -> Callable[[Tool], bool]:
        """What tells of each tool whether this user is shown it now."""
        await look_at(self._policy, who.tenant)
        facts = Facts.of(who, self._agent, self._clock.now())
        policy = self._policy
        return lambda tool: self.may_call(tool, who) and not (isinstance(policy, Barring) and policy.bars(tool, facts))
